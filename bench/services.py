"""PostgreSQL, Valkey and the servers of a bench run, in a state folder of the bench's own."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.contestants import Contestant
from bench.cores import Cores, pinned
from bench.processes import ServerProcess, StoreProcesses, start_server
from devstack.directories import find_directories
from devstack.servers import Servers, running_servers
from devstack.state import State
from gateway.config import child_environment

POSTGRES_SETTINGS = {"shared_buffers": "512MB", "max_wal_size": "8GB"}
"""A load of many millions of edges, and a working set in memory; `fsync` stays on."""


@dataclass(frozen=True, slots=True)
class Services:
    """What runs, and where."""

    servers: Servers
    cores: Cores
    postgres: StoreProcesses
    valkey: StoreProcesses

    @property
    def database_url(self) -> str:
        return self.servers.database_url

    @property
    def redis_url(self) -> str:
        return self.servers.redis_url

    @property
    def folder(self) -> Path:
        return self.servers.state.folder

    async def start(
        self, contestant: Contestant, space: str, *cores: int, **environment: str
    ) -> ServerProcess:
        """Starts one server process on these cores, or on the core of whoever is measured."""
        return await start_server(
            self.servers.supervisor,
            contestant.name,
            tuple(part.replace("{space}", space) for part in contestant.argv),
            cores or (self.cores.server,),
            environment=child_environment(
                {
                    "DATABASE_URL": self.database_url,
                    "REDIS_URL": self.redis_url,
                    "KITH_BENCH_SPACE": space,
                    "NODE_ENV": "production",
                    **environment,
                }
            ),
            log=self.servers.state.log(contestant.name),
            ready=contestant.ready,
        )


def _into_nothing(name: str, line: str) -> None:
    """Every server has a log of its own."""


@asynccontextmanager
async def services(folder: Path, division: Cores) -> AsyncIterator[Services]:
    """Runs PostgreSQL and Valkey on the cores of the stores for as long as the block lasts.

    Raises an DevstackError whose text is meant for a person.
    """
    state = State(folder)
    async with AsyncExitStack() as stack:
        with pinned(division.stores):
            started = running_servers(state, postgres_settings=POSTGRES_SETTINGS, say=_into_nothing)
            servers = await stack.enter_async_context(started)
        data = (await find_directories(state)).data
        yield Services(
            servers,
            division,
            StoreProcesses(data / "postgres", "postgres"),
            StoreProcesses(data / "valkey", "valkey-server"),
        )
