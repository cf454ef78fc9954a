"""The arq worker as operators run it: a process of its own, that may be killed."""

import asyncio
import contextlib
import os
import signal
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from graph.edge import Millis
from graph.transitions import mute
from storage.settings import StorageSettings
from storage.stores import Stores
from tests.graphs import as_pair, follows
from tests.waiting import until

ROOT = Path(__file__).parents[2]
DEADLINE_S = 30


class Worker:
    """A worker process on one test's graph."""

    def __init__(self, settings: StorageSettings) -> None:
        self._settings = settings
        self.process: asyncio.subprocess.Process | None = None

    async def start(self) -> None:
        self.process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "gateway", "worker"),
            cwd=ROOT,
            env={
                **os.environ,
                "DATABASE_URL": self._settings.database_url,
                "REDIS_URL": self._settings.redis_url,
            },
        )

    async def end(self, how: signal.Signals) -> int:
        assert self.process is not None
        with contextlib.suppress(ProcessLookupError):
            self.process.send_signal(how)
        async with asyncio.timeout(DEADLINE_S):
            return await self.process.wait()


@pytest.fixture
async def worker(storage_settings: StorageSettings) -> AsyncIterator[Worker]:
    made = Worker(storage_settings)
    await made.start()
    yield made
    await made.end(signal.SIGKILL)


async def nothing_waits(stores: Stores) -> bool:
    return not await stores.outbox.dirty()


async def test_a_worker_drains_what_is_written(stores: Stores, worker: Worker) -> None:
    await follows(stores, *((fan, 1) for fan in range(2, 40)))
    await until(lambda: nothing_waits(stores))
    (counts,) = (await stores.counts.of([1], None)).values()  # type: ignore[list-item]
    assert counts.followers == 38


async def test_a_killed_worker_loses_nothing(stores: Stores, worker: Worker) -> None:
    writing = asyncio.create_task(follows(stores, *((fan, 1) for fan in range(2, 300))))
    for _ in range(3):
        await asyncio.sleep(0.3)
        await worker.end(signal.SIGKILL)
        await worker.start()
    await writing
    await until(lambda: nothing_waits(stores))
    (counts,) = (await stores.counts.of([1], None)).values()  # type: ignore[list-item]
    assert counts.followers == 298


async def test_the_sweep_finds_what_the_queue_has_lost(
    stores: Stores, storage_settings: StorageSettings
) -> None:
    await follows(stores, (1, 2), (3, 4))
    await stores.redis.pipe([("FLUSHDB",)])
    worker = Worker(storage_settings)
    await worker.start()
    try:
        await until(lambda: nothing_waits(stores))
    finally:
        await worker.end(signal.SIGKILL)


async def test_a_mute_ends_by_itself(stores: Stores, worker: Worker) -> None:
    await stores.edges.change(as_pair(1, 2), mute(Millis(int(time.time() * 1000) + 1_000)))

    async def has_ended() -> bool:
        row = await stores.postgres.row("SELECT mutes FROM following_count WHERE user_id = 1")
        return row is not None and row["mutes"] == 0

    assert not await has_ended()
    await until(has_ended)


async def test_a_worker_stops_when_it_is_told_to(worker: Worker, stores: Stores) -> None:
    await follows(stores, (1, 2))
    await until(lambda: nothing_waits(stores))
    assert await worker.end(signal.SIGTERM) == 0
