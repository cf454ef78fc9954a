"""A machine of Citus is replaced by its standby: the generation of the database changes."""

import shutil
import tempfile
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import asyncpg
import pytest

from graph.errors import Unavailable
from storage.postgres.migrate import migrate
from storage.settings import StorageSettings
from storage.stores import open_stores
from tests.support import citus
from tests.support.standby import Node
from tests.support.waiting import until

_WORKER = "SELECT nodeid FROM pg_dist_node WHERE nodename = $1"
_REPLACE = "SELECT citus_update_node($1, $2, 5432)"


@dataclass(frozen=True)
class Machines:
    """Citus, and a standby of its first worker."""

    citus: citus.Citus
    standby: Node


@pytest.fixture
async def machines() -> AsyncIterator[Machines]:
    installation = citus.prefix()
    if installation is None:
        pytest.skip(f"Citus is not installed; {citus.VARIABLE} names its folder")
    folder = Path(tempfile.mkdtemp(prefix="kith-citus-", dir="/tmp"))
    try:
        async with citus.running_citus(installation, folder, is_safe=False) as running:
            await citus.connect_nodes([node.url for node in running.nodes])
            standby = citus.citus_node(installation, folder / "standby")
            await standby.copy(running.workers[0])
            await standby.start(**citus.OPTIONS)
            await migrate(running.coordinator.url, "public", 0, shards=6)
            yield Machines(running, standby)
            await standby.kill()
    finally:
        shutil.rmtree(folder)


async def replace_worker(machines: Machines) -> None:
    """The worker is lost, and its standby takes its place."""
    await machines.citus.workers[0].kill()
    await machines.standby.promote()
    connection = await asyncpg.connect(machines.citus.coordinator.url)
    try:
        node = await connection.fetchval(_WORKER, str(machines.citus.workers[0].sockets))
        await connection.execute("SET lock_timeout = '10s'")
        await connection.fetchval(_REPLACE, node, str(machines.standby.sockets))
    finally:
        await connection.close()


async def test_the_standby_of_a_machine_is_another_generation(
    machines: Machines, redis_url: str
) -> None:
    settings = StorageSettings(machines.citus.coordinator.url, redis_url)
    async with open_stores(settings) as stores:
        assert not await stores.jobs.failover.check()
        assert not await stores.jobs.failover.check()
        await replace_worker(machines)
        changed: list[bool] = []

        async def checked() -> bool:
            try:
                changed.append(await stores.jobs.failover.check())
            except Unavailable:  # the connections to the lost machine have to end first
                return False
            return True

        await until(checked, "all machines answer")
        assert changed == [True]
        assert not await stores.jobs.failover.check()


async def test_every_machine_names_the_same_generation(machines: Machines, redis_url: str) -> None:
    for node in machines.citus.nodes:
        async with open_stores(StorageSettings(node.url, redis_url)) as stores:
            assert not await stores.jobs.failover.check(), node.url
