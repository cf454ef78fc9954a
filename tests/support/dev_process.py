"""Run `kith dev` as a process, and other commands with its state folder."""

import asyncio
import os
import re
import signal
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from devstack.state import State
from tests.support.http_client import http_client
from tests.support.kith_process import ROOT, Command, start_kith

DEADLINE_S = 90


class Dev:
    """A running process of `kith dev`."""

    def __init__(self, process: Command, state: State, url: str) -> None:
        self.process = process
        self.state = state
        self.url = url
        self.lines: list[str] = []
        self._reading: asyncio.Task[None] | None = None

    def read_on(self) -> None:
        """Read and discard all further output. With a full pipe, `dev` would block."""
        self._reading = asyncio.create_task(self._read_all())

    async def _read_all(self) -> None:
        assert self.process.stdout is not None
        while await self.process.stdout.read(65_536):
            pass

    async def read_until(self, text: str) -> None:
        """Read until the output contains `text`, even in a line that has not ended."""
        assert self.process.stdout is not None
        output = ""
        async with asyncio.timeout(DEADLINE_S):
            while part := await self.process.stdout.read(4096):
                output += part.decode()
                if text in output:
                    self.lines += output.splitlines(keepends=True)
                    return
        raise AssertionError(output)

    async def ask(self, query: str, viewer: int = 1, **variables: Any) -> dict[str, Any]:
        body = {"query": query, "variables": variables}
        async with http_client(timeout=10) as http:
            response = await http.post(
                f"{self.url}/graphql", json=body, headers={"x-viewer": str(viewer)}
            )
        answer: dict[str, Any] = response.json()
        return answer

    def children(self) -> dict[str, int]:
        """The processes of this state folder besides `dev`: one id for each of those names in
        `COMMAND_PATTERNS` that has one."""
        found = {}
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit() or int(entry.name) == self.process.pid:
                continue
            command = _read(entry / "cmdline")
            if str(self.state.folder) in command + _read(entry / "environ"):
                for name, pattern in COMMAND_PATTERNS.items():
                    if re.search(pattern, command):
                        found[name] = int(entry.name)
        return found

    async def end(self, how: signal.Signals = signal.SIGINT) -> int:
        """Send a signal, and return the exit code once the process has ended."""
        self.process.send_signal(how)
        async with asyncio.timeout(DEADLINE_S):
            if self._reading is None:
                await self.process.communicate()
            else:
                await self._reading
            return await self.process.wait()


COMMAND_PATTERNS = {
    "postgres": r"bin/postgres -D",
    "valkey": r"valkey-server",
    "worker": r"gateway worker",
    "gateway": r"gateway serve",
}


def _read(file: Path) -> str:
    try:
        return file.read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""


def free_port() -> int:
    """A free port below the ephemeral ones, which no outgoing connection takes meanwhile."""
    for port in range(18_000 + os.getpid() % 5_000, 32_000):
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise AssertionError("no free port")


async def started(state: State, port: int, *, new_interpreter: bool = False, **changes: str) -> Dev:
    """Start `dev`, forked from a process with all imports, or in a `new_interpreter` as by a user.

    `changes`: environment variables.
    """
    arguments = ("dev", "--no-bundle", "--port", str(port), "--state", str(state.root))
    environment = {k: v for k, v in os.environ.items() if k not in ("DATABASE_URL", "REDIS_URL")}
    environment |= changes
    if new_interpreter:
        process: Command = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "gateway", *arguments),
            cwd=ROOT,
            env=environment,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            start_new_session=True,
        )
    else:
        process = await start_kith(
            *arguments,
            env=environment,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            start_new_session=True,
        )
    return Dev(process, state, f"http://127.0.0.1:{port}")


@asynccontextmanager
async def running(
    state: State, *, new_interpreter: bool = False, **changes: str
) -> AsyncIterator[Dev]:
    """A `dev` that is ready. The options are those of `started`."""
    dev = await started(state, free_port(), new_interpreter=new_interpreter, **changes)
    try:
        await dev.read_until("Ctrl-C stops everything")
        dev.read_on()
        yield dev
    finally:
        if dev.process.returncode is None:
            await dev.end()


async def cli(state: State, *arguments: str) -> tuple[int, str]:
    """Run another command, which finds the servers through the state folder. Returns its exit code
    and its output."""
    environment = {k: v for k, v in os.environ.items() if k not in ("DATABASE_URL", "REDIS_URL")}
    process = await start_kith(
        *(*arguments, "--state", str(state.root)),
        env=environment,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    out, _ = await process.communicate()
    assert process.returncode is not None
    return process.returncode, out.decode()
