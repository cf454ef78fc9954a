"""The arq worker of one space: its jobs, its clock, and what happens around them."""

import logging
from typing import Any

from arq import cron, func
from arq.worker import Worker
from prometheus_client import start_http_server

from graph.errors import Unavailable
from graph.lane import Lane
from storage.postgres.purge import purge
from storage.queue import DRAIN, arq_redis, deserialize, queue_errors, queue_name, serialize
from storage.settings import StorageSettings
from storage.stores import Stores, open_stores
from workers.drain import drain
from workers.sweep import sweep

log = logging.getLogger(__name__)

JOB_TIMEOUT_S = 20
"""arq hides the job of a worker that was killed for this long and ten seconds more."""

STOP_S = 10
"""How long running jobs may finish after a stop signal."""

POLL_S = 0.02
"""How often the queue is asked for jobs: the greatest part of the lag of a quiet system."""

JOBS_MAX = 16

TOMBSTONES_KEPT_S = 7 * 86_400
"""Far longer than any cache keeps an entry, and than a clock is ever set back."""


def run(settings: StorageSettings, metrics_port: int | None = None) -> None:
    """Works until a signal says stop.

    Raises:
        Unavailable: Redis went away, and arq ends with it. Something must start it again.
    """
    with queue_errors():
        worker(settings, metrics_port).run()


def worker(settings: StorageSettings, metrics_port: int | None = None) -> Worker:
    """A worker, ready to run."""
    name = f"kith:{settings.space}"

    async def start(ctx: dict[str, Any]) -> None:
        ctx["opened"] = open_stores(settings)
        ctx["stores"] = await ctx["opened"].__aenter__()
        if metrics_port is not None:
            start_http_server(metrics_port)
        log.info("the worker of space %s has started", settings.space)

    async def stop(ctx: dict[str, Any]) -> None:
        await ctx["opened"].__aexit__(None, None, None)

    return Worker(
        functions=[func(_drain, name=DRAIN)],
        cron_jobs=[
            cron(_sweep, name=f"{name}:sweep", second=set(range(60)), run_at_startup=True),
            cron(_purge, name=f"{name}:purge", minute=17, timeout=600),
        ],
        queue_name=queue_name(settings.space),
        redis_pool=arq_redis(settings),
        on_startup=start,
        on_shutdown=stop,
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


async def _drain(ctx: dict[str, Any], lane: int) -> None:
    stores: Stores = ctx["stores"]
    try:
        await drain(stores.outbox, stores.caches, stores.events, Lane(lane))
    except Unavailable as error:
        log.warning("lane %d is left to the sweep: %s", lane, error)


async def _rearm(ctx: dict[str, Any]) -> None:
    """arq drops a job that is enqueued while the same one ends, so what came late is looked for."""
    _, is_lane, number = str(ctx["job_id"]).rpartition(":lane:")
    if not is_lane:
        return
    stores: Stores = ctx["stores"]
    try:
        stores.lanes.wake(await stores.outbox.dirty([Lane(int(number))]))
    except Unavailable:
        return  # the sweep will try again


async def _sweep(ctx: dict[str, Any]) -> None:
    try:
        await sweep(ctx["stores"])
    except Unavailable as error:
        log.warning("nothing was swept: %s", error)


async def _purge(ctx: dict[str, Any]) -> None:
    stores: Stores = ctx["stores"]
    purged = await purge(stores.postgres, TOMBSTONES_KEPT_S)
    log.info("purged %s", purged)
