"""The servers, gateways and workers of one graph as processes, with proxies between them.

Each gateway and worker reaches PostgreSQL and Valkey through its own proxies, so that one of them
can be cut off while the others are not.
"""

import asyncio
import tempfile
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from urllib.parse import parse_qs, urlencode, urlsplit

import asyncpg
from redis.asyncio import Redis

from devstack.directories import find_directories
from devstack.postgres import NAME, postgres_command, postgres_url
from devstack.state import State
from devstack.valkey import valkey_command, valkey_url
from devstack.watchdog import Watchdog
from storage.postgres.migrate import migrate
from storage.settings import StorageSettings
from tests.support.databases import PARTITIONS
from tests.support.faults.client import Client
from tests.support.faults.part import Part
from tests.support.faults.programs import gateway_command, worker_command
from tests.support.proxy import Proxy
from tests.support.waiting import until

ROLE = "application"
"""The role of gateways and workers. Unlike a superuser's, its connections can be limited."""

POSTGRES_SETTINGS = {
    # Tests kill processes and not the machine, so data that the kernel has is not lost.
    "fsync": "off",
    "shared_buffers": "64MB",
    "max_wal_size": "128MB",
    "min_wal_size": "32MB",
    # A transaction of a killed gateway must end soon.
    "client_connection_check_interval": "100ms",
}
START_S = 60
POSTGRES_FILE = ".s.PGSQL.5432"
VALKEY_FILE = "valkey.sock"


@dataclass(frozen=True, slots=True)
class Sizes:
    """How many processes there are."""

    gateways: int = 2
    workers: int = 2


@dataclass(frozen=True, slots=True)
class Links:
    """The proxies of one process."""

    postgres: Proxy
    redis: Proxy


@dataclass
class Stack:
    """The running parts."""

    folder: Path
    settings: StorageSettings
    """The settings of the test itself: without a proxy, and as a superuser."""
    postgres: Part
    valkey: Part
    sockets: Path
    """The folder with the sockets of both servers."""
    watchdog: Watchdog
    gateways: list[Part] = field(default_factory=list)
    workers: list[Part] = field(default_factory=list)
    links: dict[str, Links] = field(default_factory=dict)
    clients: list[Client] = field(default_factory=list)
    """One for each gateway."""

    @property
    def parts(self) -> list[Part]:
        return [self.postgres, self.valkey, *self.gateways, *self.workers]

    @asynccontextmanager
    async def session(self) -> AsyncIterator["asyncpg.Connection[asyncpg.Record]"]:
        """A superuser's connection to PostgreSQL."""
        connection = await asyncpg.connect(self.settings.database_url, timeout=10)
        try:
            yield connection
        finally:
            connection.terminate()

    @asynccontextmanager
    async def redis(self) -> AsyncIterator[Redis]:
        """A connection to Valkey."""
        async with Redis.from_url(self.settings.redis_url) as redis:
            yield redis

    def record(self) -> None:
        """Tell the watchdog which processes to end if this one is killed."""
        self.watchdog.record(part.child for part in self.parts)

    async def heal(self) -> None:
        """Resume, restore and start everything, and wait until each gateway is ready."""
        for part in self.parts:
            part.resume()
        for links in self.links.values():
            await links.postgres.restore()
            await links.redis.restore()
        async with asyncio.timeout(START_S):
            for part in self.parts:
                await part.start()
        for client in self.clients:
            await until(client.is_ready, f"{client.name} is ready")


@asynccontextmanager
async def running_stack(
    sizes: Sizes,
    environment: Mapping[str, str] = MappingProxyType({}),
    *,
    folder: Path | None = None,
    proxied: bool = True,
) -> AsyncIterator[Stack]:
    """A stack on an empty graph, with its data in `folder`, which every user must be able to enter.

    `environment`: settings of all gateways and workers. `proxied`: whether these reach the servers
    through `links`, without which no fault of a link is possible.
    """
    async with AsyncExitStack() as exits:
        folder = folder or exits.enter_context(temporary_folder())
        state = exits.enter_context(_temporary_state(folder))
        stack = await _started_servers(state, exits)
        await _create_role(stack)
        for name in [f"gateway-{number}" for number in range(sizes.gateways)]:
            client = Client(name, stack.folder / f"{name}.sock")
            exits.push_async_callback(client.close)
            stack.clients.append(client)
            addresses = await _addresses(stack, name, exits if proxied else None)
            command = gateway_command(client, state.log(name), {**environment, **addresses})
            stack.gateways.append(Part(command, on_start=stack.record))
        for name in [f"worker-{number}" for number in range(sizes.workers)]:
            addresses = await _addresses(stack, name, exits if proxied else None)
            command = worker_command(name, state.log(name), {**environment, **addresses})
            stack.workers.append(Part(command, on_start=stack.record))
        for part in (*stack.gateways, *stack.workers):
            exits.push_async_callback(part.stop)
        await stack.heal()
        yield stack


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """A folder that every user can enter: root starts the servers as another user."""
    with tempfile.TemporaryDirectory(prefix="kith-faults-", dir="/tmp") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@contextmanager
def _temporary_state(folder: Path) -> Iterator[State]:
    state = State(folder / "state")
    yield state
    state.erase()


async def _started_servers(state: State, exits: AsyncExitStack) -> Stack:
    exits.enter_context(state.held())
    watchdog = Watchdog(state.children_file)
    await watchdog.start()
    exits.push_async_callback(watchdog.stop)
    directories = await find_directories(state)

    def record() -> None:
        stack.record()

    postgres = Part(
        await postgres_command(directories, state.log("postgres"), POSTGRES_SETTINGS),
        frozenset({"postgres"}),
        record,
    )
    valkey = Part(await valkey_command(directories, state.log("valkey")), on_start=record)
    settings = StorageSettings(postgres_url(directories), valkey_url(directories))
    stack = Stack(
        state.folder, settings, postgres, valkey, sockets=directories.sockets, watchdog=watchdog
    )
    for part in (postgres, valkey):
        exits.push_async_callback(part.stop)
        await part.start()
    return stack


async def _create_role(stack: Stack) -> None:
    async with stack.session() as session:
        await session.execute(f"CREATE ROLE {ROLE} LOGIN; ALTER DATABASE {NAME} OWNER TO {ROLE}")
    await migrate(_with_role(stack.settings.database_url, stack.sockets), "public", PARTITIONS)


async def _addresses(stack: Stack, name: str, exits: AsyncExitStack | None) -> dict[str, str]:
    """The addresses of both servers for one process, as environment variables. With `exits`, they
    are those of proxies, which end with it."""
    sockets = stack.sockets if exits is None else stack.folder / "links" / name
    if exits is not None:
        sockets.mkdir(parents=True)
        links = [
            Proxy(stack.sockets / file, sockets / file) for file in (POSTGRES_FILE, VALKEY_FILE)
        ]
        stack.links[name] = Links(*links)
        for link in links:
            exits.push_async_callback(link.cut)
            await link.restore()
    return {
        "DATABASE_URL": _with_role(stack.settings.database_url, sockets),
        "REDIS_URL": f"unix://{sockets / VALKEY_FILE}?db=0",
    }


def _with_role(database_url: str, sockets: Path) -> str:
    """The same database for the role of gateways and workers, through the sockets in a folder."""
    port = parse_qs(urlsplit(database_url).query)["port"][0]
    query = urlencode({"host": sockets, "port": port}, safe="/")
    return f"postgresql://{ROLE}@/{NAME}?{query}"
