"""Rows that are kept as the columns that they are made of. Knows nothing of plans."""

from collections.abc import Iterator, Sequence
from itertools import chain
from operator import itemgetter
from typing import Any, Generic, TypeVar, cast, overload

RowT_co = TypeVar("RowT_co", covariant=True, bound=tuple[Any, ...])


class Zipped(Sequence[RowT_co], Generic[RowT_co]):
    """Tuples, the first of which are made when somebody goes through them.

    A resolver may return them in place of a list: what is derived from one place of the rows, or
    reads it by `places`, then never makes a tuple.

    >>> rows = Zipped(("a", "b"), (1, 2))
    >>> list(rows), rows.column(1)
    ([('a', 1), ('b', 2)], (1, 2))
    """

    __slots__ = ("_columns",)

    def __init__(self, *columns: Sequence[Any]) -> None:
        self._columns = columns

    def column(self, place: int) -> Sequence[Any]:
        """What stands in this place of every row."""
        return self._columns[place]

    def __len__(self) -> int:
        return len(self._columns[0])

    def __iter__(self) -> Iterator[RowT_co]:
        return cast("Iterator[RowT_co]", zip(*self._columns, strict=True))

    @overload
    def __getitem__(self, index: int) -> RowT_co: ...
    @overload
    def __getitem__(self, index: slice) -> "Zipped[RowT_co]": ...
    def __getitem__(self, index: int | slice) -> "RowT_co | Zipped[RowT_co]":
        columns = [column[index] for column in self._columns]
        return Zipped(*columns) if isinstance(index, slice) else cast("RowT_co", tuple(columns))


def joined(lists: Sequence["Zipped[RowT_co]"]) -> "Zipped[RowT_co]":
    """The rows of all the lists, which have equally many columns, one after the other."""
    if len(lists) == 1:
        return lists[0]
    columns = zip(*[rows._columns for rows in lists], strict=True)
    return Zipped(*[list(chain.from_iterable(pieces)) for pieces in columns])


def places(rows: Any, place: int) -> Sequence[Any]:
    """What stands in this place of every row, whatever holds the rows."""
    return rows.column(place) if type(rows) is Zipped else list(map(itemgetter(place), rows))
