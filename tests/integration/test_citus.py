"""Several gateways on Citus, each connected to another machine."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path

import asyncpg
import pytest

from graph.edge import UserId
from graph.lane import POSSIBLE_LANES, Lane, lane_of
from graph.rules import follow, unfollow
from storage.postgres.lanes import set_lanes
from storage.postgres.load.bulk_load import bulk_load
from storage.postgres.outbox import LaneTaken
from storage.settings import StorageSettings
from storage.stores import Stores, open_stores
from tests.support import citus
from tests.support.edge_files import assert_whole, ring, write_edges
from tests.support.graphs import PLENTY, as_pair, drain_all, follows

pytestmark = pytest.mark.skipif(citus.prefix() is None, reason="needs Citus: make citus-test")

MACHINES = "SELECT nodename FROM pg_dist_node ORDER BY nodeid"
SUMS = """
SELECT (SELECT count(*) FROM following WHERE kind = 1) AS follows,
    (SELECT sum(follows) FROM following_count) AS following,
    (SELECT sum(follows) FROM follower_count) AS followers,
    (SELECT sum(friends) FROM following_count) + (SELECT sum(friends) FROM follower_count)
        AS friends,
    (SELECT count(*) FROM outbox) AS waiting
"""
FOLLOWS = "SELECT from_user_id, to_user_id FROM following WHERE kind = 1"


async def machines(database_url: str) -> list[str]:
    """The URLs of the database on each machine."""
    connection = await asyncpg.connect(database_url)
    hosts = [row["nodename"] for row in await connection.fetch(MACHINES)]
    await connection.close()
    first = database_url.partition("host=")[2].partition("&")[0]
    return [database_url.replace(first, host) for host in hosts]


@pytest.fixture
async def gateways(storage_settings: StorageSettings) -> AsyncIterator[list[Stores]]:
    """The stores of a gateway on each machine."""
    async with AsyncExitStack() as stack:
        yield [
            await stack.enter_async_context(
                open_stores(replace(storage_settings, database_url=url))
            )
            for url in await machines(storage_settings.database_url)
        ]


async def test_counts_are_exact_if_both_users_write_through_different_machines(
    gateways: list[Stores],
) -> None:
    """The changes of a pair need one order. Otherwise, the number of friends is wrong."""
    pairs = [(1, 2), (2, 1), (3, 4), (4, 3)]

    async def write(stores: Stores, source: int, target: int) -> None:
        for rule in (follow(PLENTY), unfollow(), follow(PLENTY)):
            await stores.writes.edges.change(as_pair(source, target), rule)

    await asyncio.gather(
        *(
            write(stores, *pair)
            for place, stores in enumerate(gateways)
            for pair in (pairs[place], pairs[(place + 1) % 4])
        )
    )
    await drain_all(gateways[1])
    (row,) = await gateways[2].servers.postgres.fetch(SUMS)
    edges = {tuple(row) for row in await gateways[3].servers.postgres.fetch(FOLLOWS)}
    friends = sum((target, source) in edges for source, target in edges)
    assert tuple(row) == (len(edges), len(edges), len(edges), friends, 0)


async def test_a_lane_is_drained_by_one_machine_at_a_time(gateways: list[Stores]) -> None:
    one, other = gateways[1], gateways[2]
    async with one.jobs.lanes.outbox._locked(Lane(3), waits=True):
        with pytest.raises(LaneTaken):
            await other.jobs.lanes.outbox.apply(Lane(3), 10, waits=False)
        await other.jobs.lanes.outbox.apply(Lane(4), 10, waits=False)
    await other.jobs.lanes.outbox.apply(Lane(3), 10, waits=False)


async def test_drains_of_two_lanes_do_not_wait_for_each_other(gateways: list[Stores]) -> None:
    """By default, the coordinator runs one statement of several shards on each shard at a time,
    until the end of its transaction. Two drains could lock shards in different orders and wait for
    each other, and one was cancelled as a deadlock."""
    stores, (one, other) = gateways[0], (Lane(3), Lane(4))
    targets = [user for user in range(1, 120) if lane_of(UserId(user)) in (one, other)]
    await follows(stores, *((1000 + user, user) for user in targets))
    outbox = stores.jobs.lanes.outbox
    async with outbox._locked(one, waits=True) as connection:
        applied = await outbox._apply(connection, one, 1000, 0, None)
        assert len(applied.ids) + len((await outbox.apply(other, 1000)).ids) == len(targets)
    await drain_all(stores)
    (row,) = await stores.servers.postgres.fetch(SUMS)
    assert (row["followers"], row["waiting"]) == (len(targets), 0)


async def test_changes_through_all_machines_are_in_the_outbox_in_their_order(
    gateways: list[Stores],
) -> None:
    for source, stores in enumerate([*gateways, *gateways], 11):
        await follows(stores, (source, 7))
    rows = await gateways[0].servers.postgres.fetch("SELECT from_user_id FROM outbox ORDER BY id")
    assert [row["from_user_id"] for row in rows] == list(range(11, 11 + 2 * len(gateways)))


async def test_pending_changes_move_to_new_lanes(
    gateways: list[Stores], storage_settings: StorageSettings
) -> None:
    stores = gateways[0]
    await follows(stores, *((source, source + 100) for source in range(1, 40)))
    await set_lanes(storage_settings, 32)
    assert len(await gateways[1].jobs.lanes.progress.lanes_with_changes(POSSIBLE_LANES)) > 8
    await drain_all(gateways[2])
    (row,) = await stores.servers.postgres.fetch(SUMS)
    assert (row["followers"], row["waiting"]) == (39, 0)


async def test_a_graph_can_be_loaded_at_the_coordinator_only(
    gateways: list[Stores], storage_settings: StorageSettings, tmp_path: Path
) -> None:
    """The lock that lets one load run at a time is local to a machine."""
    path = write_edges(tmp_path / "edges.csv", ring(60, 4))
    for url in (await machines(storage_settings.database_url))[1:]:
        with pytest.raises(ValueError, match="only be loaded at the coordinator"):
            await bulk_load(replace(storage_settings, database_url=url), path)
    assert (await bulk_load(storage_settings, path)).loaded == 240
    (row,) = await gateways[2].servers.postgres.fetch(SUMS)
    assert tuple(row) == (240, 240, 240, 120, 0)
    await assert_whole(storage_settings)


async def test_the_generation_is_the_same_on_all_machines(gateways: list[Stores]) -> None:
    for stores in gateways:
        assert not await stores.jobs.failover.check()
