"""Prometheus metrics of a gateway: its processes, and the state that all processes share."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager

from prometheus_client import CONTENT_TYPE_LATEST, REGISTRY, generate_latest
from prometheus_client.core import CounterMetricFamily, Metric
from prometheus_client.registry import Collector
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from engine import Engine
from gateway.graphql.settings import MetricsExposure
from gateway.server.peer_metrics import Peers, collect_peers, serving_peers
from gateway.server.served_space import ServedSpace
from gateway.server.shared_metrics import SharedMetrics
from storage.metrics import StoreMetrics
from telemetry.joined import JoinedCollectors
from telemetry.space_metrics import SpaceMetrics


class Metrics:
    """Reports the metrics of this process, or with `peers` those of all processes of the command,
    and the metrics that PostgreSQL and Redis hold. The first of `spaces` is the default one.
    `has_label`: metrics of spaces have the label `space`."""

    def __init__(
        self,
        spaces: Iterable[ServedSpace],
        engine: Engine,
        peers: Peers | None = None,
        exposure: MetricsExposure | None = None,
        *,
        has_label: bool = False,
    ) -> None:
        self._peers = peers
        self._exposure = exposure or MetricsExposure()
        self._spaces = spaces
        self._shared: dict[str, SharedMetrics] = {}
        self._shared_collector = SpaceMetrics(self._shared.items, has_label=has_label)
        default = next(iter(spaces))
        of_spaces = SpaceMetrics(
            lambda: (
                (
                    space.name,
                    JoinedCollectors(
                        [
                            StoreMetrics(space.stores, with_shared_redis=space is default),
                            space.request_metrics,
                        ]
                    ),
                )
                for space in spaces
            ),
            has_label=has_label,
        )
        self._process_collector = JoinedCollectors([REGISTRY, of_spaces, _EngineMetrics(engine)])

    def routes(self) -> list[Route]:
        """The route of the metrics, for the public address or for one of their own."""
        return [Route("/metrics", self.show)]

    @asynccontextmanager
    async def serving_peers(self) -> AsyncIterator[None]:
        """Serve this process's metrics to its peers."""
        async with serving_peers(self._peers, self._process_collector):
            yield

    async def show(self, request: Request) -> Response:
        if not self._exposure.allows(request.headers.get("authorization", "")):
            return Response(status_code=401, headers={"www-authenticate": "Bearer"})
        await self._update()
        of_processes = (
            self._process_collector
            if self._peers is None
            else await collect_peers(self._peers, self._process_collector)
        )
        text = generate_latest(of_processes) + generate_latest(self._shared_collector)
        headers = {"cache-control": "no-store"}
        return Response(text, headers=headers, media_type=CONTENT_TYPE_LATEST)

    async def _update(self) -> None:
        """Read what PostgreSQL and Redis hold, of all spaces at once."""
        open_now = {space.name: space.stores for space in self._spaces}
        for name in self._shared.keys() - open_now.keys():
            del self._shared[name]
        for name, stores in open_now.items():
            if name not in self._shared or self._shared[name].stores is not stores:
                self._shared[name] = SharedMetrics(stores)
        await asyncio.gather(*(one.update() for one in self._shared.values()))


class _EngineMetrics(Collector):
    """How the engine has run operations."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def collect(self) -> Iterator[Metric]:
        counters = self._engine.counters
        yield CounterMetricFamily(
            "kith_engine_planned", "Operations that the engine completed.", counters.planned
        )
        for name, documentation, by_reason in (
            ("delegated", "Operations left to graphql-core.", counters.delegated),
            (
                "bailed_out",
                "Operations that the engine began and left to graphql-core.",
                counters.bailed_out,
            ),
        ):
            family = CounterMetricFamily(f"kith_engine_{name}", documentation, labels=["reason"])
            for reason, times in by_reason.items():
                family.add_metric([reason], times)
            yield family
