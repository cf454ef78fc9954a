"""Canaries measure the lag of each lane, and no user sees them."""

from prometheus_client import generate_latest

from gateway.server.shared_metrics import SharedMetrics
from graph.lane import LANES, Lane
from storage.postgres.canaries import is_canary
from storage.postgres.lanes import set_lanes
from storage.postgres.verification.verify import verify
from storage.settings import StorageSettings
from storage.stores import Stores
from tests.support.graphs import drain_all, follows
from tests.support.waiting import until
from workers.main import write_canaries


async def test_each_lane_has_one_canary_and_its_lag_is_published(stores: Stores) -> None:
    await write_canaries(stores)
    assert (await stores.jobs.lanes.progress.lanes_with_changes()).keys() == set(
        map(Lane, range(LANES))
    )

    async def is_woken() -> bool:
        return await stores.broker.lanes.queued() == LANES

    await until(is_woken, "every lane is woken, as by a change")
    await write_canaries(stores)
    assert (await stores.jobs.lanes.progress.backlog()).rows == LANES
    ages = await stores.jobs.lanes.canaries.lags()
    assert ages.keys() == set(map(Lane, range(LANES)))
    assert min(ages.values()) > 0
    await drain_all(stores)
    lags = await stores.jobs.lanes.canaries.lags()
    assert all(lags[lane] >= ages[lane] for lane in ages)
    assert await stores.jobs.lanes.canaries.lags() == lags, (
        "the lag of an applied canary does not grow"
    )


async def test_the_lag_of_a_pending_canary_is_its_age(stores: Stores) -> None:
    await write_canaries(stores)
    await drain_all(stores)
    await write_canaries(stores)
    await stores.servers.postgres.fetch("UPDATE canary SET written_at = written_at - 90000000")
    assert min((await stores.jobs.lanes.canaries.lags()).values()) >= 90


async def test_a_canary_causes_no_reverse_row_count_event_or_notification(
    stores: Stores, storage_settings: StorageSettings
) -> None:
    await follows(stores, (1, 2))
    await write_canaries(stores)
    await drain_all(stores)
    assert await rows_and_least_user(stores) == (1, 2), (
        "only the user's change has a reverse row and a count"
    )
    streams = [f"kith:public:events:{lane}" for lane in range(LANES)]
    events = await stores.servers.broker.pipe([("XLEN", stream) for stream in streams])
    assert sum(events) == 1
    (notified,) = await stores.servers.broker.pipe([("XLEN", "kith:public:notifier")])
    assert notified == 1
    report = await verify(storage_settings)
    assert report.clean
    assert (report.forward_rows, report.reverse_rows, report.users) == (1, 1, 2)


async def rows_and_least_user(stores: Stores) -> tuple[int, int]:
    """The number of reverse rows, and the lowest user id in `follower_count`."""
    row = await stores.servers.postgres.row(
        "SELECT (SELECT count(*) FROM follower) AS rows,"
        " (SELECT min(user_id) FROM follower_count) AS least"
    )
    assert row is not None
    return row["rows"], row["least"]


async def test_each_lane_has_a_canary_after_the_number_of_lanes_changes(
    stores: Stores, storage_settings: StorageSettings
) -> None:
    await write_canaries(stores)
    await set_lanes(storage_settings, 16)
    assert (await stores.jobs.lanes.progress.backlog()).rows == 0
    await write_canaries(stores)
    applied = await stores.jobs.lanes.outbox.apply(Lane(15), 9)
    assert list(map(is_canary, applied.changes)) == [True]
    await drain_all(stores)
    assert len(await stores.jobs.lanes.canaries.lags()) == 16
    await set_lanes(storage_settings, 8)
    assert len(await stores.jobs.lanes.canaries.lags()) == 8


async def test_the_lag_is_a_metric(stores: Stores) -> None:
    await write_canaries(stores)
    await drain_all(stores)
    metrics = SharedMetrics(stores)
    await metrics.update()
    text = generate_latest(metrics).decode()
    assert text.count("kith_consistent_within_seconds{") == LANES
