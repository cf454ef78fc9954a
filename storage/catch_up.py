"""Drains lanes for readers that cannot wait for a worker.

One task drains a lane for all readers that wait for it, a batch at a time, and pauses while another
process drains it. Waiting readers hold no connection and no lock.
"""

import asyncio
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from prometheus_client import Counter

from graph.errors import Stale, Unavailable
from graph.lane import Lane, lane_group_of
from storage.drain import BATCH, Drain
from storage.postgres.lane_progress import PostgresLaneProgress
from storage.postgres.outbox import ChangesRejected, LaneTaken, Outbox
from storage.redis.connection import REDIS
from storage.shielded_tasks import abandonable

PAUSE_S = 0.01
"""Pause before retrying a lane that another process drains; one batch takes longer."""

RETRY_AFTER_MS = 1000
"""Suggested retry delay: the sweep looks at every lane within this time."""

waited = Counter(
    "kith_readers_waited", "Requests that waited for the changes of their consistency token."
)
stale = Counter("kith_readers_stale", "Requests that failed with STALE after the wait.")


@dataclass(frozen=True, slots=True)
class _LaneState:
    """What a lane lacks after a batch was drained."""

    oldest_unpublished: int | None
    """The oldest version that is not published. None: all are."""
    oldest_unapplied: int | None
    """The oldest version that is not applied. None: all are."""
    lanes: int
    """The number of lanes of the space."""
    failed: Collection[int]
    """The versions of changes that could not be applied, and wait for an operator."""


@dataclass(frozen=True, slots=True)
class _LanesBehind:
    """The lanes that have not reached the versions that a reader requires."""

    required: Mapping[Lane, int]
    """The required version of each such lane."""
    is_parked: bool
    """Whether these lanes lack parked changes only."""
    lanes: int
    """The number of lanes of the space."""


class LanesChanged(Exception):
    """The space has another number of lanes, so a change may be in another lane."""


class CatchUp:
    """Drains lanes up to the versions that readers require."""

    def __init__(self, outbox: Outbox, progress: PostgresLaneProgress, drain: Drain) -> None:
        self._outbox = outbox
        self._progress = progress
        self._drain = drain
        self._current_rounds: dict[Lane, asyncio.Task[_LaneState]] = {}
        self._running: set[asyncio.Task[_LaneState]] = set()

    async def reach(self, of_groups: Mapping[Lane, int], wait_s: float) -> bool:
        """Return when the lanes of each group have passed its required version. True: rows and
        caches are current. False: only the rows are, because some caches could not be updated.

        Raises:
            Stale: it took longer than `wait_s`.
            Unavailable: PostgreSQL cannot be reached.
        """
        behind = await self._lanes_behind(of_groups)
        if not behind.required:
            return True
        if behind.is_parked:
            return False
        waited.inc()
        try:
            return await self._wait_until_reached(of_groups, behind, wait_s)
        except Stale:
            stale.inc()
            raise

    async def drain_until(self, required: Mapping[Lane, int], lanes: int, wait_s: float) -> bool:
        """Like `reach`, for the required versions of lanes that are known to be behind, in a space
        with `lanes` lanes. False also if a change with a required version has failed.

        Raises:
            LanesChanged: the space has another number of lanes.
        """
        try:
            async with asyncio.timeout(wait_s):
                reached = [
                    await self._wait_until_drained(lane, lanes, version)
                    for lane, version in required.items()
                ]
        except TimeoutError:
            raise Stale(RETRY_AFTER_MS) from None
        return all(reached)

    async def _lanes_behind(self, of_groups: Mapping[Lane, int]) -> "_LanesBehind":
        """The lanes of these groups that are behind the versions required of the groups."""
        watermarks = (await self._progress.watermarks(of_groups)).of_lanes
        behind = {
            lane: of_groups[lane_group_of(lane)]
            for lane, oldest in watermarks.oldest.items()
            if not _has_reached(oldest, of_groups[lane_group_of(lane)])
        }
        unparked = watermarks.oldest_unparked
        is_parked = all(_has_reached(unparked[lane], version) for lane, version in behind.items())
        return _LanesBehind(behind, is_parked, watermarks.lanes)

    async def _wait_until_reached(
        self, of_groups: Mapping[Lane, int], behind: "_LanesBehind", wait_s: float
    ) -> bool:
        """Drain the lanes that are behind, until none is.

        Returns and raises as `drain_until`, except LanesChanged.

        If the number of lanes changes, pending changes move to other lanes. On Citus, whose
        machines do not commit at the same time, a drain may find a change in neither its old nor
        its new lane. So the lanes are read again.
        """
        deadline = time.monotonic() + wait_s
        while behind.required:
            left_s = deadline - time.monotonic()
            try:
                reached = await self.drain_until(behind.required, behind.lanes, left_s)
                if not reached or await self._progress.has_one_commit():
                    return reached
            except LanesChanged:
                pass
            behind = await self._lanes_behind(of_groups)
            if behind.is_parked and behind.required:
                return False
        return True

    async def close(self) -> None:
        for task in self._running:
            task.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)

    async def _wait_until_drained(self, lane: Lane, lanes: int, version: int) -> bool:
        """Drain a lane until it reaches `version`. Returns as `drain_until`, and raises
        LanesChanged and Unavailable. The caller limits the time."""
        while True:
            state = await asyncio.shield(self._current_round(lane))
            if state.lanes != lanes:
                raise LanesChanged
            if _has_reached(state.oldest_unpublished, version):
                return version not in state.failed
            if _has_reached(state.oldest_unapplied, version):
                return False

    def _current_round(self, lane: Lane) -> "asyncio.Task[_LaneState]":
        """The current task for a lane, shared by all its readers: it drains one batch, then reads
        the state of the lane."""
        if lane not in self._current_rounds:
            task = abandonable(asyncio.create_task(self._advance(lane)))
            self._current_rounds[lane] = task
            self._running.add(task)
            task.add_done_callback(self._running.discard)
        return self._current_rounds[lane]

    async def _advance(self, lane: Lane) -> _LaneState:
        """Drain one batch, and return the state of the lane after it."""
        try:
            are_published = await self._drain_batch(lane)
        finally:
            # A later reader may require changes that were committed after this task has read.
            del self._current_rounds[lane]
        watermarks = await self._progress.lane_watermarks(lane)
        oldest, unparked = watermarks.oldest.get(lane), watermarks.oldest_unparked.get(lane)
        failed = watermarks.failed.get(lane, ())
        if are_published:
            return _LaneState(oldest, unparked, watermarks.lanes, failed)
        unapplied = await self._progress.unapplied(lane)
        oldest_unapplied = None if unapplied is None else unapplied.oldest
        return _LaneState(oldest, oldest_unapplied, watermarks.lanes, failed)

    async def _drain_batch(self, lane: Lane) -> bool:
        """Drain one batch, or pause if another process drains the lane. Returns False if Redis is
        unavailable, so that changes are applied to the rows only."""
        try:
            await self._drain.batch(lane, waits=False)
        except LaneTaken:
            await asyncio.sleep(PAUSE_S)
        except Unavailable as error:
            if error.part != REDIS:
                raise
            await self._apply_batch(lane)
            return False
        return True

    async def _apply_batch(self, lane: Lane) -> None:
        """Apply one more batch, without publishing it."""
        unapplied = await self._progress.unapplied(lane)
        if unapplied is None:
            return
        try:
            await self._outbox.apply(lane, BATCH, after_id=unapplied.first_id - 1, waits=False)
        except (LaneTaken, ChangesRejected):  # a worker moves a rejected change to the failed ones
            await asyncio.sleep(PAUSE_S)


def _has_reached(oldest_pending: int | None, version: int) -> bool:
    return oldest_pending is None or oldest_pending > version
