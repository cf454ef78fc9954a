"""A cache of page ranges: parts of long lists beyond the cached head.

A reader of a page beyond a list's head is nearly always scrolling through the list, so that page
and the next ones are read as one range. Invalidating a list deletes its page ranges with its head.
"""

from collections.abc import Awaitable, Callable
from contextlib import suppress

from graph.errors import Unavailable
from graph.page import Page, Window
from storage.cache.codec.lists import page_range
from storage.cache.lease import Leases, spread
from storage.redis.connection import Redis
from storage.redis.keys import beyond, lease
from storage.redis.scripts import CALL, FILL_RANGE
from storage.redis.wire import Command

RANGES_MAX = 16
"""Page ranges of one list: readers who scroll through it at the same time, and their earlier
ranges."""

TTL_S = 60
"""Time to live, renewed when a range is added. Long enough to scroll; changes delete the ranges
earlier."""


class RangeCache:
    """Reads page ranges of `size` entries from the tables and caches them. READ_WINDOW finds them
    there."""

    def __init__(self, redis: Redis, leases: Leases, size: int) -> None:
        self._redis = redis
        self._leases = leases
        self._size = size

    async def page(
        self, key: str, window: Window, read: Callable[[Window], Awaitable[Page]]
    ) -> Page:
        """A page of the list at `key` that neither its head nor a cached page range contains."""
        is_walk = 0 < 2 * window.size <= self._size
        token = await self._right_to_fill(beyond(key)) if is_walk else None
        if token is None:  # another reader is loading a page range
            return await read(window)
        wide = window._replace(size=self._size)
        page = await read(wide)
        with suppress(Unavailable):
            await self._redis.pipe([_fill(beyond(key), token, page_range(wide, page))])
        return _narrowed(page, window)

    async def _right_to_fill(self, key: str) -> str | None:
        try:
            return (await self._leases.take([key])).get(key)
        except Unavailable:
            return None


def _fill(key: str, token: str, value: bytes) -> Command:
    return (CALL, FILL_RANGE, 2, key, lease(key), token, value, spread(TTL_S), RANGES_MAX)


def _narrowed(page: Page, window: Window) -> Page:
    """The window's page, cut from a longer page with the same start."""
    first = max(0, len(page.entries) - window.size) if window.backward else 0
    shown = page.entries[first : first + window.size]
    return Page(shown, page.more or len(shown) < len(page.entries))
