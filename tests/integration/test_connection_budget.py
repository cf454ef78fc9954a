"""The pools of several spaces share a number of connections to PostgreSQL."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from graph.errors import Overloaded, Unavailable
from storage.postgres.connection.budget import ConnectionBudget
from storage.postgres.connection.pool import Postgres
from storage.settings import StorageSettings
from tests.support.waiting import until


@asynccontextmanager
async def pools(
    settings: StorageSettings, most: int, wait_s: float = 20.0
) -> AsyncIterator[tuple[ConnectionBudget, Postgres, Postgres]]:
    """Two pools that share `most` connections."""
    patient = replace(settings, connections=replace(settings.connections, acquire_timeout_s=wait_s))
    budget = ConnectionBudget(most)
    one, other = Postgres(patient, budget), Postgres(patient, budget)
    try:
        yield budget, one, other
    finally:
        await one.close()
        await other.close()


async def test_an_idle_connection_of_another_pool_is_closed_for_a_new_one(
    storage_settings: StorageSettings,
) -> None:
    async with pools(storage_settings, 1) as (budget, one, other):
        for _ in range(3):
            await one.fetch("SELECT 1")
            assert (one.usage.idle, other.usage.idle, budget.open) == (1, 0, 1)
            await other.fetch("SELECT 1")
            assert (one.usage.idle, other.usage.idle, budget.open) == (0, 1, 1)


async def test_a_busy_pool_gives_connections_to_a_waiting_pool(
    storage_settings: StorageSettings,
) -> None:
    async with pools(storage_settings, 2) as (budget, busy, quiet):
        stopped = asyncio.Event()

        async def keep_busy() -> None:
            while not stopped.is_set():
                await busy.fetch("SELECT pg_sleep(0.002)")

        load = [asyncio.create_task(keep_busy()) for _ in range(6)]

        async def is_full() -> bool:
            return busy.usage.in_use == 2

        await until(is_full)
        for _ in range(5):
            await quiet.fetch("SELECT 1")
        assert budget.open == 2
        stopped.set()
        await asyncio.gather(*load)


@pytest.mark.plain("a first connection takes longer than the wait")
async def test_a_wait_that_times_out_or_is_cancelled_leaks_no_connection(
    storage_settings: StorageSettings,
) -> None:
    async with pools(storage_settings, 1, wait_s=1) as (budget, one, other):
        async with one.connection() as connection:
            await connection.fetch("SELECT 1")
            with pytest.raises(Overloaded):
                await other.fetch("SELECT 1")
            waiting = asyncio.create_task(other.fetch("SELECT 1"))
            await asyncio.sleep(0)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
        await other.fetch("SELECT 1")
        assert (budget.open, budget.is_wanted) == (1, False)


async def test_a_connection_that_cannot_be_opened_is_not_counted(
    storage_settings: StorageSettings,
) -> None:
    budget = ConnectionBudget(1)
    nowhere = replace(storage_settings, database_url="postgresql://kith@/kith?host=/nowhere")
    down, up = Postgres(nowhere, budget), Postgres(storage_settings, budget)
    for _ in range(3):
        with pytest.raises(Unavailable):
            await down.fetch("SELECT 1")
    await up.fetch("SELECT 1")
    assert budget.open == 1
    await down.close()
    await up.close()

    async def is_empty() -> bool:
        return budget.open == 0

    await until(is_empty)
