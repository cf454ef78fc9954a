"""The first pages of hot users' lists, from process memory."""

from collections.abc import Mapping, Sequence
from functools import partial

from graph.edge import UserId
from graph.page import ListKind, Page, Window
from storage.cache.tables import Lists
from storage.hot.hot_values import HotValues, Read, Sized
from storage.hot.invalidations import tracked
from storage.hot.viewers import Viewers
from storage.redis import packing
from storage.redis.connection import Redis
from storage.redis.keys import Keys
from storage.redis.lists import page_of_head

HEAD_ENTRIES = 101
"""The largest first page, and one entry more that shows whether there is a second one."""

ENTRY_BYTES = 130


class HotLists:
    """Implements `storage.ports.Lists`."""

    def __init__(
        self, inner: Lists, values: Mapping[ListKind, HotValues[Page]], viewers: Viewers
    ) -> None:
        self._inner = inner
        self._values = values
        self._viewers = viewers

    async def pages(
        self, kind: ListKind, users: Sequence[UserId], window: Window, viewer: UserId | None
    ) -> Mapping[UserId, Page]:
        values = self._values[kind]

        def remembered(users: Sequence[UserId]) -> Mapping[UserId, Page]:
            return pages_held(values, users, window)

        read = partial(self._inner.pages, kind, window=window, viewer=viewer)
        return await self._viewers.answers(viewer, users, values, remembered, read)


def pages_held(
    values: HotValues[Page], users: Sequence[UserId], window: Window
) -> dict[UserId, Page]:
    """The pages of those of `users` whose heads in memory are long enough."""
    pages = {user: page_of_head(window, head) for user, head in values.held(users).items()}
    return {user: page for user, page in pages.items() if page is not None}


def heads_reader(redis: Redis, keys: Keys, kind: ListKind) -> Read[Page]:
    """A reader of list heads, for values that are to be kept in memory."""
    last = packing.bytes_of_entries(HEAD_ENTRIES) - 1

    async def read(users: Sequence[UserId]) -> Mapping[UserId, Sized[Page]]:
        replies = await tracked(
            redis, [("GETRANGE", keys.entries(kind, user), 0, last) for user in users]
        )
        return {user: _sized(value) for user, value in zip(users, replies, strict=True) if value}

    return read


def _sized(value: bytes) -> Sized[Page]:
    entries, whole = packing.entries_in(value)
    # Only the beginning of a longer list was read, so its flag for the whole list does not apply.
    more = not whole or len(entries) == HEAD_ENTRIES
    return Sized(Page(tuple(entries), more), len(entries) * ENTRY_BYTES)
