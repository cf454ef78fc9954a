"""A cache of small values behind leases, over any way to load them. Knows no key and no format."""

import random
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from graph.edge import UserId
from graph.errors import Unavailable
from storage.redis.connection import Redis
from storage.redis.keys import lease
from storage.redis.leases import Leases
from storage.redis.scripts import FILL_VALUE
from storage.redis.wire import Command, Reply

V = TypeVar("V")
A = TypeVar("A")

Load = Callable[[Sequence[UserId]], Awaitable[Mapping[UserId, V]]]


@dataclass(frozen=True)  # generic: typing sets an attribute on what it makes
class View(Generic[V, A]):
    """One way to look at a value: what of it is read, and the answer that it gives."""

    command: Callable[[str], Command]
    """Reads a key. Its reply is empty if there is none."""
    of_reply: Callable[[bytes], A]
    of_value: Callable[[V], A]


@dataclass(frozen=True)
class CachedValues(Generic[V]):
    """One value a user. `ttl_s` may depend on the value."""

    redis: Redis
    leases: Leases
    key: Callable[[UserId], str]
    pack: Callable[[V], bytes]
    ttl_s: Callable[[V], int]

    def reads(self, users: Sequence[UserId], view: View[V, A]) -> list[Command]:
        """What to ask the server for `users`, each of whom is one reply."""
        return [view.command(self.key(user)) for user in users]

    async def filled(
        self, users: Sequence[UserId], view: View[V, A], load: Load[V]
    ) -> dict[UserId, A]:
        """The answers of users whose values are missing: two round trips and one load.

        Who is not the first to miss a value waits a moment for whoever was. Repeats are allowed.
        """
        users = list(dict.fromkeys(users))
        tokens = await self.leases.take([self.key(user) for user in users])
        found: dict[UserId, A] = {}
        if len(tokens) < len(users):
            await self.leases.wait()
            others = [user for user in users if self.key(user) not in tokens]
            found = answers(others, await self.redis.pipe(self.reads(others, view)), view)
        loaded = await load([user for user in users if user not in found])
        await self._fill(loaded, tokens)
        return found | {user: view.of_value(value) for user, value in loaded.items()}

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


def answers(users: Sequence[UserId], replies: Sequence[Reply], view: View[V, A]) -> dict[UserId, A]:
    """The answers of those users whose values are there."""
    return {user: view.of_reply(reply) for user, reply in zip(users, replies, strict=True) if reply}


def fill_value(key: str, token: str, value: bytes, ttl_s: int) -> Command:
    return ("EVAL", FILL_VALUE, 2, key, lease(key), token, value, spread(ttl_s))


def spread(ttl_s: int) -> int:
    """The life of a key in milliseconds, a tenth apart: what was filled together ends apart."""
    return int(ttl_s * random.uniform(900, 1100))
