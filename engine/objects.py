"""Object columns: rows are recognised by type and turned into dicts."""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from typing import TYPE_CHECKING, Any, TypeAlias

from graphql import GraphQLObjectType

from engine.faults import bail_out_of_awaitables, sift
from engine.field import Cells, Column, Field, Held, Quick, as_it_is, holding
from engine.info import FieldInfo
from engine.plan import Selection
from engine.recognition import Recognition

if TYPE_CHECKING:
    from engine.run import Run

SelectionOf: TypeAlias = Callable[[GraphQLObjectType], Selection]


@dataclass(frozen=True, slots=True)
class Objects(Cells):
    """The cells of an object type, an interface or a union."""

    field: Field
    recognition: Recognition
    selection_of: SelectionOf
    may_be_null: bool
    by_class: dict[type, Selection] = dataclass_field(default_factory=dict)
    """Python classes whose instances are all rows of one object type."""

    quick: dict[Held, Quick] = dataclass_field(default_factory=lambda: {frozenset(): as_it_is})
    """The fast paths of columns of one such class, and of empty columns."""

    def closely(self, column: Column, run: "Run") -> Column:
        bail_out_of_awaitables(column)
        recognised = [self._recognised(row, run) for row in column]
        sifted = sift(recognised, self.field, run, may_be_null=self.may_be_null)
        return sifted.restored(self._dicts(sifted.present, run))

    def _recognised(self, row: Any, run: "Run") -> Any:
        """The row with its selection, or None, or a field error."""
        if row is None or isinstance(row, Exception):
            return row
        row_class = type(row)
        selection = self.by_class.get(row_class)
        if selection is not None:
            return selection, row
        try:
            object_type = self.recognition.object_type(row, self.field, FieldInfo(self.field, run))
        except Exception as error:
            return error
        selection = self.selection_of(object_type)
        if self.recognition.is_decided_by_class_of(row):
            self.by_class[row_class] = selection
            self.quick.update(holding(row_class, selection.dicts))
        return selection, row

    def _dicts(self, recognised: Column, run: "Run") -> list[Any]:
        """The dicts of rows of several types, in order."""
        column_of: defaultdict[int, list[int]] = defaultdict(list)
        for place, (selection, _) in enumerate(recognised):
            column_of[id(selection)].append(place)
        groups = list(column_of.values())
        if len(groups) == 1:
            return self._group(recognised, groups[0], run)
        dicts: list[Any] = [None] * len(recognised)
        for group in groups:
            for place, made in zip(group, self._group(recognised, group, run), strict=True):
                dicts[place] = made
        return dicts

    def _group(self, recognised: Column, group: list[int], run: "Run") -> list[Any]:
        selection = recognised[group[0]][0]
        return list(selection.dicts([recognised[place][1] for place in group], run))
