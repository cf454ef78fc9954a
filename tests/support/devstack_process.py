"""`python -m devstack` as a process that tests can kill."""

import asyncio
import shutil
import subprocess
import sys
import tempfile
from asyncio.subprocess import DEVNULL, PIPE, STDOUT, Process
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import asyncpg

from devstack.directories import find_directories
from devstack.postgres import postgres_command, postgres_data
from devstack.processes import Identity, identity_of
from devstack.state import State, read_json
from tests.support.waiting import until

CHECKOUT = Path(__file__).parents[2]
DEADLINE_S = 60.0


@dataclass(frozen=True, slots=True)
class Run:
    """A supervisor in another process, whose two servers answer."""

    process: Process
    database_url: str
    redis_url: str


@contextmanager
def temporary_state(data: Path | None = None) -> Iterator[State]:
    """A state folder that every user can reach, which pytest's own folders are not.

    `data`: a data folder of PostgreSQL to copy into it. A copy takes a tenth of the CPU time of
    `initdb`.
    """
    parent = Path(tempfile.mkdtemp(prefix="kith-test-", dir="/tmp"))
    parent.chmod(0o755)
    state = State(parent / "state")
    if data is not None:
        with state.held():  # which creates it
            subprocess.run(["cp", "-Rp", str(data), str(state.folder)], check=True)
    yield state
    state.erase()
    shutil.rmtree(parent)


async def new_postgres_data(state: State) -> Path:
    """The data folder of PostgreSQL after its first start."""
    with state.held():
        directories = await find_directories(state)
        await postgres_command(directories, state.log("postgres"), {})
    return postgres_data(directories)


@asynccontextmanager
async def devstack_run(
    state: State,
    *,
    prefix: Sequence[str] = (),
    python: str = sys.executable,
    env: Mapping[str, str] | None = None,
) -> AsyncIterator[Run]:
    """Start the servers without Kith. The end of the block stops them with SIGTERM."""
    argv = (*prefix, python, "-m", "devstack", str(state.folder))
    process = await asyncio.create_subprocess_exec(
        *argv, cwd=CHECKOUT, stdin=DEVNULL, stdout=PIPE, stderr=STDOUT, env=env
    )
    try:
        yield await _answering(process)
    finally:
        if process.returncode is None:
            process.terminate()
        async with asyncio.timeout(DEADLINE_S):
            await process.communicate()


async def until_gone(state: State) -> None:
    async def gone() -> bool:
        return not processes_of(state)

    await until(gone, f"no process of {state.folder} is left")


def processes_of(state: State) -> list[Identity]:
    """Every process whose working directory is in a folder of the state."""
    home = read_json(state.directories_file).get("home")
    roots = (state.folder, Path(home) if isinstance(home, str) else state.folder)
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            cwd = (entry / "cwd").readlink()
        except OSError:
            continue
        if any(cwd.is_relative_to(root) for root in roots):
            found.append(identity_of(int(entry.name)))
    return [identity for identity in found if identity is not None]


def watchdog_of(supervisor: int) -> int:
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            parent = (entry / "stat").read_text().rpartition(")")[2].split()[1]
            arguments = (entry / "cmdline").read_text()
        except OSError:
            continue
        if int(parent) == supervisor and "devstack.watchdog" in arguments:
            return int(entry.name)
    raise AssertionError(f"process {supervisor} has no watchdog")


async def add_row(database_url: str) -> None:
    """Commit one more row. Creates the table if it is missing."""
    connection = await connect(database_url)
    try:
        await connection.execute("CREATE TABLE IF NOT EXISTS kept (n int)")
        await connection.execute("INSERT INTO kept VALUES (1)")
    finally:
        await connection.close(timeout=5)


async def rows(database_url: str) -> int:
    """The number of rows that `add_row` has committed."""
    connection = await connect(database_url)
    try:
        found = await connection.fetchval("SELECT count(*) FROM kept")
        assert isinstance(found, int)
        return found
    finally:
        await connection.close(timeout=5)


async def connect(database_url: str) -> "asyncpg.Connection[asyncpg.Record]":
    return await asyncpg.connect(database_url, timeout=10)


async def answers(database_url: str) -> bool:
    try:
        await (await connect(database_url)).close(timeout=5)
    except (OSError, asyncpg.PostgresError, TimeoutError):
        return False
    return True


async def _answering(process: Process) -> Run:
    assert process.stdout is not None
    lines: list[str] = []
    async with asyncio.timeout(DEADLINE_S):
        while line := (await process.stdout.readline()).decode():
            lines.append(line.strip())
            if line.startswith("unix://"):
                return Run(process, lines[-2], lines[-1])
    raise AssertionError("\n".join(lines))
