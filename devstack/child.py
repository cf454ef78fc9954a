"""A long-running child process: its description, start, output and end."""

import asyncio
import os
import signal
from asyncio.subprocess import Process
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

from devstack.processes import Identity, ServerUser, Step, identity_of, kill_group, spawn

Say = Callable[[str, str], None]
"""Prints a line of a child: takes the child's name and the text."""

_TAIL_LINES = 12
_APPEND = os.O_WRONLY | os.O_CREAT | os.O_APPEND
_LINE_MAX_BYTES = 64 * 1024
_KILL_WAIT_S = 10.0
_OUTPUT_WAIT_S = 1.0  # bounded, because a grandchild may still hold the pipe open


async def _do_nothing() -> None:
    return


async def _always_ready(_pid: int) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Command:
    """The description of a child.

    Without `log`, the child's output goes to the terminal, each line prefixed with `name`; Python
    children then need PYTHONUNBUFFERED in `env`. If `env` or `cwd` is None, the child inherits it.
    `before` runs before each start. `is_ready(pid)` is called until it returns True, for at most
    `ready_ms`. `stop` lists the steps that stop the child; SIGKILL to its group always comes last.
    Without `restart`, the child may end by itself, with any exit code.
    """

    name: str
    argv: tuple[str, ...]
    env: Mapping[str, str] | None = None
    cwd: Path | None = None
    user: ServerUser | None = None
    log: Path | None = None
    before: Callable[[], Awaitable[None]] = _do_nothing
    is_ready: Callable[[int], Awaitable[bool]] = _always_ready
    ready_ms: int = 60_000
    stop: tuple[Step, ...] = (Step(signal.SIGTERM, 15_000),)
    restart: bool = True


@dataclass(frozen=True, slots=True)
class Child:
    """A started process."""

    command: Command
    process: Process
    identity: Identity | None
    tail: deque[str]
    """The last lines of output, if it goes to the terminal."""
    _forwarding: asyncio.Task[None] | None

    async def ready(self) -> bool:
        """Wait until the child is ready. False if it ended first or its deadline passed."""
        deadline = monotonic() + self.command.ready_ms / 1000
        while self.process.returncode is None and monotonic() < deadline:
            if await self.command.is_ready(self.process.pid):
                return True
            await asyncio.sleep(0.02)
        return False

    async def ended(self) -> int:
        """Wait for the end and the remaining output of the child, and kill the rest of its process
        group. Return the exit code."""
        code = await self.process.wait()
        kill_group(self.process.pid)
        if self._forwarding is not None:
            await asyncio.wait({self._forwarding}, timeout=_OUTPUT_WAIT_S)
            self._forwarding.cancel()
        return code

    async def stop(self) -> None:
        """Stop the child by the steps of its command, then by SIGKILL."""
        for step in self.command.stop:
            if self.process.returncode is None:
                self.process.send_signal(step.signum)
            if await self._ends_within(step.wait_ms / 1000):
                break
        kill_group(self.process.pid)
        if await self._ends_within(_KILL_WAIT_S):
            await self.ended()

    def last_lines(self) -> str:
        """The end of the log or, without one, of the output, indented for an error message."""
        lines = list(self.tail)
        if self.command.log is not None:
            text = self.command.log.read_text(encoding="utf-8", errors="replace")
            lines = text.splitlines()[-_TAIL_LINES:]
        return "\n".join(f"    {line}" for line in lines)

    async def _ends_within(self, timeout_s: float) -> bool:
        try:
            await asyncio.wait_for(self.process.wait(), timeout_s)
        except TimeoutError:
            return False
        return True


async def start_child(command: Command, say: Say) -> Child:
    """Start `command`. Its output goes to its log file, or to `say`. Raises OSError."""
    tail: deque[str] = deque(maxlen=_TAIL_LINES)
    reading: int | None = None
    if command.log is not None:
        # Only the owner may read it, because servers log the rows of failed statements. A log file
        # of an earlier version may be readable by all.
        writing = os.open(command.log, _APPEND, 0o600)
        os.fchmod(writing, 0o600)
    else:
        reading, writing = os.pipe()
    try:
        process = await spawn(command.argv, command.user, command.cwd, command.env, stdout=writing)
    except BaseException:
        if reading is not None:
            os.close(reading)
        raise
    finally:
        os.close(writing)
    forwarding = (
        None if reading is None else asyncio.create_task(_forward(reading, command.name, tail, say))
    )
    return Child(command, process, identity_of(process.pid), tail, forwarding)


async def _forward(descriptor: int, name: str, tail: deque[str], say: Say) -> None:
    """Pass the lines of a child's output to `say`, and keep the last ones in `tail`."""
    # A pipe of our own: with asyncio's, waiting for a child also waits for every grandchild that
    # still holds its output open (CPython issue 119710).
    reader = asyncio.StreamReader(limit=_LINE_MAX_BYTES)
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(descriptor, "rb", buffering=0)
    )
    try:
        while line := await _line(reader):
            text = line.decode(errors="replace").rstrip()
            tail.append(text)
            say(name, text)
    finally:
        transport.close()


async def _line(reader: asyncio.StreamReader) -> bytes:
    try:
        return await reader.readuntil(b"\n")
    except asyncio.IncompleteReadError as error:
        return error.partial
    except asyncio.LimitOverrunError:
        return await reader.read(_LINE_MAX_BYTES)  # forward a line above the limit in pieces
