"""A cache of small values behind leases, over any way to load them. Knows no key and no format."""

import random
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

from graph.edge import UserId
from graph.errors import Unavailable
from storage.redis.connection import Redis
from storage.redis.keys import closing, lease
from storage.redis.leases import Leases
from storage.redis.scripts import FILL_VALUE
from storage.redis.wire import MANY, Command, Reply

V = TypeVar("V")
A = TypeVar("A")

Load = Callable[[Sequence[UserId]], Awaitable[Mapping[UserId, V]]]


class View(NamedTuple, Generic[V, A]):
    """One way to look at values, a column at a time: what of them is read, and what they answer."""

    of_replies: Callable[[Sequence[bytes]], Sequence[A]]
    of_value: Callable[[V], A]
    parts: Callable[[Sequence[str]], list[Command]] | None = None
    """Reads a part of each key's value, empty if there is none; it may not be enough to answer.
    None: values are read whole."""

    def reads(self, keys: Sequence[str]) -> list[Command]:
        """What to ask the server."""
        return whole(keys) if self.parts is None else self.parts(keys)

    def column(self, replies: Sequence[Reply]) -> Sequence[Reply]:
        """What was replied for each key."""
        return replies[0] if replies and self.parts is None else replies


@dataclass(frozen=True)  # generic: typing sets an attribute on what it makes
class CachedValues(Generic[V]):
    """One value a user. `ttl_s` may depend on the value."""

    redis: Redis
    leases: Leases
    keys: Callable[[Iterable[UserId]], list[str]]
    pack: Callable[[V], bytes]
    ttl_s: Callable[[V], int]

    async def filled(
        self, users: Sequence[UserId], view: View[V, A], load: Load[V]
    ) -> dict[UserId, A]:
        """The answers of users whose values are missing: two round trips and one load.

        Who is not the first to miss a value waits a moment for whoever was. Repeats are allowed.
        """
        users = list(dict.fromkeys(users))
        keys = dict(zip(users, self.keys(users), strict=True))
        tokens = await self.leases.take(list(keys.values()))
        found: dict[UserId, A] = {}
        if len(tokens) < len(users):
            await self.leases.wait()
            others = {user: key for user, key in keys.items() if key not in tokens}
            found = await self._read(others, view)
        loaded = await load([user for user in users if user not in found])
        await self._fill({keys[user]: value for user, value in loaded.items()}, tokens)
        return found | {user: view.of_value(value) for user, value in loaded.items()}

    async def _read(self, keys: Mapping[UserId, str], view: View[V, A]) -> dict[UserId, A]:
        replies = await self.redis.pipe(view.reads(list(keys.values())))
        return answers(list(keys), view.column(replies), view)

    async def _fill(self, loaded: Mapping[str, V], tokens: Mapping[str, str]) -> None:
        commands = [
            fill_value(key, tokens[key], self.pack(value), self.ttl_s(value))
            for key, value in loaded.items()
            if key in tokens
        ]
        try:
            await self.redis.pipe(commands)
        except Unavailable:
            return  # what was loaded is right all the same


def answers(users: Sequence[UserId], replies: Sequence[Reply], view: View[V, A]) -> dict[UserId, A]:
    """The answers of those users whose values are there."""
    held = {user: reply for user, reply in zip(users, replies, strict=True) if reply}
    return dict(zip(held, view.of_replies(list(held.values())), strict=True))


def whole(keys: Sequence[str]) -> list[Command]:
    """Reads the values of any keys, which are one reply."""
    return [(MANY, *keys)] if keys else []


def fill_value(key: str, token: str, value: bytes, ttl_s: int) -> Command:
    guards = lease(key), closing(key)
    return ("EVAL", FILL_VALUE, 3, key, *guards, token, value, spread(ttl_s))


def spread(ttl_s: int) -> int:
    """The life of a key in milliseconds, a tenth apart: what was filled together ends apart."""
    return int(ttl_s * random.uniform(900, 1100))
