"""Totals, remembered. Knows nothing of how they are counted."""

from collections.abc import Mapping, Sequence

from graph.counts import Counts
from graph.edge import UserId
from storage.ports import CountsOf, Pending
from storage.redis import own_writes, packing
from storage.redis.connection import Redis
from storage.redis.keys import Keys
from storage.redis.leases import Leases
from storage.redis.values import CachedValues


class CachedCounts:
    """Keeps `storage.ports.CountsOf`: one GET a user, in one round trip."""

    def __init__(
        self,
        worn: CountsOf,
        pending: Pending,
        redis: Redis,
        leases: Leases,
        keys: Keys,
        ttl_s: int,
    ) -> None:
        self._worn = worn
        self._pending = pending
        self._values = CachedValues[Counts](
            redis,
            leases,
            keys.counts,
            pack=packing.counts_value,
            unpack=packing.counts_in,
            ttl_s=lambda _: ttl_s,
        )

    async def of(self, users: Sequence[UserId], viewer: UserId | None) -> Mapping[UserId, Counts]:
        own = await own_writes.towards(self._pending, viewer)
        cached = await self._values.of([u for u in users if u not in own], self._load)
        lagging = [user for user in users if user in own]
        return {**cached, **await self._worn.of(lagging, viewer)} if lagging else cached

    async def _load(self, users: Sequence[UserId]) -> Mapping[UserId, Counts]:
        return await self._worn.of(users, None)  # a shared value must not hold one viewer's writes
