"""The newest entries of lists, remembered. Knows nothing of where they come from."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple

from graph.edge import UserId
from graph.page import ListKind, Page, Position, Window, cut
from storage.ports import Lists, Pending
from storage.redis import own_writes, packing
from storage.redis.connection import Redis
from storage.redis.keys import Keys
from storage.redis.leases import Leases
from storage.redis.values import CachedValues


class Head(NamedTuple):
    """The newest entries of a list. `whole`: nothing comes after them."""

    entries: list[Position]
    whole: bool


class CachedLists:
    """Keeps `storage.ports.Lists`: the head of each list, as far as `most`; the index beyond it.

    The first page reads no more of a value than it shows.
    """

    def __init__(
        self,
        worn: Lists,
        pending: Pending,
        redis: Redis,
        leases: Leases,
        keys: Keys,
        ttl_s: int,
        most: int,
    ) -> None:
        self._worn = worn
        self._pending = pending
        self._most = most
        self._values = {
            kind: CachedValues[Head](
                redis,
                leases,
                partial(keys.entries, kind),
                pack=lambda head: packing.page_value(Page(tuple(head.entries), not head.whole)),
                unpack=lambda value: Head(*packing.entries_in(value)),
                ttl_s=lambda _: ttl_s,
            )
            for kind in ListKind
        }

    async def pages(
        self, kind: ListKind, users: Sequence[UserId], window: Window, viewer: UserId | None
    ) -> Mapping[UserId, Page]:
        own = await own_writes.towards(self._pending, viewer)
        heads = await self._heads(kind, [user for user in users if user not in own], window)
        pages = {user: page_in(head, window) for user, head in heads.items()}
        found = {user: page for user, page in pages.items() if page is not None}
        rest = [user for user in users if user not in found]
        return {**found, **await self._worn.pages(kind, rest, window, viewer)} if rest else found

    async def _heads(
        self, kind: ListKind, users: Sequence[UserId], window: Window
    ) -> Mapping[UserId, Head]:
        async def load(missing: Sequence[UserId]) -> Mapping[UserId, Head]:
            pages = await self._worn.pages(kind, missing, Window(self._most), None)
            return {user: Head(list(page.entries), not page.more) for user, page in pages.items()}

        needed = packing.bytes_of_entries(window.size + 1) if window.at_head else None
        return await self._values[kind].of(users, load, needed)


def page_in(head: Head, window: Window) -> Page | None:
    """The page, if the head of the list is enough to know it."""
    if window.at_head and len(head.entries) > window.size:
        return Page(tuple(head.entries[: window.size]), more=True)
    if head.whole:
        return cut(head.entries, window)
    if not window.backward:
        page = cut(head.entries, window)
        return page if page.more else None
    # From the old end, the head tells only of windows that end inside it.
    return cut(head.entries, window) if window.before >= head.entries[-1] else None
