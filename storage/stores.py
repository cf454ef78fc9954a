"""The one place where stores are wired: which wears which, from the tables outwards."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from storage.announced_edges import AnnouncedEdges
from storage.interest import Interests
from storage.ports import CountsOf, Edges, Lists, Relations
from storage.postgres.counts import PostgresCounts
from storage.postgres.edges import PostgresEdges
from storage.postgres.lists import PostgresLists
from storage.postgres.outbox import Outbox, PostgresPending
from storage.postgres.pool import Postgres
from storage.postgres.relations import PostgresRelations
from storage.queue import ArqLanes
from storage.redis.audit import CacheAudit
from storage.redis.bell import Bell
from storage.redis.connection import GuardedRedis
from storage.redis.counts import CachedCounts
from storage.redis.events import Kept, RedisEvents
from storage.redis.keys import Keys
from storage.redis.leases import Leases
from storage.redis.lists import CachedLists
from storage.redis.multiplexed import MultiplexedWire
from storage.redis.own_writes import CachedPending
from storage.redis.pooled import PooledWire
from storage.redis.publish import RedisCaches
from storage.redis.relations import CachedRelations
from storage.redis.wire import Wire
from storage.settings import StorageSettings


@dataclass(frozen=True, slots=True)
class Stores:
    """Everything that a process reads from and writes to."""

    edges: Edges
    relations: Relations
    lists: Lists
    counts: CountsOf
    outbox: Outbox
    caches: RedisCaches
    events: RedisEvents
    interests: Interests
    audit: CacheAudit
    lanes: ArqLanes
    postgres: Postgres
    redis: GuardedRedis

    async def is_empty(self) -> bool:
        """Whether nobody has ever followed anybody."""
        return await self.postgres.row("SELECT FROM following LIMIT 1") is None


@asynccontextmanager
async def open_stores(settings: StorageSettings) -> AsyncIterator[Stores]:
    """The stores of one space, closed at the end of the block."""
    postgres, lanes = Postgres(settings), ArqLanes(settings)
    redis = GuardedRedis(_wire(settings), settings.redis_retry_after_s)
    await postgres.open()
    stores = _wired(settings, postgres, redis, lanes)
    try:
        yield stores
    finally:
        await stores.interests.close()
        await lanes.close()
        await redis.close()
        await postgres.close()


def _wire(settings: StorageSettings) -> Wire:
    """TLS is left to redis-py; a plain connection serves all requests at once."""
    if settings.redis_url.startswith("rediss://"):
        return PooledWire(settings)
    return MultiplexedWire(settings.redis_url, settings.redis_timeout_s)


def _wired(
    settings: StorageSettings, postgres: Postgres, redis: GuardedRedis, lanes: ArqLanes
) -> Stores:
    keys, ttl_s = Keys(settings.space), settings.cache_ttl_s
    leases = Leases(redis, settings.lease_ms, settings.lease_wait_ms)
    caches = RedisCaches(redis, keys, settings.relation_cache_max)
    pending = CachedPending(
        PostgresPending(postgres), redis, leases, keys, settings.own_writes_ttl_s
    )
    outbox, relations = Outbox(postgres), PostgresRelations(postgres)
    lists, counts = PostgresLists(postgres), PostgresCounts(postgres)
    return Stores(
        edges=AnnouncedEdges(PostgresEdges(postgres), caches, lanes),
        relations=CachedRelations(
            relations, redis, leases, keys, ttl_s, settings.relation_cache_max
        ),
        lists=CachedLists(lists, pending, redis, leases, keys, ttl_s, settings.list_cache_max),
        counts=CachedCounts(counts, pending, redis, leases, keys, ttl_s),
        outbox=outbox,
        caches=caches,
        events=RedisEvents(redis, keys, _kept(settings)),
        interests=Interests(Bell(settings, keys).listen, settings.subscriptions_max),
        audit=CacheAudit(
            redis,
            keys,
            outbox,
            relations,
            lists,
            counts,
            settings.relation_cache_max,
            settings.list_cache_max,
        ),
        lanes=lanes,
        postgres=postgres,
        redis=redis,
    )


def _kept(settings: StorageSettings) -> Kept:
    return Kept(
        settings.events_max, settings.events_kept_s, settings.feed_max, settings.feed_kept_s
    )
