"""The immutable plan of one operation: selection sets that are executed for many rows at once.

A selection set turns the rows of one object type into dicts: it resolves the column of each field
and builds the dicts from the columns.

Nothing here waits. If a resolver may have to, the dicts are built without its field, which is added
to the run's pending fields. `engine.await_level` fills them.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from typing import Any, NamedTuple, Protocol

from engine.codegen import BuildObjects, ResponseObjects
from engine.compiled import Compiled
from engine.cost_compiler import OperationCost
from engine.document import OperationDefinition
from engine.errors import Unsupported
from engine.run import (
    AsyncResolver,
    Column,
    Completion,
    Field,
    Rows,
    Run,
    SyncResolver,
    pending_field,
    unchanged,
)
from engine.variables import Values


class SyncColumn(NamedTuple):
    """A column that is resolved at once, with the constant properties of its resolver."""

    resolver: SyncResolver
    function: Callable[..., Any]
    arguments: Callable[[Run], dict[str, Any]] | None
    completion: Completion | None
    """None: the column is complete as the resolver returns it."""


class AsyncColumn(NamedTuple):
    """A column that is filled into the dicts afterwards, because its resolver may have to wait."""

    key: str
    resolver: AsyncResolver
    completion: Completion


class SelectionSet(Protocol):
    """The selected fields of one object type."""

    def execute(self, rows: Rows, run: Run) -> ResponseObjects:
        """One dict for each row. No row may be None."""

    def whole_row_bytes(self) -> int | None:
        """The estimated length of one dict in the response, with the objects in it except those of
        pending fields. None if it is not known: see `Completion.row_bytes`."""


@dataclass(frozen=True, slots=True)
class FieldColumns:
    """The selection set that resolves the column of each field and builds dicts from them."""

    fields: Mapping[str, Field]
    """By response key, without `__typename`, which `build` adds."""

    build: BuildObjects
    """Builds the dicts from the columns of `sync`."""

    sync: tuple[SyncColumn, ...]
    pending: tuple[AsyncColumn, ...]
    row_bytes: int
    """The estimated length of one dict in the response, without what is below it."""

    def whole_row_bytes(self) -> int | None:
        total = self.row_bytes
        for column in self.sync:
            if column.completion is not None and column.completion.has_rows:
                below = column.completion.row_bytes()
                if below is None:
                    return None
                total += below
        return total

    def execute(self, rows: Rows, run: Run) -> ResponseObjects:
        count = len(rows)
        if not count:
            return []
        run.rows += count
        run.bytes += count * self.row_bytes
        if run.rows > run.max_rows or run.bytes > run.max_bytes:
            run.exceed_limit()
        # The inner loop of every response. `Completion.complete` is inlined, so that the usual
        # column costs no call except that of its resolver.
        columns: list[Column] = []
        for resolver, function, arguments, completion in self.sync:
            try:
                column = function(rows) if arguments is None else function(rows, **arguments(run))
                if type(column) is not list or len(column) != count:
                    column = resolver.checked(column, rows)
            except Exception as error:
                column = resolver.column_after_error(error, rows, run)
            if completion is not None:
                if type(column) is list:
                    types = type(column[0]) if count == 1 else frozenset(map(type, column))
                    fast_path = completion.fast_paths.get(types)
                    if fast_path is not unchanged:
                        completed = fast_path and fast_path(column, run)
                        column = completed or completion.complete_each(column, run)
                else:
                    column = completion.complete(column, run)
            columns.append(column)
        objects = self.build(count, *columns)
        run.objects.append((self.fields, objects))
        for key, async_resolver, async_completion in self.pending:
            run.pending.append(
                pending_field((key, async_resolver, async_completion, rows, objects))
            )
        return objects


@dataclass(frozen=True, slots=True)
class Plan:
    """A compiled operation."""

    steps: tuple[SelectionSet, ...]
    """Executed one after another, each with everything below it: one for all fields of a query, and
    one for each root field of a mutation."""
    is_mutation: bool
    fields: int
    """The weight of the fields that were compiled before the first run. `CompiledCache.grow` counts
    those that are compiled later."""


@dataclass(frozen=True, slots=True, eq=False)
class Operation(OperationDefinition):
    """One operation of a valid document, with its compiled plans."""

    costs: OperationCost
    plans: Compiled[Plan | Unsupported] = dataclass_field(default_factory=Compiled)
    """By the values of the variables in @skip and @include."""
    restricted: dict[str, "Operation"] = dataclass_field(default_factory=dict)
    """The same operation with only the root fields of one name, by this name."""

    def cost(self, values: Values) -> int:
        """The static cost for these variables: what running it can cost at most."""
        constant = self.costs.constant
        return self.costs.evaluate(values.coerced) if constant is None else constant
