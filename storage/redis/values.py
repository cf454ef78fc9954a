"""Caches of small values behind leases, over any way to load them. Knows no key and no format."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any, Generic, NamedTuple, TypeVar

from graph.edge import UserId
from graph.errors import Unavailable
from storage.redis.connection import Redis
from storage.redis.keys import closing, lease
from storage.redis.leases import Leases
from storage.redis.scripts import CALL, FILL_VALUE
from storage.redis.wire import MANY, Command, Reply, Spelled

V = TypeVar("V")
A = TypeVar("A")
T = TypeVar("T")

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


@dataclass(frozen=True)  # generic: typing sets an attribute on what it makes
class CachedValues(Generic[V]):
    """One value a user. `ttl_s` may depend on the value."""

    keys: Callable[[Iterable[UserId]], list[str]]
    pack: Callable[[V], bytes]
    ttl_s: Callable[[V], int]


class Question(NamedTuple, Generic[V, A]):
    """What is asked of one cache, once for each of `users`.

    `load` gets what the cache holds: the same for everybody. `read` answers the viewer from the
    tables, where the cache must not, or cannot be reached; `beyond` answers everybody, where all
    that the cache holds cannot tell.
    """

    users: Sequence[UserId]
    values: CachedValues[V]
    view: View[V, A | None]
    load: Load[V]
    read: Load[A]
    beyond: Load[A] | None = None


class Fills:
    """Fills any number of caches at once."""

    def __init__(self, redis: Redis, leases: Leases) -> None:
        self._redis = redis
        self._leases = leases

    async def filled(
        self, questions: Sequence[Question[Any, Any]]
    ) -> Sequence[Mapping[UserId, Any]]:
        """The answers to questions all of whose values are missing, and none is asked for twice:
        two round trips for all, and one load each, side by side.

        Who is not the first to miss a value waits a moment for whoever was.
        """
        keys = [dict(zip(q.users, q.values.keys(q.users), strict=True)) for q in questions]
        tokens = await self._leases.take(list(chain.from_iterable(map(dict.values, keys))))
        found = await self._from_others(questions, keys, tokens)
        missing = [
            [user for user in q.users if user not in held]
            for q, held in zip(questions, found, strict=True)
        ]
        loads = iter(
            await together(
                [q.load(users) for q, users in zip(questions, missing, strict=True) if users]
            )
        )
        commands: list[Command] = []
        for q, named, users, held in zip(questions, keys, missing, found, strict=True):
            values = next(loads) if users else {}
            held.update((user, q.view.of_value(value)) for user, value in values.items())
            commands += _fills(q.values, named, tokens, values)
        with suppress(Unavailable):  # what was loaded is right all the same
            await self._redis.pipe(commands)
        return found

    async def _from_others(
        self,
        questions: Sequence[Question[Any, Any]],
        keys: Sequence[Mapping[UserId, str]],
        tokens: Collection[str],
    ) -> list[dict[UserId, Any]]:
        """What those have filled in who were first to miss it."""
        theirs = [{user: key for user, key in named.items() if key not in tokens} for named in keys]
        if not any(theirs):
            return [{} for _ in questions]
        await self._leases.wait()
        asked = [
            q.view.reads(list(named.values())) for q, named in zip(questions, theirs, strict=True)
        ]
        replies = await self._redis.pipe(list(chain.from_iterable(asked)))
        read = columns(questions, asked, replies)
        return [
            answers(list(named), column, q.view)
            for q, named, column in zip(questions, theirs, read, strict=True)
        ]


def _fills(
    values: CachedValues[V],
    keys: Mapping[UserId, str],
    tokens: Mapping[str, str],
    loaded: Mapping[UserId, V],
) -> list[Command]:
    """Writes what was loaded where the lease is held."""
    return [
        fill_value(key, tokens[key], values.pack(value), values.ttl_s(value))
        for user, value in loaded.items()
        if (key := keys[user]) in tokens
    ]


async def together(awaitables: Sequence[Awaitable[T]]) -> Sequence[T]:
    """What each comes to, side by side: one alone needs no task."""
    if len(awaitables) == 1:
        return [await awaitables[0]]
    return await asyncio.gather(*awaitables)


def columns(
    questions: Sequence[Question[Any, Any]],
    asked: Sequence[Sequence[Command]],
    replies: Sequence[Reply],
) -> list[Sequence[Reply]]:
    """What was replied to the commands of each question, once for each of its users."""
    turns = iter(replies)
    return [
        # Whole values of any keys are one reply.
        next(turns) if commands and q.view.parts is None else list(islice(turns, len(commands)))
        for q, commands in zip(questions, asked, strict=True)
    ]


def answers(users: Sequence[UserId], replies: Sequence[Reply], view: View[V, A]) -> dict[UserId, A]:
    """The answers of those users whose values are there."""
    held = {user: reply for user, reply in zip(users, replies, strict=True) if reply}
    return dict(zip(held, view.of_replies(list(held.values())), strict=True))


def whole(keys: Sequence[str]) -> list[Command]:
    """Reads the values of any keys, which are one reply."""
    return [Spelled((MANY, *keys))] if keys else []


def fill_value(key: str, token: str, value: bytes, ttl_s: int) -> Command:
    guards = lease(key), closing(key)
    return (CALL, FILL_VALUE, 3, key, *guards, token, value, spread(ttl_s))


def spread(ttl_s: int) -> int:
    """The life of a key in milliseconds, up to a tenth less: what is filled together ends apart."""
    return int(ttl_s * random.uniform(900, 1000))
