"""Totals of hot users, from memory. Knows nothing of how they are counted."""

from collections.abc import Mapping, Sequence
from functools import partial

from graph.counts import Counts
from graph.edge import UserId
from storage.hot.hot_values import HotValues, Read, Sized
from storage.hot.invalidations import tracked
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
        read = partial(self._worn.of, viewer=viewer)
        return await self._viewers.answers(
            viewer, users, self._values.answered, self._values.held, read
        )


def counts_reader(redis: Redis, keys: Keys) -> Read[Counts]:
    """Reads totals that are to be remembered."""

    async def read(users: Sequence[UserId]) -> Mapping[UserId, Sized[Counts]]:
        replies = await tracked(redis, [("GET", keys.counts(user)) for user in users])
        return {
            user: Sized(packing.counts_in(value), COUNTS_BYTES)
            for user, value in zip(users, replies, strict=True)
            if value
        }

    return read
