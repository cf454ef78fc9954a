"""Caches that step aside for a viewer's own writes. Knows nothing of what the caches hold."""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from itertools import chain, islice
from typing import Any, Generic, NamedTuple, TypeVar

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
            keys.all_own_writes,
            pack=packing.pending_value,
            ttl_s=lambda ids: PENDING_TTL_S if ids else ttl_s,
        )
        self._filling: dict[UserId, asyncio.Task[Collection[UserId]]] = {}
        self._view = View[Collection[UserId], Collection[UserId]](
            lambda values: list(map(packing.pending_in, values)), lambda ids: ids
        )

    async def seen(
        self, viewer: UserId | None, *questions: Question[Any, Any]
    ) -> list[Sequence[Any]]:
        """The answers to each question as `viewer` may rely on them, one for each of its users.

        Of any number of caches, in one round trip.
        """
        try:
            own, columns = await self._first(viewer, questions)
        except Unavailable as error:
            if error.part != PART:
                raise
            read = await asyncio.gather(*(q.read(q.users) for q in questions))
            return [_in_order(q.users, found) for q, found in zip(questions, read, strict=True)]
        found: list[Any] = list(map(_answers, questions, columns))
        if not own and None not in found:  # nearly always
            return found
        left = [n for n, answer in enumerate(found) if own or answer is None]
        completed = [_completed(questions[n], columns[n], own) for n in left]
        # A task of its own costs more than most of what one alone has to do.
        rest = await asyncio.gather(*completed) if len(left) > 1 else [await completed[0]]
        for n, answer in zip(left, rest, strict=True):
            found[n] = answer
        return found

    async def _first(
        self, viewer: UserId | None, questions: Sequence[Question[Any, Any]]
    ) -> tuple[Collection[UserId], list[Sequence[Reply]]]:
        """Whom a viewer's caches must not answer for; then the replies to each question."""
        asked = [q.view.reads(q.values.keys(q.users)) for q in questions]
        commands = list(chain.from_iterable(asked))
        if viewer is None or not commands:
            return (), _columns(questions, asked, await self._redis.pipe(commands))
        (own,) = self._values.keys([viewer])
        pending, *replies = await self._redis.pipe([("GET", own), *commands])
        if not pending:
            towards = await self._filled(viewer)
            return _around(viewer, towards), (await self._first(None, questions))[1]
        return _around(viewer, packing.pending_in(pending)), _columns(questions, asked, replies)

    async def _filled(self, viewer: UserId) -> Collection[UserId]:
        """Read from the tables: once for all questions of a request, which come in one turn."""
        filling = self._filling.get(viewer)
        if filling is None:
            filling = self._filling[viewer] = asyncio.create_task(self._fill(viewer))
        return await asyncio.shield(filling)

    async def _fill(self, viewer: UserId) -> Collection[UserId]:
        del self._filling[viewer]  # whoever asks from now on may have written since
        return (await self._values.filled([viewer], self._view, self._worn.of))[viewer]


def _in_order(users: Sequence[UserId], found: Mapping[UserId, V]) -> list[V]:
    """What was found of each user."""
    return list(map(found.__getitem__, users))


def _columns(
    questions: Sequence[Question[Any, Any]],
    asked: Sequence[Sequence[Command]],
    replies: Sequence[Reply],
) -> list[Sequence[Reply]]:
    """What was replied to each question, once for each of its users."""
    turns = iter(replies)
    return [
        question.view.column(list(islice(turns, len(commands))))
        for question, commands in zip(questions, asked, strict=True)
    ]


def _answers(question: Question[Any, Any], replies: Sequence[Reply]) -> Sequence[Any] | None:
    """The answers to a question, if the cache holds all of them."""
    if not all(replies):
        return None
    found = question.view.of_replies(replies)
    return None if question.view.parts is not None and None in found else found


async def _completed(
    question: Question[Any, Any], replies: Sequence[Reply], own: Collection[UserId]
) -> list[Any]:
    """What the cache has answered, and all that it could not, or must not."""
    found = answers(question.users, replies, question.view)
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
        found |= await ((not own and question.beyond) or question.read)(rest)
    return _in_order(question.users, found)


def _around(viewer: UserId, towards: Collection[UserId]) -> Collection[UserId]:
    # Their own lists and counts too: a follow back makes a friend before a worker has heard of it.
    return {viewer, *towards} if towards else ()
