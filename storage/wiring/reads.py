"""The stores of edges, lists and accounts that queries read, and those of exports."""

from storage.cache.reader import CacheReader
from storage.ports.accounts import Absences
from storage.ports.request_stores import ExportStores, Reads
from storage.postgres.account_exports import PostgresAccountExports
from storage.postgres.exports import PostgresExports
from storage.postgres.lists import PostgresOwnLists
from storage.postgres.overlaps import PostgresBlocks, PostgresEdgeNotes, PostgresOverlaps
from storage.postgres.sampled_users import PostgresSampledUsers
from storage.settings import StorageSettings
from storage.store_groups import Caches, Servers
from storage.wiring.caches import tables_of


def reads_of(
    settings: StorageSettings, servers: Servers, caches: Caches, absences: Absences
) -> Reads:
    postgres = servers.postgres
    return Reads(
        reader=CacheReader(settings, servers.redis, tables_of(postgres), caches.local),
        own_lists=PostgresOwnLists(postgres),
        overlaps=PostgresOverlaps(postgres),
        blocks=PostgresBlocks(postgres),
        edge_notes=PostgresEdgeNotes(postgres),
        sampled_users=PostgresSampledUsers(postgres),
        absences=absences,
    )


def exports_of(servers: Servers) -> ExportStores:
    return ExportStores(
        lists=PostgresExports(servers.postgres),
        accounts=PostgresAccountExports(servers.postgres),
    )
