"""Drains one lane: the reverse rows, then the caches, then the events, then the acknowledgement.

Knows nothing of queues. It may be killed anywhere, and run twice at once: changes are applied
once, because a lane is locked while they are; they may be published twice, which does no harm.
"""

import time

from prometheus_client import Histogram

from graph.lane import Lane
from storage.postgres.outbox import Applied, Outbox
from storage.redis.events import RedisEvents
from storage.redis.publish import RedisCaches

BATCH = 1000
"""Changes a transaction: large enough to be cheap, small enough to end in some 50 ms."""

BATCHES_MAX = 50
"""A busy lane gives its drain's place back after so many: others wait too."""

lag = Histogram(
    "kith_apply_lag_seconds",
    "From the acknowledgement of a change until the caches of both its ends know it.",
    buckets=(0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60),
)


class Drain:
    """What workers do for everybody, and a request for itself when it cannot wait for them."""

    def __init__(self, outbox: Outbox, caches: RedisCaches, events: RedisEvents) -> None:
        self._outbox = outbox
        self._caches = caches
        self._events = events

    async def lane(self, lane: Lane) -> None:
        """Applies and publishes what the lane holds, up to `BATCHES_MAX` batches.

        Raises:
            Unavailable: a server is; what was not acknowledged is drained again.
        """
        for _ in range(BATCHES_MAX):
            if await self.batch(lane) < BATCH:
                return

    async def batch(self, lane: Lane, *, waits: bool = True) -> int:
        """Applies and publishes the oldest of it, and says how much that was.

        Raises:
            LaneTaken: somebody else drains the lane, and the caller would not wait for them.
            Unavailable: as above.
        """
        applied = await self._outbox.apply(lane, BATCH, waits=waits)
        if applied.ids:
            await self.publish(lane, applied)
        return len(applied.ids)

    async def publish(self, lane: Lane, applied: Applied) -> None:
        """Tells the caches and then the log, and acknowledges: until that, the next drain does all
        of it again.
        """
        await self._caches.applied(applied.changes)
        await self._events.publish(lane, applied.changes, time.time_ns() // 1_000_000)
        await self._outbox.acknowledge(lane, applied.ids)
        await self._caches.settled(change.pair.source for change in applied.changes)
        now = time.time()
        for change in applied.changes:
            lag.observe(max(0.0, now - change.edge.version / 1_000_000))
