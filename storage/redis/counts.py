"""Totals, remembered. Knows nothing of how they are counted."""

from collections.abc import Mapping, Sequence
from functools import partial

from graph.counts import Counts
from graph.edge import UserId
from storage.ports import CountsOf
from storage.redis import packing
from storage.redis.connection import Redis
from storage.redis.keys import Keys
from storage.redis.leases import Leases
from storage.redis.own_writes import OwnWrites, Question
from storage.redis.values import CachedValues, View

_VIEW = View[Counts, Counts | None](packing.all_counts_in, lambda counts: counts)


class CachedCounts:
    """Keeps `storage.ports.CountsOf`: one value a user, all in one round trip."""

    def __init__(
        self,
        worn: CountsOf,
        own: OwnWrites,
        redis: Redis,
        leases: Leases,
        keys: Keys,
        ttl_s: int,
    ) -> None:
        self._worn = worn
        self._own = own
        self._values = CachedValues[Counts](
            redis,
            leases,
            keys.all_counts,
            pack=packing.counts_value,
            ttl_s=lambda _: ttl_s,
        )
        self._load = partial(worn.of, viewer=None)

    async def of(self, users: Sequence[UserId], viewer: UserId | None) -> Mapping[UserId, Counts]:
        (found,) = await self._own.seen(viewer, self.question(users, viewer))
        return dict(zip(users, found, strict=True))

    def question(self, users: Sequence[UserId], viewer: UserId | None) -> Question[Counts, Counts]:
        """The same, to be asked together with something else."""
        read = partial(self._worn.of, viewer=viewer)
        return Question(users, self._values, _VIEW, self._load, read)
