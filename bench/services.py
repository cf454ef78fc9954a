"""Runs PostgreSQL, Valkey and the servers of a benchmark, in its own state folder."""

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
from gateway.settings.environment import child_environment

POSTGRES_SETTINGS = {"shared_buffers": "512MB", "max_wal_size": "8GB"}
"""For a load of many millions of edges, and a working set in memory. `fsync` stays on."""


WITHOUT_BUDGETS = {
    "KITH_BUDGET": "0",
    "KITH_ANONYMOUS_BUDGET": "0",
    "KITH_SERVICE_BUDGET": "0",
}
"""Turns budgets off, because a load generator exceeds those of one viewer or address."""


@dataclass(frozen=True, slots=True)
class Services:
    """The running servers and their addresses."""

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
        """Start one server process on these cores, or by default on the measured server's."""
        return await start_server(
            self.servers.supervisor,
            contestant.name,
            tuple(part.replace("{space}", space) for part in contestant.argv),
            cores or (self.cores.server,),
            environment=child_environment(
                {
                    "DATABASE_URL": self.database_url,
                    "REDIS_URL": self.redis_url,
                    "BENCH_SPACE": space,
                    "NODE_ENV": "production",
                    **WITHOUT_BUDGETS,
                    **environment,
                }
            ),
            log=self.servers.state.log(contestant.name),
            ready=contestant.ready,
        )


def _discard(name: str, line: str) -> None:
    """Discards progress messages: every server has its own log."""


@asynccontextmanager
async def services(folder: Path, division: Cores) -> AsyncIterator[Services]:
    """Run PostgreSQL and Valkey on the cores of the stores, until the `with` statement ends.

    Raises DevstackError, whose text can be shown.
    """
    state = State(folder)
    async with AsyncExitStack() as stack:
        with pinned(division.stores):
            started = running_servers(state, postgres_settings=POSTGRES_SETTINGS, say=_discard)
            servers = await stack.enter_async_context(started)
        data = (await find_directories(state)).data
        yield Services(
            servers,
            division,
            StoreProcesses(data / "postgres", "postgres"),
            StoreProcesses(data / "valkey", "valkey-server"),
        )
