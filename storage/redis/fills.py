"""Fills caches of small values under leases."""

import asyncio
import random
from collections.abc import Awaitable, Mapping, Sequence
from contextlib import suppress
from itertools import chain
from typing import Any, Generic, TypeVar

from graph.edge import UserId
from graph.errors import Unavailable
from storage.redis.connection import Redis
from storage.redis.keys import closing, lease
from storage.redis.leases import Leases
from storage.redis.scripts import CALL, FILL_VALUE
from storage.redis.values import Question, answers, columns
from storage.redis.wire import Command

V = TypeVar("V")
A = TypeVar("A")
T = TypeVar("T")


class Fills:
    """Fills any number of caches at once."""

    def __init__(self, redis: Redis, leases: Leases) -> None:
        self._redis = redis
        self._leases = leases

    async def filled(
        self, questions: Sequence[Question[Any, Any]]
    ) -> Sequence[Mapping[UserId, Any]]:
        """Load and cache the missing values of these questions, and return the answers. No value
        may be cached, and no user may occur twice in a question. Two round trips for all, and one
        concurrent load for each question.

        A reader that does not get a lease waits briefly for its holder's fill.

        Raises:
            Unavailable: the leases could not be taken, or a load failed.
        """
        fillings = list(map(_Filling, questions))
        keys = chain.from_iterable(one.keys.values() for one in fillings)
        tokens = await self._leases.take(list(keys))
        await self._read_of_others(fillings, tokens)
        fills = await together([one.load(tokens) for one in fillings if one.missing])
        with suppress(Unavailable):  # the loaded answers are valid even if the fill fails
            await self._redis.pipe(list(chain.from_iterable(fills)))
        return [one.found for one in fillings]

    async def _read_of_others(
        self, fillings: Sequence["_Filling[Any, Any]"], tokens: Mapping[str, str]
    ) -> None:
        """Wait, then read what the other lease holders have filled."""
        theirs = [[u for u, key in one.keys.items() if key not in tokens] for one in fillings]
        if not any(theirs):
            return
        await self._leases.wait()
        questions = [one.question for one in fillings]
        asked = [
            one.question.view.reads([one.keys[user] for user in users])
            for one, users in zip(fillings, theirs, strict=True)
        ]
        replies = await self._redis.pipe(list(chain.from_iterable(asked)))
        read = columns(questions, asked, replies)
        for one, users, column in zip(fillings, theirs, read, strict=True):
            one.found |= answers(users, column, one.question.view)


class _Filling(Generic[V, A]):
    """A question whose values are missing, with the answers found so far."""

    def __init__(self, question: Question[V, A]) -> None:
        self.question = question
        self.keys = dict(zip(question.users, question.values.keys(question.users), strict=True))
        self.found: dict[UserId, A | None] = {}

    @property
    def missing(self) -> list[UserId]:
        return [user for user in self.question.users if user not in self.found]

    async def load(self, tokens: Mapping[str, str]) -> list[Command]:
        """Load what is missing. Returns the commands that fill the keys with a lease."""
        values, of_value = self.question.values, self.question.view.of_value
        loaded = await self.question.load(self.missing)
        self.found.update((user, of_value(value)) for user, value in loaded.items())
        return [
            fill_value(key, tokens[key], values.pack(value), values.ttl_s(value))
            for user, value in loaded.items()
            if (key := self.keys[user]) in tokens
        ]


async def together(awaitables: Sequence[Awaitable[T]]) -> Sequence[T]:
    """Await all concurrently. A single awaitable needs no task."""
    if len(awaitables) == 1:
        return [await awaitables[0]]
    return await asyncio.gather(*awaitables)


def fill_value(key: str, token: str, value: bytes, ttl_s: int) -> Command:
    guards = lease(key), closing(key)
    return (CALL, FILL_VALUE, 3, key, *guards, token, value, spread(ttl_s))


def spread(ttl_s: int) -> int:
    """`ttl_s` in milliseconds, less up to a tenth at random, so that keys filled together expire
    apart."""
    return int(ttl_s * random.uniform(900, 1000))
