"""Drains one lane: the reverse rows, then the caches, then the events, then the acknowledgement.

What caches cannot be told of, because their server is away, is set aside instead of acknowledged:
it holds up nobody, and they are told as soon as they are back.

Knows nothing of queues. It may be killed anywhere, and run twice at once: changes are applied
once, because a lane is locked while they are; they may be published twice, which does no harm.
"""

import time
from collections.abc import Callable, Iterable, Sequence, Set
from itertools import compress

from prometheus_client import Histogram

from graph.edge import UserId
from graph.lane import Lane, aside_of
from storage.postgres.outbox import Applied, Outbox
from storage.redis.events import RedisEvents
from storage.redis.publish import RedisCaches

BATCH = 1000
"""Changes a transaction: large enough to be cheap, small enough to end in some 50 ms."""

BATCHES_MAX = 50
"""A busy lane gives its drain's place back after so many: others wait too."""

BATCHES_ASIDE_MAX = 10
"""Of what one lane has set aside, looked at in one go: the sweep comes again within a second."""

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
        self._looked_at: dict[Lane, int] = {}
        """Of what lanes have set aside, the last that was looked at."""

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
        away = await self._caches.applied(applied.changes)
        await self._events.publish(lane, applied.changes, time.time_ns() // 1_000_000)
        told, untold = _parted(applied, away)
        if untold.ids:
            await self._outbox.set_aside(lane, untold.ids)
        await self._settle(lane, told)

    async def aside(self, lanes: Iterable[Lane]) -> None:
        """Tells the caches what lanes have set aside, where those of both ends are there by now:
        who has heard of it already is not told again and again.

        Raises:
            Unavailable: PostgreSQL is.
        """
        is_there = await self._caches.present()
        for lane in lanes:
            await self._aside(lane, is_there)

    async def _aside(self, lane: Lane, is_there: Callable[[UserId], bool]) -> None:
        """Goes on where it stopped, up to `BATCHES_ASIDE_MAX` batches, and around: who is back is
        found among any number of changes for those who are not.
        """
        for _ in range(BATCHES_ASIDE_MAX):
            after = self._looked_at.get(lane, 0)
            waiting = await self._outbox.aside(lane, BATCH, after_id=after)
            is_last = len(waiting.ids) < BATCH
            self._looked_at[lane] = 0 if is_last else waiting.ids[-1]
            found = _those(waiting, [all(map(is_there, one.pair)) for one in waiting.changes])
            if found.ids:
                told, _ = _parted(found, await self._caches.applied(found.changes))
                # The log has them; who was woken by it may have looked at what a cache still held.
                await self._events.ring(end for change in told.changes for end in change.pair)
                await self._settle(aside_of(lane), told)
            if is_last:
                return

    async def _settle(self, lane: Lane, told: Applied) -> None:
        await self._outbox.acknowledge(lane, told.ids)
        await self._caches.settled(change.pair.source for change in told.changes)
        now = time.time()
        for change in told.changes:
            lag.observe(max(0.0, now - change.edge.version / 1_000_000))


def _parted(changes: Applied, away: Set[UserId]) -> tuple[Applied, Applied]:
    """What the caches were told of, and what those of one of its ends were not."""
    if not away:
        return changes, Applied((), ())
    is_told = [away.isdisjoint(change.pair) for change in changes.changes]
    return _those(changes, is_told), _those(changes, [not told for told in is_told])


def _those(changes: Applied, wanted: Sequence[bool]) -> Applied:
    return Applied(list(compress(changes.ids, wanted)), list(compress(changes.changes, wanted)))
