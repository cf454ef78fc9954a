"""The database's clock was set back by an hour, so stored times are an hour ahead of it."""

from storage.stores import Stores
from tests.support import relationships
from tests.support.gateway import Gateway
from tests.support.graphs import follows
from workers.sweep import sweep

SET_AN_HOUR_AHEAD = """
UPDATE following_count
SET paced_until = (extract(epoch FROM now()) * 1000000)::bigint + 3600000000
"""
SELECT_AHEAD = (
    "SELECT paced_until - (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS ahead"
)


async def ahead_us(stores: Stores) -> int:
    """How far user 1's rate limiter is ahead of the clock, in microseconds."""
    (row,) = await stores.servers.postgres.fetch(
        f"{SELECT_AHEAD} FROM following_count WHERE user_id = 1"
    )
    return int(row["ahead"])


async def test_users_can_change_edges_after_the_clock_is_set_back(
    gateway: Gateway, stores: Stores
) -> None:
    await relationships.change(gateway, 1, "followUser", 2)
    await stores.servers.postgres.fetch(SET_AN_HOUR_AHEAD)
    payload = await relationships.change(gateway, 1, "followUser", 3)
    assert payload["outcome"] == "FOLLOWED"
    assert await ahead_us(stores) < 60_000_000


async def test_users_can_change_settings_after_the_clock_is_set_back(
    gateway: Gateway, stores: Stores
) -> None:
    await relationships.change(gateway, 1, "followUser", 2)
    await stores.servers.postgres.fetch(SET_AN_HOUR_AHEAD)
    payload = await relationships.change_settings(gateway, 1, protected=True)
    assert payload["outcome"] == "UPDATED"
    assert await ahead_us(stores) < 60_000_000


async def test_the_sweep_drains_changes_that_are_an_hour_ahead_of_the_clock(stores: Stores) -> None:
    await follows(stores, (1, 2))
    await stores.servers.postgres.fetch("UPDATE outbox SET version = version + 3600000000")
    await sweep(stores)
    assert not await stores.jobs.lanes.progress.lanes_with_changes()
