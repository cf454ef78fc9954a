"""The entry point: runs real servers for as long as a block lasts.

with until_signalled():
    async with running_servers(State(Path(".kith"))) as servers:
        await servers.supervisor.start(Command("gateway", argv))
        announce(servers.state, servers.database_url, servers.redis_url, "http://127.0.0.1:8080")
        await servers.supervisor.watch()
"""

import asyncio
import signal
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

from devstack.child import Command, Say
from devstack.directories import find_directories, forget_sockets
from devstack.postgres import postgres_command, postgres_data, postgres_url
from devstack.state import State, announce
from devstack.supervisor import Supervisor
from devstack.valkey import valkey_command, valkey_url
from devstack.watchdog import end_orphans

Progress = Callable[[str], AbstractContextManager[None]]
"""A context manager around a slow operation. Takes a description for the terminal."""


@dataclass(frozen=True, slots=True)
class Servers:
    """The running servers' URLs, and the supervisor, which can run more commands."""

    state: State
    database_url: str
    redis_url: str
    supervisor: Supervisor


def say_on_terminal(name: str, line: str) -> None:
    """Print one line of a child, prefixed with its name."""
    with suppress(OSError):  # `make dev | head`: a closed pipe must not end the servers
        sys.stdout.write(f"{name:>9} | {line}\n")
        sys.stdout.flush()


@asynccontextmanager
async def running_servers(
    state: State,
    *,
    database_url: str | None = None,
    redis_url: str | None = None,
    postgres_settings: Mapping[str, str] = MappingProxyType({}),
    say: Say = say_on_terminal,
    progress: Progress = lambda _: nullcontext(),
    extra_commands: Sequence[Command] = (),
) -> AsyncIterator[Servers]:
    """Lock `state`, run PostgreSQL and Valkey inside the `with` statement, and yield when both are
    ready.

    A server whose URL is given is not started. `postgres_settings` override the defaults (a test
    run may disable `fsync` for speed). `extra_commands` are started first.

    Raises:
        DevstackError: a server cannot be started.
    """
    with state.held():
        try:
            await end_orphans(state.children_file)
            async with Supervisor(state.children_file, say) as supervisor:
                for command in extra_commands:
                    await supervisor.start(command)
                database_url = database_url or await _start_postgres(
                    state, supervisor, postgres_settings, progress
                )
                redis_url = redis_url or await _start_valkey(state, supervisor, progress)
                announce(state, database_url, redis_url)
                yield Servers(state, database_url, redis_url, supervisor)
        finally:
            state.run_file.unlink(missing_ok=True)
            forget_sockets(state)


async def _start_postgres(
    state: State, supervisor: Supervisor, settings: Mapping[str, str], progress: Progress
) -> str:
    directories = await find_directories(state)
    is_first = not postgres_data(directories).exists()
    with progress(f"Starting PostgreSQL{', after making its data' if is_first else ''}"):
        await supervisor.start(await postgres_command(directories, state.log("postgres"), settings))
    return postgres_url(directories)


async def _start_valkey(state: State, supervisor: Supervisor, progress: Progress) -> str:
    with progress("Starting Valkey"):
        directories = await find_directories(state)
        await supervisor.start(await valkey_command(directories, state.log("valkey")))
    return valkey_url(directories)


@contextmanager
def until_signalled() -> Iterator[None]:
    """Cancel the block on the first SIGINT, SIGTERM or SIGHUP, then end as if it had returned.

    Later signals have no effect, because the block is cleaning up, with its own deadlines. Use it
    only in the main thread, and as the outermost block, so that a signal interrupts no work outside
    of it.
    """
    loop = asyncio.get_running_loop()
    task = asyncio.current_task()
    received: list[bool] = []

    def stop() -> None:
        if not received and task is not None:
            received.append(task.cancel())

    # Signals that were ignored at the start stay ignored: `nohup make dev` must survive SIGHUP.
    handled = [
        signum
        for signum in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        if signal.getsignal(signum) is not signal.SIG_IGN
    ]
    for signum in handled:
        loop.add_signal_handler(signum, stop)
    try:
        yield
    except asyncio.CancelledError:
        if not received or task is None or task.uncancel() > 0:
            raise
    finally:
        for signum in handled:
            loop.remove_signal_handler(signum)
