"""Applies bulk operations, slice after slice, at the pace that the service has chosen."""

import asyncio
import logging
from dataclasses import dataclass, field
from time import monotonic
from uuid import uuid4

from prometheus_client import Counter

from graph.bulk import BulkSlice, BulkState, SliceResults, end_of
from graph.errors import Unavailable
from storage.stores import Stores
from workers.job_settings import AppliesSlices

log = logging.getLogger(__name__)

RUN_S = 8.0
"""How long one job begins slices. The last slice has time enough before arq's timeout."""

CANDIDATES = 4
"""Operations that a job tries to lease, because other workers may lease some of them first."""

ANNOUNCED_AT_ONCE = 20
"""Ended operations whose end is published at once."""

_lines = Counter(
    "kith_bulk_lines", "Lines of bulk operations that were applied, by result.", ["result"]
)
_ended = Counter(
    "kith_bulk_operations_ended", "Bulk operations that have ended, by state.", ["state"]
)


@dataclass(slots=True)
class BulkJobs:
    """The bulk operations that one worker applies: one at a time, so that most of its jobs and
    connections are left for drains."""

    apply: AppliesSlices
    _is_running: bool = field(default=False, init=False)

    async def run(self, stores: Stores) -> None:
        """Apply slices of open operations for `RUN_S`, unless another job of this worker is doing
        so.

        Raises:
            Unavailable: a server cannot be reached.
        """
        if self._is_running:
            return
        self._is_running = True
        try:
            deadline = monotonic() + RUN_S
            await announce(stores)
            while monotonic() < deadline and (
                candidates := await stores.jobs.bulk.queue.open(CANDIDATES)
            ):
                for number in candidates:
                    await self._advance(stores, number, deadline)
                await announce(stores)
        finally:
            self._is_running = False

    async def _advance(self, stores: Stores, number: int, deadline: float) -> None:
        """Apply slices of one operation until it has ended, or until `deadline`."""
        lease, queue, has_failed = uuid4(), stores.jobs.bulk.queue, False
        try:
            while (
                monotonic() < deadline
                and (bulk_slice := await queue.begin(number, lease)) is not None
            ):
                began_at = monotonic()
                results = await self.apply(stores, bulk_slice)
                state = await queue.finish(bulk_slice, lease, results)
                _count_lines(bulk_slice, results, state)
                if state not in (BulkState.PENDING, BulkState.RUNNING):
                    return
                await _keep_pace(bulk_slice, began_at)
        except Unavailable:
            raise
        except Exception:
            has_failed = True
            raise
        finally:
            try:
                # After an unexpected error the lease is kept until it expires, so that other
                # operations are applied first.
                if not has_failed:
                    await queue.release(number, lease)
            except Unavailable:
                log.warning("a lease on a bulk operation could not be ended; it expires soon")


async def announce(stores: Stores) -> None:
    """Publish the end of ended operations whose changes were all published, and record it for
    webhooks: of at most `ANNOUNCED_AT_ONCE` at a call. After a failure, the next job repeats the
    rest.

    Raises:
        Unavailable: a server cannot be reached.
    """
    ended = await stores.jobs.bulk.queue.unpublished(ANNOUNCED_AT_ONCE)
    if not ended:
        return
    oldest = (await stores.changes.progress.watermarks()).oldest_unparked.values()
    for operation in ended:
        assert operation.ended_at is not None
        if all(waiting is None or waiting > operation.ended_at for waiting in oldest):
            await stores.broker.events.publish_end(end_of(operation))
            await stores.jobs.bulk.queue.mark_published(operation)


async def _keep_pace(bulk_slice: BulkSlice, began_at: float) -> None:
    """Wait until the slice has taken as long as the operation's `per_second` requires."""
    per_second = bulk_slice.operation.options.per_second
    if per_second is not None:
        await asyncio.sleep(max(0.0, len(bulk_slice.lines) / per_second - (monotonic() - began_at)))


def _count_lines(bulk_slice: BulkSlice, results: SliceResults, state: BulkState | None) -> None:
    """Count the lines of a slice and, if it was the last one, the operation. `state`: of the
    operation after the slice; None if the slice was not recorded."""
    if state is None:
        return  # another worker applies and counts the slice, or the operation has ended
    for name, count in results.counts._asdict().items():
        _lines.labels(name).inc(count)
    if state in (BulkState.COMPLETED, BulkState.CANCELED):
        _ended.labels(state.name.lower()).inc()
        log.info("the bulk operation %s has ended: %s", bulk_slice.operation.key.id, state.name)
