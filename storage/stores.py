"""All stores of a process, opened for one space."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace

from storage.catch_up import CatchUp
from storage.drain import Drain
from storage.ports.request_stores import (
    Changes,
    ExportStores,
    OwnData,
    Reads,
    RequestStores,
    Writes,
)
from storage.postgres.absences import PostgresAbsences
from storage.postgres.canaries import Canaries
from storage.postgres.lane_progress import PostgresLaneProgress
from storage.postgres.outbox import Outbox
from storage.postgres.profiles import is_empty
from storage.redis.absence_log import RedisAbsenceLog
from storage.redis.change_feed import RedisChangeFeed
from storage.redis.keys import Keys
from storage.redis.wire import Wire
from storage.settings import StorageSettings
from storage.shielded_tasks import ShieldedTasks
from storage.store_groups import Broker, Caches, Jobs, Servers, SharedServers
from storage.subscriptions import Subscriptions
from storage.wiring.broker import broker_of, notifier_of
from storage.wiring.caches import caches_of
from storage.wiring.jobs import jobs_of
from storage.wiring.own_data import own_data_of
from storage.wiring.reads import exports_of, reads_of
from storage.wiring.servers import open_servers
from storage.wiring.writes import writes_of


@dataclass(frozen=True, slots=True)
class Stores:
    """All stores of a process. Implements `storage.ports.request_stores.RequestStores`."""

    reads: Reads
    writes: Writes
    own_data: OwnData
    exports: ExportStores
    changes: Changes
    shielded: ShieldedTasks
    jobs: Jobs
    broker: Broker
    caches: Caches
    servers: Servers

    @property
    def batched(self) -> RequestStores:
        """The same stores, for bulk operations: concurrent changes of edges are written in
        batches."""
        return replace(self, writes=replace(self.writes, edges=self.jobs.bulk.edges))

    @property
    def redis_round_trips(self) -> int:
        """Number of writes to Redis, over all connections."""
        local = self.caches.local
        connections = {self.servers.redis, self.servers.broker, *([local.redis] if local else ())}
        return sum(connection.round_trips for connection in connections)

    async def delete_caches(self) -> None:
        """Delete all caches and wake all subscriptions, after changes that did not go through the
        outbox.

        Raises:
            Unavailable: Redis cannot be reached.
        """
        await self.caches.updates.delete_all()
        await self.broker.events.resync()

    async def is_empty(self) -> bool:
        """Whether the space has neither an edge nor a tombstone."""
        return await is_empty(self.servers.postgres)


@asynccontextmanager
async def open_stores(
    settings: StorageSettings, wire: Wire | None = None, shared: SharedServers | None = None
) -> AsyncIterator[Stores]:
    """Open the stores of one space inside the `with` statement. `wire`: the connection to
    `redis_url`, for tests. `shared`: the connections that all spaces of a process share; the caller
    closes them."""
    async with AsyncExitStack() as stack:
        servers = open_servers(settings, wire, shared)
        stack.push_async_callback(servers.postgres.close)
        if shared is None:
            stack.push_async_callback(servers.close_redis)
        broker = broker_of(settings, servers)
        stack.push_async_callback(broker.lanes.wait_until_queued)
        caches = caches_of(settings, servers)
        if caches.local is not None:
            stack.push_async_callback(caches.local.close)
        outbox, progress = Outbox(servers.postgres), PostgresLaneProgress(servers.postgres)
        drain = Drain(outbox, Canaries(servers.postgres), caches.updates, broker.events)
        catch_up = CatchUp(outbox, progress, drain)
        stack.push_async_callback(catch_up.close)
        absence_log = RedisAbsenceLog(servers.broker, Keys(settings.space))
        absences = PostgresAbsences(
            servers.postgres, absence_log, settings.local.absent_age_ms / 1000
        )
        subscriptions = Subscriptions(
            notifier_of(settings, absences).listen, settings.events.subscriptions_max
        )
        stack.push_async_callback(subscriptions.close)
        shielded = ShieldedTasks()
        stack.push_async_callback(shielded.close)
        yield Stores(
            reads_of(settings, servers, caches, absences),
            writes_of(settings, servers, caches, broker, catch_up, absences, absence_log, shielded),
            own_data_of(servers, broker, shielded),
            exports_of(servers),
            Changes(
                broker.events,
                RedisChangeFeed(servers.broker, Keys(settings.space)),
                subscriptions,
                progress,
                catch_up,
            ),
            shielded,
            jobs_of(settings, servers, caches, broker, outbox, progress, drain, shielded),
            broker,
            caches,
            servers,
        )
