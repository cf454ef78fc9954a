"""Wires the stores, from the tables to the local cache."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace

from storage.announced_accounts import AnnouncedAccounts
from storage.announced_edges import AnnouncedEdges
from storage.announced_seen_followers import AnnouncedSeenFollowers
from storage.announced_states import AnnouncedStates
from storage.batched_edges import BatchedEdges
from storage.cache.audit import CacheAudit
from storage.cache.local import local_cache_of
from storage.cache.marks import Marks
from storage.cache.reader import CacheReader
from storage.cache.tables import Tables
from storage.cache.updates import RedisCaches
from storage.catch_up import CatchUp
from storage.drain import Drain
from storage.erasure import Erasure
from storage.failover import Failover
from storage.groups import Broker, Caches, Jobs, Servers, SharedServers, Webhooks
from storage.ports.accounts import Absences
from storage.ports.request_stores import Changes, Reads, RequestStores, Writes
from storage.postgres.absences import PostgresAbsences
from storage.postgres.absent_follower_counts import AbsentFollowerCounts
from storage.postgres.account_exports import PostgresAccountExports
from storage.postgres.account_states import PostgresAccountStates
from storage.postgres.accounts import PostgresAccounts
from storage.postgres.affinity import PostgresAffinity
from storage.postgres.bulk_operations import BulkQueue, PostgresBulkOperations
from storage.postgres.canaries import Canaries
from storage.postgres.connection.budget import ConnectionBudget
from storage.postgres.connection.exclusive import ExclusiveJobs
from storage.postgres.connection.pool import Postgres
from storage.postgres.edge_batches import PostgresEdgeBatches
from storage.postgres.edges import PostgresEdges
from storage.postgres.erasures import Erasures
from storage.postgres.exports import PostgresExports
from storage.postgres.failed_changes import FailedChanges
from storage.postgres.follow_groups import PostgresFollowGroups
from storage.postgres.lane_progress import PostgresLaneProgress
from storage.postgres.lists import PostgresLists, PostgresOwnLists
from storage.postgres.mutes import PostgresMutes
from storage.postgres.outbox import Outbox
from storage.postgres.overlaps import PostgresBlocks, PostgresEdgeNotes, PostgresOverlaps
from storage.postgres.pending_edges import PostgresPending
from storage.postgres.pinned_following import PostgresPinnedFollowing
from storage.postgres.private_notes import PostgresPrivateNotes
from storage.postgres.profiles import PostgresProfiles, is_empty
from storage.postgres.receipts import PostgresReceipts
from storage.postgres.relations import PostgresRelations
from storage.postgres.sampled_users import PostgresSampledUsers
from storage.postgres.seen_followers import PostgresSeenFollowers
from storage.postgres.usage import PostgresUsages
from storage.postgres.verification.slices import Verification
from storage.postgres.webhook_deliveries import WebhookDeliveries
from storage.postgres.webhook_endpoints import WebhookEndpoints
from storage.queue import ArqErasures, ArqLanes
from storage.redis.budgets import RedisBudgets
from storage.redis.change_feed import RedisChangeFeed
from storage.redis.change_notifier import BLOCK_MS, ChangeNotifier
from storage.redis.connection import GuardedRedis
from storage.redis.connection import Servers as RedisServers
from storage.redis.documents import RedisDocuments
from storage.redis.events import Kept, RedisEvents
from storage.redis.keys import Keys
from storage.redis.multiplexed import NOTIFIER, MultiplexedWire
from storage.redis.servers import is_cluster, servers_at
from storage.redis.wire import Wire
from storage.settings import StorageSettings
from storage.shielded_tasks import ShieldedTasks
from storage.subscriptions import Subscriptions


@dataclass(frozen=True, slots=True)
class Stores:
    """All stores of a process. Implements `storage.ports.request_stores.RequestStores`."""

    reads: Reads
    writes: Writes
    changes: Changes
    jobs: Jobs
    broker: Broker
    caches: Caches
    servers: Servers

    @property
    def batched(self) -> RequestStores:
        """The same stores, for bulk operations: edges that are changed at the same time are written
        in batches."""
        return replace(self, writes=replace(self.writes, edges=self.jobs.batched_edges))

    @property
    def redis_round_trips(self) -> int:
        """Number of writes to Redis, over all connections."""
        local = self.caches.local
        connections = {self.servers.redis, self.servers.broker, *([local.redis] if local else ())}
        return sum(connection.round_trips for connection in connections)

    async def forget_everything(self) -> None:
        """Delete all caches and wake all subscriptions, after changes that did not go through the
        outbox.

        Raises:
            Unavailable: Redis cannot be reached.
        """
        await self.caches.updates.forget_everything()
        await self.broker.events.resync()

    async def is_empty(self) -> bool:
        """Whether the space has never had an edge."""
        return await is_empty(self.servers.postgres)


@asynccontextmanager
async def open_stores(
    settings: StorageSettings, wire: Wire | None = None, shared: SharedServers | None = None
) -> AsyncIterator[Stores]:
    """Open the stores of one space for the block. `wire`: the connection to `redis_url`, for
    tests. `shared`: what all spaces of a process share; the caller closes it."""
    async with AsyncExitStack() as stack:
        servers = _servers(settings, wire, shared)
        stack.push_async_callback(servers.postgres.close)
        if shared is None:
            stack.push_async_callback(servers.close_redis)
        broker = _broker(settings, servers)
        stack.push_async_callback(broker.lanes.woken)
        caches = _caches(settings, servers)
        if caches.local is not None:
            stack.push_async_callback(caches.local.close)
        outbox, progress = Outbox(servers.postgres), PostgresLaneProgress(servers.postgres)
        drain = Drain(outbox, Canaries(servers.postgres), caches.updates, broker.events)
        catch_up = CatchUp(outbox, progress, drain)
        stack.push_async_callback(catch_up.close)
        absences = PostgresAbsences(servers.postgres, settings.local.absent_age_ms / 1000)
        subscriptions = Subscriptions(
            _notifier(settings, absences).listen, settings.events.subscriptions_max
        )
        stack.push_async_callback(subscriptions.close)
        shielded = ShieldedTasks()
        stack.push_async_callback(shielded.close)
        yield Stores(
            _reads(settings, servers, caches, absences),
            _writes(settings, servers, caches, broker, catch_up, absences, shielded),
            Changes(
                broker.events,
                RedisChangeFeed(servers.broker, Keys(settings.space)),
                subscriptions,
                progress,
                catch_up,
            ),
            _jobs(settings, servers, caches, broker, outbox, progress, drain, shielded),
            broker,
            caches,
            servers,
        )


@asynccontextmanager
async def shared_servers(settings: StorageSettings, most: int) -> AsyncIterator[SharedServers]:
    """Open what the spaces of one process share, with at most `most` connections to PostgreSQL."""
    broker, redis = _redis(settings, None)
    shared = SharedServers(redis, broker, ConnectionBudget(most))
    try:
        yield shared
    finally:
        await shared.close_redis()


def _servers(settings: StorageSettings, wire: Wire | None, shared: SharedServers | None) -> Servers:
    if shared is not None:
        return Servers(shared.redis, shared.broker, Postgres(settings, shared.budget))
    broker, redis = _redis(settings, wire)
    return Servers(redis, broker, Postgres(settings))


def _redis(settings: StorageSettings, wire: Wire | None) -> tuple[RedisServers, RedisServers]:
    """The broker, and the servers of the caches."""
    wire = wire or MultiplexedWire(settings.redis_url, settings.connections.redis_timeout_s)
    broker: RedisServers = GuardedRedis(wire, settings.connections.redis_retry_after_s)
    return broker, servers_at(settings.cache.url, settings) if settings.cache.url else broker


def _broker(settings: StorageSettings, servers: Servers) -> Broker:
    kept = Kept(
        settings.events.events_max,
        settings.events.events_kept_s,
        settings.events.feed_max,
        settings.events.feed_kept_s,
    )
    return Broker(
        lanes=ArqLanes(servers.broker, settings.space),
        erasures=ArqErasures(servers.broker, settings.space),
        events=RedisEvents(servers.broker, Keys(settings.space), kept),
    )


def _notifier(settings: StorageSettings, absences: Absences) -> ChangeNotifier:
    wire = MultiplexedWire(
        settings.redis_url,
        BLOCK_MS / 1000 + settings.connections.redis_timeout_s,
        purpose=NOTIFIER,
    )
    return ChangeNotifier(
        wire, Keys(settings.space), settings.connections.redis_retry_after_s, absences.expire
    )


def _caches(settings: StorageSettings, servers: Servers) -> Caches:
    postgres, redis, keys = servers.postgres, servers.redis, Keys(settings.space)
    return Caches(
        updates=RedisCaches(redis, keys, settings.cache.relations_max),
        audit=CacheAudit(redis, PostgresLaneProgress(postgres), tables_of(postgres), settings),
        documents=RedisDocuments(redis, keys),
        budgets=RedisBudgets(redis, keys),
        local=local_cache_of(settings),
    )


def _reads(
    settings: StorageSettings, servers: Servers, caches: Caches, absences: Absences
) -> Reads:
    postgres = servers.postgres
    return Reads(
        reader=CacheReader(settings, servers.redis, tables_of(postgres), caches.local),
        own_lists=PostgresOwnLists(postgres),
        exports=PostgresExports(postgres),
        account_exports=PostgresAccountExports(postgres),
        overlaps=PostgresOverlaps(postgres),
        blocks=PostgresBlocks(postgres),
        edge_notes=PostgresEdgeNotes(postgres),
        sampled_users=PostgresSampledUsers(postgres),
        private_notes=PostgresPrivateNotes(postgres),
        follow_groups=PostgresFollowGroups(postgres),
        seen_followers=PostgresSeenFollowers(postgres),
        pinned_following=PostgresPinnedFollowing(postgres),
        affinities=PostgresAffinity(postgres),
        absences=absences,
    )


def tables_of(postgres: Postgres) -> Tables:
    """The tables that the caches copy."""
    return Tables(
        relations=PostgresRelations(postgres),
        lists=PostgresLists(postgres),
        profiles=PostgresProfiles(postgres),
        accounts=PostgresAccounts(postgres),
        pending=PostgresPending(postgres),
    )


def _writes(
    settings: StorageSettings,
    servers: Servers,
    caches: Caches,
    broker: Broker,
    catch_up: CatchUp,
    absences: Absences,
    shielded: ShieldedTasks,
) -> Writes:
    postgres, redis, keys = servers.postgres, servers.redis, Keys(settings.space)
    delayed_writes = settings.cache.delayed_writes
    return Writes(
        edges=AnnouncedEdges(
            PostgresEdges(postgres),
            caches.updates,
            broker.lanes,
            shielded,
            catch_up,
            Marks(redis, keys),
            delayed_writes=delayed_writes,
        ),
        accounts=AnnouncedAccounts(
            PostgresAccounts(postgres),
            redis,
            keys,
            broker.events,
            shielded,
            delayed_writes=delayed_writes,
        ),
        account_states=AnnouncedStates(
            PostgresAccountStates(postgres),
            Erasures(postgres),
            absences,
            broker.erasures,
            redis,
            keys,
            broker.events,
            shielded,
            delayed_writes=delayed_writes,
        ),
        affinities=PostgresAffinity(postgres),
        private_notes=PostgresPrivateNotes(postgres),
        follow_groups=PostgresFollowGroups(postgres),
        seen_followers=AnnouncedSeenFollowers(
            PostgresSeenFollowers(postgres), broker.events, shielded
        ),
        pinned_following=PostgresPinnedFollowing(postgres),
        receipts=PostgresReceipts(postgres),
        usages=PostgresUsages(postgres),
        bulk=PostgresBulkOperations(postgres),
    )


def _jobs(
    settings: StorageSettings,
    servers: Servers,
    caches: Caches,
    broker: Broker,
    outbox: Outbox,
    progress: PostgresLaneProgress,
    drain: Drain,
    shielded: ShieldedTasks,
) -> Jobs:
    postgres = servers.postgres
    edges = AnnouncedEdges(PostgresEdges(postgres), caches.updates, broker.lanes, shielded)
    affinity, erasures = PostgresAffinity(postgres), Erasures(postgres)
    return Jobs(
        outbox=outbox,
        progress=progress,
        failed_changes=FailedChanges(postgres),
        exclusive=ExclusiveJobs(postgres, settings.space),
        canaries=Canaries(postgres),
        verification=Verification(postgres, settings),
        drain=drain,
        mutes=PostgresMutes(postgres),
        bulk=BulkQueue(postgres),
        batched_edges=_batched_edges(settings, servers, caches, broker, shielded),
        absent_follower_counts=AbsentFollowerCounts(postgres),
        affinity=affinity,
        erasure=Erasure(edges, erasures, drain, caches.updates, affinity),
        erasures=erasures,
        failover=Failover(
            postgres,
            caches.updates,
            broker.events,
            servers.broker,
            Keys(settings.space),
            # The servers of a cluster are many, and change.
            {servers.broker} if is_cluster(settings.caches_at) else {servers.broker, servers.redis},
        ),
        webhooks=Webhooks(WebhookEndpoints(postgres), WebhookDeliveries(postgres)),
    )


def _batched_edges(
    settings: StorageSettings,
    servers: Servers,
    caches: Caches,
    broker: Broker,
    shielded: ShieldedTasks,
) -> BatchedEdges:
    postgres, marks = servers.postgres, Marks(servers.redis, Keys(settings.space))
    delayed_writes = settings.cache.delayed_writes
    return BatchedEdges(
        PostgresEdgeBatches(postgres),
        caches.updates,
        broker.lanes,
        shielded,
        marks,
        AnnouncedEdges(
            PostgresEdges(postgres),
            caches.updates,
            broker.lanes,
            shielded,
            marks=marks,
            delayed_writes=delayed_writes,
        ),
        delayed_writes=delayed_writes,
    )
