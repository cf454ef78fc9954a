"""Servers, each started by the first test that needs it, and the fixtures that most tests use."""

import asyncio
import gc
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from devstack.state import State
from storage.postgres.connection.pool import Postgres
from storage.settings import LocalSettings, StorageSettings
from storage.stores import Stores, open_stores
from storage.write_through import edges as write_through_edges
from tests.support import citus
from tests.support.citus_databases import CitusDatabases
from tests.support.databases import Caches, Databases
from tests.support.devstack_process import new_postgres_data, temporary_state
from tests.support.gateway import Gateway, running_gateway
from tests.support.live_gateway import LiveGateway, live_gateway
from tests.support.servers import Servers, servers_process
from tests.support.valkey_cluster import Cluster, running_cluster

# A shell starts background commands with SIGINT ignored. Processes that tests start, and stop by
# SIGINT, would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)

gc.disable()  # until all tests are collected, which creates millions of objects and no garbage

settings.register_profile(
    "suite",
    deadline=None,
    derandomize=True,  # the same examples in every run, so that a failure can be repeated
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.register_profile(
    "long", parent=settings.get_profile("suite"), max_examples=4_000, derandomize=False
)
settings.load_profile("suite")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that need servers, so that `-m "not servers"` leaves them out. On Citus, skip
    those about plain PostgreSQL."""
    for item in items:
        if citus.prefix() is not None and (about := item.get_closest_marker("plain")):
            item.add_marker(pytest.mark.skip(reason=f"not on Citus: {about.args[0]}"))
        if isinstance(item, pytest.Function) and "servers" in item.fixturenames:
            item.add_marker(pytest.mark.servers)


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop() -> None:
    """Exclude what was imported and collected from the collections of garbage during tests."""
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="session")
def servers() -> Iterator[Servers]:
    """PostgreSQL and Valkey of this process, started by the first test that needs them."""
    with servers_process() as running:
        yield running


@pytest.fixture(scope="session")
def databases(servers: Servers) -> Iterator[Databases]:
    """Databases on plain PostgreSQL, or on Citus if `tests.support.citus.VARIABLE` is set."""
    with ExitStack() as stack:
        installation = citus.prefix()
        if installation is None:
            databases = Databases(servers.database_url)
        else:
            databases = CitusDatabases(stack.enter_context(citus.citus_process(installation)))
        stack.callback(databases.close)
        yield databases


@pytest.fixture(scope="session", autouse=citus.prefix() is not None)
def _long_drain_deadline() -> Iterator[None]:
    """On Citus, let responses wait for a drain longer: four servers share this machine, and a first
    drain opens connections between them. Otherwise a write would return DELAYED."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(write_through_edges, "DRAIN_S_MAX", 30)
        yield


@pytest.fixture
def database_url(databases: Databases) -> Iterator[str]:
    """A migrated database without rows."""
    with databases.empty() as url:
        yield url


@pytest.fixture(scope="session")
def caches(servers: Servers) -> Caches:
    return Caches(servers.redis_url)


@pytest.fixture
def redis_url(caches: Caches) -> Iterator[str]:
    """An empty database of Valkey."""
    with caches.empty() as url:
        yield url


@pytest.fixture(scope="session")
def shared_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with running_cluster(tmp_path_factory.mktemp("cluster")) as cluster:
        yield cluster


@pytest.fixture
def cluster(shared_cluster: Cluster) -> Cluster:
    """An empty Redis Cluster, which other tests use too: its servers must not be stopped."""
    asyncio.run(shared_cluster.empty())
    return shared_cluster


@pytest.fixture
def own_cluster(tmp_path: Path) -> Iterator[Cluster]:
    """A Redis Cluster for one test, which may stop its servers."""
    with running_cluster(tmp_path) as cluster:
        yield cluster


@pytest.fixture
def storage_settings(database_url: str, redis_url: str) -> StorageSettings:
    """Without the local cache: a test that has not waited for a notification would see old values.

    The set of absent accounts is kept for 60 s, because some tests count SQL statements.
    """
    return StorageSettings(
        database_url,
        redis_url,
        connections=citus.connection_settings(),
        local=LocalSettings(ttl_ms=0, absent_age_ms=60_000),
    )


@pytest.fixture
async def postgres(storage_settings: StorageSettings) -> AsyncIterator[Postgres]:
    opened = Postgres(storage_settings)
    yield opened
    await opened.close()


@pytest.fixture
async def stores(storage_settings: StorageSettings) -> AsyncIterator[Stores]:
    """All stores of a fresh graph. No worker runs; `graphs.drain_all` applies pending changes."""
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
def empty_state() -> Iterator[State]:
    """A state folder that does not exist yet."""
    with temporary_state() as state:
        yield state


@pytest.fixture(scope="session")
def postgres_data() -> Iterator[Path]:
    """The data of PostgreSQL as the first start of `dev` makes it."""
    with temporary_state() as state:
        yield asyncio.run(new_postgres_data(state))


@pytest.fixture
def state(postgres_data: Path) -> Iterator[State]:
    """A state folder with new data of PostgreSQL, for tests that are not about the first start."""
    with temporary_state(postgres_data) as state:
        yield state
