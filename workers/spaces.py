"""Runs a worker for each space of the directory, in one process."""

import asyncio
import logging
import signal
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from time import monotonic

from arq.worker import Worker
from prometheus_client import Gauge

from graph.errors import Unavailable
from graph.space import set_space
from storage.postgres.spaces import (
    DIRECTORY_CHECK_S,
    SpaceDirectory,
    SpaceRecord,
    SpaceState,
)
from storage.store_groups import SharedServers
from storage.stores import Stores, open_stores
from workers.job_metrics import JobMetrics
from workers.job_settings import JobSettings
from workers.restarts import RestartedWorker
from workers.webhooks import delivering

log = logging.getLogger(__name__)

PAUSE_S = 30.0
"""Pause after a failure, such as a wrong setting, before a space is tried again."""

_served = Gauge("kith_worker_spaces", "Spaces that this worker serves beside its default one.")
_unserved = Gauge(
    "kith_worker_spaces_unserved",
    "Spaces that this worker should serve and does not, because there are more than"
    " KITH_SPACES_OPEN_MAX, or their worker has failed.",
)


@dataclass(frozen=True, slots=True)
class SpaceWorkerSettings:
    """The spaces that a worker serves beside its default one."""

    allows: Callable[[str], bool]
    """Whether it serves a space of this name."""
    jobs_of: Callable[[str, Mapping[str, str]], JobSettings]
    """The settings of a space, from its name and its stored settings. Raises ValueError."""
    open_max: int
    """The most spaces that it serves beside its default one."""
    connections_max: int
    """Connections to PostgreSQL of all spaces together."""


class _SpaceWorker:
    """The worker of one space, in a task of its own."""

    def __init__(
        self,
        record: SpaceRecord,
        settings: JobSettings,
        shared: SharedServers,
        make: Callable[[JobSettings, Stores, JobMetrics], Worker],
    ) -> None:
        self.record = record
        self.stores: Stores | None = None
        self.metrics = JobMetrics()
        self._settings = settings
        self._shared = shared
        self._make = make
        self._runner: RestartedWorker | None = None
        self._is_stopped = False
        self.task = asyncio.create_task(self._run())

    def stop(self, number: signal.Signals = signal.SIGTERM) -> None:
        """End after the running jobs."""
        self._is_stopped = True
        if self._runner is not None:
            self._runner.stop(number)

    async def _run(self) -> None:
        settings = self._settings
        set_space(self.record.name)  # for the log entries of its jobs
        async with open_stores(settings.storage, shared=self._shared) as stores:
            self.stores = stores
            self._runner = RestartedWorker(lambda: self._make(settings, stores, self.metrics))
            if not self._is_stopped:
                async with delivering(stores, settings.webhooks, self.record.name):
                    await self._runner.run()


class SpaceWorkers:
    """Runs a worker for each space of the directory: starts workers of new spaces, stops workers of
    dropped spaces, and restarts workers of changed spaces."""

    def __init__(
        self,
        directory: SpaceDirectory,
        settings: SpaceWorkerSettings,
        shared: SharedServers,
        make: Callable[[JobSettings, Stores, JobMetrics], Worker],
    ) -> None:
        self._directory = directory
        self._settings = settings
        self._shared = shared
        self._make = make
        self._workers: dict[str, _SpaceWorker] = {}
        self._failed_at: dict[str, float] = {}
        """When a space's worker failed, could not be started, or was first found to be above the
        maximum. It is not started before `PAUSE_S` after that."""
        self._stopping = asyncio.Event()

    @property
    def served(self) -> dict[str, tuple[Stores, JobMetrics]]:
        """The stores and the metrics of the spaces that are served now, by name."""
        return {
            name: (worker.stores, worker.metrics)
            for name, worker in list(self._workers.items())  # a scrape runs in its own thread
            if worker.stores is not None
        }

    async def run(self) -> None:
        """Run until `stop` is called and the workers have ended."""
        while not self._stopping.is_set():
            try:
                self._reconcile(await self._directory.all())
            except Unavailable as error:
                log.warning("the directory of spaces cannot be read: %s", error)
            with suppress(TimeoutError):
                async with asyncio.timeout(DIRECTORY_CHECK_S):
                    await self._stopping.wait()
        for worker in self._workers.values():
            worker.stop()
        tasks = [worker.task for worker in self._workers.values()]
        await asyncio.gather(*tasks, return_exceptions=True)

    def stop(self) -> None:
        """End after the running jobs."""
        self._stopping.set()

    def _reconcile(self, records: Mapping[str, SpaceRecord]) -> None:
        """Start and stop workers by the records of the directory. The worker of a changed space is
        stopped by one call; a later call, after it has ended, starts its successor."""
        wanted = {
            name: record
            for name, record in records.items()
            if record.state is SpaceState.READY and self._settings.allows(name)
        }
        for name, worker in list(self._workers.items()):
            if worker.task.done():
                self._remove_ended(name, worker)
            elif wanted.get(name) != worker.record:
                worker.stop()
        for name, record in wanted.items():
            if name not in self._workers and self._may_start(name):
                self._start(record)
        _served.set(len(self._workers))
        _unserved.set(len(wanted.keys() - self._workers.keys()))

    def _may_start(self, name: str) -> bool:
        """Whether a worker may be started: not too soon after a failure, nor above the maximum."""
        if monotonic() - self._failed_at.get(name, -PAUSE_S) < PAUSE_S:
            return False
        if len(self._workers) < self._settings.open_max:
            return True
        if name not in self._failed_at:
            limit = self._settings.open_max
            log.error("space %s has no worker here: KITH_SPACES_OPEN_MAX is %d", name, limit)
            self._failed_at[name] = monotonic()
        return False

    def _start(self, record: SpaceRecord) -> None:
        """Start the worker of a space, or log why its settings are invalid."""
        self._failed_at.pop(record.name, None)
        try:
            settings = self._settings.jobs_of(record.name, record.settings)
        except ValueError as error:
            log.error("space %s cannot be served: %s", record.name, error)
            self._failed_at[record.name] = monotonic()
            return
        self._workers[record.name] = _SpaceWorker(record, settings, self._shared, self._make)

    def _remove_ended(self, name: str, worker: _SpaceWorker) -> None:
        del self._workers[name]
        if not worker.task.cancelled() and (error := worker.task.exception()) is not None:
            log.error("the worker of space %s has failed: %s", name, error)
            self._failed_at[name] = monotonic()
