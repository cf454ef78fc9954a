"""The rows of profiles: both statements agree where the viewer has no pending change."""

import random

from graph.account import PrivacyChange
from graph.edge import Flags, Kind, UserId
from storage.postgres.accounts import PostgresAccounts
from storage.postgres.profiles import PostgresProfiles
from storage.stores import Stores
from tests.support.edges import edges
from tests.support.graphs import drain_all, users

PEOPLE = users(*range(1, 12))
STRANGER = UserId(99)
KINDS = [Kind.FOLLOW, Kind.FOLLOW, Kind.WHISPER, Kind.REQUEST, Kind.BLOCK]


async def test_a_viewer_without_pending_changes_gets_the_totals_of_everybody(
    stores: Stores,
) -> None:
    chance = random.Random(3)
    for drained in (True, False):
        for _ in range(40):
            one, other = chance.sample(PEOPLE[:-2], 2)
            flags = chance.choice([Flags.PLAIN, Flags.CLOSE_FOLLOW, Flags.MUTED])
            await edges(stores, {(one, other): (chance.choice(KINDS), flags)})
        if drained:
            await drain_all(stores)
    accounts = PostgresAccounts(stores.servers.postgres)
    for user in PEOPLE[-3:]:  # two of them have no edge
        await accounts.set_privacy(user, PrivacyChange(protected=True))
    profiles = PostgresProfiles(stores.servers.postgres)
    of_all = await profiles.get_many(PEOPLE, None)
    assert of_all == await profiles.get_many(PEOPLE, STRANGER)
    assert len(set(of_all.values())) > len(PEOPLE) // 2
