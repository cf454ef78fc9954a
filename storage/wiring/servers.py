"""The servers of a space: PostgreSQL, the broker, and those of the caches."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from storage.postgres.connection.budget import ConnectionBudget
from storage.postgres.connection.pool import Postgres
from storage.redis.connection import GuardedRedis, RedisServers
from storage.redis.multiplexed import MultiplexedWire
from storage.redis.servers import servers_at
from storage.redis.wire import Wire
from storage.settings import StorageSettings
from storage.store_groups import Servers, SharedServers


@asynccontextmanager
async def shared_servers(settings: StorageSettings, limit: int) -> AsyncIterator[SharedServers]:
    """Open what the spaces of one process share, with at most `limit` connections to PostgreSQL."""
    broker, redis = redis_servers(settings, None)
    shared = SharedServers(redis, broker, ConnectionBudget(limit))
    try:
        yield shared
    finally:
        await shared.close_redis()


def open_servers(
    settings: StorageSettings, wire: Wire | None, shared: SharedServers | None
) -> Servers:
    """The connections of one space: see `storage.stores.open_stores`."""
    if shared is not None:
        return Servers(shared.redis, shared.broker, Postgres(settings, shared.budget))
    broker, redis = redis_servers(settings, wire)
    return Servers(redis, broker, Postgres(settings))


def redis_servers(
    settings: StorageSettings, wire: Wire | None
) -> tuple[RedisServers, RedisServers]:
    """The broker, and the servers of the caches."""
    wire = wire or MultiplexedWire(settings.redis_url, settings.connections.redis_timeout_s)
    broker: RedisServers = GuardedRedis(wire, settings.connections.redis_retry_after_s)
    return broker, servers_at(settings.cache.url, settings) if settings.cache.url else broker
