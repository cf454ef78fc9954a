"""What a gateway tells Prometheus: its process, and how far the workers are behind."""

import time
from collections.abc import Mapping

from prometheus_client import CONTENT_TYPE_LATEST, Gauge, generate_latest
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from engine import Engine
from graph.errors import Unavailable
from graph.lane import Lane
from storage.hot.memory import Memory
from storage.stores import Stores

_waiting = Gauge("kith_outbox_waiting", "Changes that the reverse side does not have yet.")
_oldest = Gauge("kith_outbox_oldest_seconds", "Age of the oldest of them: the lag of this moment.")
_queued = Gauge(
    "kith_jobs_queued", "Jobs in the workers' queue: dirty lanes, and the next tick of their clock."
)
_absent = Gauge(
    "kith_absent_accounts", "Accounts that are switched off, or deleted and not yet erased."
)
_events_oldest = Gauge(
    "kith_events_oldest_seconds", "Age of the oldest event that the change feed keeps.", ["lane"]
)
_planned = Gauge("kith_engine_planned", "Operations that the engine ran by a plan.")
_delegated = Gauge("kith_engine_delegated", "Operations left to graphql-core.", ["reason"])
_bailed_out = Gauge("kith_engine_bailed_out", "Plans given up for graphql-core.", ["reason"])
_statements = Gauge("kith_postgres_statements", "Statements outside of transactions, ever sent.")
_round_trips = Gauge("kith_redis_round_trips", "Times that something was sent to Redis.")
_hot_hits = Gauge("kith_hot_hits", "Users answered from this process's memory.", ["of"])
_hot_misses = Gauge("kith_hot_misses", "Users whom the caches were asked for instead.", ["of"])
_hot_entries = Gauge("kith_hot_entries", "Users in memory.", ["of"])
_hot_bytes = Gauge("kith_hot_bytes", "About how much memory they take.", ["of"])
_hot_invalidations = Gauge("kith_hot_invalidations", "Changes that Redis has told memory of.")
_hot_lost = Gauge("kith_hot_connections_lost", "Times that memory was emptied: Redis was gone.")


class Metrics:
    """Asks the stores when it is asked. A part that is down keeps its last numbers."""

    def __init__(self, stores: Stores, engine: Engine) -> None:
        self._stores = stores
        self._engine = engine

    def routes(self) -> list[Route]:
        return [Route("/metrics", self.show)]

    async def show(self, _: Request) -> Response:
        try:
            backlog = await self._stores.outbox.backlog()
            _waiting.set(backlog.waiting)
            _oldest.set(backlog.oldest_s)
            _absent.set(len(await self._stores.absences.now()))
            _queued.set(await self._stores.lanes.queued())
            _show_events(await self._stores.events.oldest_ms())
        except Unavailable:
            pass
        self._show_engine()
        _statements.set(self._stores.postgres.statements)
        _round_trips.set(self._stores.redis_round_trips)
        if self._stores.memory is not None:
            _show_memory(self._stores.memory)
        return Response(generate_latest(), media_type=CONTENT_TYPE_LATEST)

    def _show_engine(self) -> None:
        counters = self._engine.counters
        _planned.set(counters.planned)
        for reason, times in counters.delegated.items():
            _delegated.labels(reason).set(times)
        for reason, times in counters.bailed_out.items():
            _bailed_out.labels(reason).set(times)


def _show_events(oldest_ms: Mapping[Lane, int]) -> None:
    """A lane without events has no age."""
    now_ms = time.time() * 1000
    _events_oldest.clear()
    for lane, since_ms in oldest_ms.items():
        _events_oldest.labels(lane).set(max(0.0, now_ms - since_ms) / 1000)


def _show_memory(memory: Memory) -> None:
    for what, figures in memory.figures().items():
        _hot_hits.labels(what).set(figures.hits)
        _hot_misses.labels(what).set(figures.misses)
        _hot_entries.labels(what).set(figures.entries)
        _hot_bytes.labels(what).set(figures.size)
    _hot_invalidations.set(memory.invalidations.heard)
    _hot_lost.set(memory.invalidations.connections_lost)
