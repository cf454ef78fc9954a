"""The workers' queue: what arq reads from it, and the cost of adding a job."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
from arq.connections import ArqRedis
from arq.jobs import JobDef

from graph.lane import LANES, Lane
from storage.queue import DRAIN, arq_redis, job_id, queue_name
from storage.settings import StorageSettings
from storage.stores import Stores, open_stores
from tests.support.redis_proxy import proxy_to
from tests.support.waiting import until

DEADLINE_S = 20
ALL = [Lane(lane) for lane in range(LANES)]


@pytest.fixture
async def arq(storage_settings: StorageSettings) -> AsyncIterator[ArqRedis]:
    """The queue as arq sees it."""
    client = arq_redis(storage_settings)
    yield client
    await client.aclose(close_connection_pool=True)


def lanes_of(job: JobDef) -> list[object]:
    """The arguments of a drain job as a list, because JSON has no tuples."""
    return list(job.args)


async def until_queued(stores: Stores, jobs: int) -> None:
    async def queued() -> bool:
        return await stores.broker.lanes.queued() == jobs

    await until(queued, f"{jobs} jobs are queued")


async def test_arq_reads_what_was_queued_as_if_it_had_queued_it(
    stores: Stores, arq: ArqRedis, storage_settings: StorageSettings
) -> None:
    space = storage_settings.space
    await arq.enqueue_job(DRAIN, Lane(1), _job_id=job_id(space, Lane(1)))
    stores.broker.lanes.wake([Lane(2)])
    await until_queued(stores, 2)
    theirs, ours = sorted(await arq.queued_jobs(), key=lambda job: job.args)
    assert (ours.function, ours.kwargs) == (theirs.function, theirs.kwargs)
    assert list(map(lanes_of, (theirs, ours))) == [[1], [2]]
    assert (ours.job_try, ours.job_id) == (theirs.job_try, job_id(space, Lane(2)))
    assert ours.score is not None
    assert theirs.score is not None
    assert 0 <= ours.score - theirs.score < DEADLINE_S * 1000
    ttls_ms = [await arq.pttl(f"arq:job:{job.job_id}") for job in (theirs, ours)]
    assert abs(ttls_ms[1] - ttls_ms[0]) < DEADLINE_S * 1000


async def test_a_lane_is_queued_once_however_often_it_is_woken(
    stores: Stores, arq: ArqRedis
) -> None:
    for _ in range(3):
        stores.broker.lanes.wake([Lane(3), Lane(4)])
        await until_queued(stores, 2)
    stores.broker.lanes.wake([Lane(5)])
    await until_queued(stores, 3)
    assert sorted(map(lanes_of, await arq.queued_jobs())) == [[3], [4], [5]]


async def test_a_running_job_is_not_queued_again(
    stores: Stores, arq: ArqRedis, storage_settings: StorageSettings
) -> None:
    stores.broker.lanes.wake([Lane(6)])
    await until_queued(stores, 1)
    (running,) = await arq.queued_jobs()  # arq leaves it in the queue until it ends
    await arq.set(f"arq:in-progress:{job_id(storage_settings.space, Lane(6))}", 1)
    stores.broker.lanes.wake([Lane(6)])
    await stores.broker.lanes.wait_until_queued()
    assert await arq.queued_jobs() == [running]


async def test_a_job_that_the_queue_has_lost_is_queued_again(
    stores: Stores, arq: ArqRedis, storage_settings: StorageSettings
) -> None:
    """A server that is full evicts the queue, and keeps the keys of its jobs for a day."""
    stores.broker.lanes.wake([Lane(6)])
    await until_queued(stores, 1)
    await arq.delete(queue_name(storage_settings.space))
    stores.broker.lanes.wake([Lane(6), Lane(7)])
    await stores.broker.lanes.wait_until_queued()
    assert sorted(map(lanes_of, await arq.queued_jobs())) == [[6], [7]]


async def test_waking_a_lane_corrects_the_time_of_a_job_queued_by_a_clock_ahead(
    stores: Stores, arq: ArqRedis, storage_settings: StorageSettings
) -> None:
    stores.broker.lanes.wake([Lane(3)])
    await until_queued(stores, 1)
    queue, job = queue_name(storage_settings.space), job_id(storage_settings.space, Lane(3))
    (before,) = await arq.queued_jobs()
    assert before.score is not None
    await arq.zincrby(queue, 3_600_000, job)
    stores.broker.lanes.wake([Lane(3)])
    await stores.broker.lanes.wait_until_queued()
    (after,) = await arq.queued_jobs()
    assert after.score is not None
    assert 0 <= after.score - before.score < DEADLINE_S * 1000


async def test_an_outage_is_logged_once(
    storage_settings: StorageSettings, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with proxy_to(storage_settings.redis_url, tmp_path) as (proxy, url):
        settings = replace(
            storage_settings,
            redis_url=url,
            connections=replace(storage_settings.connections, redis_retry_after_s=0),
        )
        async with open_stores(settings) as stores:

            async def wake_all_lanes(times: int) -> None:
                for _ in range(times):
                    stores.broker.lanes.wake(ALL)
                    await stores.broker.lanes.wait_until_queued()

            for _ in range(2):
                await proxy.cut()
                await wake_all_lanes(3)
                await proxy.restore()
                await wake_all_lanes(1)
    assert [record.name for record in caplog.records].count("storage.queue") == 2


async def test_waking_all_lanes_is_one_round_trip(stores: Stores) -> None:
    redis = stores.servers.redis
    await redis.ping()
    before = redis.round_trips
    for lane in ALL:
        stores.broker.lanes.wake([lane])
    await stores.broker.lanes.wait_until_queued()
    assert redis.round_trips == before + 1
    assert await stores.broker.lanes.queued() == LANES
