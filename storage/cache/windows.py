"""Windows of cached lists: what to read of a list's head, and the pages in the replies."""

from collections.abc import Callable, Sequence
from functools import partial

from graph.page import Page, Position, Window, cut
from storage.cache.codec.lists import bytes_of_entries, entries_in, window_bounds
from storage.redis.keys import beyond
from storage.redis.scripts import CALL, READ_WINDOW
from storage.redis.wire import Command

_page: Callable[[tuple[tuple[Position, ...], bool]], Page] = partial(tuple.__new__, Page)


def window_reads(window: Window, keys: Sequence[str]) -> list[Command]:
    """Commands that read the window's entries and one more, which shows whether there is a next
    page."""
    wanted = window.size + 1
    if window.at_head:
        last = bytes_of_entries(wanted) - 1
        return [("GETRANGE", key, 0, last) for key in keys]
    asked = (*window_bounds(window), wanted, int(window.backward))
    return [(CALL, READ_WINDOW, 2, key, beyond(key), *asked) for key in keys]


def pages_in(window: Window, values: Sequence[bytes]) -> list[Page | None]:
    """The window's pages in the replies. None: neither the cached head nor a page range holds the
    page."""
    size, backward = window.size, window.backward
    pages: list[Page | None] = []
    for entries, is_end in map(entries_in, values):
        if len(entries) > size:
            first = len(entries) - size if backward else 0
            pages.append(_page((entries[first : first + size], True)))
        else:
            pages.append(_page((entries, False)) if is_end else None)
    return pages


def page_of_head(window: Window, head: Page) -> Page | None:
    """The window's page, or None if the head is too short."""
    if window.at_head:  # nearly always
        if len(head.entries) > window.size:
            return Page(head.entries[: window.size], more=True)
        if not head.more:
            return head
    ends_beyond = head.more and window.before < head.entries[-1]
    if ends_beyond and (window.backward or window.after <= head.entries[-1]):
        return None  # the window lies beyond the head
    page = cut(head.entries, window)
    return page if page.more or not ends_beyond else None
