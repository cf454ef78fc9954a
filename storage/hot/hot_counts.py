"""Totals of hot users, from memory. Knows nothing of how they are counted."""

from collections.abc import Mapping, Sequence

from graph.counts import Counts
from graph.edge import UserId
from storage.hot.hot_values import HotValues, Read, Sized
from storage.hot.invalidations import TRACKED
from storage.hot.viewers import Viewers
from storage.ports import CountsOf
from storage.redis import packing
from storage.redis.connection import Redis
from storage.redis.keys import Keys

COUNTS_BYTES = 160


class HotCounts:
    """Keeps `storage.ports.CountsOf`."""

    def __init__(self, worn: CountsOf, values: HotValues[Counts], viewers: Viewers) -> None:
        self._worn = worn
        self._values = values
        self._viewers = viewers

    async def of(self, users: Sequence[UserId], viewer: UserId | None) -> Mapping[UserId, Counts]:
        shown = await self._viewers.shown(viewer, users, self._values.held)
        missed = [user for user in users if user not in shown] if shown else users
        rest = await self._worn.of(missed, viewer) if missed else {}
        self._values.answered(len(shown), missed)
        return {**shown, **rest} if shown else rest


def counts_reader(redis: Redis, keys: Keys) -> Read[Counts]:
    """Reads totals that are to be remembered."""

    async def read(users: Sequence[UserId]) -> Mapping[UserId, Sized[Counts]]:
        replies = await redis.pipe(
            [command for user in users for command in (TRACKED, ("GET", keys.counts(user)))]
        )
        return {
            user: Sized(packing.counts_in(value), COUNTS_BYTES)
            for user, value in zip(users, replies[1::2], strict=True)
            if value
        }

    return read
