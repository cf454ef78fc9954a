"""Columnar rows behave like a list of tuples."""

import pytest

from engine import ColumnarRows, column_of
from engine.columnar_rows import joined

ROWS: ColumnarRows[tuple[str, int]] = ColumnarRows(["a", "b", "c"], (1, 2, 3))
LIST = [("a", 1), ("b", 2), ("c", 3)]


def test_columnar_rows_have_the_items_of_the_list() -> None:
    assert list(ROWS) == LIST
    assert [ROWS[0], ROWS[-1]] == [LIST[0], LIST[-1]]
    assert list(ROWS[1:]) == LIST[1:]
    assert list(reversed(ROWS)) == LIST[::-1]
    assert ("b", 2) in ROWS
    assert len(ROWS) == 3
    assert not ColumnarRows([], [])


def test_column_of_reads_columnar_rows_and_lists() -> None:
    assert list(column_of(ROWS, 1)) == list(column_of(LIST, 1)) == [1, 2, 3]


def test_columns_of_different_lengths_are_rejected() -> None:
    with pytest.raises(ValueError, match="must have equal lengths"):
        ColumnarRows([1, 2], [1])


def test_columnar_rows_of_equal_width_are_joined_by_column() -> None:
    both = joined([ROWS, ROWS[:1]])
    assert isinstance(both, ColumnarRows)
    assert list(both) == [*LIST, LIST[0]]
    assert joined([ROWS, LIST]) == LIST + LIST
    assert joined([ROWS, ColumnarRows([1])]) == [*LIST, (1,)]
    assert joined([]) == []
