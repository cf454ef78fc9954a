"""Rows that are kept by the column behave like the list of tuples that they stand for."""

import pytest

from engine import ColumnarRows, column_of
from engine.columnar_rows import joined

ROWS: ColumnarRows[tuple[str, int]] = ColumnarRows(["a", "b", "c"], (1, 2, 3))
LIST = [("a", 1), ("b", 2), ("c", 3)]


def test_rows_are_tuples_to_every_iterator() -> None:
    assert list(ROWS) == LIST
    assert [ROWS[0], ROWS[-1]] == [LIST[0], LIST[-1]]
    assert list(ROWS[1:]) == LIST[1:]
    assert list(reversed(ROWS)) == LIST[::-1]
    assert ("b", 2) in ROWS
    assert len(ROWS) == 3
    assert not ColumnarRows([], [])


def test_a_place_is_read_of_rows_however_they_are_kept() -> None:
    assert list(column_of(ROWS, 1)) == list(column_of(LIST, 1)) == [1, 2, 3]


def test_columns_of_unlike_lengths_are_rejected_where_they_are_put_together() -> None:
    with pytest.raises(ValueError, match="must have equal lengths"):
        ColumnarRows([1, 2], [1])


def test_lists_are_joined_by_the_column_where_all_are_so() -> None:
    both = joined([ROWS, ROWS[:1]])
    assert isinstance(both, ColumnarRows)
    assert list(both) == [*LIST, LIST[0]]
    assert joined([ROWS, LIST]) == LIST + LIST
    assert joined([ROWS, ColumnarRows([1])]) == [*LIST, (1,)]
    assert joined([]) == []
