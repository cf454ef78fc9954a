"""The entry point: runs real servers for as long as a block lasts.

with until_signalled():
    async with embedded_servers(State(Path(".kith"))) as servers:
        await servers.supervisor.start(Command("gateway", argv))
        servers.announce(gateway_url="http://127.0.0.1:8080")
        await servers.supervisor.watch()
"""

import sys
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import (
    AbstractContextManager,
    asynccontextmanager,
    contextmanager,
    nullcontext,
    suppress,
)
from dataclasses import dataclass
from types import MappingProxyType

from gateway.embedded.binaries import find_valkey
from gateway.embedded.child import Say
from gateway.embedded.command import Command
from gateway.embedded.leftovers import end_leftovers
from gateway.embedded.places import Places, find_places, forget_sockets
from gateway.embedded.postgres import has_postgres_data, prepare_postgres
from gateway.embedded.state import State, announce
from gateway.embedded.supervisor import Supervisor
from gateway.embedded.valkey import redis_url as url_of_valkey
from gateway.embedded.valkey import valkey_command

Step = Callable[[str], AbstractContextManager[None]]
"""A context manager around a slow operation. Takes a description for the terminal."""


def silently(_: str) -> AbstractContextManager[None]:
    """A step without output."""
    return nullcontext()


def say_on_terminal(name: str, line: str) -> None:
    """Print one line of a child, prefixed with its name."""
    with suppress(OSError):  # `make dev | head`: a closed pipe must not end the servers
        sys.stdout.write(f"{name:>9} | {line}\n")
        sys.stdout.flush()


@dataclass(frozen=True, slots=True)
class Servers:
    """The running servers' URLs, and the supervisor, which can run more commands."""

    state: State
    database_url: str
    redis_url: str
    supervisor: Supervisor

    def announce(self, gateway_url: str | None = None) -> None:
        """Make this run visible to `find_running` in other processes."""
        announce(self.state, self.database_url, self.redis_url, gateway_url)


@asynccontextmanager
async def embedded_servers(
    state: State,
    *,
    database_url: str | None = None,
    redis_url: str | None = None,
    postgres_settings: Mapping[str, str] = MappingProxyType({}),
    say: Say = say_on_terminal,
    step: Step = silently,
    beside: Sequence[Command] = (),
) -> AsyncIterator[Servers]:
    """Hold `state`, run PostgreSQL and Valkey, and yield when both are ready.

    A server whose URL is given is not started. `postgres_settings` override the defaults (a test
    run may disable `fsync` for speed). The commands in `beside` are started first.

    Raises:
        EmbeddedError: a server cannot be started.
    """
    with _held(state):
        await end_leftovers(state.children_file)
        async with Supervisor(state.children_file, say) as supervisor:
            for command in beside:
                await supervisor.start(command)
            if database_url is None:
                places = await find_places(state)
                with step(_about(places)):
                    database_url = await _start_postgres(
                        state, places, supervisor, postgres_settings
                    )
            if redis_url is None:
                with step("Starting Valkey"):
                    redis_url = await _start_valkey(state, supervisor)
            servers = Servers(state, database_url, redis_url, supervisor)
            servers.announce()
            yield servers


@contextmanager
def _held(state: State) -> Iterator[None]:
    with state.held():
        try:
            yield
        finally:
            state.run_file.unlink(missing_ok=True)
            forget_sockets(state)


def _about(places: Places) -> str:
    with_data = "Starting PostgreSQL"
    return with_data if has_postgres_data(places) else f"{with_data}, after making its data"


async def _start_postgres(
    state: State, places: Places, supervisor: Supervisor, settings: Mapping[str, str]
) -> str:
    postgres = await prepare_postgres(places)
    await supervisor.start(postgres.command(state.log("postgres"), settings))
    return postgres.database_url


async def _start_valkey(state: State, supervisor: Supervisor) -> str:
    places = await find_places(state)
    binary = await find_valkey(places.account)
    await supervisor.start(valkey_command(binary, places, state.log("valkey")))
    return url_of_valkey(places)
