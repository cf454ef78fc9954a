"""Work that fails after all its callers have been cancelled is not logged: their clients left."""

import asyncio
import gc
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest

from graph.edge import UserId
from graph.rules import follow
from storage.ports.reader import ProfilesOf
from storage.postgres.connection.pool import Postgres
from storage.settings import StorageSettings
from storage.stores import Stores, open_stores
from tests.support.graphs import PLENTY, as_pair
from tests.support.waiting import DEADLINE_S, until

pytestmark = pytest.mark.plain("a distributed table is locked on several machines")

TIMEOUT_S = 2
LOCK = "LOCK TABLE outbox IN ACCESS EXCLUSIVE MODE"
WAITERS = "SELECT FROM pg_locks WHERE relation = 'outbox'::regclass AND NOT granted"
VIEWER = UserId(1)


@pytest.fixture
async def impatient(storage_settings: StorageSettings) -> AsyncIterator[Stores]:
    """Stores whose statements fail after a short wait for a lock."""
    timeouts = replace(storage_settings.connections, statement_timeout_s=TIMEOUT_S)
    async with open_stores(replace(storage_settings, connections=timeouts)) as opened:
        yield opened


async def change(stores: Stores) -> None:
    await stores.writes.edges.change(as_pair(1, 2), follow(PLENTY))


async def read(stores: Stores) -> None:
    """The viewer's own writes are not cached, so the reader reads them in a task of its own."""
    await stores.reads.reader.read(VIEWER, ProfilesOf([VIEWER]))


@pytest.mark.parametrize(("call", "callers"), [(change, 1), (read, 2)])
async def test_work_that_fails_after_its_callers_have_left_is_not_reported(
    impatient: Stores,
    postgres: Postgres,
    call: Callable[[Stores], Awaitable[None]],
    callers: int,
) -> None:
    reported: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: reported.append(context))

    async def is_blocked() -> bool:
        return bool(await postgres.fetch(WAITERS))

    async with postgres.connection() as connection, connection.transaction():
        await connection.fetch(LOCK)
        before = asyncio.all_tasks()
        calling = [asyncio.ensure_future(call(impatient)) for _ in range(callers)]
        await until(is_blocked, "the statement waits for the lock")
        for caller in calling:
            caller.cancel()
        await asyncio.gather(*calling, return_exceptions=True)
        assert all(caller.cancelled() for caller in calling)
        abandoned = asyncio.all_tasks() - before
        await asyncio.wait(abandoned, timeout=DEADLINE_S)
        # `task.exception()` would retrieve the exception.
        assert any("exception=Unavailable" in repr(task) for task in abandoned)
        abandoned.clear()
    gc.collect()
    assert not reported
