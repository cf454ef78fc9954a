"""Chooses the connections to the servers at an address."""

from dataclasses import replace

from storage.redis.cluster import ClusterRedis
from storage.redis.connection import GuardedRedis, Servers
from storage.redis.multiplexed import MultiplexedWire
from storage.redis.pooled import PooledWire
from storage.redis.wire import Wire
from storage.settings import CLUSTER, StorageSettings


def is_plain(url: str) -> bool:
    """Whether the address is a single server without TLS."""
    return url.split(":")[0] in ("redis", "unix")


def servers_at(url: str, settings: StorageSettings) -> Servers:
    """A client of one server, or of a cluster."""
    scheme, rest = url.split(":", 1)
    if not scheme.endswith(CLUSTER):
        return GuardedRedis(wire_to(url, settings), settings.redis_retry_after_s)
    return ClusterRedis(
        f"{scheme.removesuffix(CLUSTER)}:{rest}",
        lambda one: wire_to(one, settings),
        timeout_s=settings.redis_timeout_s,
        retry_after_s=settings.redis_retry_after_s,
    )


def wire_to(url: str, settings: StorageSettings) -> Wire:
    """A shared multiplexed connection, or for TLS a pool of redis-py."""
    if is_plain(url):
        return MultiplexedWire(url, settings.redis_timeout_s)
    return PooledWire(replace(settings, redis_url=url))
