"""The stores of edges and accounts that mutations change."""

from storage.cache.marks import Marks
from storage.catch_up import CatchUp
from storage.ports.accounts import AbsenceLog, Absences
from storage.ports.request_stores import Writes
from storage.postgres.account_states import PostgresAccountStates
from storage.postgres.accounts import PostgresAccounts
from storage.postgres.bulk_operations import PostgresBulkOperations
from storage.postgres.edges import PostgresEdges
from storage.postgres.erasures import Erasures
from storage.postgres.receipts import PostgresReceipts
from storage.postgres.usage import PostgresUsages
from storage.redis.keys import Keys
from storage.settings import StorageSettings
from storage.shielded_tasks import ShieldedTasks
from storage.store_groups import Broker, Caches, Servers
from storage.write_through.account_states import WriteThroughAccountStates
from storage.write_through.accounts import WriteThroughAccounts
from storage.write_through.edges import WriteThroughEdges


def writes_of(
    settings: StorageSettings,
    servers: Servers,
    caches: Caches,
    broker: Broker,
    catch_up: CatchUp,
    absences: Absences,
    absence_log: AbsenceLog,
    shielded: ShieldedTasks,
) -> Writes:
    postgres, redis, keys = servers.postgres, servers.redis, Keys(settings.space)
    delayed_writes = settings.cache.delayed_writes
    return Writes(
        edges=WriteThroughEdges(
            PostgresEdges(postgres),
            caches.updates,
            broker.lanes,
            shielded,
            catch_up,
            Marks(redis, keys),
            delayed_writes=delayed_writes,
        ),
        accounts=WriteThroughAccounts(
            PostgresAccounts(postgres),
            redis,
            keys,
            broker.events,
            shielded,
            delayed_writes=delayed_writes,
        ),
        account_states=WriteThroughAccountStates(
            PostgresAccountStates(postgres),
            Erasures(postgres),
            absences,
            absence_log,
            broker.erasures,
            redis,
            keys,
            broker.events,
            shielded,
            delayed_writes=delayed_writes,
        ),
        receipts=PostgresReceipts(postgres),
        usages=PostgresUsages(postgres),
        bulk=PostgresBulkOperations(postgres),
    )
