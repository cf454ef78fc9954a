"""Chooses the connections to the servers at an address."""

from storage.redis.cluster import ClusterRedis
from storage.redis.connection import GuardedRedis, RedisServers
from storage.redis.multiplexed import CACHES, MultiplexedWire
from storage.settings import CLUSTER, StorageSettings


def is_cluster(url: str) -> bool:
    return url.partition(":")[0].endswith(CLUSTER)


def servers_at(url: str, settings: StorageSettings) -> RedisServers:
    """A client of one server, or of a cluster."""
    scheme, rest = url.split(":", 1)
    if not is_cluster(url):
        wire = MultiplexedWire(url, settings.connections.redis_timeout_s, purpose=CACHES)
        return GuardedRedis(wire, settings.connections.redis_retry_after_s)
    return ClusterRedis(
        f"{scheme.removesuffix(CLUSTER)}:{rest}",
        lambda server: MultiplexedWire(
            server, settings.connections.redis_timeout_s, purpose=CACHES
        ),
        timeout_s=settings.connections.redis_timeout_s,
        retry_after_s=settings.connections.redis_retry_after_s,
    )
