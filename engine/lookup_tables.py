"""Lookup tables for derived fields: each value of the attribute is computed and completed once."""

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from engine.codegen import ResponseObjects
from engine.columnar_rows import ColumnarRows
from engine.derived import DerivedField, attribute_reader
from engine.plan import FieldColumns
from engine.resolvers import value_or_error
from engine.run import Column, Completion, Rows, Run, SyncResolver

MAX_RESULTS = 1_024  # an attribute with more values is not worth a table


@dataclass(frozen=True, slots=True)
class LookupTable:
    """A table from the values of an attribute to the results computed so far."""

    read: Callable[[Any], Any]
    index: int | None
    """The index of the attribute, in rows that are tuples."""

    results: dict[Any, Any] = field(default_factory=dict)

    def column(self, rows: Rows) -> list[Any]:
        """Look up all rows. Raises KeyError for a value without a result, TypeError for an
        unhashable one, and what reading a row raises."""
        if type(rows) is ColumnarRows and self.index is not None:
            return list(map(self.results.__getitem__, rows.columns[self.index]))
        column = [*map(self.results.__getitem__, map(self.read, rows))]
        if len(column) != len(rows):
            raise RuntimeError("An attribute raised StopIteration, which ends map().")
        return column

    def store(self, rows: Rows, results: Iterable[Any]) -> None:
        """Store the results for these rows, except for field errors and unhashable values."""
        for row, result in zip(rows, results, strict=True):
            if len(self.results) < MAX_RESULTS and not isinstance(result, Exception):
                with suppress(TypeError):
                    self.results[self.read(row)] = result


def lookup_table(attribute: str | int) -> LookupTable:
    index = attribute if isinstance(attribute, int) else None
    return LookupTable(attribute_reader(attribute), index)


class DerivedResolver(SyncResolver):
    """Resolves and completes a derived field."""

    __slots__ = ("completion", "declared", "table")

    def __init__(self, declared: DerivedField, completion: Completion) -> None:
        self.declared = declared
        self.completion = completion
        self.table = lookup_table(declared.attribute)

    @property
    def function(self) -> Callable[[Rows], Any]:
        return self.table.column

    def column_after_error(self, error: Exception, rows: Rows, run: Run) -> Column:
        """Compute all values after `function` has not found one in the table, and store them."""
        raw = [value_or_error(self.declared.value, row) for row in rows]
        completed = self.completion.complete(raw, run)
        self.table.store(rows, completed)
        return completed


@dataclass(frozen=True, slots=True)
class SharedObjects:
    """A selection set of fields derived from one attribute: rows with equal values share a dict."""

    columns: FieldColumns
    table: LookupTable

    def whole_row_bytes(self) -> int | None:
        return self.columns.whole_row_bytes()

    def execute(self, rows: Rows, run: Run) -> ResponseObjects:
        try:
            objects = self.table.column(rows)
        except Exception:
            return self._build(rows, run)
        run.rows += len(objects)
        run.bytes += len(objects) * self.columns.row_bytes
        if run.rows > run.max_rows or run.bytes > run.max_bytes:
            run.exceed_limit()
        run.objects.append((self.columns.fields, objects))
        return objects

    def _build(self, rows: Rows, run: Run) -> ResponseObjects:
        field_errors = run.field_errors
        objects = self.columns.execute(rows, run)
        if run.field_errors == field_errors:
            self.table.store(rows, objects)
        return objects


def with_shared_objects(columns: FieldColumns) -> FieldColumns | SharedObjects:
    """The selection set, or a `SharedObjects` of it if all fields derive from one attribute."""
    attributes = {
        column.resolver.declared.attribute if isinstance(column.resolver, DerivedResolver) else None
        for column in columns.sync
    }
    if columns.pending or len(attributes) != 1 or (attribute := attributes.pop()) is None:
        return columns
    return SharedObjects(columns, lookup_table(attribute))
