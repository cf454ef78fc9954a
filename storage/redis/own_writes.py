"""Caches that step aside for a viewer's own writes. Knows nothing of what the caches hold."""

from collections.abc import Collection, Mapping, Sequence
from typing import TypeVar

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
        self._view = View[Collection[UserId], Collection[UserId]](
            lambda key: ("GET", key), packing.pending_in, lambda ids: ids
        )

    async def seen(
        self,
        viewer: UserId | None,
        users: Sequence[UserId],
        values: CachedValues[V],
        view: View[V, A | None],
        load: Load[V],
        read: Load[A],
    ) -> Mapping[UserId, A]:
        """The answers of all `users` as `viewer` may rely on them.

        `load` gets what the cache holds: the same for everybody. `read` answers the viewer from
        the tables, where the cache must not, or cannot tell, or cannot be reached.
        """
        users = list(dict.fromkeys(users))
        if not users:
            return {}
        try:
            cached = await self._cached(viewer, users, values, view, load)
        except Unavailable as error:
            if error.part != PART:
                raise
            cached = {}
        found = {user: answer for user, answer in cached.items() if answer is not None}
        rest = [user for user in users if user not in found]
        return {**found, **await read(rest)} if rest else found

    async def _cached(
        self,
        viewer: UserId | None,
        users: Sequence[UserId],
        values: CachedValues[V],
        view: View[V, A | None],
        load: Load[V],
    ) -> dict[UserId, A | None]:
        own, replies = await self._first(viewer, values.reads(users, view))
        found = answers(users, replies, view)
        missing = [user for user in users if user not in found and user not in own]
        if missing:
            found |= await values.filled(missing, view, load)
        for user in own:
            found.pop(user, None)
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
        filled = await self._values.filled([viewer], self._view, self._worn.of)
        return _around(viewer, filled[viewer]), await self._redis.pipe(commands)


def _around(viewer: UserId, towards: Collection[UserId]) -> Collection[UserId]:
    # Their own lists and counts too: a follow back makes a friend before a worker has heard of it.
    return {viewer, *towards} if towards else ()
