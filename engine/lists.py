"""List columns: flattened, completed as one column, and split again."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from itertools import accumulate, islice
from typing import Any

from graphql import GraphQLError
from graphql.pyutils import is_iterable

from engine.columnar_rows import ColumnarRows, joined
from engine.errors import BailOut
from engine.field_errors import bail_out_of_awaitables, is_null_or_error, partition_column
from engine.run import Column, ColumnTypes, Completion, FastPath, Field, Run, fast_paths_of

LIST_TYPES = (list, tuple, ColumnarRows)  # types with a length, which need no copy


@dataclass(frozen=True, slots=True)
class ListCompletion(Completion):
    """The completion of a list type."""

    field: Field
    items: Completion
    may_be_null: bool
    counts_rows: bool
    """Whether the items count as rows. Objects count themselves."""

    fast_paths: Mapping[ColumnTypes, FastPath] = dataclass_field(init=False)
    has_rows: bool = dataclass_field(init=False)

    def __post_init__(self) -> None:
        fast_paths: dict[ColumnTypes, FastPath] = {}
        for list_type in LIST_TYPES:
            fast_paths |= fast_paths_of(list_type, self._complete_lists)
        object.__setattr__(self, "fast_paths", fast_paths)
        object.__setattr__(self, "has_rows", self.items.has_rows)

    def complete_each(self, column: Column, run: Run) -> Column:
        bail_out_of_awaitables(column)
        lists = [_items(value, self.field, run) for value in column]
        partition = partition_column(lists, self.field, run, may_be_null=self.may_be_null)
        return partition.merged(self._complete_lists(partition.present, run))

    def _complete_lists(self, lists: Sequence[Any], run: Run) -> Column:
        """Complete the items of all lists as one column. No list may be null or an error."""
        is_one = len(lists) == 1 and type(lists[0]) is not tuple
        items = lists[0] if is_one else joined(lists)
        if self.counts_rows:
            run.count_rows(len(items))
        completed = self.items.complete(items, run)
        if len(lists) == 1:
            return [completed]
        # len() of a ColumnarRows is a Python function that calls len() of its first column.
        lengths = [len(one.columns[0] if type(one) is ColumnarRows else one) for one in lists]
        ends = accumulate(lengths)
        return [completed[end - length : end] for length, end in zip(lengths, ends, strict=True)]


def _items(value: Any, field: Field, run: Run) -> Any:
    """The items of an iterable; nulls and field errors unchanged; other values as a field error."""
    if type(value) in LIST_TYPES or is_null_or_error(value):
        return value
    if hasattr(value, "__aiter__"):
        raise BailOut("async_iterable")
    if not is_iterable(value):
        name = f"'{field.parent}.{field.name}'"
        return GraphQLError(f"Expected Iterable, but did not find one for field {name}.")
    try:
        items = list(islice(value, run.max_rows + 1))  # the iterable may be infinite
    except Exception as error:
        return error
    return items if len(items) <= run.max_rows else run.exceed_limit()
