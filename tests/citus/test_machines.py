"""Citus under writes: a machine is killed, and one is added."""

import asyncio
import shutil
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import asyncpg
import pytest

from graph.edge import UserId
from storage.postgres.citus import shards
from storage.postgres.migrate import migrate
from storage.settings import ConnectionSettings, LocalSettings, StorageSettings
from storage.stores import open_stores
from tests.support import citus
from tests.support.citus import OPTIONS, Citus, citus_node, connect_nodes, running_citus, start_node
from tests.support.citus_traffic import Traffic, hosts_of_users
from tests.support.databases import of_database
from tests.support.waiting import until

pytestmark = pytest.mark.skipif(citus.prefix() is None, reason="needs Citus: make citus-test")

DATABASE = "faults"
IDENTITIES = """
SELECT count(*) FROM pg_class
WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' AND relreplident <> 'd'
"""
TRIGGERS = "SELECT count(*) FROM pg_event_trigger WHERE evtname LIKE 'kith%'"


@dataclass(frozen=True)
class World:
    citus: Citus
    folder: Path
    urls: list[str]
    settings: StorageSettings
    traffic: Traffic

    async def execute(self, statement: str, *args: object) -> None:
        connection = await asyncpg.connect(self.urls[0])
        await connection.execute(statement, *args)
        await connection.close()

    @asynccontextmanager
    async def draining(self) -> AsyncIterator[None]:
        """Drain all lanes again and again, as the workers do."""
        over = asyncio.Event()

        async def drain() -> None:
            while not over.is_set():
                for lane in await self.traffic.stores.jobs.lanes.progress.dirty():
                    await self.traffic.stores.jobs.lanes.drain.lane(lane)

        task = asyncio.create_task(drain())
        try:
            yield
        finally:
            over.set()
            await task


@pytest.fixture
async def world(redis_url: str) -> AsyncIterator[World]:
    installation = citus.prefix()
    assert installation is not None
    folder = Path(tempfile.mkdtemp(prefix="kith-citus-", dir="/tmp"))
    folder.chmod(0o755)  # noqa: ASYNC240 - at once
    try:
        async with running_citus(installation, folder / "nodes") as running:
            urls = [await created(node.url) for node in running.nodes]
            await connect_nodes(urls)
            await migrate(urls[0], "public", 0, shards=6)
            settings = StorageSettings(
                urls[0],
                redis_url,
                connections=ConnectionSettings(acquire_timeout_s=20, statement_timeout_s=15),
                local=LocalSettings(ttl_ms=0),
            )
            async with open_stores(settings) as stores:
                yield World(running, folder, urls, settings, Traffic(stores))
    finally:
        shutil.rmtree(folder)


async def created(server_url: str) -> str:
    connection = await asyncpg.connect(server_url)
    await connection.execute(f"CREATE DATABASE {DATABASE}")
    await connection.close()
    return of_database(server_url, DATABASE)


async def fetched(url: str, query: str) -> object:
    connection = await asyncpg.connect(url)
    # Shards are usually hidden.
    await connection.execute("SET citus.show_shards_for_app_name_prefixes = '*'")
    value = await connection.fetchval(query)
    await connection.close()
    return value


async def test_without_a_worker_only_its_users_are_unavailable(world: World) -> None:
    hosts = await hosts_of_users(world.urls[0])
    dead = world.citus.workers[1]
    theirs = [user for user, host in hosts.items() if host == str(dead.sockets)][:3]
    others = [user for user, host in hosts.items() if host != str(dead.sockets)][:3]
    reachable = [user for user, host in hosts.items() if host != str(dead.sockets)][10:15]
    traffic = world.traffic
    async with traffic.running([*theirs, *others]):
        await traffic.is_served([*theirs, *others])
        await dead.kill()
        for user in theirs:
            assert not await traffic.write(user)
            assert traffic.rejected[user] == "UNAVAILABLE"
        for user in others:
            for target in reachable:
                assert await traffic.write(user, target), traffic.rejected
        await start_node(dead, OPTIONS)
        for user in theirs:
            await until(partial(traffic.write, user), "its users are served again")
    await world.traffic.assert_exact()


async def test_a_worker_joins_and_takes_shards_under_writes(world: World) -> None:
    installation = citus.prefix()
    assert installation is not None
    node = citus_node(installation, world.folder / "nodes" / "worker4")
    sources = list(range(1, 7))
    async with world.traffic.running(sources):
        await world.traffic.is_served(sources)
        await node.initialize()
        await start_node(node, OPTIONS)
        try:
            url = await created(node.url)
            connection = await asyncpg.connect(url)
            await connection.execute("CREATE EXTENSION citus")
            await connection.close()
            await world.execute(f"SELECT citus_add_node('{node.sockets}', 5432)")
            await world.execute("SELECT citus_rebalance_start()")
            await world.execute("SELECT citus_rebalance_wait()")
            assert str(node.sockets) in (await hosts_of_users(world.urls[0])).values()
            await world.traffic.is_served(sources)
        finally:
            if world.traffic.rejected:
                print(world.traffic.rejected)
    await world.traffic.assert_exact()
    await node.kill()


async def test_a_user_is_isolated_under_writes(world: World) -> None:
    star, sources = UserId(100_000), list(range(1, 7))
    async with world.traffic.running(sources), world.draining():
        for source in sources:
            assert await world.traffic.write(source, star)
        await world.traffic.is_served(sources)
        shard = await shards.isolate(world.settings, star)
        for source in sources:
            assert await world.traffic.write(source + 10, star)
        await world.traffic.is_served(sources)
    groups = {group.shard_id: group for group in await shards.shard_groups(world.settings)}
    assert shard is not None
    assert groups[shard].is_of_one
    assert not world.traffic.rejected
    assert world.traffic.codes <= {"UNAVAILABLE"}
    await world.traffic.assert_exact()
    for url in world.urls:
        assert await fetched(url, IDENTITIES) == 0
        assert await fetched(url, TRIGGERS) == 0
