"""The process of `kith worker`: the worker of the default space, and those of the others."""

import asyncio
import signal
from collections.abc import Iterable, Iterator
from contextlib import AsyncExitStack

import uvloop
from arq.worker import Worker
from prometheus_client import REGISTRY, CollectorRegistry, start_http_server
from prometheus_client.registry import Collector

from storage.metrics import StoreMetrics
from storage.postgres.spaces import SpaceDirectory
from storage.stores import Stores, open_stores
from storage.wiring.servers import shared_servers
from telemetry.joined import JoinedCollectors
from telemetry.space_metrics import SpaceMetrics
from telemetry.tracing import tracing
from workers.job_metrics import JobMetrics
from workers.job_settings import JobSettings
from workers.main import worker
from workers.restarts import RestartedWorker
from workers.spaces import SpaceWorkers, SpaceWorkerSettings
from workers.webhooks import delivering


def run(
    settings: JobSettings,
    metrics_port: int | None = None,
    *,
    spaces: SpaceWorkerSettings | None = None,
    has_traces: bool = False,
) -> None:
    """Run until a stop signal. `spaces`: the other spaces, served beside the space of `settings`.

    Raises:
        Unavailable: Redis was unavailable from the start.
    """
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_run(settings, metrics_port, spaces, has_traces))


async def _run(
    settings: JobSettings,
    metrics_port: int | None,
    spaces: SpaceWorkerSettings | None,
    has_traces: bool,
) -> None:
    async with AsyncExitStack() as stack:
        if has_traces:
            await stack.enter_async_context(tracing())
        shared = None
        if spaces is not None:
            shared = await stack.enter_async_context(
                shared_servers(settings.storage, spaces.connections_max)
            )
        stores = await stack.enter_async_context(open_stores(settings.storage, shared=shared))
        metrics = JobMetrics()
        others: SpaceWorkers | None = None
        if spaces is not None and shared is not None:
            directory = SpaceDirectory(stores.servers.postgres)
            others = SpaceWorkers(directory, spaces, shared, _make_worker)
        if metrics_port is not None:
            _start_metrics(metrics_port, settings.storage.space, stores, metrics, others)
        own = RestartedWorker(lambda: _make_worker(settings, stores, metrics))
        workers = (own,) if others is None else (own, others)
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, _stop_all, workers)
        async with delivering(stores, settings.webhooks, settings.storage.space):
            await _run_all(own, others)


async def _run_all(own: RestartedWorker, others: SpaceWorkers | None) -> None:
    """Run the worker of the default space. When it ends, stop the others and wait for them."""
    if others is None:
        return await own.run()
    others_task = asyncio.create_task(others.run())
    try:
        await own.run()
    finally:
        others.stop()
        await others_task


def _stop_all(workers: Iterable[RestartedWorker | SpaceWorkers]) -> None:
    for runner in workers:
        runner.stop()


def _start_metrics(
    port: int, space: str, stores: Stores, metrics: JobMetrics, others: SpaceWorkers | None
) -> None:
    def collectors() -> Iterator[tuple[str, Collector]]:
        yield space, JoinedCollectors([StoreMetrics(stores), metrics])
        for name, (other_stores, other_metrics) in others.served.items() if others else ():
            store_metrics = StoreMetrics(other_stores, with_shared_redis=False)
            yield name, JoinedCollectors([store_metrics, other_metrics])

    registry = CollectorRegistry()
    space_metrics = SpaceMetrics(collectors, has_label=others is not None)
    registry.register(JoinedCollectors([REGISTRY, space_metrics]))
    start_http_server(port, registry=registry)


def _make_worker(settings: JobSettings, stores: Stores, metrics: JobMetrics) -> Worker:
    return worker(
        settings.storage,
        settings.undo_s,
        stores,
        settings.verified_rows,
        metrics,
        settings.webhooks.times.kept_s,
        settings.apply_slice,
    )
