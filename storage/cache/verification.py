"""Compares cached values with the rows.

Because of concurrent writes, values that differ are compared again. A value that still differs is
wrong if its user has no pending changes.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from graph.edge import UserId
from graph.lists import ListKind
from graph.page import Page, Window
from storage.cache.codec.lists import page_range_in, page_value
from storage.cache.codec.profiles import profiles_in
from storage.cache.codec.relations import relation_fields, relations_of_hash
from storage.cache.tables import Tables
from storage.postgres.lane_progress import PostgresLaneProgress
from storage.redis.connection import Redis
from storage.redis.keys import Keys, page_ranges_key, parse_cache_key
from storage.redis.wire import UNLINK, Reply
from storage.settings import StorageSettings

BATCH = 100
"""About how many keys one step of the scan looks at."""

RECHECK_S = 0.2
"""Pause before the second comparison. Changes reach the caches well within this time."""


@dataclass(frozen=True, slots=True)
class ComparedBatch:
    """One batch of keys: the number compared, and the keys with wrong values."""

    compared: int
    wrong: Sequence[str]


class CacheVerifier:
    """Audits one space. Cached pending writes are not compared, because they expire soon: see
    `PENDING_TTL_S` and `CacheSettings.no_pending_ttl_s`."""

    def __init__(
        self,
        redis: Redis,
        progress: PostgresLaneProgress,
        tables: Tables,
        settings: StorageSettings,
    ) -> None:
        self._redis = redis
        self._keys = Keys(settings.space)
        self._progress = progress
        self._tables = tables
        self._relations_max = settings.cache.relations_max
        self._list_max = settings.cache.list_max

    async def batches(self) -> AsyncIterator[ComparedBatch]:
        """Compare all keys of the space, a batch at a time, in bounded memory."""
        async for keys in self._redis.scan(self._keys.cache_pattern, BATCH):
            by_kind: dict[str, list[UserId]] = {}
            for key in keys:
                if (found := parse_cache_key(key.decode())) and found[0] in self._comparisons:
                    by_kind.setdefault(found[0], []).append(found[1])
            for what, users in by_kind.items():
                yield ComparedBatch(len(users), await self._wrong_keys(what, users))

    async def delete(self, keys: Sequence[str]) -> None:
        """Delete wrong values; the next reader fills them from the rows."""
        await self._redis.pipe([(UNLINK, key) for key in keys])

    async def _wrong_keys(self, what: str, users: Sequence[UserId]) -> list[str]:
        """The keys of one kind with wrong values. `what`: the kind, as in keys."""
        differing_keys_of = self._comparisons[what]
        differing = await differing_keys_of(users)
        if differing:
            await asyncio.sleep(RECHECK_S)
            differing = await differing_keys_of(list(differing))
        unacknowledged = (
            await self._progress.unacknowledged(differing.keys()) if differing else set()
        )
        return [key for user, key in differing.items() if user not in unacknowledged]

    @property
    def _comparisons(
        self,
    ) -> Mapping[str, Callable[[Sequence[UserId]], Awaitable[dict[UserId, str]]]]:
        """For each kind of keys, a function that returns the keys whose values differ, by user."""
        return {
            "rel": self._relations_differ,
            "profile": self._profiles_differ,
            "following": partial(self._lists_differ, ListKind.FOLLOWING),
            "followers": partial(self._lists_differ, ListKind.FOLLOWERS),
            "followers:beyond": self._ranges_differ,
            "friends": partial(self._lists_differ, ListKind.FRIENDS),
        }

    async def _relations_differ(self, users: Sequence[UserId]) -> dict[UserId, str]:
        rows = await self._tables.relations.get_many(users, self._relations_max)

        def differs(user: UserId, reply: Reply) -> bool:
            expected = relations_of_hash(relation_fields(rows[user]))
            return relations_of_hash(reply) != expected

        return await self._differing(users, self._keys.relations, "HGETALL", differs)

    async def _profiles_differ(self, users: Sequence[UserId]) -> dict[UserId, str]:
        rows = await self._tables.profiles.get_many(users, None)

        def differs(user: UserId, reply: Reply) -> bool:
            return profiles_in([reply]) != [rows[user]]

        return await self._differing(users, self._keys.profile, "GET", differs)

    async def _lists_differ(self, kind: ListKind, users: Sequence[UserId]) -> dict[UserId, str]:
        rows = await self._tables.lists.pages(kind, users, Window(self._list_max), None)

        def differs(user: UserId, reply: Reply) -> bool:
            return bool(reply != page_value(rows[user]))

        return await self._differing(users, partial(self._keys.head, kind), "GET", differs)

    async def _ranges_differ(self, users: Sequence[UserId]) -> dict[UserId, str]:
        keys = {user: page_ranges_key(self._keys.head(ListKind.FOLLOWERS, user)) for user in users}
        replies = await self._redis.pipe([("ZRANGE", key, 0, -1) for key in keys.values()])
        differing = {}
        for (user, key), values in zip(keys.items(), replies, strict=True):
            for newer, older, entries in map(page_range_in, values):
                window = Window(len(entries), newer, older)
                rows = await self._tables.lists.pages(ListKind.FOLLOWERS, [user], window, None)
                if rows[user] != Page(entries, more=False):
                    differing[user] = key
        return differing

    async def _differing(
        self,
        users: Sequence[UserId],
        key_of: Callable[[UserId], str],
        command: str,
        differs: Callable[[UserId, Reply], bool],
    ) -> dict[UserId, str]:
        """Read the users' values with `command`. Returns the keys for which `differs` is true."""
        replies = await self._redis.pipe([(command, key_of(user)) for user in users])
        return {
            user: key_of(user)
            for user, reply in zip(users, replies, strict=True)
            if reply and differs(user, reply)
        }
