"""Reads caches such that a viewer sees their own writes."""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from itertools import chain
from typing import Any, Generic, TypeVar, cast

from graph.edge import UserId
from graph.errors import Unavailable
from storage.ports import Pending
from storage.redis import packing
from storage.redis.connection import PART, Redis
from storage.redis.fills import Fills, together
from storage.redis.keys import Keys
from storage.redis.leases import Leases
from storage.redis.values import CachedValues, Load, Question, View, answers, columns
from storage.redis.wire import UNAVAILABLE, Reply

NOTHING = packing.pending_value(())
"""The cached value of a viewer without pending writes."""

PENDING_TTL_S = 5
"""A write is pending for milliseconds, and its acknowledgement deletes the value. This covers lost
deletions."""

A = TypeVar("A")
V = TypeVar("V")


class OwnWrites:
    """Caches the targets of viewers' pending writes; nearly all viewers have none.

    The caches must not answer a viewer about these users. The targets are read before the caches:
    if they were read after, a write could reach a cache after the cache was read and be
    acknowledged before the targets are read, and would appear in neither. One server runs a
    pipeline in order, so both reads take one round trip; a cluster needs two.
    """

    def __init__(
        self, inner: Pending, redis: Redis, leases: Leases, keys: Keys, ttl_s: int
    ) -> None:
        self._inner = inner
        self._redis = redis
        self._fills = Fills(redis, leases)
        self._values = CachedValues[Collection[UserId]](
            keys.all_own_writes,
            pack=packing.pending_value,
            ttl_s=lambda ids: PENDING_TTL_S if ids else ttl_s,
        )
        self._filling: dict[UserId, asyncio.Task[Collection[UserId]]] = {}
        self._view = View[Collection[UserId], Collection[UserId] | None](
            lambda values: list(map(packing.pending_in, values)), lambda ids: ids
        )

    async def seen(
        self, viewer: UserId | None, *questions: Question[Any, Any]
    ) -> list[Sequence[Any]]:
        """The answers to each question, one for each of its users, with the viewer's own writes.

        One round trip for any number of caches, if all values are cached.
        """
        try:
            own, replies = await self._first(viewer, questions)
        except Unavailable as error:
            if error.part != PART:
                raise
            read = await together([q.read(q.users) for q in questions])
            return [_in_order(q.users, found) for q, found in zip(questions, read, strict=True)]
        found: list[Any] = list(map(_answers, questions, replies))
        if not own and None not in found:  # nearly always
            return found
        left = [n for n, answer in enumerate(found) if own or answer is None]
        completed = await self._completed([_Part(questions[n], replies[n], own) for n in left])
        for n, answer in zip(left, completed, strict=True):
            found[n] = answer
        return found

    async def _first(
        self, viewer: UserId | None, questions: Sequence[Question[Any, Any]]
    ) -> tuple[Collection[UserId], list[Sequence[Reply]]]:
        """The users about whom the caches must not answer this viewer, and the replies to each
        question."""
        asked = [q.view.reads(q.values.keys(q.users)) for q in questions]
        commands = list(chain.from_iterable(asked))
        if viewer is None or not commands:
            return (), columns(questions, asked, await self._redis.partly(commands))
        (own,) = self._values.keys([viewer])
        pending, *replies = await self._redis.after(("GET", own), commands)
        found = columns(questions, asked, replies)
        if pending:
            return _around(viewer, packing.pending_in(pending)), found
        towards = await self._filled(viewer)
        if any(map(any, found)):  # missing values will be loaded, so they need not be read again
            _, found = await self._first(None, questions)
        return _around(viewer, towards), found

    async def _completed(self, parts: Sequence["_Part[Any]"]) -> list[Sequence[Any]]:
        """The cached answers, completed from the tables."""
        await self._fill_in([part for part in parts if part.missing])
        rest = [(part, users) for part in parts if (users := part.unanswered)]
        reads = await together([part.read(users) for part, users in rest])
        for (part, _), read in zip(rest, reads, strict=True):
            part.found.update(read)
        return [_in_order(part.question.users, part.found) for part in parts]

    async def _fill_in(self, parts: Sequence["_Part[Any]"]) -> None:
        """Fill missing values, as far as Redis is available."""
        if not parts:
            return
        try:
            filled = await self._fills.filled(
                [part.question._replace(users=part.missing) for part in parts]
            )
        except Unavailable as error:
            if error.part != PART:
                raise
            return
        for part, more in zip(parts, filled, strict=True):
            part.found.update(more)

    async def _filled(self, viewer: UserId) -> Collection[UserId]:
        """The viewer's targets from the tables. Concurrent questions of one request share the
        read."""
        filling = self._filling.get(viewer)
        if filling is None:
            filling = self._filling[viewer] = asyncio.create_task(self._fill(viewer))
        return await asyncio.shield(filling)

    async def _fill(self, viewer: UserId) -> Collection[UserId]:
        del self._filling[viewer]  # a later caller may have written since
        load = self._inner.get_many
        question = Question([viewer], self._values, self._view, load, load)
        try:
            (found,) = await self._fills.filled([question])
        except Unavailable as error:
            if error.part != PART:
                raise
            found = await load([viewer])  # the servers of other keys may be available
        return cast("Collection[UserId]", found[viewer])


class _Part(Generic[A]):
    """A question that the cache has answered in part, with the answers found so far."""

    def __init__(
        self, question: Question[Any, A], replies: Sequence[Reply], own: Collection[UserId]
    ) -> None:
        """`own`: the users about whom the cache must not answer the viewer."""
        self.question = question
        self.found: dict[UserId, A | None] = answers(question.users, replies, question.view)
        self._own = own
        self._users = list(dict.fromkeys(question.users))  # each user is read once
        self._away = {
            u for u, reply in zip(question.users, replies, strict=True) if reply is UNAVAILABLE
        }

    @property
    def missing(self) -> list[UserId]:
        """The users whose values can be filled."""
        found, own, unavailable = self.found, self._own, self._away
        return [u for u in self._users if not (u in found or u in own or u in unavailable)]

    @property
    def unanswered(self) -> list[UserId]:
        found, own = self.found, self._own
        return [user for user in self._users if user in own or found.get(user) is None]

    @property
    def read(self) -> Load[A]:
        """The way to read the rest from the tables."""
        return (not self._own and self.question.beyond) or self.question.read


def _in_order(users: Sequence[UserId], found: Mapping[UserId, V]) -> list[V]:
    """The value of each user, in order."""
    return list(map(found.__getitem__, users))


def _answers(question: Question[Any, Any], replies: Sequence[Reply]) -> Sequence[Any] | None:
    """The answers to a question, if the cache holds all of them."""
    if not all(replies):
        return None
    found = question.view.of_replies(replies)
    return None if question.view.parts is not None and None in found else found


def _around(viewer: UserId, towards: Collection[UserId]) -> Collection[UserId]:
    # Includes the viewer's own lists and counts: following back makes a friend before a worker
    # applies the edge.
    return {viewer, *towards} if towards else ()
