"""Drains one lane: the reverse rows, then the caches, then the events, then the acknowledgement.

Knows nothing of queues. It may be killed anywhere, and run twice at once: changes are applied
once, because a lane is locked while they are; they may be published twice, which does no harm.
"""

import time

from prometheus_client import Histogram

from graph.lane import Lane
from storage.postgres.outbox import Outbox
from storage.redis.events import RedisEvents
from storage.redis.publish import RedisCaches

BATCH = 1000
"""Changes a transaction: large enough to be cheap, small enough to end in some 50 ms."""

BATCHES_MAX = 50
"""A busy lane gives its worker's place back after so many: others wait too."""

lag = Histogram(
    "kith_apply_lag_seconds",
    "From the acknowledgement of a change until the caches of both its ends know it.",
    buckets=(0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60),
)


async def drain(outbox: Outbox, caches: RedisCaches, events: RedisEvents, lane: Lane) -> None:
    """Applies and publishes what the lane holds, up to `BATCHES_MAX` batches.

    Raises:
        Unavailable: a server is; what was not acknowledged is drained again.
    """
    for _ in range(BATCHES_MAX):
        taken = await outbox.apply(lane, BATCH)
        await publish(outbox, caches, events, lane)
        if taken < BATCH:
            return


async def publish(outbox: Outbox, caches: RedisCaches, events: RedisEvents, lane: Lane) -> None:
    """Tells the caches and then the log what was applied, also by a worker that died before."""
    while (applied := await outbox.applied(lane, BATCH)).changes:
        await caches.applied(applied.changes)
        await events.publish(lane, applied.changes, int(time.time() * 1000))
        await outbox.acknowledge(lane, applied.ids)
        await caches.settled(change.pair.source for change in applied.changes)
        now = time.time()
        for change in applied.changes:
            lag.observe(max(0.0, now - change.edge.version / 1_000_000))
