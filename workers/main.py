"""The arq worker of one space: its jobs and their schedule."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from signal import Signals
from typing import Any

from arq import cron, func
from arq.worker import Worker

from graph.edge import UserId
from graph.errors import Unavailable
from graph.lane import Lane
from storage.postgres.purge import purge, purge_messages, purge_receipts
from storage.queue import DRAIN, ERASE, arq_redis, deserialize, queue_name, serialize
from storage.settings import StorageSettings
from storage.stores import Stores
from workers.absent_follower_counts import update_absent_follower_counts
from workers.bulk import BulkJobs
from workers.erasures import erase, wake_erasures
from workers.job_metrics import JobMetrics
from workers.job_settings import AppliesSlices
from workers.mutes import end_mutes
from workers.sweep import sweep
from workers.webhooks import purge_webhooks

log = logging.getLogger(__name__)

JOB_TIMEOUT_S = 20
"""How long any job may take. After a kill of a worker, arq does not start its running jobs again
for this long plus ten seconds."""

ALONE_S = 10
"""How long a job of `_run_exclusively` may hold its lock, which PostgreSQL releases after 15 s."""

STOP_S = 10
"""How long running jobs may take after a stop signal."""

CANCEL_AGAIN_S = 0.1
"""Pause before a cancelled worker that has not ended is cancelled again."""

POLL_S = 0.02
"""How often the worker polls the queue: the largest part of a quiet system's lag."""

JOBS_MAX = 16
"""The most jobs that a worker runs at once."""

TOMBSTONES_KEPT_S = 7 * 86_400
"""Much longer than the time to live of any cached value, and than a clock is ever set back."""

ERASURES_S = 5
"""Interval of the search for unfinished erasures."""

CANARIES_S = 5
"""Interval at which the lag of each lane is measured."""

RECEIPTS_KEPT_S = 86_400
"""How long a repeat of a request returns the first result."""

BULK_KEPT_S = 3 * 86_400
"""How long the results of a bulk operation can be read, and its id is known."""

FORWARD_TOMBSTONES_KEPT_S = 90 * 86_400
"""How long tombstones of forward rows are kept; those of reverse rows for `TOMBSTONES_KEPT_S`.
After a user has ended an edge, the other user is not suggested to this user for this long."""

PURGED_TOMBSTONES = 20_000
PURGED_RECEIPTS = 100_000
PURGED_AFFINITIES = 500
PURGED_DELIVERIES = 100_000
"""About the most rows that a purge, which runs each minute, deletes in some seconds: tombstones in
each direction, deliveries for each endpoint. No job has a timeout
of its own, because after a kill of a worker, arq does not start its jobs again, drains included,
for the longest timeout of any job."""


def worker(
    settings: StorageSettings,
    undo_s: int,
    stores: Stores | None = None,
    verified_rows: int = 0,
    metrics: JobMetrics | None = None,
    webhooks_kept_s: int = 7 * 86_400,
    apply_slice: AppliesSlices | None = None,
) -> Worker:
    """A worker that is ready to run, on these stores; without them, no job can run. `metrics` count
    its jobs. Without `apply_slice`, it applies no bulk operations."""
    name = f"kith:{settings.space}"
    bulk = None if apply_slice is None else BulkJobs(apply_slice)

    async def start(ctx: dict[Any, Any]) -> None:
        del ctx
        log.info("the worker of space %s has started", settings.space)

    new_worker = Worker(
        functions=[func(_drain, name=DRAIN), func(_erase, name=ERASE)],
        cron_jobs=[
            cron(_sweep, name=f"{name}:sweep", second=set(range(60)), run_at_startup=True),
            cron(
                _check_failover,
                name=f"{name}:failover",
                second=set(range(60)),
                run_at_startup=True,
            ),
            cron(_end_mutes, name=f"{name}:mutes", second=set(range(0, 60, 2))),
            cron(
                _update_absent_follower_counts,
                name=f"{name}:absent_follower_counts",
                second=set(range(60)),
            ),
            cron(_wake_erasures, name=f"{name}:erasures", second=set(range(0, 60, ERASURES_S))),
            cron(_purge, name=f"{name}:purge", second=17),
            cron(_write_canaries, name=f"{name}:canaries", second=set(range(0, 60, CANARIES_S))),
            cron(_verify, name=f"{name}:verify", second=37),
            cron(_apply_bulk, name=f"{name}:bulk", second=set(range(60))),
        ],
        queue_name=queue_name(settings.space),
        redis_pool=arq_redis(settings),
        on_startup=start,
        ctx={
            "stores": stores,
            "undo_s": undo_s,
            "verified_rows": verified_rows,
            "metrics": metrics or JobMetrics(),
            "bulk": bulk,
            "webhooks_kept_s": webhooks_kept_s,
        },
        handle_signals=False,
        after_job_end=_rearm,
        max_jobs=JOBS_MAX,
        job_timeout=JOB_TIMEOUT_S,
        job_completion_wait=STOP_S,
        keep_result=0,
        poll_delay=POLL_S,
        health_check_interval=10,
        job_serializer=serialize,
        job_deserializer=deserialize,
        log_results=False,
    )
    new_worker.on_stop = _cancel_until_done(new_worker)
    return new_worker


def _cancel_until_done(arq_worker: Worker) -> Callable[[Signals], None]:
    """Return a function that arq calls after it has cancelled its main task: it cancels the task
    until it is done.

    Before Python 3.12, `asyncio.wait_for` loses a cancellation that arrives just when the awaited
    future is done (gh-86296), and redis-py sends each command through it. Without this function,
    such a worker would neither end nor take jobs.
    """

    def stop(signum: Signals) -> None:
        if arq_worker.main_task is not None and not arq_worker.main_task.done():
            arq_worker.main_task.cancel()
            asyncio.get_running_loop().call_later(CANCEL_AGAIN_S, stop, signum)

    return stop


async def _drain(ctx: dict[str, Any], lane: int) -> None:
    stores: Stores = ctx["stores"]
    with _retried_later(f"lane {lane}"), _measured(ctx, "drain"):
        await stores.jobs.lanes.drain.lane(Lane(lane))


async def _erase(ctx: dict[str, Any], user: int) -> None:
    with _retried_later(f"the erasure of {user}"), _measured(ctx, "erase"):
        ctx["has_more"] = await erase(ctx["stores"], UserId(user))


async def _rearm(ctx: dict[str, Any]) -> None:
    """Queue an erasure again if it is not complete. Queue a lane again if it got a change while
    its job ended, because arq drops a job that is enqueued at that moment."""
    stores: Stores = ctx["stores"]
    _, is_erasure, user = str(ctx["job_id"]).rpartition(":erase:")
    if is_erasure and ctx.get("has_more"):
        await stores.broker.erasures.wake([UserId(int(user))])
    _, is_lane, number = str(ctx["job_id"]).rpartition(":lane:")
    if not is_lane:
        return
    try:
        stores.broker.lanes.wake(
            await stores.jobs.lanes.progress.lanes_with_changes([Lane(int(number))])
        )
    except Unavailable:
        return  # the sweep will try again


async def _sweep(ctx: dict[str, Any]) -> None:
    await _run_exclusively(ctx, "sweep", "the sweep", sweep)


async def _check_failover(ctx: dict[str, Any]) -> None:
    stores: Stores = ctx["stores"]
    with _retried_later("the search for a failover"), _measured(ctx, "failover"):
        await stores.jobs.failover.check()


async def _wake_erasures(ctx: dict[str, Any]) -> None:
    with _retried_later("the search for deleted accounts"), _measured(ctx, "wake_erasures"):
        await wake_erasures(ctx["stores"])


async def _update_absent_follower_counts(ctx: dict[str, Any]) -> None:
    what = "the update of the absent follower counts"
    with _retried_later(what), _measured(ctx, "absent_follower_counts"):
        await update_absent_follower_counts(ctx["stores"])


async def _end_mutes(ctx: dict[str, Any]) -> None:
    await _run_exclusively(ctx, "mutes", "ending expired mutes", end_mutes)


async def _purge(ctx: dict[str, Any]) -> None:
    stores: Stores = ctx["stores"]
    with _retried_later("the purge"), _measured(ctx, "purge"):
        purged = await purge(
            stores.servers.postgres,
            TOMBSTONES_KEPT_S,
            PURGED_TOMBSTONES,
            forward_s=FORWARD_TOMBSTONES_KEPT_S,
        )
        messages = await purge_messages(stores.servers.postgres, ctx["undo_s"], PURGED_RECEIPTS)
        receipts = await purge_receipts(stores.servers.postgres, RECEIPTS_KEPT_S, PURGED_RECEIPTS)
        affinities = await stores.jobs.periodic.affinity.prune(PURGED_AFFINITIES)
        operations = await stores.jobs.bulk.queue.purge(BULK_KEPT_S)
        deliveries = await purge_webhooks(
            stores.jobs.webhooks, ctx["webhooks_kept_s"], PURGED_DELIVERIES
        )
        log.info(
            "purged %s, %d messages, %d receipts, %d affinities, %d bulk operations and %d"
            " deliveries",
            purged,
            messages,
            receipts,
            affinities,
            operations,
            deliveries,
        )


async def _run_exclusively(
    ctx: dict[str, Any], job: str, what: str, work: Callable[[Stores], Awaitable[object]]
) -> None:
    """Run a scheduled job, unless another worker of the space is running it. If it takes too long,
    it is cancelled, and the next run continues its work."""
    stores: Stores = ctx["stores"]
    with _retried_later(what):
        async with stores.jobs.periodic.exclusive.only(job) as is_alone:
            if not is_alone:
                return
            with _measured(ctx, job):
                try:
                    async with asyncio.timeout(ALONE_S):
                        await work(stores)
                except TimeoutError:
                    log.warning("%s took longer than %d s; the next run continues", what, ALONE_S)


async def _apply_bulk(ctx: dict[str, Any]) -> None:
    bulk: BulkJobs | None = ctx["bulk"]
    if bulk is not None:
        with _retried_later("the bulk operations"), _measured(ctx, "bulk"):
            await bulk.run(ctx["stores"])


async def _write_canaries(ctx: dict[str, Any]) -> None:
    await _run_exclusively(ctx, "canaries", "writing canaries", write_canaries)


async def write_canaries(stores: Stores) -> None:
    """Write a canary into each lane, and wake the lanes as a gateway does."""
    stores.broker.lanes.wake(await stores.jobs.lanes.canaries.write())


async def _verify(ctx: dict[str, Any]) -> None:
    rows: int = ctx["verified_rows"]
    if rows:
        await _run_exclusively(
            ctx,
            "verification",
            "the verification",
            lambda stores: stores.jobs.periodic.verification.slice(rows),
        )


def _measured(ctx: dict[str, Any], job: str) -> AbstractContextManager[None]:
    metrics: JobMetrics = ctx["metrics"]
    return metrics.measured(job)


@contextmanager
def _retried_later(what: str) -> Iterator[None]:
    """Log Unavailable instead of failing the job, because the schedule or the sweep repeats it."""
    try:
        yield
    except Unavailable as error:
        log.warning("%s is retried later: %s", what, error)
