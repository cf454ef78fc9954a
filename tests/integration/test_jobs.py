"""The workers' jobs while a server is unavailable: each logs that it is retried later."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest

from storage.settings import StorageSettings
from storage.stores import Stores, open_stores
from tests.support.graphs import follows
from workers import main
from workers import sweep as sweeping
from workers.job_metrics import JobMetrics

Job = Callable[[dict[str, Any]], Awaitable[None]]

JOBS: dict[str, Job] = {
    "drain": lambda ctx: main._drain(ctx, 1),
    "erase": lambda ctx: main._erase(ctx, 1),
    "sweep": main._sweep,
    "mutes": main._end_mutes,
    "absent follower counts": main._update_absent_follower_counts,
    "erasures": main._wake_erasures,
    "purge": main._purge,
    "canaries": main._write_canaries,
    "verification": main._verify,
}


@pytest.mark.parametrize("job", JOBS)
async def test_without_postgresql_a_job_logs_that_it_is_retried(
    storage_settings: StorageSettings, caplog: pytest.LogCaptureFixture, job: str
) -> None:
    nowhere = replace(storage_settings, database_url="postgresql://nobody@127.0.0.1:1/none")
    async with open_stores(nowhere) as stores:
        await JOBS[job]({"metrics": JobMetrics(), "stores": stores, "verified_rows": 1})
    (record,) = caplog.records
    assert "is retried later" in record.getMessage()


async def test_one_sweep_at_a_time_runs_in_a_space(
    stores: Stores, storage_settings: StorageSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While the first sweep runs, the sweep of another worker only tries the lock."""
    monkeypatch.setattr(sweeping, "OVERDUE_S", 0)
    await follows(stores, (1, 2))
    has_begun, may_go_on = asyncio.Event(), asyncio.Event()

    async def take_long(stores: Stores) -> None:
        has_begun.set()
        await may_go_on.wait()
        await sweeping.sweep(stores)

    monkeypatch.setattr(main, "sweep", take_long)
    async with open_stores(storage_settings) as other:
        await other.servers.postgres.ping()  # connect before statements are counted
        first = asyncio.create_task(main._sweep({"metrics": JobMetrics(), "stores": stores}))
        await has_begun.wait()
        before = other.servers.postgres.statements
        await main._sweep({"metrics": JobMetrics(), "stores": other})
        assert other.servers.postgres.statements == before + 1, "it only tries the lock"
        assert not first.done()
        may_go_on.set()
        await first
        assert not await stores.jobs.lanes.progress.lanes_with_changes()
        await follows(stores, (1, 3))
        await main._sweep({"metrics": JobMetrics(), "stores": other})
        assert not await stores.jobs.lanes.progress.lanes_with_changes(), "the lock was released"


async def test_a_sweep_is_stopped_at_its_deadline(
    stores: Stores, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def endless(_: Stores) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(main, "ALONE_S", 0.01)
    monkeypatch.setattr(main, "sweep", endless)
    await main._sweep({"metrics": JobMetrics(), "stores": stores})
    assert "the next run continues" in caplog.text
    async with stores.jobs.periodic.exclusive.only("sweep") as is_alone:
        assert is_alone
