"""The frozen plan of one operation: selections of fields over columns. Knows nothing of documents.

A selection turns the rows of one object type into dicts. It asks each of its fields for a column:
the field's *source* gives what its resolver says about every row, its *cells* make that presentable
(leaves serialised, objects turned into dicts by the next selection, lists of either). Usually a
look at the Python types in a column tells how that is done for all of it at once.

None of this waits. Where a resolver may, the dicts are made with a hole in its place, and the run
is told of it; `engine.arrivals` waits for the columns that are not known yet.

A fault, which is an exception where a cell should be, travels in the columns like any other cell
until the run is over; `engine.settle` then says what it means for the answer.
"""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

from graphql import FieldNode, GraphQLField, GraphQLObjectType
from graphql.pyutils import Path

from engine.codegen import BuildRows, Table
from engine.zipped import Zipped

if TYPE_CHECKING:
    from engine.run import Run

Rows: TypeAlias = Sequence[Any]
Column: TypeAlias = list[Any] | Zipped[Any]


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

    @property
    def name(self) -> str:
        return self.nodes[0].name.value


class Source(ABC):
    """Where the raw column of a field comes from."""

    __slots__ = ()

    @property
    @abstractmethod
    def read(self) -> Callable[..., Any]:
        """A function of all rows that nearly always gives the column: a list of one value each."""

    @property
    def keywords(self) -> "Callable[[Run], dict[str, Any]] | None":
        """What `read` is told besides; None: nothing."""
        return None

    def checked(self, column: Any, rows: Rows) -> Column:
        """What `read` gave, if it is a column after all. Raises what goes to `recovered`."""
        return column  # type: ignore[no-any-return]

    @abstractmethod
    def recovered(self, error: Exception, rows: Rows, run: "Run") -> Column:
        """One value, or one fault, for each row, after `read` has raised."""


class AwaitedSource(ABC):
    """A source that may have to wait for something outside this process."""

    __slots__ = ()

    @abstractmethod
    def ask(self, rows: Rows, run: "Run") -> Column | Awaitable[Column]:
        """One value, or one fault, for each row: at once where they are known.

        May raise what is then the fault of every row, and so may what is awaited.
        """

    def checked(self, column: Column, rows: Rows) -> Column:
        """What was awaited, if it is one for each row. Raises what is the fault of every row."""
        return column


Held: TypeAlias = type | frozenset[type]
"""What a column holds: the type of its one value, or the types of its many."""

Quick: TypeAlias = "Callable[[Any, Run], Column | None]"
"""Completes a column of certain types at once; None where a value needs a closer look."""


def as_it_is(column: Column, run: "Run") -> Column:
    """The `Quick` of columns that are presentable already."""
    return column


def holding(python_type: type, quick: Quick) -> dict[Held, Quick]:
    """How to complete columns of one type, be they of one value or of many."""
    return {python_type: quick, frozenset((python_type,)): quick}


class Cells(ABC):
    """What makes the raw column of one field presentable."""

    __slots__ = ()

    quick: Mapping[Held, Quick]
    """By what a column holds, None's type included."""

    @abstractmethod
    def closely(self, column: Column, run: "Run") -> Column:
        """What the client sees of each value; nulls that may not be, and failures, are faults."""

    def complete(self, column: Column, run: "Run") -> Column:
        """The same, at once where the types of the values say how."""
        if type(column) is Zipped:
            quick = self.quick.get(tuple)
        elif len(column) == 1:
            quick = self.quick.get(type(column[0]))
        else:
            quick = self.quick.get(frozenset(map(type, column)))
        done = None if quick is None else quick(column, run)
        return self.closely(column, run) if done is None else done


class Step(NamedTuple):
    """How one column of a selection is made; what its source never changes is kept beside it."""

    source: Source
    read: Callable[..., Any]
    keywords: "Callable[[Run], dict[str, Any]] | None"
    cells: Cells | None
    """None: what is read is complete."""


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

    present: tuple[Step, ...]
    awaited: tuple[tuple[str, AwaitedSource, Cells], ...]
    """By response key."""

    def dicts(self, rows: Rows, run: "Run") -> Table:
        count = len(rows)
        if not count:
            return []
        run.rows += count
        if run.rows > run.max_rows:
            run.refuse()
        # The inner loop of every answer: `Cells.complete` and the like are written out here, so
        # that a usual column costs no call but that of its resolver.
        columns: list[Column] = []
        for source, read, keywords, cells in self.present:
            try:
                column = read(rows) if keywords is None else read(rows, **keywords(run))
                if type(column) is not list or len(column) != count:
                    column = source.checked(column, rows)
            except Exception as error:
                column = source.recovered(error, rows, run)
            if cells is not None:
                if type(column) is list:
                    held = type(column[0]) if count == 1 else frozenset(map(type, column))
                    quick = cells.quick.get(held)
                    if quick is not as_it_is:
                        column = (quick and quick(column, run)) or cells.closely(column, run)
                else:
                    column = cells.complete(column, run)
            columns.append(column)
        table = self.build(count, *columns)
        run.made.append((self.fields, table))
        for key, source_, cells_ in self.awaited:
            run.holes.append(hole_of((key, source_, cells_, rows, table)))
        return table


class Hole(NamedTuple):
    """A field that dicts were made without, because its source may wait."""

    key: str
    source: AwaitedSource
    cells: Cells
    rows: Rows
    table: Table

    def ask(self, run: "Run") -> Awaitable[Column] | None:
        """What to wait for; None: the column was known, and the hole is filled."""
        column: Any
        try:
            column = self.source.ask(self.rows, run)
        except Exception as error:
            column = [error] * len(self.rows)
        if type(column) is list or type(column) is Zipped:
            self.fill(column, run)
            return None
        return column  # type: ignore[no-any-return]

    def fill(self, column: Column, run: "Run") -> None:
        """Put the cells of the column in their places."""
        key, table = self.key, self.table
        cells = self.cells.complete(column, run)
        if len(cells) == len(table) == 1:
            table[0][key] = cells[0]  # a strict zip takes 0.3 µs to begin
            return
        for made, cell in zip(table, cells, strict=True):
            made[key] = cell


# The constructor that a NamedTuple has takes three times as long.
hole_of: Callable[[tuple[str, AwaitedSource, Cells, Rows, Table]], Hole] = partial(
    tuple.__new__, Hole
)


@dataclass(frozen=True, slots=True)
class Plan:
    """A compiled query."""

    root: Selection
