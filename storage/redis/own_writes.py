"""Caches that step aside for a viewer's own writes. Knows nothing of what the caches hold."""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from graph.edge import UserId
from graph.errors import Unavailable
from storage.ports import Pending
from storage.redis import packing
from storage.redis.connection import PART, Redis
from storage.redis.keys import Keys
from storage.redis.leases import Leases
from storage.redis.values import CachedValues, Load, View, answers
from storage.redis.wire import Command, Reply

NOTHING = packing.pending_value(())
"""The value of a viewer none of whose writes is on its way."""

PENDING_TTL_S = 5
"""A write is pending for milliseconds, and the cache is told when it ends; this is for the rest."""

V = TypeVar("V")
A = TypeVar("A")
W = TypeVar("W")
B = TypeVar("B")


@dataclass(frozen=True)  # generic: typing sets an attribute on what it makes
class Question(Generic[V, A]):
    """What is asked of one cache, once for each of `users`.

    `load` gets what the cache holds: the same for everybody. `read` answers the viewer from the
    tables, where the cache must not, or cannot tell, or cannot be reached.
    """

    users: Sequence[UserId]
    values: CachedValues[V]
    view: View[V, A | None]
    load: Load[V]
    read: Load[A]

    @property
    def reads(self) -> list[Command]:
        return self.values.reads(self.users, self.view)


class OwnWrites:
    """Remembers towards whom viewers' writes are still on their way: for nearly all, nobody.

    The caches must not answer for those users. Who they are is read before the caches, not after
    them: a write that is told to a cache after that was read, and acknowledged before this looks,
    would be seen in neither. The commands of one pipeline run in their order on one server, so
    both take one round trip.
    """

    def __init__(self, worn: Pending, redis: Redis, leases: Leases, keys: Keys, ttl_s: int) -> None:
        self._worn = worn
        self._redis = redis
        self._values = CachedValues[Collection[UserId]](
            redis,
            leases,
            keys.own_writes,
            pack=packing.pending_value,
            ttl_s=lambda ids: PENDING_TTL_S if ids else ttl_s,
        )
        self._filling: dict[UserId, asyncio.Task[Collection[UserId]]] = {}
        self._view = View[Collection[UserId], Collection[UserId]](
            lambda key: ("GET", key), packing.pending_in, lambda ids: ids
        )

    async def seen(self, viewer: UserId | None, question: Question[V, A]) -> Mapping[UserId, A]:
        """The answers as `viewer` may rely on them."""
        (found,) = await self._answers(viewer, [question])
        return found

    async def seen_both(
        self, viewer: UserId | None, one: Question[V, A], other: Question[W, B]
    ) -> tuple[Mapping[UserId, A], Mapping[UserId, B]]:
        """The same of two caches, in one round trip."""
        first, second = await self._answers(viewer, [one, other])
        return first, second

    async def _answers(
        self, viewer: UserId | None, questions: Sequence[Question[Any, Any]]
    ) -> list[dict[UserId, Any]]:
        commands = [command for question in questions for command in question.reads]
        if not commands:
            return [{} for _ in questions]
        try:
            own, replies = await self._first(viewer, commands)
        except Unavailable as error:
            if error.part != PART:
                raise
            return [{**await question.read(question.users)} for question in questions]
        found, turn = [], 0
        for question in questions:
            turn, begin = turn + len(question.users), turn
            found.append(answers(question.users, replies[begin:turn], question.view))
        short = [
            _completed(question, known, own)
            for question, known in zip(questions, found, strict=True)
            if own or len(known) < len(question.users) or None in known.values()
        ]
        if short:  # hardly ever
            await asyncio.gather(*short)
        return found

    async def _first(
        self, viewer: UserId | None, commands: Sequence[Command]
    ) -> tuple[Collection[UserId], Sequence[Reply]]:
        """Whom a viewer's caches must not answer for; then the replies to `commands`."""
        if viewer is None:
            return (), await self._redis.pipe(commands)
        reads = self._values.reads([viewer], self._view)
        pending, *replies = await self._redis.pipe([*reads, *commands])
        if pending:
            return _around(viewer, self._view.of_reply(pending)), replies
        return _around(viewer, await self._filled(viewer)), await self._redis.pipe(commands)

    async def _filled(self, viewer: UserId) -> Collection[UserId]:
        """Read from the tables: once for all questions of a request, which come in one turn."""
        filling = self._filling.get(viewer)
        if filling is None:
            filling = self._filling[viewer] = asyncio.create_task(self._fill(viewer))
        return await asyncio.shield(filling)

    async def _fill(self, viewer: UserId) -> Collection[UserId]:
        del self._filling[viewer]  # whoever asks from now on may have written since
        return (await self._values.filled([viewer], self._view, self._worn.of))[viewer]


async def _completed(
    question: Question[Any, Any], found: dict[UserId, Any], own: Collection[UserId]
) -> None:
    """Adds to what the cache has answered all that it could not, or must not."""
    users = dict.fromkeys(question.users)  # who is asked for twice, is read once
    missing = [user for user in users if user not in found and user not in own]
    try:
        if missing:
            found |= await question.values.filled(missing, question.view, question.load)
    except Unavailable as error:
        if error.part != PART:
            raise
    rest = [user for user in users if user in own or found.get(user) is None]
    if rest:
        found |= await question.read(rest)


def _around(viewer: UserId, towards: Collection[UserId]) -> Collection[UserId]:
    # Their own lists and counts too: a follow back makes a friend before a worker has heard of it.
    return {viewer, *towards} if towards else ()
