"""Metrics of the stores of a process: connection pools, Redis servers and the local cache."""

from collections.abc import Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from storage.cache.local import LocalCache
from storage.redis.connection import RedisServers
from storage.redis.multiplexed import CACHES, LOCAL, SHARED
from storage.stores import Stores

_ENTRIES = {"rel": "relations"}
"""The `entry` labels of the kinds of values that have another name in keys."""


class StoreMetrics(Collector):
    """Reads the stores' counters on each scrape, without I/O. `with_shared_redis`: includes the
    connections to Redis that all spaces of the process share."""

    def __init__(self, stores: Stores, *, with_shared_redis: bool = True) -> None:
        self._stores = stores
        self._with_shared_redis = with_shared_redis

    def collect(self) -> Iterator[Metric]:
        yield from self._pool()
        yield from self._redis()
        local = self._stores.caches.local
        if local is not None:
            yield from _local_cache_metrics(local)

    def _pool(self) -> Iterator[Metric]:
        usage = self._stores.servers.postgres.usage
        connections = GaugeMetricFamily(
            "kith_postgres_pool_connections", "Connections to PostgreSQL.", labels=["state"]
        )
        connections.add_metric(["in_use"], usage.in_use)
        connections.add_metric(["idle"], usage.idle)
        yield connections
        yield GaugeMetricFamily(
            "kith_postgres_pool_connections_max",
            "Connections to PostgreSQL that the process may open (KITH_POOL_MAX).",
            usage.limit,
        )

    def _redis(self) -> Iterator[Metric]:
        round_trips = CounterMetricFamily(
            "kith_redis_round_trips",
            "Writes to Redis, each of many commands.",
            labels=["connection"],
        )
        failures = CounterMetricFamily(
            "kith_redis_failures",
            "Calls that found Redis unavailable, including those that its breaker stopped.",
            labels=["connection"],
        )
        breakers = GaugeMetricFamily(
            "kith_redis_breakers_open",
            "Servers that are not called at the moment, because they have failed.",
            labels=["connection"],
        )
        for purpose, servers in self._connections():
            round_trips.add_metric([purpose], servers.round_trips)
            failures.add_metric([purpose], servers.failures)
            breakers.add_metric([purpose], servers.open_breakers)
        yield from (round_trips, failures, breakers)

    def _connections(self) -> Iterator[tuple[str, RedisServers]]:
        servers, local = self._stores.servers, self._stores.caches.local
        if self._with_shared_redis:
            yield SHARED, servers.broker
        if self._with_shared_redis and servers.redis is not servers.broker:
            yield CACHES, servers.redis
        if local is not None:
            yield LOCAL, local.redis


def _local_cache_metrics(local: LocalCache) -> Iterator[Metric]:
    hits, misses = (
        CounterMetricFamily(f"kith_local_cache_{name}", documentation, labels=["entry"])
        for name, documentation in (
            ("hits", "Values that the local cache had, by entry."),
            ("misses", "Values that the local cache did not have, by entry."),
        )
    )
    entries, size = (
        GaugeMetricFamily(f"kith_local_cache_{name}", documentation, labels=["entry"])
        for name, documentation in (
            ("entries", "Users in the local cache, by entry."),
            ("bytes", "Approximate size of the local cache, by entry."),
        )
    )
    for kind, statistics in local.statistics().items():
        entry = _ENTRIES.get(kind, kind)
        hits.add_metric([entry], statistics.hits)
        misses.add_metric([entry], statistics.misses)
        entries.add_metric([entry], statistics.entries)
        size.add_metric([entry], statistics.size)
    yield from (hits, misses, entries, size)
    yield CounterMetricFamily(
        "kith_local_cache_invalidations",
        "Invalidations received from Redis.",
        local.invalidations.received,
    )
    yield CounterMetricFamily(
        "kith_local_cache_connections_lost",
        "Times that the local cache was emptied because Redis was unavailable.",
        local.invalidations.connections_lost,
    )
