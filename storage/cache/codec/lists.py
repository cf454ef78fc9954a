"""The formats of lists and page ranges. All numbers are big-endian.

list            1 byte: 1 if it is the whole list; then (since, id) each (8, 8), newest first
page range      1 byte: > if read from its newer end, < from its older end; the position of the end
                that was read from, then that of the other end, like entries; then all entries
                between the two. A list's page ranges are a sorted set, so that the range next to a
                position can be found
"""

from collections.abc import Callable, Iterator
from itertools import starmap
from struct import Struct
from typing import cast

from graph.edge import Millis, UserId
from graph.page import Page, Position, Window

_ENTRY = Struct(">qq")
_entries = cast("Callable[[bytes], Iterator[Position]]", _ENTRY.iter_unpack)
_FIRST = Position(Millis(0), UserId(0))


def page_value(page: Page) -> bytes:
    """The cached value of a list head. `page`: the first page of the list."""
    entries = b"".join(starmap(_ENTRY.pack, page.entries))
    return (b"\0" if page.more else b"\1") + entries


def entries_in(value: bytes) -> tuple[tuple[Position, ...], bool]:
    """The entries in a list value, and whether they are complete: the whole list or, in a reply of
    READ_WINDOW, all requested entries.

    `value` may be the beginning of a list value, but must not end within an entry.
    """
    return tuple(_entries(value[1:])), value[0] == 1


def window_bounds(window: Window) -> tuple[bytes, bytes]:
    """The positions `after` and `before` of a window, formatted like entries. Negative dates are
    replaced by 0, because they would sort wrongly as bytes."""
    return _ENTRY.pack(*max(window.after, _FIRST)), _ENTRY.pack(*max(window.before, _FIRST))


def page_range(window: Window, page: Page) -> bytes:
    """The page of a window as a page range. If more entries follow in the window, the last entry of
    the page is left out: its position is the range's other end, which the range excludes."""
    newer, older = window_bounds(window)
    value = page_value(page)[1:]
    if page.more and window.backward:
        newer, value = value[: _ENTRY.size], value[_ENTRY.size :]
    elif page.more:
        older, value = value[-_ENTRY.size :], value[: -_ENTRY.size]
    return (b"<" + older + newer if window.backward else b">" + newer + older) + value


def page_range_in(value: bytes) -> tuple[Position, Position, tuple[Position, ...]]:
    """The positions of a page range's newer and older end, and its entries."""
    first, second, *entries = _entries(value[1:])
    ends = (first, second) if value[:1] == b">" else (second, first)
    return (*ends, tuple(entries))


def bytes_of_entries(count: int) -> int:
    """The length of a list value with `count` entries."""
    return 1 + count * _ENTRY.size
