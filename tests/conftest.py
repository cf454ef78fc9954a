"""One run, one PostgreSQL, one Valkey; a database of its own for every test."""

import asyncio
import itertools
import os
import shutil
import signal
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import asyncpg
import pytest
from hypothesis import HealthCheck, settings
from redis.asyncio import Redis

from devstack.state import State
from storage.postgres.migrate import migrate
from storage.postgres.pool import Postgres
from storage.settings import StorageSettings
from storage.stores import Stores, open_stores
from tests.support.gateway import Gateway, running_gateway
from tests.support.live_gateway import LiveGateway, live_gateway
from tests.support.servers import Servers
from tests.support.valkey_cluster import Cluster, running_cluster

# A shell starts background commands with SIGINT ignored. Processes that tests start, and stop by
# SIGINT, would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile(
    "suite",
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.register_profile("long", parent=settings.get_profile("suite"), max_examples=4_000)
settings.load_profile("suite")

_servers = Servers()
_numbers = itertools.count()

POSTGRES = "KITH_TESTS_POSTGRES"
REDIS = "KITH_TESTS_REDIS"


def pytest_configure(config: pytest.Config) -> None:
    """Workers of xdist inherit the environment of the process that starts them."""
    if not hasattr(config, "workerinput") and not config.option.collectonly:
        _servers.start()
        os.environ[POSTGRES], os.environ[REDIS] = _servers.database_url, _servers.redis_url


def pytest_unconfigure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        _servers.stop()


@pytest.fixture(scope="session")
def worker_number(worker_id: str) -> int:
    return int(worker_id.removeprefix("gw")) if worker_id.startswith("gw") else 0


@pytest.fixture(scope="session")
def template(worker_number: int) -> Iterator[str]:
    """The name of a migrated database, which every test gets a copy of."""
    name = f"kith_template_{os.getpid()}"
    asyncio.run(_in_server(f'CREATE DATABASE "{name}"'))
    asyncio.run(migrate(_database(name), "public", partitions=4))  # fewer files to copy
    yield name
    asyncio.run(_in_server(f'DROP DATABASE "{name}"'))


@pytest.fixture
def database_url(template: str) -> Iterator[str]:
    """A fresh migrated database."""
    name = f"kith_test_{os.getpid()}_{next(_numbers)}"
    asyncio.run(_in_server(f'CREATE DATABASE "{name}" TEMPLATE "{template}"'))
    yield _database(name)
    asyncio.run(_in_server(f'DROP DATABASE "{name}" WITH (FORCE)'))


@pytest.fixture
def redis_url(worker_number: int) -> Iterator[str]:
    """An empty database of the server, of this worker alone."""
    url = urlsplit(os.environ[REDIS])
    own = urlunsplit(url._replace(query=f"db={worker_number}"))
    asyncio.run(_flush(own))
    yield own
    asyncio.run(_flush(own))


@pytest.fixture(scope="session")
def shared_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with running_cluster(tmp_path_factory.mktemp("cluster")) as cluster:
        yield cluster


@pytest.fixture
def cluster(shared_cluster: Cluster) -> Cluster:
    """A Redis Cluster that is empty, and is to stay whole."""
    asyncio.run(shared_cluster.empty())
    return shared_cluster


@pytest.fixture
def own_cluster(tmp_path: Path) -> Iterator[Cluster]:
    """A Redis Cluster to take apart."""
    with running_cluster(tmp_path) as cluster:
        yield cluster


@pytest.fixture
def storage_settings(database_url: str, redis_url: str) -> StorageSettings:
    """Without memory of hot users: a test that has not waited for its news would see the past.

    Who is absent is read once: tests of costs count statements.
    """
    return StorageSettings(database_url, redis_url, hot_ttl_ms=0, absent_age_ms=60_000)


@pytest.fixture
async def postgres(storage_settings: StorageSettings) -> AsyncIterator[Postgres]:
    opened = Postgres(storage_settings)
    yield opened
    await opened.close()


@pytest.fixture
async def stores(storage_settings: StorageSettings) -> AsyncIterator[Stores]:
    """All stores of a fresh graph. No worker runs; `graphs.drain_all` applies what waits."""
    async with open_stores(storage_settings) as opened:
        yield opened


@pytest.fixture
async def gateway(storage_settings: StorageSettings) -> AsyncIterator[Gateway]:
    """A gateway on the same graph as `stores`. No worker runs."""
    async with running_gateway(storage_settings) as running:
        yield running


@pytest.fixture
async def live(storage_settings: StorageSettings) -> AsyncIterator[LiveGateway]:
    """A gateway on the same graph, behind a real server. No worker runs."""
    async with live_gateway(storage_settings) as running:
        yield running


@pytest.fixture
def state() -> Iterator[State]:
    """A state folder that every user can reach: pytest's own is closed to others."""
    parent = Path(tempfile.mkdtemp(prefix="kith-test-", dir="/tmp"))
    parent.chmod(0o755)
    state = State(parent / "state")
    yield state
    state.erase()
    shutil.rmtree(parent)


def _database(name: str) -> str:
    return urlunsplit(urlsplit(os.environ[POSTGRES])._replace(path=f"/{name}"))


async def _in_server(statement: str) -> None:
    connection = await asyncpg.connect(os.environ[POSTGRES])
    try:
        await connection.execute(statement)
    finally:
        await connection.close()


async def _flush(url: str) -> None:
    async with Redis.from_url(url) as redis:
        await redis.flushdb()
