"""The stores that queries read."""

from storage.cache.reader import CacheReader
from storage.groups import Caches, Servers
from storage.ports.accounts import Absences
from storage.ports.request_stores import Reads
from storage.postgres.account_exports import PostgresAccountExports
from storage.postgres.affinity import PostgresAffinity
from storage.postgres.exports import PostgresExports
from storage.postgres.follow_groups import PostgresFollowGroups
from storage.postgres.lists import PostgresOwnLists
from storage.postgres.overlaps import PostgresBlocks, PostgresEdgeNotes, PostgresOverlaps
from storage.postgres.pinned_following import PostgresPinnedFollowing
from storage.postgres.private_notes import PostgresPrivateNotes
from storage.postgres.sampled_users import PostgresSampledUsers
from storage.postgres.seen_followers import PostgresSeenFollowers
from storage.settings import StorageSettings
from storage.wiring.caches import tables_of


def reads_of(
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
