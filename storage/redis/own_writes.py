"""Whose writes are still pending, remembered. Knows nothing of what is done about them."""

from collections.abc import Collection, Mapping, Sequence

from graph.edge import UserId
from storage.ports import Pending
from storage.redis import packing
from storage.redis.connection import Redis
from storage.redis.keys import Keys
from storage.redis.leases import Leases
from storage.redis.values import CachedValues

NOTHING = b"."
"""How every value begins: one without ids would look like a missing one."""

PENDING_TTL_S = 5
"""A write is pending for milliseconds, and the cache is told when it ends; this is for the rest."""


class CachedPending:
    """Keeps `storage.ports.Pending`: nearly everybody's value says "nothing"."""

    def __init__(self, worn: Pending, redis: Redis, leases: Leases, keys: Keys, ttl_s: int) -> None:
        self._worn = worn
        self._values = CachedValues[Collection[UserId]](
            redis,
            leases,
            keys.own_writes,
            pack=lambda ids: NOTHING + packing.ids_value(ids),
            unpack=lambda value: packing.ids_in(value[len(NOTHING) :]),
            ttl_s=lambda ids: PENDING_TTL_S if ids else ttl_s,
        )

    async def of(self, users: Sequence[UserId]) -> Mapping[UserId, Collection[UserId]]:
        return await self._values.of(users, self._worn.of)


async def towards(pending: Pending, viewer: UserId | None) -> Collection[UserId]:
    """Whom a viewer's own writes are still on their way to: the caches must not answer for them.

    To be asked before the caches, not beside them: a write that is told to a cache after that was
    read, and acknowledged before this looks, would be seen in neither.
    """
    towards = (await pending.of([viewer]))[viewer] if viewer else ()
    # Their own lists and counts too: a follow back makes a friend before a worker has heard of it.
    return {viewer, *towards} if viewer and towards else ()
