"""A machine of Citus is lost, and its standby takes its place."""

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

from graph.errors import Unavailable
from storage.postgres.migrate import migrate
from storage.postgres.verification.verify import verify
from storage.settings import ConnectionSettings, LocalSettings, StorageSettings
from storage.stores import Stores, open_stores
from tests.support import citus
from tests.support.citus_traffic import Traffic, hosts_of_users
from tests.support.graphs import drain_waiting
from tests.support.standby import Node
from tests.support.waiting import until

_WORKER = "SELECT nodeid FROM pg_dist_node WHERE nodename = $1"
_REPLACE = "SELECT citus_update_node($1, $2, 5432)"
_PREPARED = "SELECT count(*) FROM pg_prepared_xacts"


@dataclass(frozen=True)
class Machines:
    """Citus, and a standby of its first worker, which confirms the commits of this worker."""

    citus: citus.Citus
    standby: Node

    @property
    def worker(self) -> Node:
        return self.citus.workers[0]

    @property
    def after_promotion(self) -> tuple[Node, ...]:
        """The machines after the standby has taken the worker's place."""
        return (self.citus.coordinator, self.standby, *self.citus.workers[1:])


@pytest.fixture
async def machines() -> AsyncIterator[Machines]:
    installation = citus.prefix()
    if installation is None:
        pytest.skip(f"Citus is not installed; {citus.VARIABLE} names its folder")
    folder = Path(tempfile.mkdtemp(prefix="kith-citus-", dir="/tmp"))
    try:
        async with citus.running_citus(installation, folder) as running:
            await citus.connect_nodes([node.url for node in running.nodes])
            standby = citus.citus_node(installation, folder / "standby")
            machines = Machines(running, standby)
            await standby.copy(machines.worker)
            await citus.start_node(standby, citus.OPTIONS)
            await migrate(running.coordinator.url, "public", 0, shards=6)
            await execute(machines.worker, "ALTER SYSTEM SET synchronous_standby_names = '*'")
            await execute(machines.worker, "SELECT pg_reload_conf()")
            await machines.worker.until_synchronous()
            yield machines
            await standby.kill()
    finally:
        shutil.rmtree(folder)


async def execute(node: Node, statement: str) -> object:
    """Run a statement on one machine, and return its value if it has one."""
    connection = await asyncpg.connect(node.url)
    try:
        return await connection.fetchval(statement)
    finally:
        await connection.close()


async def promote_standby(machines: Machines) -> None:
    """Promote the standby, and register it in place of the lost worker."""
    await machines.standby.promote()
    connection = await asyncpg.connect(machines.citus.coordinator.url)
    try:
        node = await connection.fetchval(_WORKER, str(machines.worker.sockets))
        await connection.execute("SET lock_timeout = '10s'")
        await connection.fetchval(_REPLACE, node, str(machines.standby.sockets))
    finally:
        await connection.close()


@asynccontextmanager
async def draining(stores: Stores) -> AsyncIterator[None]:
    """Drain all lanes, and compare the generations, again and again, as a worker does."""
    stopping = asyncio.Event()

    async def work() -> None:
        while not stopping.is_set():
            try:
                await stores.jobs.failover.check()
                await drain_waiting(stores)
            except Unavailable:  # a machine is lost
                await asyncio.sleep(0)

    task = asyncio.create_task(work())
    try:
        yield
    finally:
        stopping.set()
        await task


async def test_a_promoted_standby_changes_the_generation(
    machines: Machines, redis_url: str
) -> None:
    settings = StorageSettings(machines.citus.coordinator.url, redis_url)
    async with open_stores(settings) as stores:
        assert not await stores.jobs.failover.check()
        assert not await stores.jobs.failover.check()
        await machines.worker.kill()
        await promote_standby(machines)
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


@pytest.mark.parametrize("index", [0, 2], ids=["coordinator", "another worker"])
async def test_acknowledged_follows_survive_the_loss_of_a_machine(
    machines: Machines, redis_url: str, index: int
) -> None:
    settings = StorageSettings(
        machines.citus.nodes[index].url,
        redis_url,
        connections=ConnectionSettings(acquire_timeout_s=20, statement_timeout_s=15),
        local=LocalSettings(ttl_ms=0),
    )
    lost = str(machines.worker.sockets)
    hosts = await hosts_of_users(machines.citus.coordinator.url)
    users_of_lost = [user for user, host in hosts.items() if host == lost]
    users_of_others = [user for user, host in hosts.items() if host != lost]
    sources = [*users_of_lost[:3], *users_of_others[:3]]
    async with open_stores(settings) as stores:
        traffic = Traffic(stores)
        async with traffic.running(sources), draining(stores):
            await traffic.until_served(sources)
            await machines.worker.kill()
            before = set(traffic.acknowledged)
            for user in users_of_lost[:3]:
                assert not await traffic.write(user)
                assert traffic.failed[user] == "UNAVAILABLE"
            for user in users_of_others[:3]:
                for target in users_of_others[10:15]:
                    assert await traffic.write(user, target), traffic.failed
            await promote_standby(machines)
            for user in users_of_lost[:3]:
                await until(partial(traffic.write, user), "the standby serves its users")
            await traffic.until_served(sources)
        for node in machines.after_promotion:
            await until(partial(has_no_prepared_transaction, node), "all transactions have ended")
        assert traffic.codes == {"UNAVAILABLE"}
        assert {source for source, _ in before} == set(sources)
        await traffic.assert_exact()
    report = await verify(settings)
    assert report.clean, report
    assert report.pending == 0
    assert report.forward_rows == report.reverse_rows >= len(traffic.acknowledged)


async def has_no_prepared_transaction(node: Node) -> bool:
    return not await execute(node, _PREPARED)
