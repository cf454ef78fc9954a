"""Lookup tables for derived fields."""

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from engine.codegen import Table
from engine.columnar_rows import ColumnarRows
from engine.derived import DerivedField, reader
from engine.field import Cells, Column, Rows, Source
from engine.plan import Columns
from engine.sources import attempt

if TYPE_CHECKING:
    from engine.run import Run

Read: TypeAlias = Callable[[Any], Any]

MAX_KNOWN = 1_024  # an attribute with more values is not worth a table


@dataclass(frozen=True, slots=True)
class Known:
    """A table from the values of an attribute to the results computed so far."""

    key_of: Read
    place: int | None
    """The attribute's place, in rows that are tuples."""
    found: dict[Any, Any] = field(default_factory=dict)

    def column(self, rows: Rows) -> list[Any]:
        """Look up all rows. Raises KeyError for a value without a result, TypeError for an
        unhashable one, and what reading a row raises."""
        if type(rows) is ColumnarRows and self.place is not None:
            return list(map(self.found.__getitem__, rows.columns[self.place]))
        keys = map(self.key_of, rows)
        column = [*map(self.found.__getitem__, keys)]
        if len(column) != len(rows):
            raise RuntimeError("An attribute raised StopIteration, which ends map().")
        return column

    def learn(self, rows: Rows, made: Iterable[Any]) -> None:
        """Store the results for these rows, except for field errors and unhashable values."""
        for row, thing in zip(rows, made, strict=True):
            if len(self.found) < MAX_KNOWN and not isinstance(thing, Exception):
                with suppress(TypeError):
                    self.found[self.key_of(row)] = thing


@dataclass(frozen=True, slots=True)
class Derived(Source):
    """The source of a derived field. Its column is complete."""

    declared: DerivedField
    cells: Cells
    known: Known

    @property
    def read(self) -> Callable[[Rows], Any]:
        return self.known.column

    def recovered(self, error: Exception, rows: Rows, run: "Run") -> Column:
        raw = [attempt(self.declared.of, row) for row in rows]
        done = self.cells.complete(raw, run)
        self.known.learn(rows, done)
        return done


@dataclass(frozen=True, slots=True)
class SharedDicts:
    """A selection of fields derived from one attribute: rows with equal values share a dict."""

    columns: Columns
    known: Known

    def dicts(self, rows: Rows, run: "Run") -> Table:
        try:
            table = self.known.column(rows)
        except Exception:
            return self._built(rows, run)
        run.rows += len(table)
        if run.rows > run.max_rows:
            run.reject()
        run.made.append((self.columns.fields, table))
        return table

    def _built(self, rows: Rows, run: "Run") -> Table:
        faults = run.faults
        table = self.columns.dicts(rows, run)
        if run.faults == faults:
            self.known.learn(rows, table)
        return table


def derived_source(declared: DerivedField, cells: Cells) -> Derived:
    return Derived(declared, cells, known_of(declared.attribute))


def shared(columns: Columns) -> Columns | SharedDicts:
    """The selection, or a `SharedDicts` of it if all its fields derive from one attribute."""
    attributes = {
        column.source.declared.attribute if isinstance(column.source, Derived) else None
        for column in columns.present
    }
    if columns.awaited or len(attributes) != 1 or (attribute := attributes.pop()) is None:
        return columns
    return SharedDicts(columns, known_of(attribute))


def known_of(attribute: str | int) -> Known:
    return Known(reader(attribute), attribute if isinstance(attribute, int) else None)
