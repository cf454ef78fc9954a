"""Changes of the number of lanes while a space is in use."""

import asyncio
import random

import asyncpg
import pytest

from graph.edge import MAX_USER_ID, UserId
from graph.lane import LANES, Lane, hash_user, lane_group_of, lane_of, lanes_of, parked_lane
from storage.postgres import lanes as changing
from storage.postgres.lanes import TooManyWaiting, count_lanes, set_lanes
from storage.postgres.outbox import Applied
from storage.postgres.verification.verify import verify
from storage.settings import StorageSettings
from storage.stores import Stores, open_stores
from tests.integration.test_drain import assert_drained, toggle
from tests.support.graphs import drain_all, follows
from tests.support.waiting import until

USERS = [UserId(user) for user in (1, 2, 3, 1000, 2**32, 2**33 + 5, 2**62, MAX_USER_ID)]


async def lanes_in_use(stores: Stores) -> dict[int, set[int]]:
    """The lanes of the changes in the outbox, by target."""
    lanes: dict[int, set[int]] = {}
    for row in await stores.servers.postgres.fetch("SELECT to_user_id, lane FROM outbox"):
        lanes.setdefault(row["to_user_id"], set()).add(row["lane"])
    return lanes


async def test_postgresql_hashes_users_as_python_does(stores: Stores) -> None:
    chance = random.Random(1)
    ids = [*USERS, *(UserId(chance.randrange(1, MAX_USER_ID)) for _ in range(500))]
    rows = await stores.servers.postgres.fetch(
        "SELECT hash_user(id) AS hash, lane_of(id) AS lane FROM unnest($1::bigint[]) AS id", ids
    )
    assert [row["hash"] % 2**64 for row in rows] == list(map(hash_user, ids))
    assert [row["lane"] for row in rows] == list(map(lane_of, ids))


@pytest.mark.parametrize("lanes", [8, 16, 64, 256])
def test_a_user_is_in_one_group_for_any_number_of_lanes(lanes: int) -> None:
    for user in USERS:
        lane = lane_of(user, lanes)
        assert lane_group_of(lane) == lane_of(user)
        assert lane in lanes_of(lane_of(user))


async def test_changes_move_to_their_new_lanes_and_later_ones_are_written_there(
    stores: Stores, storage_settings: StorageSettings
) -> None:
    assert await count_lanes(storage_settings) == LANES
    targets = range(2, 60)
    for number in (64, 16, 8, 256):
        await follows(stores, *((10_000 + number, target) for target in targets))
        await set_lanes(storage_settings, number)
        await follows(stores, *((20_000 + number, target) for target in targets))
        assert await count_lanes(storage_settings) == number
        assert await lanes_in_use(stores) == {
            target: {lane_of(UserId(target), number)} for target in targets
        }
    await drain_all(stores)
    await assert_drained(stores)


async def test_parked_and_failed_changes_move_too(
    stores: Stores, storage_settings: StorageSettings
) -> None:
    await follows(stores, (1, 2), (1, 3))
    lanes = {target: lane_of(UserId(target)) for target in (2, 3)}
    applied = await stores.jobs.lanes.outbox.apply(lanes[2], 10)
    await stores.jobs.lanes.outbox.acknowledge(lanes[2], Applied((), ()), applied)
    (row,) = await stores.servers.postgres.fetch("SELECT id FROM outbox WHERE to_user_id = 3")
    change = row["id"]
    await stores.jobs.lanes.outbox.fail(lanes[3], change, 1, "no reason")
    await set_lanes(storage_settings, 64)
    parked = parked_lane(lane_of(UserId(2), 64))
    assert await lanes_in_use(stores) == {2: {parked}, 3: {512 + lane_of(UserId(3), 64)}}
    assert await stores.jobs.lanes.failed_changes.retry(None) == {change: lane_of(UserId(3), 64)}
    await drain_all(stores)
    await assert_drained(stores)


async def test_a_gateway_that_knows_the_old_number_writes_to_the_new_lane(
    stores: Stores, storage_settings: StorageSettings
) -> None:
    """PostgreSQL chooses the lane. The gateway learns the number from its next change."""
    await follows(stores, (1, 2))
    await set_lanes(storage_settings, 64)
    await follows(stores, (3, 2))
    assert await lanes_in_use(stores) == {2: {lane_of(UserId(2), 64)}}

    async def is_woken() -> bool:
        return await stores.broker.lanes.queued() == 2  # the old lane's job, and the new one's

    await until(is_woken)


async def test_writes_and_a_change_of_the_number_wait_for_each_other(
    stores: Stores, storage_settings: StorageSettings, database_url: str
) -> None:
    """No change is left in its old lane, in either order."""
    other = await asyncpg.connect(database_url)
    try:
        async with other.transaction():
            await other.execute("LOCK TABLE outbox IN SHARE ROW EXCLUSIVE MODE")
            await other.execute("INSERT INTO lane_count (lanes) VALUES (128)")
            write = asyncio.create_task(follows(stores, (1, 2)))

            async def waits() -> bool:
                query = "SELECT FROM pg_locks WHERE NOT granted AND relation = 'outbox'::regclass"
                return await other.fetchrow(query) is not None

            await until(waits)
        await write
        assert await lanes_in_use(stores) == {2: {lane_of(UserId(2), 128)}}
        transaction = other.transaction()
        await transaction.start()
        await other.execute(
            "INSERT INTO outbox (lane, from_user_id, to_user_id, since, version, kind, flags,"
            " friends) VALUES (lane_of(3), 1, 3, 1, 1, 1, 0, 0)"
        )
        change = asyncio.create_task(set_lanes(storage_settings, 16))
        await until(waits)
        await transaction.commit()
        await change
        assert await lanes_in_use(stores) == {
            target: {lane_of(UserId(target), 16)} for target in (2, 3)
        }
    finally:
        await other.close()


async def test_counts_are_exact_after_changes_of_the_number_under_load(
    stores: Stores, storage_settings: StorageSettings
) -> None:
    chance = random.Random(5)
    over = asyncio.Event()
    async with open_stores(storage_settings) as worker:

        async def drain() -> None:
            while not over.is_set():
                for lane in await worker.jobs.lanes.progress.lanes_with_changes():
                    await worker.jobs.lanes.drain.lane(lane)

        async def write() -> None:
            for _ in range(60):
                source, target = chance.sample(range(1, 12), 2)
                await toggle(stores, source, target)

        drains = [asyncio.create_task(drain()) for _ in range(2)]
        writes = [asyncio.create_task(write()) for _ in range(3)]
        for number in (64, 8, 256, 16):
            await set_lanes(storage_settings, number)
        await asyncio.gather(*writes)
        over.set()
        await asyncio.gather(*drains)
    await drain_all(stores)
    await assert_drained(stores)
    assert (await verify(storage_settings)).clean


async def test_a_token_stays_valid_after_a_change_of_the_number(
    stores: Stores, storage_settings: StorageSettings
) -> None:
    group = lane_of(UserId(2))
    await follows(stores, (1, 2))
    token = {group: (await stores.jobs.lanes.progress.watermarks()).now}
    await set_lanes(storage_settings, 64)
    watermarks = await stores.jobs.lanes.progress.watermarks()
    assert watermarks.oldest.keys() == {Lane(lane) for lane in range(LANES)}
    assert [lane for lane, oldest in watermarks.oldest.items() if oldest] == [group]
    assert await stores.changes.catch_up.reach(token, 30)
    assert not await stores.jobs.lanes.progress.lanes_with_changes()
    await follows(stores, (3, 2))
    token = {group: (await stores.jobs.lanes.progress.watermarks()).now}
    await set_lanes(storage_settings, 8)
    assert await stores.changes.catch_up.reach(token, 30)
    assert not await stores.jobs.lanes.progress.lanes_with_changes()


async def test_a_waiting_reader_notices_a_change_of_the_number(
    stores: Stores, storage_settings: StorageSettings, database_url: str
) -> None:
    await follows(stores, (1, 2))
    group = lane_of(UserId(2))
    token = {group: (await stores.jobs.lanes.progress.watermarks()).now}
    other = await asyncpg.connect(database_url)
    try:
        async with other.transaction():
            # A worker drains the lane, for as long as this transaction lasts.
            await other.execute("SELECT lock_at($1::integer, 2, $1)", int(group))
            reader = asyncio.create_task(stores.changes.catch_up.reach(token, 30))
            before = stores.servers.postgres.statements

            async def has_tried() -> bool:
                return stores.servers.postgres.statements > before + 6

            await until(has_tried)
            await set_lanes(storage_settings, 256)
        assert await reader
        assert not await stores.jobs.lanes.progress.lanes_with_changes()
    finally:
        await other.close()


async def test_the_number_does_not_change_with_too_many_pending_changes(
    stores: Stores, storage_settings: StorageSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(changing, "MOVED_MAX", 2)
    await follows(stores, (1, 2), (1, 3), (1, 4))
    with pytest.raises(TooManyWaiting, match="More than 2 changes"):
        await set_lanes(storage_settings, 16)
    assert await count_lanes(storage_settings) == LANES
