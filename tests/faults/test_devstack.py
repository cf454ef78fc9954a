"""The embedded servers: start and stop, settings, files, and errors at the start."""

import asyncio
import stat

import pytest
from redis.asyncio import Redis

from devstack.directories import find_directories
from devstack.errors import BinaryMissing, StateInUse
from devstack.servers import running_servers
from devstack.state import State, announce, find_running
from tests.support.devstack_process import (
    add_row,
    answers,
    connect,
    devstack_run,
    processes_of,
    rows,
)


async def test_both_servers_run_until_the_end_of_their_block(empty_state: State) -> None:
    async with running_servers(empty_state) as servers:
        assert await answers(servers.database_url)
        assert await pings(servers.redis_url)
    assert not processes_of(empty_state)
    assert not await answers(servers.database_url)


async def test_postgres_is_durable_and_has_no_network_address(state: State) -> None:
    async with running_servers(state) as servers:
        connection = await connect(servers.database_url)
        found = {
            name: await connection.fetchval(f"SHOW {name}")
            for name in ("fsync", "data_checksums", "listen_addresses", "server_encoding")
        }
        await connection.close()
    assert found == {
        "fsync": "on",
        "data_checksums": "on",
        "listen_addresses": "",
        "server_encoding": "UTF8",
    }


async def test_valkey_evicts_only_keys_with_a_lifetime_and_writes_no_files(state: State) -> None:
    async with running_servers(state) as servers, Redis.from_url(servers.redis_url) as redis:
        found = await redis.config_get("maxmemory-policy", "save", "appendonly", "port")
    assert found == {
        "maxmemory-policy": "volatile-lru",
        "save": "",
        "appendonly": "no",
        "port": "0",
    }


async def test_only_the_owner_can_open_the_folder_of_the_sockets(state: State) -> None:
    async with running_servers(state):
        directories = await find_directories(state)
        assert stat.S_IMODE(directories.sockets.stat().st_mode) == 0o700


async def test_only_the_owner_can_read_the_logs_and_addresses(state: State) -> None:
    (state.folder / "logs").mkdir(parents=True)
    state.log("valkey").touch(mode=0o644)  # as an earlier version has created it
    async with running_servers(state) as servers:
        announce(state, servers.database_url, servers.redis_url)
        files = [*(state.folder / "logs").iterdir(), state.run_file, state.children_file]
        assert {file.name for file in files} >= {"postgres.log", "valkey.log", "run.json"}
        for file in files:
            assert stat.S_IMODE(file.stat().st_mode) == 0o600, file


async def test_rows_and_address_are_the_same_after_a_restart(state: State) -> None:
    async with running_servers(state) as first:
        await add_row(first.database_url)
    async with running_servers(state) as second:
        assert await rows(second.database_url) == 1
    assert second.database_url == first.database_url


async def test_a_given_url_starts_no_server(empty_state: State) -> None:
    url = "postgresql://elsewhere/kith"
    async with running_servers(empty_state, database_url=url) as servers:
        assert servers.database_url == url
        assert not (empty_state.folder / "postgres").exists()
        assert await pings(servers.redis_url)


async def test_settings_of_the_caller_override_the_defaults(state: State) -> None:
    async with running_servers(state, postgres_settings={"fsync": "off"}) as servers:
        connection = await connect(servers.database_url)
        assert await connection.fetchval("SHOW fsync") == "off"
        await connection.close()


async def test_sockets_of_a_state_folder_with_a_long_path_are_in_another_folder(
    empty_state: State,
) -> None:
    deep = State(empty_state.root / ("d" * 100) / "e f, g")
    deep.folder.parent.mkdir(parents=True)
    async with running_servers(deep) as first:
        await add_row(first.database_url)
        sockets = (await find_directories(deep)).sockets
        assert await pings(first.redis_url)
    async with running_servers(deep) as second:
        assert await rows(second.database_url) == 1
    assert not sockets.exists()


async def test_a_second_start_names_the_process_that_runs_already(state: State) -> None:
    async with devstack_run(state) as run:
        running = find_running(state)
        assert running is not None
        assert (running.pid, running.database_url) == (run.process.pid, run.database_url)
        with pytest.raises(StateInUse, match=rf"already runs in .* \(process {running.pid}\)"):
            async with running_servers(state):
                pass
    assert find_running(state) is None


async def test_sigterm_ends_the_servers_and_exits_with_zero(state: State) -> None:
    async with devstack_run(state) as run:
        run.process.terminate()
        async with asyncio.timeout(30):
            assert await run.process.wait() == 0
    assert not processes_of(state)


async def test_data_of_a_version_that_is_not_installed_is_rejected(empty_state: State) -> None:
    data = empty_state.folder / "postgres"
    data.mkdir(parents=True)
    (data / "PG_VERSION").write_text("14\n")
    with pytest.raises(BinaryMissing, match=r"needs PostgreSQL 14 and found PostgreSQL \d\d in"):
        async with running_servers(empty_state):
            pass


async def pings(redis_url: str) -> bool:
    async with Redis.from_url(redis_url) as redis:
        return bool(await redis.ping())
