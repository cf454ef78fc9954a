"""The stores of users' private data: notes, groups, seen followers, pins and affinity."""

from storage.ports.request_stores import OwnData
from storage.postgres.affinity import PostgresAffinity
from storage.postgres.follow_groups import PostgresFollowGroups
from storage.postgres.pinned_following import PostgresPinnedFollowing
from storage.postgres.private_notes import PostgresPrivateNotes
from storage.postgres.seen_followers import PostgresSeenFollowers
from storage.shielded_tasks import ShieldedTasks
from storage.store_groups import Broker, Servers
from storage.write_through.seen_followers import WriteThroughSeenFollowers


def own_data_of(servers: Servers, broker: Broker, shielded: ShieldedTasks) -> OwnData:
    postgres = servers.postgres
    return OwnData(
        private_notes=PostgresPrivateNotes(postgres),
        follow_groups=PostgresFollowGroups(postgres),
        seen_followers=WriteThroughSeenFollowers(
            PostgresSeenFollowers(postgres), broker.events, shielded
        ),
        pinned_following=PostgresPinnedFollowing(postgres),
        affinities=PostgresAffinity(postgres),
    )
