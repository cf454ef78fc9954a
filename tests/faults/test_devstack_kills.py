"""After SIGKILL of any process, no committed row is lost and no process is left."""

import asyncio
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path

import asyncpg
import pytest
from redis.asyncio import Redis
from redis.exceptions import RedisError

from devstack.directories import find_directories
from devstack.processes import Identity, is_alive
from devstack.servers import Servers, running_servers
from devstack.state import State
from tests.support.devstack_process import (
    CHECKOUT,
    add_row,
    answers,
    connect,
    devstack_run,
    processes_of,
    rows,
    until_gone,
    watchdog_of,
)
from tests.support.waiting import until

pytestmark = pytest.mark.skipif(not Path("/proc").exists(), reason="looks for processes in /proc")

SOCKET_LOCK = ".s.PGSQL.5432.lock"


async def test_a_killed_postmaster_is_started_again_with_its_rows(state: State) -> None:
    async with running_servers(state) as servers:
        await add_row(servers.database_url)
        old = postmaster(state)
        os.kill(old, signal.SIGKILL)
        await until_another_postmaster(state, servers, old)
        assert await rows(servers.database_url) == 1
    assert not processes_of(state)


async def test_a_busy_backend_of_a_killed_postmaster_does_not_block_the_next(state: State) -> None:
    async with running_servers(state) as servers:
        await add_row(servers.database_url)
        connection = await connect(servers.database_url)
        backend = await connection.fetchval("SELECT pg_backend_pid()")
        busy = asyncio.create_task(
            connection.execute("SELECT count(*) FROM generate_series(1, 100000000000)")
        )
        await until_busy(servers, backend)
        old = postmaster(state)
        os.kill(old, signal.SIGKILL)
        await until_another_postmaster(state, servers, old)
        assert await rows(servers.database_url) == 1
        with pytest.raises((OSError, asyncpg.PostgresError, asyncpg.InterfaceError)):
            await busy
    assert not processes_of(state)


async def test_a_killed_backend_loses_no_rows(state: State) -> None:
    async with running_servers(state) as servers:
        await add_row(servers.database_url)
        connection = await connect(servers.database_url)
        os.kill(await connection.fetchval("SELECT pg_backend_pid()"), signal.SIGKILL)

        async def recovered() -> bool:
            return connection.is_closed() and await answers(servers.database_url)

        await until(recovered, "PostgreSQL has recovered")
        assert await rows(servers.database_url) == 1


async def test_a_killed_valkey_is_started_again(state: State) -> None:
    async with running_servers(state) as servers:
        old = await valkey_pid(servers)
        assert old is not None
        os.kill(old, signal.SIGKILL)

        async def replaced() -> bool:
            return await valkey_pid(servers) not in (None, old)

        await until(replaced, "another Valkey answers")


async def test_children_end_by_themselves_when_the_supervisor_is_killed(state: State) -> None:
    async with devstack_run(state) as run:
        await add_row(run.database_url)
        run.process.kill()
        await until_gone(state)
    async with running_servers(state) as servers:
        assert await rows(servers.database_url) == 1
    assert "not properly shut down" not in (state.folder / "logs" / "postgres.log").read_text()


async def test_the_next_start_ends_orphans_if_the_watchdog_was_killed_too(state: State) -> None:
    async with devstack_run(state) as run:
        await add_row(run.database_url)
        pids = [postmaster(state), watchdog_of(run.process.pid)]
        os.kill(pids[1], signal.SIGKILL)
        run.process.kill()
        await run.process.wait()
        orphans = processes_of(state)
        assert pids[0] in [orphan.pid for orphan in orphans]
        async with running_servers(state) as servers:
            assert await rows(servers.database_url) == 1
            assert not [orphan for orphan in orphans if is_alive(orphan)]
    assert not processes_of(state)


async def test_killing_all_processes_several_times_loses_no_rows(state: State) -> None:
    for rows_before in range(3):
        async with devstack_run(state) as run:
            if rows_before:
                assert await rows(run.database_url) == rows_before
            await add_row(run.database_url)
            for process in (*processes_of(state), Identity(run.process.pid, "")):
                with suppress(ProcessLookupError):  # one of the killed was its parent
                    os.kill(process.pid, signal.SIGKILL)
    await until_gone(state)


async def test_lock_files_with_the_pid_of_another_program_do_not_block_the_start(
    state: State,
) -> None:
    async with running_servers(state) as servers:
        await add_row(servers.database_url)
        directories = await find_directories(state)
        locks = [state.folder / "postgres" / "postmaster.pid", directories.sockets / SOCKET_LOCK]
        texts = [lock.read_text().split("\n", 1)[1] for lock in locks]
    account = directories.user.uid if directories.user else None
    other_program = await asyncio.create_subprocess_exec("/bin/sleep", "60", user=account)
    for lock, text in zip(locks, texts, strict=True):
        lock.write_text(f"{other_program.pid}\n{text}")
    async with running_servers(state) as servers:
        assert await rows(servers.database_url) == 1
    assert other_program.returncode is None
    other_program.kill()
    await other_program.wait()


async def test_a_first_start_that_was_killed_leaves_no_incomplete_data(empty_state: State) -> None:
    draft = empty_state.folder / "postgres.draft"
    first = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "devstack", str(empty_state.folder)), cwd=CHECKOUT
    )

    async def begun() -> bool:
        return (draft / "PG_VERSION").exists()

    await until(begun, "initdb has begun")
    first.kill()
    await first.wait()
    async with running_servers(empty_state) as servers:
        assert await answers(servers.database_url)
    assert not draft.exists()
    assert not processes_of(empty_state)


def postmaster(state: State) -> int:
    data = state.folder / "postgres"
    return int((data / "postmaster.pid").read_text().splitlines()[0])


async def until_another_postmaster(state: State, servers: Servers, old: int) -> None:
    async def replaced() -> bool:
        return await answers(servers.database_url) and postmaster(state) != old

    await until(replaced, "another postmaster answers")


async def until_busy(servers: Servers, backend: int) -> None:
    observer = await connect(servers.database_url)

    async def busy() -> bool:
        query = (
            "SELECT wait_event IS NULL FROM pg_stat_activity WHERE pid = $1 AND state = 'active'"
        )
        return bool(await observer.fetchval(query, backend))

    await until(busy, "the backend executes its query")
    await observer.close()


async def valkey_pid(servers: Servers) -> int | None:
    try:
        async with Redis.from_url(servers.redis_url) as redis:
            return int((await redis.info("server"))["process_id"])
    except RedisError:
        return None
