"""The frozen plan of one operation: selections of fields over columns. Knows nothing of documents.

A selection turns the rows of one object type into dicts. It asks each of its fields for a column:
the field's *source* gives what its resolver says about every row, its *cells* make that presentable
(leaves serialised, objects turned into dicts by the next selection, lists of either).

None of this waits. Where a resolver may, the dicts are made with a hole in its place, and the run
is told of it; `engine.arrivals` waits for the columns that are not known yet.

A fault, which is an exception where a cell should be, travels in the columns like any other cell
until the run is over; `engine.settle` then says what it means for the answer.
"""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

from graphql import FieldNode, GraphQLField, GraphQLObjectType
from graphql.pyutils import Path

from engine.codegen import BuildRows, Table
from engine.zipped import Zipped, is_column

if TYPE_CHECKING:
    from engine.run import Run

Rows: TypeAlias = Sequence[Any]
Column: TypeAlias = list[Any] | Zipped[Any]


class Source(ABC):
    """Where the raw column of a field comes from."""

    __slots__ = ()

    @abstractmethod
    def column(self, rows: Rows, field: "Field", run: "Run") -> Column:
        """One value, or one fault, for each row."""


class AwaitedSource(ABC):
    """A source that may have to wait for something outside this process."""

    __slots__ = ()

    @abstractmethod
    def ask(self, rows: Rows, field: "Field", run: "Run") -> Column | Awaitable[Column]:
        """One value, or one fault, for each row: at once where they are known.

        May raise what is then the fault of every row, and so may what is awaited.
        """

    def checked(self, column: Column, rows: Rows) -> Column:
        """What was awaited, if it is one for each row. Raises what is the fault of every row."""
        return column


class Cells(Protocol):
    """What makes a raw column presentable."""

    def complete(self, column: Column, field: "Field", run: "Run") -> Column:
        """What the client sees of each value; nulls that may not be, and failures, are faults."""


@dataclass(frozen=True, slots=True)
class Field:
    """One response key of a selection."""

    key: str
    parent: GraphQLObjectType
    definition: GraphQLField
    nodes: list[FieldNode]
    """All the places in the document that ask for this key."""

    path: Path
    """The keys that lead here; list indices are unknown to a column."""

    cells: Cells

    @property
    def name(self) -> str:
        return self.nodes[0].name.value


class Selection(Protocol):
    """What is asked of one object type."""

    def dicts(self, rows: Rows, run: "Run") -> Table:
        """One dict for each row; none of the rows is null."""


@dataclass(frozen=True, slots=True)
class Columns:
    """The selection that makes each column for itself and then cuts them into rows."""

    fields: Mapping[str, Field]
    """By response key; `__typename` is not among them, `build` knows it."""

    build: BuildRows
    """Takes the columns of `present`."""

    present: tuple[tuple[Field, Source], ...]
    awaited: tuple[tuple[Field, AwaitedSource], ...]

    def dicts(self, rows: Rows, run: "Run") -> Table:
        if not rows:
            return []
        run.spend(len(rows))
        columns = [
            field.cells.complete(source.column(rows, field, run), field, run)
            for field, source in self.present
        ]
        table = self.build(rows, *columns)
        run.made.append((self.fields, table))
        for field, source in self.awaited:
            run.holes.append(Hole(field, source, rows, table))
        return table


class Hole(NamedTuple):
    """A field that dicts were made without, because its source may wait."""

    field: Field
    source: AwaitedSource
    rows: Rows
    table: Table

    def ask(self, run: "Run") -> Awaitable[Column] | None:
        """What to wait for; None: the column was known, and the hole is filled."""
        column: Any
        try:
            column = self.source.ask(self.rows, self.field, run)
        except Exception as error:
            column = [error] * len(self.rows)
        if not is_column(column):
            return column  # type: ignore[no-any-return]
        self.fill(column, run)
        return None

    def fill(self, column: Column, run: "Run") -> None:
        """Put the cells of the column in their places."""
        field = self.field
        key = field.key
        for made, cell in zip(self.table, field.cells.complete(column, field, run), strict=True):
            made[key] = cell


@dataclass(frozen=True, slots=True)
class Plan:
    """A compiled query."""

    root: Selection
