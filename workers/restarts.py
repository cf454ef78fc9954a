"""Runs arq's worker, and runs it again in the same process after Redis has failed.

arq's worker ends at any error of Redis, even one slow reply. If the process ended too, it would
lose its connections and caches, and would have to load all modules again.
"""

import asyncio
import logging
import random
import signal
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

from arq.constants import in_progress_key_prefix
from arq.worker import Worker

from graph.errors import Unavailable
from storage.queue import QUEUE_ERRORS
from storage.redis.connection import REDIS
from workers.job_metrics import restarts

log = logging.getLogger(__name__)

START_S = 5.0
"""How long Redis may be unavailable at the start. After that the process ends, because the address
is probably wrong."""

PAUSE_S = 0.1
PAUSE_MAX_S = 5.0
"""Pauses between attempts: doubled each time, and shortened by up to a half at random, so that the
workers do not all return at once."""

STEADY_S = 10.0
"""If a worker has run for this long, the next pause is `PAUSE_S` again."""

CLOSE_S = 2.0
"""How long cancelled jobs may take to end, because they report to Redis."""


class RestartedWorker:
    """Runs workers of `make`, one after the other, until it is stopped."""

    def __init__(self, make: Callable[[], Worker], start_s: float = START_S) -> None:
        self._make = make
        self._start_s = start_s
        self._stopping = asyncio.Event()
        self._worker: Worker | None = None
        self._interrupted_jobs: set[str] = set()
        """The unfinished jobs of the last worker. arq does not start them again for a while, unless
        their in-progress keys are deleted."""
        self._has_started = False
        """Whether the last worker has reached Redis."""

    async def run(self) -> None:
        """Run until `stop`.

        Raises:
            Unavailable: Redis was unavailable from the start.
        """
        first_started_at, has_reached_redis, pause_s = time.monotonic(), False, PAUSE_S
        while not self._stopping.is_set():
            attempt_started_at = time.monotonic()
            try:
                await self._run_once()
                continue
            except QUEUE_ERRORS as error:
                has_reached_redis = has_reached_redis or self._has_started
                if not has_reached_redis and time.monotonic() - first_started_at > self._start_s:
                    raise Unavailable(REDIS) from error
                log.warning("the worker starts again, because Redis failed: %s", error)
            if time.monotonic() - attempt_started_at > STEADY_S:
                pause_s = PAUSE_S
            restarts.inc()
            await self._pause(pause_s * (1 - random.random() / 2))
            pause_s = min(2 * pause_s, PAUSE_MAX_S)

    def stop(self, number: signal.Signals = signal.SIGTERM) -> None:
        """End after the running jobs. arq cancels jobs that take longer than its limit."""
        self._stopping.set()
        if self._worker is not None:
            self._worker.handle_sig_wait_for_completion(number)

    async def _run_once(self) -> None:
        """Run one worker until it ends. Raises the error that ended it; returns if it was
        stopped."""
        self._has_started = False
        worker = self._worker = self._make()
        on_startup = worker.on_startup

        async def started(ctx: dict[Any, Any]) -> None:
            if self._interrupted_jobs:
                await worker.pool.delete(*_in_progress(self._interrupted_jobs))
                self._interrupted_jobs = set()
            if on_startup is not None:
                await on_startup(ctx)
            self._has_started = True

        worker.on_startup = started
        try:
            await worker.async_run()
        except asyncio.CancelledError:
            if not self._stopping.is_set():
                raise
        finally:
            self._worker = None
            await self._close(worker)

    async def _close(self, worker: Worker) -> None:
        """Cancel the running jobs, delete the health key and close the connections. Redis may be
        unavailable."""
        self._interrupted_jobs.update(job for job, task in worker.tasks.items() if not task.done())
        for task in worker.tasks.values():
            task.cancel()
        if worker.tasks:
            await asyncio.wait(worker.tasks.values(), timeout=CLOSE_S)
            for task in worker.tasks.values():
                if task.done() and not task.cancelled():
                    task.exception()  # mark it as retrieved
        with suppress(*QUEUE_ERRORS):
            async with asyncio.timeout(CLOSE_S):
                await worker.pool.delete(worker.health_check_key)
        with suppress(*QUEUE_ERRORS):
            await worker.pool.aclose(close_connection_pool=True)

    async def _pause(self, pause_s: float) -> None:
        """Wait for `pause_s`, or until `stop`."""
        with suppress(TimeoutError):
            async with asyncio.timeout(pause_s):
                await self._stopping.wait()


def _in_progress(jobs: Iterable[str]) -> list[str]:
    return [in_progress_key_prefix + job for job in jobs]
