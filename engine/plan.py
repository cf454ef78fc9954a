"""The immutable plan of one operation: selections of fields over columns.

A selection turns the rows of one object type into dicts: it reads the column of each field and
builds rows from the columns.

Nothing here awaits. If a resolver may have to, the dicts are built with a pending field (a hole) in
its place, which is added to the run. `engine.arrivals` awaits the columns of pending fields.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from engine.codegen import BuildRows, Table
from engine.columnar_rows import ColumnarRows
from engine.field import AwaitedSource, Cells, Column, Field, Rows, Source, as_it_is

if TYPE_CHECKING:
    from engine.run import Run


class PresentColumn(NamedTuple):
    """A column that is read at once, with the constant properties of its source."""

    source: Source
    read: Callable[..., Any]
    keywords: "Callable[[Run], dict[str, Any]] | None"
    cells: Cells | None
    """None: the column is complete as read."""


class AwaitedColumn(NamedTuple):
    """A column that is filled into the dicts later, because its source may have to wait."""

    key: str
    source: AwaitedSource
    cells: Cells


class Selection(Protocol):
    """The selected fields of one object type."""

    def dicts(self, rows: Rows, run: "Run") -> Table:
        """One dict for each row. No row may be None."""


@dataclass(frozen=True, slots=True)
class Columns:
    """The selection that reads each column and builds rows from them."""

    fields: Mapping[str, Field]
    """By response key, without `__typename`, which `build` adds."""

    build: BuildRows
    """Builds rows from the columns of `present`."""

    present: tuple[PresentColumn, ...]
    awaited: tuple[AwaitedColumn, ...]

    def dicts(self, rows: Rows, run: "Run") -> Table:
        count = len(rows)
        if not count:
            return []
        run.rows += count
        if run.rows > run.max_rows:
            run.reject()
        # The inner loop of every response. `Cells.complete` and others are inlined, so that the
        # usual column costs no call except that of its resolver.
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
    """A pending field: dicts were built without it, because its source may have to wait."""

    key: str
    source: AwaitedSource
    cells: Cells
    rows: Rows
    table: Table

    def ask(self, run: "Run") -> Awaitable[Column] | None:
        """Return an awaitable of the column, or None after filling a column that was available."""
        column: Any
        try:
            column = self.source.ask(self.rows, run)
        except Exception as error:
            column = [error] * len(self.rows)
        if type(column) is list or type(column) is ColumnarRows:
            self.fill(column, run)
            return None
        return column  # type: ignore[no-any-return]

    def fill(self, column: Column, run: "Run") -> None:
        """Put the completed column into the dicts."""
        key, table = self.key, self.table
        cells = self.cells.complete(column, run)
        if len(cells) == len(table) == 1:
            table[0][key] = cells[0]  # a strict zip takes 0.3 µs to start
            return
        for made, cell in zip(table, cells, strict=True):
            made[key] = cell


# The constructor of a NamedTuple takes three times as long.
hole_of: Callable[[tuple[str, AwaitedSource, Cells, Rows, Table]], Hole] = partial(
    tuple.__new__, Hole
)


@dataclass(frozen=True, slots=True)
class Plan:
    """A compiled query."""

    root: Selection
