"""Pages of cached lists: the commands that read a window of a list's head, and the pages in the
replies. A page beyond the head is read from the tables or, of followers, from a page range.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial

from graph.edge import UserId
from graph.lists import ListKind
from graph.page import Page, Position, Window, cut
from storage.cache.codec.lists import bytes_of_entries, entries_in, window_bounds
from storage.cache.read_counts import LIST_READS
from storage.cache.value_lookup import Sources, ValueLookup
from storage.ports.reader import PagesOf
from storage.redis.keys import page_ranges_key
from storage.redis.scripts import CALL, READ_WINDOW
from storage.redis.wire import Command, Reply

_page: Callable[[tuple[tuple[Position, ...], bool]], Page] = partial(tuple.__new__, Page)
"""Makes a `Page` without its constructor, which is slower."""


class PageLookup(ValueLookup[Page, Page]):
    """Pages from the cached heads and ranges of lists."""

    __slots__ = ("_request", "_sources", "_viewer", "read_counts")

    def __init__(self, request: PagesOf, viewer: UserId | None, sources: Sources) -> None:
        self._request = request
        self._viewer = viewer
        self._sources = sources
        self.users = request.owners
        self.read_counts = LIST_READS[request.kind]
        self.cached_kind = sources.cached_kinds.lists[request.kind]
        self.commands = window_reads(request.window, self.cached_kind.keys(request.owners))

    def reads(self, keys: Sequence[str]) -> list[Command]:
        return window_reads(self._request.window, keys)

    def column(self, replies: Sequence[Reply]) -> Sequence[Reply]:
        return replies

    def decode(self, values: Sequence[bytes]) -> Sequence[Page | None]:
        return pages_in(self._request.window, values)

    def from_value(self, value: Page) -> Page | None:
        return page_of_head(self._request.window, value)

    def rows(self, users: Sequence[UserId]) -> Awaitable[Mapping[UserId, Page]]:
        request = self._request
        return self._sources.tables.lists.pages(request.kind, users, request.window, self._viewer)

    async def read_beyond(self, users: Sequence[UserId]) -> Mapping[UserId, Page]:
        # Only lists of followers are unbounded, so only their later pages are cached as ranges.
        kind, window, lists = self._request.kind, self._request.window, self._sources.tables.lists
        if kind is not ListKind.FOLLOWERS or len(users) > 1:
            return await lists.pages(kind, users, window, None)
        (user,) = users

        async def read(window: Window) -> Page:
            return (await lists.pages(kind, users, window, None))[user]

        return {user: await self._sources.ranges.page(self.cached_kind.key(user), window, read)}

    def answer(self, replies: Sequence[Reply]) -> Mapping[UserId, Page] | None:
        if not all(replies):
            return None
        pages = pages_in(self._request.window, replies)
        if None in pages:
            return None
        return dict(zip(self.users, pages, strict=True))  # type: ignore[arg-type]


def window_reads(window: Window, keys: Sequence[str]) -> list[Command]:
    """Commands that read the window's entries and one more, which shows whether there is a next
    page."""
    wanted = window.size + 1
    if window.at_head:
        last = bytes_of_entries(wanted) - 1
        return [("GETRANGE", key, 0, last) for key in keys]
    arguments = (*window_bounds(window), wanted, int(window.backward))
    return [(CALL, READ_WINDOW, 2, key, page_ranges_key(key), *arguments) for key in keys]


def pages_in(window: Window, values: Sequence[bytes]) -> list[Page | None]:
    """The window's pages in the replies. None: neither the cached head nor a page range holds the
    whole page."""
    size, backward = window.size, window.backward
    pages: list[Page | None] = []
    for entries, is_complete in map(entries_in, values):
        if len(entries) > size:
            first = len(entries) - size if backward else 0
            pages.append(_page((entries[first : first + size], True)))
        else:
            pages.append(_page((entries, False)) if is_complete else None)
    return pages


def page_of_head(window: Window, head: Page) -> Page | None:
    """The window's page in a list head, or None if the head does not hold the whole page."""
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
