"""Wires the stores, from the tables to the local cache."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

from storage.announced_edges import AnnouncedEdges
from storage.announced_states import AnnouncedStates
from storage.catch_up import CatchUp
from storage.drain import Drain
from storage.erasure import Erasure
from storage.hot.memory import Memory, opened_memory
from storage.joined import JoinedProfiledLists
from storage.ports import (
    Absences,
    Accounts,
    AccountStates,
    DocumentStore,
    EdgeNotes,
    Edges,
    Lists,
    Mutes,
    Overlaps,
    OwnLists,
    ProfiledLists,
    Profiles,
    Receipts,
    Relations,
    Usages,
)
from storage.postgres.absences import PostgresAbsences
from storage.postgres.absent_follower_counts import AbsentFollowerCounts
from storage.postgres.account_states import PostgresAccountStates
from storage.postgres.accounts import PostgresAccounts
from storage.postgres.affinity import PostgresAffinity
from storage.postgres.edges import PostgresEdges
from storage.postgres.erasures import Erasures
from storage.postgres.lists import PostgresLists, PostgresOwnLists
from storage.postgres.mutes import PostgresMutes
from storage.postgres.outbox import Outbox, PostgresPending
from storage.postgres.overlaps import PostgresEdgeNotes, PostgresOverlaps
from storage.postgres.pool import Postgres
from storage.postgres.profiles import PostgresProfiles, is_empty
from storage.postgres.receipts import PostgresReceipts
from storage.postgres.relations import PostgresRelations
from storage.postgres.usage import PostgresUsages
from storage.queue import ArqErasures, ArqLanes
from storage.redis.accounts import CachedAccounts
from storage.redis.audit import CacheAudit
from storage.redis.change_notifier import BLOCK_MS, ChangeNotifier
from storage.redis.connection import GuardedRedis, Servers
from storage.redis.documents import RedisDocuments
from storage.redis.events import Kept, RedisEvents
from storage.redis.keys import Keys
from storage.redis.leases import Leases
from storage.redis.lists import CachedLists
from storage.redis.multiplexed import MultiplexedWire
from storage.redis.own_writes import OwnWrites
from storage.redis.profiled_lists import CachedProfiledLists
from storage.redis.profiles import CachedProfiles
from storage.redis.publish import RedisCaches
from storage.redis.range_cache import RangeCache
from storage.redis.relations import CachedRelations
from storage.redis.servers import servers_at
from storage.redis.wire import Wire
from storage.settings import StorageSettings
from storage.shielded_tasks import ShieldedTasks
from storage.subscriptions import Subscriptions


@dataclass(frozen=True, slots=True)
class Stores:
    """All stores of a process."""

    edges: Edges
    receipts: Receipts
    mutes: Mutes
    relations: Relations
    lists: Lists
    own_lists: OwnLists
    overlaps: Overlaps
    edge_notes: EdgeNotes
    accounts: Accounts
    usages: Usages
    profiles: Profiles
    profiled_lists: ProfiledLists
    states: AccountStates
    absences: Absences
    absent_follower_counts: AbsentFollowerCounts
    erasure: Erasure
    erasures: Erasures
    erasure_queue: ArqErasures
    affinity: PostgresAffinity
    outbox: Outbox
    drain: Drain
    catch_up: CatchUp
    caches: RedisCaches
    events: RedisEvents
    subscriptions: Subscriptions
    audit: CacheAudit
    documents: DocumentStore
    lanes: ArqLanes
    postgres: Postgres
    redis: Servers
    """Of the caches."""
    broker: Servers
    """Of arq's queue, the event log and the change notifier. Equals `redis`, unless the caches have
    servers of their own."""
    memory: Memory | None = None
    """The local cache of hot users; None if it is disabled."""
    unremembered: "Stores | None" = None
    uncached: "Stores | None" = None

    @property
    def fresh(self) -> "Stores":
        """The stores without the local cache."""
        return self.unremembered or self

    @property
    def rows(self) -> "Stores":
        """The stores without any cache of edges."""
        return self.uncached or self

    @property
    def redis_round_trips(self) -> int:
        """Number of writes to Redis, over all connections."""
        servers = [self.redis] if self.broker is self.redis else [self.redis, self.broker]
        memory = self.memory.redis.round_trips if self.memory else 0
        return sum(one.round_trips for one in servers) + memory

    async def forget_everything(self) -> None:
        """Delete all caches and wake all subscriptions, after changes that did not go through the
        outbox.

        Raises:
            Unavailable: Redis cannot be reached.
        """
        await self.caches.forget_everything()
        await self.events.resync()

    async def is_empty(self) -> bool:
        """Whether the space has never had an edge."""
        return await is_empty(self.postgres)


@asynccontextmanager
async def open_stores(settings: StorageSettings, wire: Wire | None = None) -> AsyncIterator[Stores]:
    """Open the stores of one space for the block. `wire`: the connection to `redis_url`, for
    tests."""
    postgres = Postgres(settings)
    wire = wire or MultiplexedWire(settings.redis_url, settings.redis_timeout_s)
    broker: Servers = GuardedRedis(wire, settings.redis_retry_after_s)
    redis = servers_at(settings.cache_url, settings) if settings.cache_url else broker
    memory = opened_memory(settings)
    lanes = ArqLanes(broker, settings.space)
    absences = PostgresAbsences(postgres, settings.absent_age_ms / 1000)
    subscriptions = Subscriptions(_notifier(settings, absences).listen, settings.subscriptions_max)
    shielded = ShieldedTasks()
    stores = _wired(settings, postgres, redis, broker, lanes, subscriptions, absences, shielded)
    try:
        yield stores if memory is None else _remembering(stores, memory)
    finally:
        await shielded.close()
        await subscriptions.close()
        await stores.catch_up.close()
        if memory is not None:
            await memory.close()
        await lanes.woken()
        if broker is not redis:
            await broker.close()
        await redis.close()
        await postgres.close()


def _notifier(settings: StorageSettings, absences: Absences) -> ChangeNotifier:
    wire = MultiplexedWire(settings.redis_url, BLOCK_MS / 1000 + settings.redis_timeout_s)
    return ChangeNotifier(wire, Keys(settings.space), settings.redis_retry_after_s, absences.expire)


def _remembering(stores: Stores, memory: Memory) -> Stores:
    return replace(
        stores,
        relations=memory.relations(stores.relations),
        lists=memory.lists(stores.lists),
        accounts=memory.accounts(stores.accounts),
        profiles=memory.profiles(stores.profiles),
        profiled_lists=memory.profiled_lists(stores.profiled_lists),
        memory=memory,
        unremembered=stores,
    )


def _wired(
    settings: StorageSettings,
    postgres: Postgres,
    redis: Servers,
    broker: Servers,
    lanes: ArqLanes,
    subscriptions: Subscriptions,
    absences: Absences,
    shielded: ShieldedTasks,
) -> Stores:
    keys, ttl_s = Keys(settings.space), settings.cache_ttl_s
    leases = Leases(redis, settings.lease_ms, settings.lease_wait_ms)
    caches = RedisCaches(redis, keys, settings.relation_cache_max)
    own = OwnWrites(PostgresPending(postgres), redis, leases, keys, settings.own_writes_ttl_s)
    outbox, relations = Outbox(postgres), PostgresRelations(postgres)
    lists, profiles = PostgresLists(postgres), PostgresProfiles(postgres)
    cached_profiles = CachedProfiles(profiles, own, keys, ttl_s)
    accounts = PostgresAccounts(postgres)
    events = RedisEvents(broker, keys, _kept(settings))
    cached_accounts = CachedAccounts(accounts, cached_profiles, redis, keys, events, shielded)
    range_cache = RangeCache(redis, leases, settings.range_cache_max)
    cached_lists = CachedLists(lists, own, range_cache, keys, ttl_s, settings.list_cache_max)
    drain = Drain(outbox, caches, events)
    catch_up = CatchUp(outbox, drain)
    edges, erasures = PostgresEdges(postgres), Erasures(postgres)
    affinity, erasure_queue = PostgresAffinity(postgres), ArqErasures(broker, settings.space)
    stores = Stores(
        edges=AnnouncedEdges(edges, caches, lanes, shielded, catch_up),
        receipts=PostgresReceipts(postgres),
        mutes=PostgresMutes(postgres),
        relations=CachedRelations(
            relations, redis, leases, keys, ttl_s, settings.relation_cache_max
        ),
        lists=cached_lists,
        own_lists=PostgresOwnLists(postgres),
        overlaps=PostgresOverlaps(postgres),
        edge_notes=PostgresEdgeNotes(postgres),
        accounts=cached_accounts,
        usages=PostgresUsages(postgres),
        profiles=cached_profiles,
        profiled_lists=CachedProfiledLists(own, cached_lists, cached_profiles),
        states=AnnouncedStates(
            PostgresAccountStates(postgres),
            erasures,
            absences,
            erasure_queue,
            redis,
            keys,
            events,
            shielded,
        ),
        absences=absences,
        absent_follower_counts=AbsentFollowerCounts(postgres),
        erasure=Erasure(
            AnnouncedEdges(edges, caches, lanes, shielded),
            erasures,
            drain,
            caches,
            affinity,
        ),
        erasures=erasures,
        erasure_queue=erasure_queue,
        affinity=affinity,
        outbox=outbox,
        drain=drain,
        catch_up=catch_up,
        caches=caches,
        events=events,
        subscriptions=subscriptions,
        audit=CacheAudit(
            redis,
            keys,
            outbox,
            relations,
            lists,
            profiles,
            settings.relation_cache_max,
            settings.list_cache_max,
        ),
        documents=RedisDocuments(redis, keys, settings.documents_kept_s),
        lanes=lanes,
        postgres=postgres,
        redis=redis,
        broker=broker,
    )
    uncached = replace(
        stores,
        relations=relations,
        lists=lists,
        profiles=profiles,
        profiled_lists=JoinedProfiledLists(lists, profiles),
    )
    return replace(stores, uncached=uncached)


def _kept(settings: StorageSettings) -> Kept:
    return Kept(
        settings.events_max, settings.events_kept_s, settings.feed_max, settings.feed_kept_s
    )
