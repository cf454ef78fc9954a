"""The database's clock was set back by an hour: what was stored before is an hour ahead."""

from storage.stores import Stores
from tests.support import relationships
from tests.support.gateway import Gateway
from tests.support.graphs import follows
from workers.sweep import sweep

AN_HOUR_AHEAD = """
UPDATE following_count
SET paced_until = (extract(epoch FROM now()) * 1000000)::bigint + 3600000000
"""
PACED = "SELECT paced_until - (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS ahead"


async def ahead_us(stores: Stores) -> int:
    (row,) = await stores.servers.postgres.fetch(f"{PACED} FROM following_count WHERE user_id = 1")
    return int(row["ahead"])


async def test_users_can_make_changes(gateway: Gateway, stores: Stores) -> None:
    await relationships.change(gateway, 1, "followUser", 2)
    await stores.servers.postgres.fetch(AN_HOUR_AHEAD)
    payload = await relationships.change(gateway, 1, "followUser", 3)
    assert payload["outcome"] == "FOLLOWED"
    assert await ahead_us(stores) < 60_000_000


async def test_users_can_change_their_settings(gateway: Gateway, stores: Stores) -> None:
    await relationships.change(gateway, 1, "followUser", 2)
    await stores.servers.postgres.fetch(AN_HOUR_AHEAD)
    payload = await relationships.say(gateway, 1, protected=True)
    assert payload["outcome"] == "UPDATED"
    assert await ahead_us(stores) < 60_000_000


async def test_the_sweep_drains_a_lane_with_changes_from_before(stores: Stores) -> None:
    await follows(stores, (1, 2))
    await stores.servers.postgres.fetch("UPDATE outbox SET version = version + 3600000000")
    await sweep(stores)
    assert not await stores.jobs.lanes.progress.dirty()
