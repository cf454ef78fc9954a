"""A cache of small values behind leases, over any way to load them. Knows no key and no format."""

import random
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from graph.edge import UserId
from graph.errors import Unavailable
from storage.redis.connection import PART, Redis
from storage.redis.keys import lease
from storage.redis.leases import Leases
from storage.redis.scripts import FILL_VALUE
from storage.redis.wire import Command

V = TypeVar("V")

Load = Callable[[Sequence[UserId]], Awaitable[Mapping[UserId, V]]]


@dataclass(frozen=True)  # generic: typing sets an attribute on what it makes
class CachedValues(Generic[V]):
    """One value a user. A hit costs one round trip for all users; a miss two more and the load.

    `ttl_s` may depend on the value.
    """

    redis: Redis
    leases: Leases
    key: Callable[[UserId], str]
    pack: Callable[[V], bytes]
    unpack: Callable[[bytes], V]
    ttl_s: Callable[[V], int]

    async def of(
        self, users: Sequence[UserId], load: Load[V], first_bytes: int | None = None
    ) -> Mapping[UserId, V]:
        """The value of every one of `users`, from the cache or from `load`.

        With `first_bytes`, no more than those of a cached value are read and unpacked.
        """
        if not users:
            return {}
        try:
            return await self._through(list(dict.fromkeys(users)), load, first_bytes)
        except Unavailable as error:
            if error.part != PART:
                raise
            return await load(users)

    async def _through(
        self, users: list[UserId], load: Load[V], first_bytes: int | None
    ) -> Mapping[UserId, V]:
        found = await self._read(users, first_bytes)
        if len(found) == len(users):
            return found
        missing = [user for user in users if user not in found]
        tokens = await self.leases.take([self.key(user) for user in missing])
        if len(tokens) < len(missing):
            await self.leases.wait()
            others = [user for user in missing if self.key(user) not in tokens]
            found |= await self._read(others, first_bytes)
        loaded = await load([user for user in missing if user not in found])
        await self._fill(loaded, tokens)
        return found | dict(loaded)

    async def _read(self, users: Sequence[UserId], first_bytes: int | None) -> dict[UserId, V]:
        replies = await self.redis.pipe([_get(self.key(user), first_bytes) for user in users])
        return {
            user: self.unpack(reply) for user, reply in zip(users, replies, strict=True) if reply
        }

    async def _fill(self, loaded: Mapping[UserId, V], tokens: Mapping[str, str]) -> None:
        commands = [
            fill_value(key, tokens[key], self.pack(value), self.ttl_s(value))
            for user, value in loaded.items()
            if (key := self.key(user)) in tokens
        ]
        try:
            await self.redis.pipe(commands)
        except Unavailable:
            return  # what was loaded is right all the same


def fill_value(key: str, token: str, value: bytes, ttl_s: int) -> Command:
    return ("EVAL", FILL_VALUE, 2, key, lease(key), token, value, spread(ttl_s))


def spread(ttl_s: int) -> int:
    """The life of a key in milliseconds, a tenth apart: what was filled together ends apart."""
    return int(ttl_s * random.uniform(900, 1100))


def _get(key: str, first_bytes: int | None) -> Command:
    return ("GET", key) if first_bytes is None else ("GETRANGE", key, 0, first_bytes - 1)
