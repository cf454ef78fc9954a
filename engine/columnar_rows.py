"""Columnar rows: rows stored as columns."""

from collections.abc import Iterator, Sequence
from itertools import chain
from operator import itemgetter
from typing import Any, Generic, TypeVar, cast, overload

RowT_co = TypeVar("RowT_co", covariant=True, bound=tuple[Any, ...])


class ColumnarRows(Sequence[RowT_co], Generic[RowT_co]):
    """Tuples stored as columns; iterating creates the tuples.

    A resolver may return one instead of a list. Fields derived from one item of the rows, and
    resolvers that use `column_of`, then create no tuples. Raises ValueError for columns of
    different lengths.

    >>> rows = ColumnarRows(("a", "b"), (1, 2))
    >>> rows, list(rows), rows.column(1)
    (ColumnarRows(('a', 'b'), (1, 2)), [('a', 1), ('b', 2)], (1, 2))
    """

    __slots__ = ("columns",)

    def __init__(self, first: Sequence[Any], *others: Sequence[Any]) -> None:
        length = len(first)
        for column in others:
            if len(column) != length:
                raise ValueError(
                    f"The columns of rows must have equal lengths, got {length} and {len(column)}."
                )
        self.columns = first, *others

    def column(self, index: int) -> Sequence[Any]:
        """The item with this index of every row."""
        return self.columns[index]

    def __len__(self) -> int:
        return len(self.columns[0])

    def __iter__(self) -> Iterator[RowT_co]:
        rows: Iterator[Any] = zip(*self.columns, strict=True)
        return rows

    @overload
    def __getitem__(self, index: int) -> RowT_co: ...
    @overload
    def __getitem__(self, index: slice) -> "ColumnarRows[RowT_co]": ...
    def __getitem__(self, index: int | slice) -> "RowT_co | ColumnarRows[RowT_co]":
        columns = [column[index] for column in self.columns]
        return (
            ColumnarRows(*columns) if isinstance(index, slice) else cast("RowT_co", tuple(columns))
        )

    def __repr__(self) -> str:
        return f"ColumnarRows({', '.join(map(repr, self.columns))})"


def joined(lists: Sequence[Sequence[Any]]) -> "list[Any] | ColumnarRows[Any]":
    """The items of all lists in sequence; column by column if all lists are `ColumnarRows`."""
    if len(lists) == 1 and type(lists[0]) is ColumnarRows:
        return lists[0]
    columns = [rows.columns for rows in lists if type(rows) is ColumnarRows]
    if len(columns) < len(lists) or len(set(map(len, columns))) != 1:
        return list(chain.from_iterable(lists))
    return ColumnarRows(
        *[list(chain.from_iterable(pieces)) for pieces in zip(*columns, strict=True)]
    )


def is_column(items: Any) -> bool:
    """Whether these are items that need no awaiting or iterating."""
    return type(items) in (list, ColumnarRows)


def column_of(rows: Any, index: int) -> Sequence[Any]:
    """The item with this index of every row, for any kind of rows that are tuples."""
    return rows.columns[index] if type(rows) is ColumnarRows else list(map(itemgetter(index), rows))
