"""Run Citus on this machine: a coordinator and three workers, each on a unix socket.

`python -m tests.support.citus PREFIX FOLDER` runs them until its standard input is closed. That
happens when pytest ends, even if it is killed.
"""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import asyncpg

from devstack.binaries import Binary
from devstack.directories import private_folder, server_user
from devstack.processes import SERVER_ENVIRONMENT
from storage.settings import ConnectionSettings
from tests.support.servers import process_with_urls, until_parent_ends
from tests.support.standby import Node

VARIABLE = "TEST_CITUS"
"""Names the folder of a PostgreSQL with Citus. Without it, tests run on plain PostgreSQL."""

WORKERS = 3
OPTIONS = {
    "shared_preload_libraries": "citus",
    # Citus commits on several machines in two phases.
    "max_prepared_transactions": "200",
    "max_connections": "300",
    # Each database has a maintenance daemon.
    "max_worker_processes": "100",
    "citus.node_conninfo": "sslmode=prefer",
    # More connections between the machines do not help where they share two cores.
    "citus.max_adaptive_executor_pool_size": "1",
    # Shards are moved by logical replication.
    "wal_level": "logical",
    "max_wal_senders": "20",
    "max_replication_slots": "20",
    "shared_buffers": "32MB",
    "autovacuum_naptime": "5s",
    "jit": "off",
    "timezone": "UTC",
}
UNSAFE = {"fsync": "off", "full_page_writes": "off", "synchronous_commit": "off"}
"""For tests that crash no server."""


@dataclass(frozen=True)
class Citus:
    """The servers. All have the metadata, so gateways may connect to any."""

    coordinator: Node
    workers: tuple[Node, ...]

    @property
    def nodes(self) -> tuple[Node, ...]:
        return (self.coordinator, *self.workers)


def prefix() -> Path | None:
    """The installation to test with, or None for plain PostgreSQL."""
    named = os.environ.get(VARIABLE)
    return Path(named) if named else None


def connection_settings() -> ConnectionSettings:
    """Settings for tests that measure no timeout: on Citus, longer ones, because four servers share
    this machine."""
    if prefix() is None:
        return ConnectionSettings()
    return ConnectionSettings(acquire_timeout_s=20, statement_timeout_s=30)


def deadline_s(plain_s: float) -> float:
    """The deadline of a test that has `plain_s` on plain PostgreSQL."""
    return plain_s if prefix() is None else 5 * plain_s


def citus_node(installation: Path, folder: Path) -> Node:
    """A server that is not started yet, without data."""
    user = server_user(folder)
    (program,) = installation.glob("*/bin/postgres")
    libraries = ":".join(map(str, installation.glob("*.libs")))
    environment = {**SERVER_ENVIRONMENT, "LD_LIBRARY_PATH": libraries}
    return Node(Binary(program, 0, "citus"), user, folder, environment)


@asynccontextmanager
async def running_citus(
    installation: Path,
    folder: Path,
    *,
    is_safe: bool = True,
    options: Mapping[str, str] = MappingProxyType({}),
) -> AsyncIterator[Citus]:
    """The servers, not connected yet, and without the extension: see `connect_nodes`.

    `is_safe`: a server that crashes loses no commit.
    """
    private_folder(folder, server_user(folder))
    names = ("coordinator", *(f"worker{number}" for number in range(1, WORKERS + 1)))
    coordinator, *workers = (citus_node(installation, folder / name) for name in names)
    citus = Citus(coordinator, tuple(workers))
    options = {**OPTIONS, **({} if is_safe else UNSAFE), **options}
    try:
        for node in citus.nodes:
            await node.initialize()
            await start_node(node, options)
        yield citus
    finally:
        await asyncio.gather(*(node.kill() for node in citus.nodes))


async def start_node(node: Node, options: Mapping[str, str]) -> None:
    """Start a server, which connects to itself by the name that the other servers use."""
    await node.start(**options, **{"citus.local_hostname": str(node.sockets)})


async def connect_nodes(urls: list[str]) -> None:
    """Connect the databases at `urls` to one distributed database. The first is the coordinator's.

    All nodes get the metadata. The coordinator holds no shards of users.
    """
    for url in urls:
        await _execute(url, "CREATE EXTENSION citus")
    hosts = [_socket_folder(url) for url in urls]
    await _execute(urls[0], f"SELECT citus_set_coordinator_host('{hosts[0]}', 5432)")
    for host in hosts[1:]:
        await _execute(urls[0], f"SELECT citus_add_node('{host}', 5432)")
    await _execute(urls[0], "SELECT start_metadata_sync_to_all_nodes()")


def _socket_folder(url: str) -> str:
    return url.partition("host=")[2].partition("&")[0]


async def _execute(url: str, statement: str) -> None:
    connection = await asyncpg.connect(url)
    try:
        await connection.execute(statement)
    finally:
        await connection.close()


@contextmanager
def citus_process(installation: Path) -> Iterator[list[str]]:
    """Run the servers below another process. Yields their URLs, the coordinator's first."""
    with process_with_urls("tests.support.citus", str(installation)) as urls:
        yield urls


async def _serve(installation: Path, folder: Path) -> None:
    async with running_citus(installation, folder / "citus", is_safe=False) as citus:
        print(json.dumps([node.url for node in citus.nodes]), flush=True)
        await until_parent_ends()


if __name__ == "__main__":
    asyncio.run(_serve(Path(sys.argv[1]), Path(sys.argv[2])))
