"""The fields `__schema` and `__type`, resolved by graphql-core's own definitions of them.

They are planned like other fields, and change nothing for their sibling fields. The schema of a
process is constant, so their results are cached by document, place and variables.
"""

from collections.abc import Awaitable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from graphql import Node, VariableNode, Visitor, visit

from engine.batch_loader import hashable
from engine.cache import LruCache
from engine.document import OperationDefinition
from engine.run import AsyncResolver, Column, Completion, Field, Rows, Run

CACHED_RESULTS = 64
CACHED_ROWS = 60_000
"""The objects in all cached results: about 30 MB. The usual introspection query has 7,000."""


class CachedResult(NamedTuple):
    """The completed value of an introspection field."""

    value: Any


class IntrospectionCache:
    """The results of introspection fields of one schema."""

    def __init__(self) -> None:
        self._results: LruCache[Hashable, CachedResult] = LruCache(
            entries=CACHED_RESULTS, weight=CACHED_ROWS
        )

    def get(self, key: Hashable) -> CachedResult | None:
        return self._results.get(key)

    def store(self, run: Run, data: Mapping[str, Any]) -> None:
        """Store the introspection results of a run without errors, unless the run had more than
        `CACHED_ROWS` rows. Its rows are the weight of each result, because those of one result are
        not counted."""
        for key, response_key in run.introspections:
            if run.rows <= CACHED_ROWS:
                self._results.put(key, CachedResult(data[response_key]), run.rows)


@dataclass(frozen=True, slots=True)
class IntrospectionResolver(AsyncResolver):
    """Resolves a root field `__schema` or `__type`, unless its result is cached."""

    field: Field
    resolver: AsyncResolver
    cache: IntrospectionCache
    place: Hashable
    """The document, and the positions of the field in it."""

    variables: tuple[str, ...]
    """The variables in the field and below it, and in any fragment or directive of the document."""

    def resolve(self, rows: Rows, run: Run) -> Column | Awaitable[Column]:
        values = run.values.coerced
        used = {name: values[name] for name in self.variables if name in values}
        key = (self.place, hashable(used))
        cached = self.cache.get(key)
        if cached is not None:
            return [cached]
        run.introspections += ((key, self.field.key),)
        return self.resolver.resolve(rows, run)


@dataclass(frozen=True, slots=True)
class IntrospectionCompletion(Completion):
    """Completes an introspection field, unless its value comes completed from the cache."""

    inner: Completion

    @property
    def fast_paths(self) -> Any:  # type: ignore[override]
        return {}

    def complete_each(self, column: Column, run: Run) -> Column:
        (value,) = column
        if type(value) is CachedResult:
            return [value.value]
        return self.inner.complete(column, run)


def introspection_resolver(
    field: Field,
    resolver: AsyncResolver,
    operation: OperationDefinition,
    cache: IntrospectionCache,
) -> IntrospectionResolver:
    """The resolver of a root field of an operation."""
    location = operation.node.loc
    assert location is not None, "documents are parsed with locations"
    starts = tuple(node.loc.start for node in field.nodes if node.loc)
    place = (location.source.body, location.start, starts)
    variables = _variable_names([*field.nodes, *operation.fragments.values()])
    names = tuple(sorted({*variables, *operation.conditions}))
    return IntrospectionResolver(field, resolver, cache, place, names)


def _variable_names(nodes: Iterable[Node]) -> set[str]:
    found: set[str] = set()

    class Names(Visitor):
        def enter_variable(self, node: VariableNode, *_: object) -> None:
            found.add(node.name.value)

    for node in nodes:
        visit(node, Names())
    return found
