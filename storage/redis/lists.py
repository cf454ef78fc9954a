"""Cached heads of lists: their newest entries."""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial

from graph.edge import UserId
from graph.page import ListKind, Page, Position, Window, cut
from storage.cache.tables import Lists
from storage.redis import packing
from storage.redis.keys import Keys, beyond
from storage.redis.own_writes import OwnWrites
from storage.redis.range_cache import RangeCache
from storage.redis.scripts import CALL, READ_WINDOW
from storage.redis.values import CachedValues, Question, View
from storage.redis.wire import Command

VIEWS_HELD = 256
"""Every size of a first page. Windows with cursors are evicted sooner."""

_page: Callable[[tuple[tuple[Position, ...], bool]], Page] = partial(tuple.__new__, Page)


class CachedLists:
    """Implements `storage.ports.Lists`: caches the newest `most` entries of each list.

    A page reads only as much of the head as it shows. Later pages come from the tables; those of
    followers, which are unbounded, are read and cached as page ranges.
    """

    def __init__(
        self,
        inner: Lists,
        own: OwnWrites,
        range_cache: RangeCache,
        keys: Keys,
        ttl_s: int,
        most: int,
    ) -> None:
        self._inner = inner
        self._own = own
        self._stretches = range_cache
        self._keys = keys
        self._values = {
            kind: CachedValues[Page](
                keys.all_entries(kind),
                pack=packing.page_value,
                ttl_s=lambda _: ttl_s,
            )
            for kind in ListKind
        }
        self._loads = {
            kind: partial(inner.pages, kind, window=Window(most), viewer=None) for kind in ListKind
        }

    async def pages(
        self, kind: ListKind, users: Sequence[UserId], window: Window, viewer: UserId | None
    ) -> Mapping[UserId, Page]:
        (found,) = await self._own.seen(viewer, self.question(kind, users, window, viewer))
        return dict(zip(users, found, strict=True))

    def question(
        self, kind: ListKind, users: Sequence[UserId], window: Window, viewer: UserId | None
    ) -> Question[Page, Page]:
        """The same as a question, to be asked in one round trip with others."""
        return Question(
            users,
            self._values[kind],
            _view(window),
            self._loads[kind],
            read=partial(self._inner.pages, kind, window=window, viewer=viewer),
            beyond=partial(self._beyond, kind, window),
        )

    async def _beyond(
        self, kind: ListKind, window: Window, users: Sequence[UserId]
    ) -> Mapping[UserId, Page]:
        """Read from the tables the pages that neither the heads nor the page ranges contain."""
        if kind is not ListKind.FOLLOWERS or len(users) > 1:
            return await self._inner.pages(kind, users, window, None)
        (user,) = users

        async def read(window: Window) -> Page:
            return (await self._inner.pages(kind, users, window, None))[user]

        return {user: await self._stretches.page(self._keys.entries(kind, user), window, read)}


@lru_cache(VIEWS_HELD)
def _view(window: Window) -> View[Page, Page | None]:
    """A view of a window. Its answer is None if the cached head is too short."""
    return View(
        partial(_pages_of_parts, window), partial(page_of_head, window), partial(_parts, window)
    )


def _parts(window: Window, keys: Sequence[str]) -> list[Command]:
    """Commands that read the window's entries and one more, which shows whether there is a next
    page."""
    wanted = window.size + 1
    if window.at_head:
        last = packing.bytes_of_entries(wanted) - 1
        return [("GETRANGE", key, 0, last) for key in keys]
    asked = (*packing.bounds(window), wanted, int(window.backward))
    return [(CALL, READ_WINDOW, 2, key, beyond(key), *asked) for key in keys]


def _pages_of_parts(window: Window, parts: Sequence[bytes]) -> list[Page | None]:
    size, backward = window.size, window.backward
    pages: list[Page | None] = []
    for entries, is_end in map(packing.entries_in, parts):
        if len(entries) > size:
            pages.append(
                _page((entries[len(entries) - size :] if backward else entries[:size], True))
            )
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
