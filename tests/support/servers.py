"""PostgreSQL and Valkey for one process of pytest.

`python -m tests.support.servers FOLDER` runs them until its standard input is closed. That happens
when pytest ends, even if it is killed. Then all data is deleted.
"""

import asyncio
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from devstack.servers import running_servers
from devstack.state import State

ROOT = Path(__file__).parents[2]
STOP_S = 120
POSTGRES_SETTINGS = {
    # No test crashes this server. Tests that crash one start another.
    "fsync": "off",
    "full_page_writes": "off",
    "synchronous_commit": "off",
    # Each test leaves a few dead rows, in one of many databases.
    "autovacuum_naptime": "60s",
    # CREATE, DROP and TRUNCATE search all shared buffers.
    "shared_buffers": "64MB",
    # Without replication, changes of a table that its own transaction has made need no log.
    "wal_level": "minimal",
    "max_wal_senders": "0",
}


@dataclass(frozen=True)
class Servers:
    """The URLs of the servers."""

    database_url: str
    redis_url: str


@contextmanager
def servers_process() -> Iterator[Servers]:
    """Run both servers below another process."""
    with process_with_urls("tests.support.servers") as urls:
        yield Servers(*urls)


@contextmanager
def process_with_urls(module: str, *arguments: str) -> Iterator[list[str]]:
    """Run `module` with a folder for its data as the last argument. Its first line of output is a
    JSON list of URLs. It ends when its standard input is closed."""
    with tempfile.TemporaryDirectory(prefix="kith-tests-") as folder:
        Path(folder).chmod(0o755)  # root starts the servers as another user
        process = subprocess.Popen(
            [sys.executable, "-m", module, *arguments, folder],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,  # Ctrl-C would end the servers before the tests have
        )
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line, "The servers did not start."
        try:
            yield json.loads(line)
        finally:
            process.communicate(timeout=STOP_S)


async def _serve(folder: Path) -> None:
    state = State(folder / "state")
    try:
        async with running_servers(
            state,
            postgres_settings=POSTGRES_SETTINGS,
            say=lambda name, line: print(f"{name} | {line}", file=sys.stderr),
        ) as servers:
            print(json.dumps([servers.database_url, servers.redis_url]), flush=True)
            watching = asyncio.create_task(servers.supervisor.watch())
            parent = asyncio.create_task(until_parent_ends())
            await asyncio.wait({watching, parent}, return_when=asyncio.FIRST_COMPLETED)
            if watching.done():
                await watching
            watching.cancel()
    finally:
        state.erase()


async def until_parent_ends() -> None:
    """Wait until the process that has started this one closes its standard input."""
    reader = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    await reader.read()


if __name__ == "__main__":
    asyncio.run(_serve(Path(sys.argv[1])))
