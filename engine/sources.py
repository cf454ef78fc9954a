"""Sources: the ways to read a raw column."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from inspect import isawaitable
from types import CoroutineType
from typing import TYPE_CHECKING, Any

from graphql import default_field_resolver
from strawberry.execution import optimized_is_awaitable
from strawberry.schema import Schema

from engine.arguments import Arguments
from engine.batched import BatchedField, BatchResolver
from engine.batches import load, one_for_each
from engine.conversion import Keywords, compiled_keywords
from engine.deferred import Deferred
from engine.field import AwaitedSource, Cells, Column, Field, Rows, Source
from engine.info import FieldInfo, InfoOf, info_maker
from engine.waiting import Unfinished

if TYPE_CHECKING:
    from engine.run import Run


@dataclass(frozen=True, slots=True)
class Attribute(Source):
    """A field that is an attribute of its rows."""

    of: Callable[[Any], Any]

    @property
    def read(self) -> Callable[[Rows], Any]:
        return self._column

    def recovered(self, error: Exception, rows: Rows, run: "Run") -> Column:
        return [attempt(self.of, row) for row in rows]

    def _column(self, rows: Rows) -> Column:
        return list(map(self.of, rows))


@dataclass(frozen=True, slots=True)
class Batched(Source):
    """A batched field whose resolver is synchronous."""

    resolver: BatchResolver
    told: Keywords | None
    """None: the resolver takes only its parents, the usual case."""

    @property
    def read(self) -> Callable[..., Any]:
        return self.resolver.function

    @property
    def keywords(self) -> "Callable[[Run], dict[str, Any]] | None":
        return self.told.of if self.told else None

    def checked(self, column: Any, rows: Rows) -> Column:
        return one_for_each(rows, column, self.resolver.name)

    def recovered(self, error: Exception, rows: Rows, run: "Run") -> Column:
        return [error] * len(rows)


@dataclass(frozen=True, slots=True)
class ReadyBatch(Batched):
    """A batched field whose items need no completion."""

    cells: Cells
    """Used for field errors only."""

    def recovered(self, error: Exception, rows: Rows, run: "Run") -> Column:
        return self.cells.complete([error] * len(rows), run)


@dataclass(frozen=True, slots=True)
class AwaitedBatch(AwaitedSource):
    """A batched field whose resolver may have to be awaited."""

    resolver: BatchResolver
    function: Callable[..., Any]
    """The resolver's declared function."""

    told: Keywords | None
    info_of: InfoOf
    is_repeated: bool
    """Whether the document selects it in several places, whose batches are merged."""

    def ask(self, rows: Rows, run: "Run") -> Column | Awaitable[Column]:
        keywords = self.told.of(run) if self.told else {}
        if self.is_repeated:
            return load(self.resolver, rows, keywords, self.info_of(run))
        items = self.function(rows, **keywords)
        if type(items) is CoroutineType or type(items) is Deferred:
            return items
        if type(items) is not list and isawaitable(items):
            return items
        return self.checked(items, rows)

    def checked(self, column: Column, rows: Rows) -> Column:
        if type(column) is list and len(column) == len(rows):
            return column
        return one_for_each(rows, column, self.resolver.name)


@dataclass(frozen=True, slots=True)
class PerParent(AwaitedSource):
    """Any other field: its resolver is called for each parent, as graphql-core does."""

    field: Field
    arguments: Arguments

    def ask(self, rows: Rows, run: "Run") -> Column | Awaitable[Column]:
        resolve: Any = self.field.definition.resolve or default_field_resolver
        info, arguments = FieldInfo(self.field, run), self.arguments.coerced(run.values)
        column = [attempt(resolve, row, info, **arguments) for row in rows]
        if pending := [i for i, value in enumerate(column) if optimized_is_awaitable(value)]:
            return Unfinished(column, pending)
        return column


def batched_source(
    declared: BatchedField, field: Field, arguments: Arguments, schema: Schema, *, is_repeated: bool
) -> Batched | AwaitedBatch:
    """The source of a batched field with these arguments."""
    resolver = declared.resolver
    info_of = info_maker(schema.config.info_class, declared, field)
    asked = resolver.info_parameter
    told = None
    if declared.arguments or asked is not None:
        info = None if asked is None else (asked.name, info_of)
        told = compiled_keywords(declared, arguments, info, schema)
    if resolver.is_async:
        return AwaitedBatch(resolver, resolver.function, told, info_of, is_repeated)
    return Batched(resolver, told)


def attempt(function: Callable[..., Any], /, *arguments: Any, **named: Any) -> Any:
    """Return the function's result, or the exception that it raises as a field error."""
    try:
        return function(*arguments, **named)
    except Exception as error:
        return error
