"""Completes answers: fills missing values under leases, and reads other values from the tables."""

import asyncio
from collections.abc import Awaitable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain, islice, zip_longest
from typing import Any, Generic, TypeAlias, TypeVar

from graph.edge import UserId
from graph.errors import Unavailable
from storage.cache.lease import Leases
from storage.cache.value_lookup import ValueLookup
from storage.redis.connection import REDIS, Redis
from storage.redis.wire import UNAVAILABLE, Command, Reply

V = TypeVar("V")
A = TypeVar("A")
T = TypeVar("T")


class Part(Generic[V, A]):
    """A lookup that the cache has answered in part, with the answers found so far."""

    def __init__(
        self, lookup: ValueLookup[V, A], column: Sequence[Reply], excluded: Collection[UserId] = ()
    ) -> None:
        """`column`: the cached values of the lookup's users. `excluded`: the users about whom the
        cache must not answer the viewer."""
        self.lookup = lookup
        self.found: dict[UserId, A | None] = {}
        self._excluded = excluded
        self._users = list(dict.fromkeys(lookup.users))  # each user is read once
        self.add(lookup.users, column)
        from_redis = sum(user not in excluded for user in self.found)
        lookup.read_counts.redis += from_redis
        lookup.read_counts.tables += len(self._users) - from_redis
        replies = zip(lookup.users, column, strict=True)
        unavailable = {user for user, reply in replies if reply is UNAVAILABLE}
        missing = [u for u in self.missing if not (u in excluded or u in unavailable)]
        self.keys = dict(zip(missing, lookup.cached_kind.keys(missing), strict=True))
        """The keys to fill."""

    @property
    def missing(self) -> list[UserId]:
        return [user for user in self._users if user not in self.found]

    def add(self, users: Sequence[UserId], column: Sequence[Reply]) -> None:
        """Add the answers in these users' values."""
        values = {user: reply for user, reply in zip(users, column, strict=True) if reply}
        if values:
            answers = self.lookup.decode(list(values.values()))
            self.found.update(zip(values, answers, strict=True))

    def batches(self) -> Iterator[Mapping[UserId, str]]:
        """The keys to fill, in batches."""
        keys = iter(self.keys.items())
        while batch := dict(islice(keys, self.lookup.cached_kind.batch_size)):
            yield batch

    async def load(self, keys: Mapping[UserId, str], tokens: Mapping[str, str]) -> list[Command]:
        """Load those of the values that are still missing. Returns the commands that fill the keys
        with a lease in `tokens`; the other loaded values only serve the answer."""
        cached_kind, from_value = self.lookup.cached_kind, self.lookup.from_value
        missing = [user for user in keys if user not in self.found]
        loaded = await cached_kind.load(missing) if missing else {}
        self.found.update((user, from_value(value)) for user, value in loaded.items())
        return [
            cached_kind.fill(key, tokens[key], value)
            for user, value in loaded.items()
            if (key := keys[user]) in tokens
        ]

    @property
    def unanswered(self) -> list[UserId]:
        """The users about whom the cache cannot or must not answer."""
        found, excluded = self.found, self._excluded
        return [user for user in self._users if user in excluded or found.get(user) is None]

    async def read_unanswered(self, unanswered: Sequence[UserId]) -> None:
        """Read the answers about these users from the tables."""
        read = self.lookup.rows if self._excluded else self.lookup.read_beyond
        self.found.update(await read(unanswered))

    @property
    def answer(self) -> dict[UserId, A | None]:
        return {user: self.found[user] for user in self._users}


_PartBatch: TypeAlias = tuple[Part[Any, Any], Mapping[UserId, str]]
"""A part and the keys of one of its batches."""


class Fills:
    """Fills any number of values at once."""

    def __init__(self, redis: Redis, leases: Leases) -> None:
        self._redis = redis
        self._leases = leases

    async def complete(self, parts: Sequence[Part[Any, Any]]) -> None:
        """Complete the answers of all parts: fill missing values, then read from the tables where
        the cache must not answer, is unavailable, or has a value that is too short."""
        try:
            await self.fill([part for part in parts if part.keys])
        except Unavailable as error:
            if error.part != REDIS:
                raise
        reads = [
            part.read_unanswered(unanswered) for part in parts if (unanswered := part.unanswered)
        ]
        if reads:  # in most cases the filled values answer all
            await together(reads)

    async def fill(self, parts: Sequence[Part[Any, Any]]) -> None:
        """Load and cache the missing values, in batches if they are many.

        If another reader holds the lease of a key, it waits briefly for that reader's fill. If the
        value is then still missing, it loads the value, too, but does not cache it.

        Raises:
            Unavailable: the leases could not be taken, or a load failed.
        """
        for batches in zip_longest(*(part.batches() for part in parts)):
            await self._fill_batch(
                [(part, keys) for part, keys in zip(parts, batches, strict=True) if keys]
            )

    async def _fill_batch(self, parts: Sequence[_PartBatch]) -> None:
        """Fill one batch of each part, with one load for each part, all loads at once. Takes two
        round trips to Redis, and two more if other readers hold leases."""
        all_keys = chain.from_iterable(keys.values() for _, keys in parts)
        tokens = await self._leases.take(list(all_keys))
        await self._read_filled_by_others(parts, tokens)
        fills = await together([part.load(keys, tokens) for part, keys in parts])
        with suppress(Unavailable):  # the loaded answers are valid even if the fill fails
            await self._redis.pipe(list(chain.from_iterable(fills)))

    async def _read_filled_by_others(
        self, parts: Sequence[_PartBatch], tokens: Mapping[str, str]
    ) -> None:
        """Wait, then read what the other lease holders have filled."""
        filled_by_others = [
            [user for user, key in keys.items() if key not in tokens] for _, keys in parts
        ]
        if not any(filled_by_others):
            return
        await self._leases.wait()
        reads = [
            part.lookup.reads([keys[user] for user in users])
            for (part, keys), users in zip(parts, filled_by_others, strict=True)
        ]
        replies = await self._redis.pipe(list(chain.from_iterable(reads)))
        first = 0
        for (part, _), users, commands in zip(parts, filled_by_others, reads, strict=True):
            part.add(users, part.lookup.column(replies[first : first + len(commands)]))
            first += len(commands)


async def together(awaitables: Sequence[Awaitable[T]]) -> Sequence[T]:
    """Await all concurrently. A single awaitable needs no task."""
    if len(awaitables) == 1:
        return [await awaitables[0]]
    return await asyncio.gather(*awaitables)
