"""Prometheus metrics of a gateway: its process, and the lag of the workers."""

import time
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager

from prometheus_client import (
    CONTENT_TYPE_LATEST,
    REGISTRY,
    CollectorRegistry,
    Gauge,
    generate_latest,
)
from prometheus_client.core import Metric
from prometheus_client.registry import Collector
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from engine import Engine
from gateway.peers import Peers, answering, gathered
from graph.errors import Unavailable
from graph.lane import Lane
from storage.cache.local import LocalCache
from storage.stores import Stores

_shared = CollectorRegistry()
"""Metrics that are equal for all processes of a space: only the scraped one reads them."""

_waiting = Gauge(
    "kith_outbox_waiting", "Changes that are not yet applied to the reverse rows.", registry=_shared
)
_oldest = Gauge(
    "kith_outbox_oldest_seconds",
    "Age of the oldest change that is not yet applied to the reverse rows.",
    registry=_shared,
)
_queued = Gauge(
    "kith_jobs_queued",
    "Jobs in the workers' queue: dirty lanes, and the next sweep.",
    registry=_shared,
)
_absent = Gauge(
    "kith_absent_accounts",
    "Accounts that are deactivated, or deleted and not yet erased.",
    registry=_shared,
)
_events_oldest = Gauge(
    "kith_events_oldest_seconds",
    "Age of the oldest event in the change feed.",
    ["lane"],
    registry=_shared,
)
_planned = Gauge("kith_engine_planned", "Operations that the engine ran.")
_delegated = Gauge("kith_engine_delegated", "Operations left to graphql-core.", ["reason"])
_bailed_out = Gauge(
    "kith_engine_bailed_out",
    "Operations that the engine began and left to graphql-core.",
    ["reason"],
)
_statements = Gauge("kith_postgres_statements", "Statements sent outside of transactions.")
_round_trips = Gauge("kith_redis_round_trips", "Round trips to Redis.")
_local_hits = Gauge("kith_hot_hits", "Reads answered by the local cache, by kind of value.", ["of"])
_local_misses = Gauge("kith_hot_misses", "Reads that the local cache could not answer.", ["of"])
_local_entries = Gauge("kith_hot_entries", "Users in the local cache.", ["of"])
_local_bytes = Gauge("kith_hot_bytes", "Approximate size of the local cache.", ["of"])
_local_invalidations = Gauge("kith_hot_invalidations", "Invalidations received from Redis.")
_local_lost = Gauge(
    "kith_hot_connections_lost",
    "Times that the local cache was emptied because Redis was unavailable.",
)


class Metrics:
    """Reads the stores on each scrape. Metrics of an unavailable part keep their last values.

    With `peers` it reports all processes of the command.
    """

    def __init__(self, stores: Stores, engine: Engine, peers: Peers | None = None) -> None:
        self._stores = stores
        self._peers = peers
        self._own = _Own(stores, engine)

    def routes(self) -> list[Route]:
        return [Route("/metrics", self.show)]

    @asynccontextmanager
    async def answering(self) -> AsyncIterator[None]:
        """Serve this process's metrics to its peers."""
        async with answering(self._peers, self._own):
            yield

    async def show(self, _: Request) -> Response:
        await self._update_shared()
        own = self._own if self._peers is None else await gathered(self._peers, self._own)
        text = generate_latest(own) + generate_latest(_shared)
        return Response(text, media_type=CONTENT_TYPE_LATEST)

    async def _update_shared(self) -> None:
        try:
            backlog = await self._stores.jobs.outbox.backlog()
            _waiting.set(backlog.waiting)
            _oldest.set(backlog.oldest_s)
            _absent.set(len(await self._stores.reads.absences.now()))
            _queued.set(await self._stores.broker.lanes.queued())
            _show_events(await self._stores.broker.events.oldest_ms())
        except Unavailable:
            return


class _Own(Collector):
    """The metrics of this process, updated on each scrape."""

    def __init__(self, stores: Stores, engine: Engine) -> None:
        self._stores = stores
        self._engine = engine

    def collect(self) -> Iterable[Metric]:
        counters = self._engine.counters
        _planned.set(counters.planned)
        for reason, times in counters.delegated.items():
            _delegated.labels(reason).set(times)
        for reason, times in counters.bailed_out.items():
            _bailed_out.labels(reason).set(times)
        _statements.set(self._stores.servers.postgres.statements)
        _round_trips.set(self._stores.redis_round_trips)
        if self._stores.caches.local is not None:
            _show_local(self._stores.caches.local)
        return REGISTRY.collect()


def _show_events(oldest_ms: Mapping[Lane, int]) -> None:
    """Show the age of each lane's oldest event. A lane without events has no sample."""
    now_ms = time.time() * 1000
    _events_oldest.clear()
    for lane, since_ms in oldest_ms.items():
        _events_oldest.labels(lane).set(max(0.0, now_ms - since_ms) / 1000)


def _show_local(local: LocalCache) -> None:
    for what, statistics in local.statistics().items():
        _local_hits.labels(what).set(statistics.hits)
        _local_misses.labels(what).set(statistics.misses)
        _local_entries.labels(what).set(statistics.entries)
        _local_bytes.labels(what).set(statistics.size)
    _local_invalidations.set(local.invalidations.received)
    _local_lost.set(local.invalidations.connections_lost)
