"""Stretches of long lists, remembered for a while. Knows nothing of where they come from.

Who comes to a page beyond a list's head is nearly always on a walk through it: so that page and its
next ones are read as one. What is told of a change to the list forgets its stretches with its head.
"""

from collections.abc import Awaitable, Callable
from contextlib import suppress

from graph.errors import Unavailable
from graph.page import Page, Window
from storage.redis import packing
from storage.redis.connection import Redis
from storage.redis.fills import spread
from storage.redis.keys import beyond, lease
from storage.redis.leases import Leases
from storage.redis.scripts import CALL, FILL_STRETCH
from storage.redis.wire import Command

STRETCHES_MAX = 16
"""Of one list: walks through it at the same time, or stretches that one of them has left behind."""

TTL_S = 60
"""After the last was added. Long enough for a walk; what changes the list forgets them anyway."""


class Stretches:
    """Reads pages of lists by stretches of `size` entries. Who reads a cached list, finds them."""

    def __init__(self, redis: Redis, leases: Leases, size: int) -> None:
        self._redis = redis
        self._leases = leases
        self._size = size

    async def page(
        self, key: str, window: Window, read: Callable[[Window], Awaitable[Page]]
    ) -> Page:
        """A page of the list with this key, which neither its head nor a stretch of it holds."""
        is_walk = 0 < 2 * window.size <= self._size
        token = await self._right_to_fill(beyond(key)) if is_walk else None
        if token is None:  # another reader's stretch is on its way: it need not be waited for
            return await read(window)
        wide = window._replace(size=self._size)
        page = await read(wide)
        with suppress(Unavailable):
            await self._redis.pipe([_fill(beyond(key), token, packing.stretch(wide, page))])
        return _narrowed(page, window)

    async def _right_to_fill(self, key: str) -> str | None:
        try:
            return (await self._leases.take([key])).get(key)
        except Unavailable:
            return None


def _fill(key: str, token: str, value: bytes) -> Command:
    return (CALL, FILL_STRETCH, 2, key, lease(key), token, value, spread(TTL_S), STRETCHES_MAX)


def _narrowed(page: Page, window: Window) -> Page:
    """The window's own page out of one that begins as it does."""
    first = max(0, len(page.entries) - window.size) if window.backward else 0
    shown = page.entries[first : first + window.size]
    return Page(shown, page.more or len(shown) < len(page.entries))
