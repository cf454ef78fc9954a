"""Which way leads to the servers at an address. Knows nothing of what is asked there."""

from dataclasses import replace

from storage.redis.cluster import ClusterRedis
from storage.redis.connection import GuardedRedis, Servers
from storage.redis.multiplexed import MultiplexedWire
from storage.redis.pooled import PooledWire
from storage.redis.wire import Wire
from storage.settings import CLUSTER, StorageSettings


def is_plain(url: str) -> bool:
    """Whether one connection to one server is all there is."""
    return url.split(":")[0] in ("redis", "unix")


def servers_at(url: str, settings: StorageSettings) -> Servers:
    """One server, or a cluster of them."""
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
    """TLS is left to redis-py; a plain connection serves all requests at once."""
    if is_plain(url):
        return MultiplexedWire(url, settings.redis_timeout_s)
    return PooledWire(replace(settings, redis_url=url))
