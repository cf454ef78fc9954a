"""Readers who cannot wait for a worker drain for themselves. Knows nothing of who they are.

However many wait for a lane, it is drained once for all of them, a batch at a time; and not while
somebody else does: nobody who waits holds a connection or a lock.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass

from prometheus_client import Counter

from graph.errors import Stale, Unavailable
from graph.lane import Lane
from storage.drain import BATCH, Drain
from storage.postgres.outbox import LaneTaken, Outbox
from storage.redis.connection import PART as REDIS

PAUSE_S = 0.01
"""Until a lane that somebody else drains is looked at again: a batch of theirs takes longer."""

RETRY_AFTER_MS = 1000
"""When it is worth asking again: the sweep looks at every lane within this."""

waited = Counter("kith_readers_waited", "Answers that had to wait for what their tokens are of.")
stale = Counter("kith_readers_stale", "Those of them that waited in vain.")


@dataclass(frozen=True, slots=True)
class _Left:
    """The oldest version that a lane has not published, and one before which all is applied; None:
    none, and all.
    """

    unpublished: int | None
    unapplied: int | None


class CatchUp:
    """Brings lanes as far as a reader wants them."""

    def __init__(self, outbox: Outbox, drain: Drain) -> None:
        self._outbox = outbox
        self._drain = drain
        self._rounds: dict[Lane, asyncio.Task[_Left]] = {}
        self._running: set[asyncio.Task[_Left]] = set()

    async def reach(self, wanted: Mapping[Lane, int], wait_s: float) -> bool:
        """Returns when every lane is past what is wanted of it. Says whether the caches are, too:
        if not, they could not be told, and only the rows may be believed.

        Raises:
            Stale: it was not so within `wait_s`.
            Unavailable: PostgreSQL is.
        """
        arrived = await self._outbox.arrived(wanted)
        behind = [lane for lane, at in wanted.items() if not _is_past(arrived.oldest[lane], at)]
        if not behind:
            return True
        if all(_is_past(arrived.oldest_in_turn[lane], wanted[lane]) for lane in behind):
            return False
        waited.inc()
        try:
            return await self.bring({lane: wanted[lane] for lane in behind}, wait_s)
        except Stale:
            stale.inc()
            raise

    async def bring(self, wanted: Mapping[Lane, int], wait_s: float) -> bool:
        """The same, for who knows that the lanes are behind."""
        try:
            async with asyncio.timeout(wait_s):
                told = [await self._reached(lane, at) for lane, at in wanted.items()]
        except TimeoutError:
            raise Stale(RETRY_AFTER_MS) from None
        return all(told)

    async def close(self) -> None:
        for task in self._running:
            task.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)

    async def _reached(self, lane: Lane, at: int) -> bool:
        while True:
            left = await asyncio.shield(self._round(lane))
            if _is_past(left.unpublished, at):
                return True
            if _is_past(left.unapplied, at):
                return False

    def _round(self, lane: Lane) -> "asyncio.Task[_Left]":
        """One batch for all who wait for a lane, and then a look at what is left."""
        if lane not in self._rounds:
            task = self._rounds[lane] = asyncio.create_task(self._help(lane))
            self._running.add(task)
            task.add_done_callback(self._ended)
        return self._rounds[lane]

    def _ended(self, task: "asyncio.Task[_Left]") -> None:
        self._running.discard(task)
        if not task.cancelled():
            task.exception()  # those who waited have it; perhaps nobody waits any more

    async def _help(self, lane: Lane) -> _Left:
        try:
            told = await self._drained(lane)
        finally:
            # Whoever comes from here on may know of changes that the look does not find any more.
            del self._rounds[lane]
        arrived = await self._outbox.arrived([lane])
        if told:
            return _Left(arrived.oldest[lane], arrived.oldest_in_turn[lane])
        unapplied = await self._outbox.unapplied(lane)
        return _Left(arrived.oldest[lane], None if unapplied is None else unapplied.oldest)

    async def _drained(self, lane: Lane) -> bool:
        """Drains one batch, if nobody else does; says whether the caches could be told."""
        try:
            await self._drain.batch(lane, waits=False)
        except LaneTaken:
            await asyncio.sleep(PAUSE_S)
        except Unavailable as error:
            if error.part != REDIS:
                raise
            await self._apply(lane)
            return False
        return True

    async def _apply(self, lane: Lane) -> None:
        """Applies one batch more, behind all those that still have to be published."""
        unapplied = await self._outbox.unapplied(lane)
        if unapplied is None:
            return
        try:
            await self._outbox.apply(lane, BATCH, after_id=unapplied.first_id - 1, waits=False)
        except LaneTaken:
            await asyncio.sleep(PAUSE_S)


def _is_past(oldest: int | None, at: int) -> bool:
    return oldest is None or oldest > at
