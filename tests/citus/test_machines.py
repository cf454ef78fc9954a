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
CHANGED_REPLICA_IDENTITIES = """
SELECT count(*) FROM pg_class
WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' AND relreplident <> 'd'
"""
KITH_TRIGGERS = "SELECT count(*) FROM pg_event_trigger WHERE evtname LIKE 'kith%'"


@dataclass(frozen=True)
class Deployment:
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
        stopping = asyncio.Event()

        async def drain() -> None:
            while not stopping.is_set():
                for lane in await self.traffic.stores.jobs.lanes.progress.lanes_with_changes():
                    await self.traffic.stores.jobs.lanes.drain.lane(lane)

        task = asyncio.create_task(drain())
        try:
            yield
        finally:
            stopping.set()
            await task


@pytest.fixture
async def deployment(redis_url: str) -> AsyncIterator[Deployment]:
    installation = citus.prefix()
    assert installation is not None
    folder = Path(tempfile.mkdtemp(prefix="kith-citus-", dir="/tmp"))
    folder.chmod(0o755)  # noqa: ASYNC240 - at once
    try:
        async with running_citus(installation, folder / "nodes") as running:
            urls = [await create_database(node.url) for node in running.nodes]
            await connect_nodes(urls)
            await migrate(urls[0], "public", 0, shards=6)
            settings = StorageSettings(
                urls[0],
                redis_url,
                connections=ConnectionSettings(acquire_timeout_s=20, statement_timeout_s=15),
                local=LocalSettings(ttl_ms=0),
            )
            async with open_stores(settings) as stores:
                yield Deployment(running, folder, urls, settings, Traffic(stores))
    finally:
        shutil.rmtree(folder)


async def create_database(server_url: str) -> str:
    connection = await asyncpg.connect(server_url)
    await connection.execute(f"CREATE DATABASE {DATABASE}")
    await connection.close()
    return of_database(server_url, DATABASE)


async def fetch_value(url: str, query: str) -> object:
    connection = await asyncpg.connect(url)
    # Shards are usually hidden.
    await connection.execute("SET citus.show_shards_for_app_name_prefixes = '*'")
    value = await connection.fetchval(query)
    await connection.close()
    return value


async def test_while_a_worker_is_down_only_its_users_are_unavailable(
    deployment: Deployment,
) -> None:
    hosts = await hosts_of_users(deployment.urls[0])
    dead = deployment.citus.workers[1]
    users_of_dead = [user for user, host in hosts.items() if host == str(dead.sockets)][:3]
    users_of_others = [user for user, host in hosts.items() if host != str(dead.sockets)][:3]
    reachable = [user for user, host in hosts.items() if host != str(dead.sockets)][10:15]
    traffic = deployment.traffic
    async with traffic.running([*users_of_dead, *users_of_others]):
        await traffic.until_served([*users_of_dead, *users_of_others])
        await dead.kill()
        for user in users_of_dead:
            assert not await traffic.write(user)
            assert traffic.failed[user] == "UNAVAILABLE"
        for user in users_of_others:
            for target in reachable:
                assert await traffic.write(user, target), traffic.failed
        await start_node(dead, OPTIONS)
        for user in users_of_dead:
            await until(partial(traffic.write, user), "its users are served again")
    await deployment.traffic.assert_exact()


async def test_a_worker_joins_and_takes_shards_under_writes(deployment: Deployment) -> None:
    installation = citus.prefix()
    assert installation is not None
    node = citus_node(installation, deployment.folder / "nodes" / "worker4")
    sources = list(range(1, 7))
    async with deployment.traffic.running(sources):
        await deployment.traffic.until_served(sources)
        await node.initialize()
        await start_node(node, OPTIONS)
        try:
            url = await create_database(node.url)
            connection = await asyncpg.connect(url)
            await connection.execute("CREATE EXTENSION citus")
            await connection.close()
            await deployment.execute(f"SELECT citus_add_node('{node.sockets}', 5432)")
            await deployment.execute("SELECT citus_rebalance_start()")
            await deployment.execute("SELECT citus_rebalance_wait()")
            assert str(node.sockets) in (await hosts_of_users(deployment.urls[0])).values()
            await deployment.traffic.until_served(sources)
        finally:
            if deployment.traffic.failed:
                print(deployment.traffic.failed)
    await deployment.traffic.assert_exact()
    await node.kill()


async def test_a_user_is_isolated_under_writes(deployment: Deployment) -> None:
    star, sources = UserId(100_000), list(range(1, 7))
    async with deployment.traffic.running(sources), deployment.draining():
        for source in sources:
            assert await deployment.traffic.write(source, star)
        await deployment.traffic.until_served(sources)
        shard = await shards.isolate(deployment.settings, star)
        for source in sources:
            assert await deployment.traffic.write(source + 10, star)
        await deployment.traffic.until_served(sources)
    groups = {group.shard_id: group for group in await shards.shard_groups(deployment.settings)}
    assert shard is not None
    assert groups[shard].is_of_one
    assert not deployment.traffic.failed
    assert deployment.traffic.codes <= {"UNAVAILABLE"}
    await deployment.traffic.assert_exact()
    for url in deployment.urls:
        assert await fetch_value(url, CHANGED_REPLICA_IDENTITIES) == 0
        assert await fetch_value(url, KITH_TRIGGERS) == 0
