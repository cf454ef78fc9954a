"""The formats of lists and page ranges. All numbers are big-endian.

list            1 byte: 1 if it is the whole list; then (since, id) each (8, 8), newest first
page range      1 byte: > if read from its new end, < from its old one; the positions of that end
                and of the other, like entries; then all entries between the two. A list's page
                ranges are a sorted set, so that the one next to a position can be found
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
    """A list's newest entries; `page` begins at the list's head."""
    entries = b"".join(starmap(_ENTRY.pack, page.entries))
    return (b"\0" if page.more else b"\1") + entries


def entries_in(value: bytes) -> tuple[tuple[Position, ...], bool]:
    """A value's entries, and whether they are complete: the whole list or, from READ_WINDOW, all
    requested entries.

    A value that was read in part must end at an entry's boundary.
    """
    return tuple(_entries(value[1:])), value[0] == 1


def window_bounds(window: Window) -> tuple[bytes, bytes]:
    """The window's positions, formatted like entries. Negative dates would break the byte order."""
    return _ENTRY.pack(*max(window.after, _FIRST)), _ENTRY.pack(*max(window.before, _FIRST))


def page_range(window: Window, page: Page) -> bytes:
    """The page of a window as a page range. If the list goes on, the page's last entry becomes the
    end position, where the next range begins."""
    new, old = window_bounds(window)
    value = page_value(page)[1:]
    if page.more and window.backward:
        new, value = value[: _ENTRY.size], value[_ENTRY.size :]
    elif page.more:
        old, value = value[-_ENTRY.size :], value[: -_ENTRY.size]
    return (b"<" + old + new if window.backward else b">" + new + old) + value


def page_range_in(value: bytes) -> tuple[Position, Position, tuple[Position, ...]]:
    """The position before its entries, the one after them, and the entries."""
    new, old, *entries = _entries(value[1:])
    return (new, old, tuple(entries)) if value[:1] == b">" else (old, new, tuple(entries))


def bytes_of_entries(count: int) -> int:
    """The length of a list value with `count` entries."""
    return 1 + count * _ENTRY.size
