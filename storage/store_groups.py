"""The stores of a process, in groups by what one kind of caller needs.

`storage.ports.request_stores` declares the groups that requests use.
"""

from dataclasses import dataclass

from storage.cache.local import LocalCache
from storage.cache.updates import RedisCaches
from storage.cache.verification import CacheVerifier
from storage.drain import Drain
from storage.erasure import Erasure
from storage.failover import Failover
from storage.ports.documents import DocumentStore
from storage.ports.edges import Edges
from storage.ports.limits import Budgets
from storage.postgres.absent_follower_counts import AbsentFollowerCounts
from storage.postgres.affinity import PostgresAffinity
from storage.postgres.bulk_operations import BulkQueue
from storage.postgres.canaries import Canaries
from storage.postgres.connection.budget import ConnectionBudget
from storage.postgres.connection.exclusive import ExclusiveJobs
from storage.postgres.connection.pool import Postgres
from storage.postgres.erasures import Erasures
from storage.postgres.failed_changes import FailedChanges
from storage.postgres.lane_progress import PostgresLaneProgress
from storage.postgres.mutes import PostgresMutes
from storage.postgres.outbox import Outbox
from storage.postgres.verification.slices import Verification
from storage.postgres.webhook_deliveries import WebhookDeliveries
from storage.postgres.webhook_endpoints import WebhookEndpoints
from storage.queue import ArqErasures, ArqLanes
from storage.redis.connection import RedisServers
from storage.redis.events import RedisEvents


@dataclass(frozen=True, slots=True)
class Webhooks:
    """The endpoints of webhooks, and their deliveries."""

    endpoints: WebhookEndpoints
    deliveries: WebhookDeliveries


@dataclass(frozen=True, slots=True)
class LaneJobs:
    """The stores and jobs that apply changes of the outbox and report the state of its lanes."""

    outbox: Outbox
    progress: PostgresLaneProgress
    drain: Drain
    failed_changes: FailedChanges
    canaries: Canaries


@dataclass(frozen=True, slots=True)
class BulkStores:
    """The stores that bulk operations use."""

    queue: BulkQueue
    edges: Edges
    """Changes edges in batches."""


@dataclass(frozen=True, slots=True)
class AccountJobs:
    """The stores and jobs that run after the state of an account has changed."""

    erasure: Erasure
    erasures: Erasures
    absent_follower_counts: AbsentFollowerCounts


@dataclass(frozen=True, slots=True)
class PeriodicJobs:
    """The stores of scheduled jobs, and the locks that let only one process run each job."""

    exclusive: ExclusiveJobs
    verification: Verification
    mutes: PostgresMutes
    affinity: PostgresAffinity


@dataclass(frozen=True, slots=True)
class Jobs:
    """The stores and jobs of workers."""

    lanes: LaneJobs
    bulk: BulkStores
    accounts: AccountJobs
    periodic: PeriodicJobs
    webhooks: Webhooks
    failover: Failover


@dataclass(frozen=True, slots=True)
class Broker:
    """Arq's queue and the event log."""

    lanes: ArqLanes
    erasures: ArqErasures
    events: RedisEvents


@dataclass(frozen=True, slots=True)
class Caches:
    """The caches of a space, on the cache servers and in the process, without the reader of cached
    values."""

    updates: RedisCaches
    verifier: CacheVerifier
    documents: DocumentStore
    budgets: Budgets
    local: LocalCache | None
    """The local cache of hot users; None if it is disabled."""


@dataclass(frozen=True, slots=True)
class RedisConnections:
    """The connections to Redis. Their commands name the space in each key."""

    redis: RedisServers
    """The servers of the caches."""
    broker: RedisServers
    """The server of arq's queue, the event log and the change notifier. Equals `redis`, unless the
    caches have servers of their own."""

    async def close_redis(self) -> None:
        await self.redis.close()
        if self.broker is not self.redis:
            await self.broker.close()


@dataclass(frozen=True, slots=True)
class SharedServers(RedisConnections):
    """The connections that the spaces of a process share."""

    budget: ConnectionBudget
    """The number of connections to PostgreSQL that their pools may open together."""


@dataclass(frozen=True, slots=True)
class Servers(RedisConnections):
    """The connections of one space."""

    postgres: Postgres
