"""The stores that workers and commands use."""

from storage.cache.marks import Marks
from storage.drain import Drain
from storage.erasure import Erasure
from storage.failover import Failover
from storage.postgres.absent_follower_counts import AbsentFollowerCounts
from storage.postgres.affinity import PostgresAffinity
from storage.postgres.bulk_operations import BulkQueue
from storage.postgres.canaries import Canaries
from storage.postgres.connection.exclusive import ExclusiveJobs
from storage.postgres.edge_batches import PostgresEdgeBatches
from storage.postgres.edges import PostgresEdges
from storage.postgres.erasures import Erasures
from storage.postgres.failed_changes import FailedChanges
from storage.postgres.lane_progress import PostgresLaneProgress
from storage.postgres.mutes import PostgresMutes
from storage.postgres.outbox import Outbox
from storage.postgres.verification.slices import Verification
from storage.postgres.webhook_deliveries import WebhookDeliveries
from storage.postgres.webhook_endpoints import WebhookEndpoints
from storage.redis.keys import Keys
from storage.redis.servers import is_cluster
from storage.settings import StorageSettings
from storage.shielded_tasks import ShieldedTasks
from storage.store_groups import (
    AccountJobs,
    Broker,
    BulkStores,
    Caches,
    Jobs,
    LaneJobs,
    PeriodicJobs,
    Servers,
    Webhooks,
)
from storage.write_through.batched_edges import BatchedEdges
from storage.write_through.edges import WriteThroughEdges


def jobs_of(
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
    edges = WriteThroughEdges(PostgresEdges(postgres), caches.updates, broker.lanes, shielded)
    affinity, erasures = PostgresAffinity(postgres), Erasures(postgres)
    return Jobs(
        lanes=LaneJobs(
            outbox=outbox,
            progress=progress,
            drain=drain,
            failed_changes=FailedChanges(postgres),
            canaries=Canaries(postgres),
        ),
        bulk=BulkStores(
            queue=BulkQueue(postgres),
            edges=_batched_edges(settings, servers, caches, broker, shielded),
        ),
        accounts=AccountJobs(
            erasure=Erasure(edges, erasures, drain, caches.updates, affinity),
            erasures=erasures,
            absent_follower_counts=AbsentFollowerCounts(postgres),
        ),
        periodic=PeriodicJobs(
            exclusive=ExclusiveJobs(postgres, settings.space),
            verification=Verification(postgres, settings),
            mutes=PostgresMutes(postgres),
            affinity=affinity,
        ),
        webhooks=Webhooks(WebhookEndpoints(postgres), WebhookDeliveries(postgres)),
        failover=Failover(
            postgres,
            caches.updates,
            broker.events,
            servers.broker,
            Keys(settings.space),
            # The servers of a Redis Cluster are not checked: they are many, and they change.
            {servers.broker} if is_cluster(settings.caches_at) else {servers.broker, servers.redis},
        ),
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
        WriteThroughEdges(
            PostgresEdges(postgres),
            caches.updates,
            broker.lanes,
            shielded,
            marks=marks,
            delayed_writes=delayed_writes,
        ),
        delayed_writes=delayed_writes,
    )
