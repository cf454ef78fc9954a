"""Object columns: finds the type of each row, and turns the rows into dicts."""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from typing import Any

from graphql import GraphQLObjectType

from engine.field_errors import bail_out_of_awaitables, partition_column
from engine.info import FieldInfo
from engine.plan import SelectionSet
from engine.run import (
    Column,
    ColumnTypes,
    Completion,
    FastPath,
    Field,
    Run,
    fast_paths_of,
    unchanged,
)
from engine.type_resolution import TypeResolution


@dataclass(frozen=True, slots=True)
class ObjectCompletion(Completion):
    """The completion of an object type, an interface or a union."""

    field: Field
    types: TypeResolution
    selection_set_of: Callable[[GraphQLObjectType], SelectionSet]
    may_be_null: bool
    by_class: dict[type, SelectionSet] = dataclass_field(default_factory=dict)
    """Python classes whose instances are all rows of one object type."""

    fast_paths: dict[ColumnTypes, FastPath] = dataclass_field(
        default_factory=lambda: {frozenset(): unchanged}
    )
    """The fast paths of columns of one such class, and of empty columns."""

    has_rows = True

    def row_bytes(self) -> int | None:
        known = [selection_set.whole_row_bytes() for selection_set in self.by_class.values()]
        return max((one for one in known if one is not None), default=None) if all(known) else None

    def complete_each(self, column: Column, run: Run) -> Column:
        bail_out_of_awaitables(column)
        typed = [self._typed(row, run) for row in column]
        partition = partition_column(typed, self.field, run, may_be_null=self.may_be_null)
        return partition.merged(self._execute(partition.present, run))

    def _typed(self, row: Any, run: Run) -> Any:
        """The row with its selection set, or None, or a field error."""
        if row is None or isinstance(row, Exception):
            return row
        row_class = type(row)
        selection_set = self.by_class.get(row_class)
        if selection_set is not None:
            return selection_set, row
        try:
            object_type = self.types.object_type(row, self.field, FieldInfo(self.field, run))
        except Exception as error:
            return error
        selection_set = self.selection_set_of(object_type)
        if self.types.is_decided_by_class_of(row):
            self.by_class[row_class] = selection_set
            self.fast_paths.update(fast_paths_of(row_class, selection_set.execute))
        return selection_set, row

    def _execute(self, typed: Column, run: Run) -> list[Any]:
        """The dicts of rows of several types, in order."""
        groups: defaultdict[int, list[int]] = defaultdict(list)
        for position, (selection_set, _) in enumerate(typed):
            groups[id(selection_set)].append(position)
        objects: list[Any] = [None] * len(typed)
        for positions in groups.values():
            selection_set = typed[positions[0]][0]
            built = selection_set.execute([typed[position][1] for position in positions], run)
            for position, one in zip(positions, built, strict=True):
                objects[position] = one
        return objects
