"""The arq worker as operators run it: as a process, which some tests kill."""

import asyncio
import contextlib
import json
import os
import signal
import time
from collections.abc import AsyncIterator

import pytest

from graph.account_state import AccountState
from graph.edge import Millis, UserId
from graph.rules import mute
from storage.ports.reader import ProfilesOf
from storage.postgres.verification.verify import verify
from storage.settings import StorageSettings
from storage.stores import Stores
from tests.support.graphs import as_pair, follows
from tests.support.kith_process import start_kith
from tests.support.waiting import until
from tests.support.worker_process import Worker
from workers import main

DEADLINE_S = 30


@pytest.fixture
async def worker(storage_settings: StorageSettings) -> AsyncIterator[Worker]:
    running = Worker(storage_settings)
    await running.start()
    yield running
    await running.end(signal.SIGKILL)


async def is_drained(stores: Stores) -> bool:
    return not await stores.jobs.lanes.progress.lanes_with_changes()


async def test_a_worker_drains_committed_changes(stores: Stores, worker: Worker) -> None:
    await follows(stores, *((fan, 1) for fan in range(2, 40)))
    await until(lambda: is_drained(stores))
    (profile,) = (await stores.reads.reader.read(None, ProfilesOf([1]))).values()  # type: ignore[list-item]
    assert profile.counts.followers == 38


@pytest.mark.parametrize("redis", [None, "unix:///nowhere.sock"])
async def test_every_line_of_a_json_log_parses(
    storage_settings: StorageSettings, redis: str | None
) -> None:
    process = await start_kith(
        *("worker", "--log-format", "json"),
        env={
            **os.environ,
            "DATABASE_URL": storage_settings.database_url,
            "REDIS_URL": redis or storage_settings.redis_url,
        },
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stderr is not None
    async with asyncio.timeout(DEADLINE_S):
        first = await process.stderr.readline()
        if redis is None:
            process.terminate()
        rest = await process.stderr.read()
        code = await process.wait()
    records = [json.loads(line) for line in (first + rest).splitlines()]
    assert all({"time", "level", "logger", "message"} <= record.keys() for record in records)
    assert code == (0 if redis is None else 2)
    assert records[-1]["level"] == ("INFO" if redis is None else "CRITICAL")


async def test_killing_a_worker_loses_no_change(stores: Stores, worker: Worker) -> None:
    writing = asyncio.create_task(follows(stores, *((fan, 1) for fan in range(2, 300))))
    for _ in range(3):
        await asyncio.sleep(0.3)
        await worker.end(signal.SIGKILL)
        await worker.start()
    await writing
    await until(lambda: is_drained(stores))
    (profile,) = (await stores.reads.reader.read(None, ProfilesOf([1]))).values()  # type: ignore[list-item]
    assert profile.counts.followers == 298


async def test_the_sweep_drains_lanes_whose_jobs_were_lost(
    stores: Stores, storage_settings: StorageSettings
) -> None:
    await follows(stores, (1, 2), (3, 4))
    await stores.broker.lanes.wait_until_queued()
    await stores.servers.redis.pipe([("FLUSHDB",)])
    worker = Worker(storage_settings)
    await worker.start()
    try:
        await until(lambda: is_drained(stores))
    finally:
        await worker.end(signal.SIGKILL)


async def test_a_mute_with_an_end_expires(stores: Stores, worker: Worker) -> None:
    await stores.writes.edges.change(as_pair(1, 2), mute(Millis(int(time.time() * 1000) + 1_000)))

    async def has_ended() -> bool:
        row = await stores.servers.postgres.row(
            "SELECT mutes FROM following_count WHERE user_id = 1"
        )
        return row is not None and row["mutes"] == 0

    assert not await has_ended()
    await until(has_ended)


async def test_jobs_of_a_killed_worker_can_run_again_after_at_most_30_seconds(
    storage_settings: StorageSettings,
) -> None:
    arq_worker = main.worker(storage_settings, 900)
    try:
        assert arq_worker.in_progress_timeout_s <= 30
    finally:
        await arq_worker.pool.aclose(close_connection_pool=True)


async def test_a_worker_stops_although_its_task_ignores_the_first_cancellation(
    storage_settings: StorageSettings,
) -> None:
    async def ignore_first_cancellation() -> None:
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.Event().wait()
        await asyncio.Event().wait()

    arq_worker = main.worker(storage_settings, 900)
    try:
        arq_worker.main_task = asyncio.create_task(ignore_first_cancellation())
        await asyncio.sleep(0)  # the task waits
        arq_worker.handle_sig(signal.SIGTERM)
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(arq_worker.main_task, DEADLINE_S)
    finally:
        await arq_worker.pool.aclose(close_connection_pool=True)


async def test_a_deletion_continues_after_its_worker_is_killed(
    stores: Stores, worker: Worker, storage_settings: StorageSettings
) -> None:
    followers = range(100, 1600)
    await stores.servers.postgres.fetch(
        "WITH made AS (INSERT INTO following (from_user_id, to_user_id, kind, since, version) "
        "    SELECT u, 1, 1, u, 1 FROM generate_series($1::bigint, $2::bigint) u RETURNING *), "
        "counted AS (INSERT INTO following_count (user_id, follows) "
        "    SELECT from_user_id, 1 FROM made), "
        "sum AS (INSERT INTO follower_count (user_id, follows) SELECT 1, count(*) FROM made) "
        "INSERT INTO follower (to_user_id, from_user_id, kind, since, version) "
        "SELECT to_user_id, from_user_id, kind, since, version FROM made",
        followers.start,
        followers.stop - 1,
    )
    await follows(stores, *((1, followed) for followed in range(2, 10)))
    await stores.writes.account_states.change(UserId(1), AccountState.DELETED)
    await stores.broker.erasures.wake([UserId(1)])

    async def edges_left() -> int:
        (status,) = (await stores.writes.account_states.get_many([UserId(1)])).values()
        assert status.deletion
        return status.deletion.edges_left

    for edges_below in (1400, 700):

        async def is_under_way(edges_below: int = edges_below) -> bool:
            return await edges_left() < edges_below

        await until(is_under_way)
        await worker.end(signal.SIGKILL)
        assert await edges_left()
        await worker.start()

    async def is_erased() -> bool:
        return not await edges_left() and not await stores.jobs.lanes.progress.lanes_with_changes()

    await until(is_erased)
    report = await verify(storage_settings)
    assert report.clean, report.drifts


async def test_a_worker_stops_at_sigterm(worker: Worker, stores: Stores) -> None:
    await follows(stores, (1, 2))
    await until(lambda: is_drained(stores))
    assert await worker.end(signal.SIGTERM) == 0
