"""The workers' jobs while a server is away: none fails, each is retried later and says so."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest

from storage.settings import StorageSettings
from storage.stores import open_stores
from workers import main

Job = Callable[[dict[str, Any]], Awaitable[None]]

JOBS: dict[str, Job] = {
    "drain": lambda ctx: main._drain(ctx, 1),
    "erase": lambda ctx: main._erase(ctx, 1),
    "sweep": main._sweep,
    "mutes": main._end_mutes,
    "absent follower counts": main._update_absent_follower_counts,
    "erasures": main._wake_erasures,
    "purge": main._purge,
}


@pytest.mark.parametrize("job", JOBS)
async def test_without_postgresql_a_job_is_left_for_later(
    storage_settings: StorageSettings, caplog: pytest.LogCaptureFixture, job: str
) -> None:
    nowhere = replace(storage_settings, database_url="postgresql://nobody@127.0.0.1:1/none")
    async with open_stores(nowhere) as stores:
        await JOBS[job]({"stores": stores})
    (record,) = caplog.records
    assert "is retried later" in record.getMessage()
