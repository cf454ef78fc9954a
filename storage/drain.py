"""Drains a lane: updates the reverse rows, the caches and the event log, then acknowledges.

If a cache's server is unavailable, its changes are parked instead of acknowledged, so that they do
not block the lane. They are published when the server is available again.

A change that cannot be applied, because a row is wrong, is moved to the failed changes after some
tries. There it waits for an operator, and the drain continues with the next change.

A drain can be killed at any point, and can run concurrently: a lane's lock ensures that changes are
applied once. They may be published twice, which is harmless.
"""

import asyncio
import logging
import random
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence, Set
from itertools import compress

from prometheus_client import Counter as Total
from prometheus_client import Histogram

from graph.edge import UserId
from graph.lane import Lane
from storage.cache.updates import RedisCaches
from storage.postgres.canaries import Canaries, is_canary
from storage.postgres.outbox import Applied, ChangesRejected, Outbox
from storage.redis.events import RedisEvents
from telemetry import tracing

log = logging.getLogger(__name__)

BATCH = 1000
"""Changes in one transaction: enough to be efficient, few enough to take about 50 ms."""

SHARE = 100
"""Changes of each target in the second half of a batch, while one target has more than this number
in each full batch."""

TRIES = 3
"""How often a change that cannot be applied is tried before it is moved to the failed changes."""

TRIES_PAUSE_S = 0.05
"""The shortest pause after such a try; the longest is twice as long."""

BATCHES_MAX = 50
"""After this many batches a busy lane's job ends, so that other jobs can run."""

PARKED_BATCHES_MAX = 10
"""Batches of one lane's parked changes in one run. The next sweep follows within a second."""

lag = Histogram(
    "kith_apply_lag_seconds",
    "Time from the commit of a change until the caches of both users have it.",
    buckets=(0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60),
)

failed = Total(
    "kith_changes_failed_total",
    "Changes that could not be applied and were moved to the failed changes.",
)


class Drain:
    """Drains lanes, for the workers and for requests that cannot wait for them."""

    def __init__(
        self, outbox: Outbox, canaries: Canaries, caches: RedisCaches, events: RedisEvents
    ) -> None:
        self._outbox = outbox
        self._canaries = canaries
        self._caches = caches
        self._events = events
        self._parked_read_up_to: dict[Lane, int] = {}
        """For each lane, the outbox id of the parked change read last."""
        self._shared_after: dict[Lane, UserId] = {}
        """The target whose share was taken last, for each lane in which one target has more than
        `SHARE` changes of a full batch."""

    async def lane(self, lane: Lane, *, waits: bool = True) -> None:
        """Apply and publish the lane's changes, up to `BATCHES_MAX` batches.

        Raises:
            LaneTaken: another process is draining the lane, and `waits` is false.
            Unavailable: a server cannot be reached; changes that are not acknowledged are drained
                again.
        """
        for _ in range(BATCHES_MAX):
            if not await self.batch(lane, waits=waits):
                return

    async def batch(self, lane: Lane, *, waits: bool = True) -> bool:
        """Apply and publish one batch of the lane. Returns whether more may be waiting.

        The batch has the oldest changes. If a full batch has more than `SHARE` changes of one
        target, half of each next batch goes to all targets in turn, at most `SHARE` changes each,
        until a batch is not full: so changes towards others do not wait behind those of one target.

        Raises:
            LaneTaken: another process is draining the lane, and `waits` is false.
            Unavailable: as for `lane`.
        """
        try:
            applied = await self._apply(lane, waits)
        except ChangesRejected as rejected:
            await self._isolate(lane, rejected, waits)
            return True
        self._plan_next_batch(lane, applied)
        if applied.ids:
            await self.publish(lane, applied)
        return applied.is_full

    async def _apply(self, lane: Lane, waits: bool) -> Applied:
        after_target = self._shared_after.get(lane)
        if after_target is None:
            return await self._outbox.apply(lane, BATCH, waits=waits)
        return await self._outbox.apply_shares(lane, BATCH, SHARE, after_target, waits=waits)

    def _plan_next_batch(self, lane: Lane, applied: Applied) -> None:
        """Decide whether the next batch of the lane is shared, and where it begins."""
        if not applied.is_full:
            self._shared_after.pop(lane, None)
        elif lane in self._shared_after or _exceeds_share(applied):
            self._shared_after[lane] = applied.next_target

    async def _isolate(self, lane: Lane, rejected: ChangesRejected, waits: bool) -> None:
        """Find the first change that cannot be applied, by halving, and move it to the failed
        changes. Apply and publish the changes before it."""
        ids = rejected.ids
        while len(ids) > 1:
            half = ids[: len(ids) // 2]
            try:
                applied = await self._outbox.apply_changes(lane, half, waits=waits)
            except ChangesRejected:
                ids = half
            else:
                await self.publish(lane, applied)
                ids = ids[len(half) :]
        for _ in range(TRIES):
            try:
                applied = await self._outbox.apply_changes(lane, ids, waits=waits)
            except ChangesRejected as error:
                rejected = error
            else:
                await self.publish(lane, applied)
                return
            await asyncio.sleep(TRIES_PAUSE_S * (1 + random.random()))
        await self._outbox.fail(lane, ids[0], TRIES, rejected.reason)
        failed.inc()
        log.error("change %d of lane %d cannot be applied: %s", ids[0], lane, rejected.reason)

    async def publish(self, lane: Lane, applied: Applied) -> None:
        """Update the caches, append the events to the event log, then acknowledge the changes, or
        park those that an unavailable cache server lacks. After a failure, the next drain repeats
        all of it."""
        if tracing.tracer is None:
            return await self._publish(lane, applied)
        traces = await self._outbox.traces(lane, applied.ids, tracing.LINKS_MAX)
        attributes = {"kith.lane": lane, "kith.changes": len(applied.ids)}
        with tracing.linked_span("publish changes", traces, attributes):
            return await self._publish(lane, applied)

    async def _publish(self, lane: Lane, applied: Applied) -> None:
        unavailable = await self._caches.update_after_drain(applied.changes)
        changes = [change for change in applied.changes if not is_canary(change)]
        await self._events.publish(lane, changes, time.time_ns() // 1_000_000)
        published, unpublished = _split(applied, unavailable)
        await self._outbox.acknowledge(lane, published, unpublished)
        await self._after_acknowledgement(published)

    async def publish_parked(self, lanes: Iterable[Lane]) -> None:
        """Publish parked changes if the caches of both their users are available again. Other
        parked changes are skipped, so that available caches are not updated over and over.

        Raises:
            Unavailable: PostgreSQL cannot be reached.
        """
        is_reachable = await self._caches.reachable()
        for lane in lanes:
            await self._publish_parked_of(lane, is_reachable)

    async def _publish_parked_of(self, lane: Lane, is_reachable: Callable[[UserId], bool]) -> None:
        """Publish parked changes of one lane, up to `PARKED_BATCHES_MAX` batches. It continues
        after the change that the last call read, and starts over after the newest. So it finds
        changes that can be published among any number that cannot."""
        for _ in range(PARKED_BATCHES_MAX):
            after = self._parked_read_up_to.get(lane, 0)
            waiting = await self._outbox.parked(lane, BATCH, after_id=after)
            is_last = len(waiting.ids) < BATCH
            self._parked_read_up_to[lane] = 0 if is_last else waiting.ids[-1]
            found = _select(waiting, [all(map(is_reachable, one.pair)) for one in waiting.changes])
            if found.ids:
                published, _ = _split(found, await self._caches.update_after_drain(found.changes))
                # The log has these events already. They woke subscribers before the caches were
                # updated.
                await self._events.notify_again(published.changes)
                await self._outbox.acknowledge_parked(lane, published.ids)
                await self._after_acknowledgement(published)
            if is_last:
                return

    async def _after_acknowledgement(self, published: Applied) -> None:
        """Delete the writers' cached pending writes, answer canaries, and measure the lag."""
        await self._caches.invalidate_pending_writes(
            change.pair.source for change in published.changes
        )
        canaries = list(filter(is_canary, published.changes))
        if canaries:
            await self._canaries.answer(canaries)
        now = time.time()
        for change in published.changes:
            lag.observe(max(0.0, now - change.edge.version / 1_000_000))


def _exceeds_share(applied: Applied) -> bool:
    """Whether one target has more than its share of a batch."""
    targets = Counter(change.pair.target for change in applied.changes)
    return max(targets.values(), default=0) > SHARE


def _split(changes: Applied, unavailable: Set[UserId]) -> tuple[Applied, Applied]:
    """The changes that all caches have, and those that a cache of either user lacks."""
    if not unavailable:
        return changes, Applied((), ())
    is_published = [unavailable.isdisjoint(change.pair) for change in changes.changes]
    return _select(changes, is_published), _select(changes, [not one for one in is_published])


def _select(changes: Applied, wanted: Sequence[bool]) -> Applied:
    """The changes for which `wanted` is true."""
    return Applied(list(compress(changes.ids, wanted)), list(compress(changes.changes, wanted)))
