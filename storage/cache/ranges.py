"""A cache of page ranges: parts of long lists beyond the cached head.

A reader of a page beyond a list's head is nearly always scrolling through the list, so this page
and the following ones are read as one range. Invalidating a list deletes its page ranges too.
"""

from collections.abc import Awaitable, Callable
from contextlib import suppress

from graph.errors import Unavailable
from graph.page import Page, Window
from storage.cache.codec.lists import page_range
from storage.cache.lease import Leases, spread
from storage.redis.connection import Redis
from storage.redis.keys import lease, page_ranges_key
from storage.redis.scripts import CALL, FILL_RANGE
from storage.redis.wire import Command

RANGES_MAX = 16
"""The maximum of cached page ranges of one list, of all readers who scroll through it. One more
replaces all of them."""

TTL_S = 60
"""Time to live of a list's page ranges, renewed when a range is added: long enough to scroll.
Changes of the list delete the ranges earlier."""


class RangeCache:
    """Reads page ranges of `size` entries from the tables and caches them. The script READ_WINDOW
    reads cached ranges."""

    def __init__(self, redis: Redis, leases: Leases, size: int) -> None:
        self._redis = redis
        self._leases = leases
        self._size = size

    async def page(
        self, key: str, window: Window, read: Callable[[Window], Awaitable[Page]]
    ) -> Page:
        """Read a page of the list at `key` that neither its head nor a cached page range contains,
        and cache a page range that begins with it, unless the page is longer than half a range or
        another reader holds the lease. `read`: reads a window from the tables."""
        is_worth_caching = 0 < 2 * window.size <= self._size
        token = await self._take_lease(page_ranges_key(key)) if is_worth_caching else None
        if token is None:  # not to be cached, or another reader is loading a page range
            return await read(window)
        range_window = window._replace(size=self._size)
        page = await read(range_window)
        with suppress(Unavailable):
            await self._redis.pipe(
                [_fill(page_ranges_key(key), token, page_range(range_window, page))]
            )
        return _beginning(page, window)

    async def _take_lease(self, key: str) -> str | None:
        """The token of a lease, or None if another reader holds it or Redis is unavailable."""
        try:
            return (await self._leases.take([key])).get(key)
        except Unavailable:
            return None


def _fill(key: str, token: str, value: bytes) -> Command:
    return (CALL, FILL_RANGE, 2, key, lease(key), token, value, spread(TTL_S), RANGES_MAX)


def _beginning(page: Page, window: Window) -> Page:
    """The window's page, cut from a longer page that begins at the same end."""
    first = max(0, len(page.entries) - window.size) if window.backward else 0
    entries = page.entries[first : first + window.size]
    return Page(entries, page.more or len(entries) < len(page.entries))
