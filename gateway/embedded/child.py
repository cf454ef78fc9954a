"""One running child process: its start, its output, and its end."""

import asyncio
import os
from asyncio.subprocess import Process
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic

from gateway.embedded.command import Command
from gateway.embedded.once import spawn
from gateway.embedded.process import Identity, identity_of, kill_group

Say = Callable[[str, str], None]
"""Prints a line of a child: takes the child's name and the text."""

_TAIL_LINES = 12
_APPEND = os.O_WRONLY | os.O_CREAT | os.O_APPEND
_LINE_MAX_BYTES = 64 * 1024
_KILL_WAIT_S = 10.0
_LAST_WORDS_S = 1.0  # a grandchild may hold the pipe open after its parent has ended


@dataclass(frozen=True, slots=True)
class Child:
    """A started process. `tail` holds its last lines if its output goes to the terminal."""

    command: Command
    process: Process
    identity: Identity | None
    tail: deque[str]
    _pump: asyncio.Task[None] | None

    async def ready(self) -> bool:
        """Wait until the child is ready. False if it ended first or its deadline passed."""
        deadline = monotonic() + self.command.ready_ms / 1000
        while self.process.returncode is None and monotonic() < deadline:
            if await self.command.is_ready(self.process.pid):
                return True
            await asyncio.sleep(0.02)
        return False

    async def ended(self) -> int:
        """Wait for the end and the remaining output of the child. Return the exit code."""
        code = await self.process.wait()
        kill_group(self.process.pid)
        if self._pump is not None:
            await asyncio.wait({self._pump}, timeout=_LAST_WORDS_S)
            self._pump.cancel()
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
    if command.log is not None:
        process = await _spawn_into(command, os.open(command.log, _APPEND, 0o644))
        return Child(command, process, identity_of(process.pid), tail, None)
    reading, writing = os.pipe()
    try:
        process = await _spawn_into(command, writing)
    except BaseException:
        os.close(reading)
        raise
    pump = asyncio.create_task(_forward(reading, command.name, tail, say))
    return Child(command, process, identity_of(process.pid), tail, pump)


async def _spawn_into(command: Command, output: int) -> Process:
    env = dict(command.env) if command.env is not None else None
    try:
        return await spawn(
            command.argv, account=command.account, cwd=command.cwd, env=env, stdout=output
        )
    finally:
        os.close(output)


async def _forward(descriptor: int, name: str, tail: deque[str], say: Say) -> None:
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
        return await reader.read(_LINE_MAX_BYTES)  # a line above the limit is forwarded in pieces
