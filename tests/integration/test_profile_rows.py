"""Profiles from the tables: the same with and without a viewer who has no pending change."""

import random

from graph.account import PrivacyChange
from graph.edge import Flags, Kind, UserId
from storage.postgres.accounts import PostgresAccounts
from storage.postgres.profiles import PostgresProfiles
from storage.stores import Stores
from tests.support.edges import edges
from tests.support.graphs import drain_all, users

USERS = users(*range(1, 12))
OTHER_VIEWER = UserId(99)
KINDS = [Kind.FOLLOW, Kind.FOLLOW, Kind.WHISPER, Kind.REQUEST, Kind.BLOCK]


async def test_a_viewer_without_pending_changes_gets_the_totals_of_anonymous_readers(
    stores: Stores,
) -> None:
    chance = random.Random(3)
    for drained in (True, False):
        for _ in range(40):
            one, other = chance.sample(USERS[:-2], 2)
            flags = chance.choice([Flags.PLAIN, Flags.CLOSE_FOLLOW, Flags.MUTED])
            await edges(stores, {(one, other): (chance.choice(KINDS), flags)})
        if drained:
            await drain_all(stores)
    accounts = PostgresAccounts(stores.servers.postgres)
    for user in USERS[-3:]:  # two of them have no edge
        await accounts.set_privacy(user, PrivacyChange(protected=True))
    profiles = PostgresProfiles(stores.servers.postgres)
    anonymous = await profiles.get_many(USERS, None)
    assert anonymous == await profiles.get_many(USERS, OTHER_VIEWER)
    assert len(set(anonymous.values())) > len(USERS) // 2
