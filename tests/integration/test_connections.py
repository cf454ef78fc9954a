"""The pool of connections to PostgreSQL: its size, reuse, cancelled reads, lost connections."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import asyncpg
import pytest

from graph.errors import Overloaded, Unavailable
from storage.postgres.connection import connections
from storage.postgres.connection.connections import Connection, ConnectionPool
from storage.postgres.connection.pool import Postgres
from storage.settings import StorageSettings

DEADLINE_S = 20
BACKEND_PID = "SELECT pg_backend_pid() AS pid"
FOREVER = "SELECT pg_sleep(100)"


@pytest.fixture
async def one_connection(storage_settings: StorageSettings) -> AsyncIterator[Postgres]:
    """A pool with one connection and a short wait for it."""
    opened = Postgres(
        replace(
            storage_settings,
            connections=replace(storage_settings.connections, pool_max=1, acquire_timeout_s=0.5),
        )
    )
    yield opened
    await opened.close()


async def backend_pid(postgres: Postgres) -> int:
    (row,) = await postgres.fetch(BACKEND_PID)
    return int(row["pid"])


async def wait_until_running(postgres: Postgres, statement: str) -> None:
    """Wait until the server runs a statement."""
    async with asyncio.timeout(DEADLINE_S):
        while True:
            if await postgres.fetch(
                "SELECT FROM pg_stat_activity WHERE query = $1 AND state = 'active'", statement
            ):
                return


async def test_sequential_statements_use_one_connection(postgres: Postgres) -> None:
    assert len({await backend_pid(postgres) for _ in range(5)}) == 1


async def test_concurrent_statements_share_the_connections_of_a_pool(
    storage_settings: StorageSettings,
) -> None:
    postgres = Postgres(
        replace(storage_settings, connections=replace(storage_settings.connections, pool_max=3))
    )
    pids = await asyncio.gather(*(backend_pid(postgres) for _ in range(50)))
    assert 1 < len(set(pids)) <= 3
    await postgres.close()


async def test_a_caller_that_finds_no_free_connection_gets_an_error(
    one_connection: Postgres, postgres: Postgres
) -> None:
    holder = asyncio.create_task(one_connection.fetch(FOREVER))
    await wait_until_running(postgres, FOREVER)
    with pytest.raises(Overloaded):
        await backend_pid(one_connection)
    holder.cancel()
    await asyncio.gather(holder, return_exceptions=True)
    assert await backend_pid(one_connection)


async def test_a_connection_is_reused_after_an_error_of_a_statement(
    one_connection: Postgres,
) -> None:
    before = await backend_pid(one_connection)
    with pytest.raises(asyncpg.DivisionByZeroError):
        await one_connection.fetch("SELECT 1 / $1::integer", 0)
    assert await backend_pid(one_connection) == before


async def test_a_connection_is_reused_after_a_cancelled_read(
    one_connection: Postgres, postgres: Postgres
) -> None:
    before = await backend_pid(one_connection)
    reader = asyncio.create_task(one_connection.fetch(FOREVER))
    await wait_until_running(postgres, FOREVER)
    reader.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reader
    assert await backend_pid(one_connection) == before


async def test_cancelled_reads_leave_correct_rows_to_other_readers(
    storage_settings: StorageSettings,
) -> None:
    postgres = Postgres(
        replace(storage_settings, connections=replace(storage_settings.connections, pool_max=2))
    )

    async def read(number: int) -> None:
        (row,) = await postgres.fetch("SELECT $1::integer AS number", number)
        assert row["number"] == number

    for turn in range(20):
        readers = [asyncio.create_task(read(number)) for number in range(20)]
        for _ in range(turn):
            await asyncio.sleep(0)
        for reader in readers[turn % 2 :: 2]:
            reader.cancel()
        for ended in await asyncio.gather(*readers, return_exceptions=True):
            assert ended is None or isinstance(ended, asyncio.CancelledError), ended
    await postgres.close()


async def test_a_cancelled_write_leaves_no_open_transaction(
    one_connection: Postgres, postgres: Postgres
) -> None:
    async def write() -> None:
        async with one_connection.connection() as connection, connection.transaction():
            await connection.row("INSERT INTO following_count (user_id) VALUES (1)")
            await connection.row(FOREVER)

    writer = asyncio.create_task(write())
    await wait_until_running(postgres, FOREVER)
    writer.cancel()
    with pytest.raises(asyncio.CancelledError):
        await writer
    await one_connection.fetch("INSERT INTO following_count (user_id) VALUES (1)")
    assert await postgres.fetch("SELECT FROM following_count")


async def test_a_connection_that_the_server_ended_is_replaced(
    one_connection: Postgres, postgres: Postgres
) -> None:
    before = await backend_pid(one_connection)
    await postgres.fetch("SELECT pg_terminate_backend($1::integer)", before)
    async with asyncio.timeout(DEADLINE_S):
        while True:
            try:
                now = await backend_pid(one_connection)
                break
            except Unavailable:  # the pool has not noticed it yet
                continue
    assert now != before


async def test_an_unavailable_server_occupies_no_connection(
    storage_settings: StorageSettings,
) -> None:
    unavailable = replace(
        storage_settings,
        database_url="postgresql://k@/k?host=/nowhere",
        connections=replace(storage_settings.connections, pool_max=1),
    )
    postgres = Postgres(unavailable)
    for _ in range(3):
        with pytest.raises(Unavailable) as raised:
            await postgres.ping()
        assert not isinstance(raised.value, Overloaded)
    await postgres.close()


async def test_a_connection_that_was_idle_too_long_is_replaced(
    one_connection: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = await backend_pid(one_connection)
    monkeypatch.setattr(connections, "IDLE_S_MAX", 0)
    assert await backend_pid(one_connection) != before


async def test_closing_waits_for_the_connections_in_use(storage_settings: StorageSettings) -> None:
    postgres = Postgres(storage_settings)
    reader = asyncio.create_task(postgres.fetch("SELECT pg_sleep(0.1), 7 AS seven"))
    await asyncio.sleep(0)
    await postgres.close()
    assert (await reader)[0]["seven"] == 7


async def test_closing_ends_connections_in_use_at_the_deadline(
    storage_settings: StorageSettings,
) -> None:
    made: list[Connection] = []

    async def connect() -> Connection:
        made.append(await asyncpg.connect(storage_settings.database_url))
        return made[-1]

    pool = ConnectionPool(connect, limit=2, wait_s=1)
    await pool.acquire()
    await pool.close(deadline_s=0.01)
    assert made[0].is_closed()
