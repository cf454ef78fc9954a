"""List columns: flattened, completed as one column, and split again."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from itertools import accumulate, islice
from typing import TYPE_CHECKING, Any

from graphql import GraphQLError
from graphql.pyutils import is_iterable

from engine.columnar_rows import ColumnarRows, joined
from engine.errors import BailOut
from engine.faults import bail_out_of_awaitables, is_null_or_fault, sift
from engine.field import Cells, Column, Field, Held, Quick, holding

if TYPE_CHECKING:
    from engine.run import Run


_READY = (list, tuple, ColumnarRows)  # types with a length, which need no copy


@dataclass(frozen=True, slots=True)
class Lists(Cells):
    """The cells of a list type."""

    field: Field
    items: Cells
    may_be_null: bool
    counts_rows: bool
    """Whether the items count as rows. Objects count themselves."""

    quick: Mapping[Held, Quick] = dataclass_field(init=False)

    def __post_init__(self) -> None:
        quick: dict[Held, Quick] = {}
        for ready in _READY:
            quick |= holding(ready, self._lists)
        object.__setattr__(self, "quick", quick)

    def closely(self, column: Column, run: "Run") -> Column:
        bail_out_of_awaitables(column)
        ready = [_items(value, self.field, run) for value in column]
        sifted = sift(ready, self.field, run, may_be_null=self.may_be_null)
        return sifted.restored(self._lists(sifted.present, run))

    def _lists(self, lists: Sequence[Any], run: "Run") -> Column:
        flat = joined(lists)
        if self.counts_rows:
            run.spend(len(flat))
        done = self.items.complete(flat, run)
        if len(lists) == 1:
            return [done]
        # len() of a ColumnarRows is a Python function that calls len() of its first column.
        lengths = [len(a.columns[0] if type(a) is ColumnarRows else a) for a in lists]
        ends = accumulate(lengths)
        return [done[end - length : end] for length, end in zip(lengths, ends, strict=True)]


def _items(value: Any, field: Field, run: "Run") -> Any:
    """The items of an iterable; nulls and field errors unchanged; other values as a field error."""
    if type(value) in _READY or is_null_or_fault(value):
        return value
    if hasattr(value, "__aiter__"):
        raise BailOut("async_iterable")
    if not is_iterable(value):
        place = f"'{field.parent}.{field.name}'"
        return GraphQLError(f"Expected Iterable, but did not find one for field {place}.")
    try:
        items = list(islice(value, run.max_rows + 1))  # the iterable may be infinite
    except Exception as error:
        return error
    return items if len(items) <= run.max_rows else run.reject()
