"""Run `kith serve` as a process, and send it queries over a unix socket or a port."""

import asyncio
import json
import os
import signal
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

import httpx

from storage.settings import StorageSettings
from tests.support.http_client import unix_transport
from tests.support.kith_process import ROOT, Command, start_kith
from tests.support.waiting import until

DEADLINE_S = 60


def environment_of(settings: StorageSettings, **changes: str) -> dict[str, str]:
    """The environment of this process, with the servers of a test and `changes`."""
    servers = {"DATABASE_URL": settings.database_url, "REDIS_URL": settings.redis_url}
    return {**os.environ, **servers, **changes}


@dataclass
class Serve:
    """A running command. `lines` is what it has written so far."""

    process: Command
    socket: Path
    lines: list[str] = field(default_factory=list)

    def http(self) -> httpx.AsyncClient:
        """A client with its own connections."""
        return httpx.AsyncClient(
            transport=unix_transport(self.socket),
            base_url="http://kith",
            timeout=DEADLINE_S,
        )

    async def reads(self) -> None:
        """Add all lines of the standard error to `lines`, until the process closes it."""
        assert self.process.stderr is not None
        while line := await self.process.stderr.readline():
            self.lines.append(line.decode().rstrip("\n"))

    async def says(self, text: str, times: int = 1) -> None:
        """Wait until `times` lines contain `text`. `reads` must be running."""

        async def is_printed() -> bool:
            return sum(text in line for line in self.lines) >= times

        await until(is_printed, f"the command prints {text!r}, got {self.lines}")

    def children(self) -> list[int]:
        """The ids of the processes that serve requests, the oldest first."""
        task = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        return [int(pid) for pid in task.read_text().split()]

    async def is_ready(self) -> bool:
        try:
            async with self.http() as http:
                return (await http.get("/readyz")).status_code == 200
        except httpx.TransportError:
            return False

    async def until_ready(self) -> None:
        async def ready() -> bool:
            assert self.process.returncode is None, self.lines
            return await self.is_ready()

        await until(ready, "the command answers")

    async def end(self, how: signal.Signals = signal.SIGTERM) -> int:
        """Send a signal, unless the process has ended. Returns the exit code."""
        if self.process.returncode is None:
            self.process.send_signal(how)
        return await self.code()

    async def code(self) -> int:
        """Wait until the process has ended. Returns the exit code."""
        async with asyncio.timeout(DEADLINE_S):
            return await self.process.wait()


async def started(
    *arguments: str,
    environment: Mapping[str, str],
    socket: Path,
    development: bool = True,
    tree: Path = ROOT,
) -> Serve:
    """Start the command from the code in `tree`."""
    option = ("--development",) if development else ()
    process = await start_kith(
        *("serve", *option, *arguments),
        env=environment,
        stdin=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
        tree=tree,
    )
    return Serve(process, socket)


@asynccontextmanager
async def serving(
    settings: StorageSettings,
    socket: Path,
    *arguments: str,
    changes: Mapping[str, str] = MappingProxyType({}),
    development: bool = True,
    tree: Path = ROOT,
) -> AsyncIterator[Serve]:
    """`kith serve` on a unix socket, once all its processes answer; it is stopped at the end of the
    block."""
    processes = int(arguments[arguments.index("--workers") + 1]) if "--workers" in arguments else 1
    serve = await started(
        *("--uds", str(socket), *arguments),
        environment=environment_of(settings, **changes),
        socket=socket,
        development=development,
        tree=tree,
    )
    reading = asyncio.create_task(serve.reads())
    try:
        await serve.until_ready()
        # One process may answer while another still starts.
        await serve.says("Application startup complete", times=processes)
        yield serve
    finally:
        await serve.end()
        await reading


async def rejected(
    settings: StorageSettings, *arguments: str, **changes: str
) -> tuple[int, list[str]]:
    """Run a command that does not start. Returns its exit code and its output lines."""
    serve = await started(
        *arguments, environment=environment_of(settings, **changes), socket=Path("/nowhere")
    )
    await serve.reads()
    return await serve.code(), serve.lines


async def asked(http: httpx.AsyncClient, query: str) -> Any:
    response = await http.post("/graphql", json={"query": query}, headers={"x-viewer": "1"})
    return json.loads(response.content)
