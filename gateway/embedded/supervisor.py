"""The supervisor: keeps child processes running, and ends them in order.

It restarts a child that dies, with a growing, jittered delay. It gives up a child that dies too
often: then `watch` raises.
"""

import asyncio
import os
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from types import TracebackType
from typing import NoReturn, Self

from gateway.embedded.child import Child, Say, start_child
from gateway.embedded.command import Command
from gateway.embedded.errors import ChildFailed
from gateway.embedded.leftovers import Recorded, record
from gateway.embedded.process import Identity, identity_of
from gateway.embedded.restarts import RestartPolicy, Restarts

_CHECKOUT = Path(__file__).parents[2]


@dataclass(slots=True)
class _Kept:
    """A supervised command. `up` is set when it has been ready once."""

    command: Command
    restarts: Restarts
    up: asyncio.Event = field(default_factory=asyncio.Event)
    child: Child | None = None
    task: asyncio.Task[None] | None = None


class Supervisor:
    """`async with Supervisor(...) as supervisor: await supervisor.start(command)`.

    Leaving the block ends all children, the last one started first.
    """

    def __init__(self, children_file: Path, say: Say, policy: RestartPolicy | None = None) -> None:
        """`children_file` records the children, for the watchdog and for the next start."""
        self._file = children_file
        self._say = say
        self._policy = policy or RestartPolicy()
        self._kept: list[_Kept] = []
        self._deathwatch: Process | None = None
        self._given_up = asyncio.Event()
        self._failure: BaseException | None = None
        self._us = identity_of(os.getpid()) or Identity(os.getpid(), "")

    async def __aenter__(self) -> Self:
        self._record()
        self._deathwatch = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "gateway.embedded.deathwatch"),
            *(str(self._file), str(self._us.pid), self._us.started),
            cwd=_CHECKOUT,
            stdin=PIPE,
            stdout=DEVNULL,
            start_new_session=True,
        )
        return self

    async def __aexit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        for kept in reversed(self._kept):
            if kept.task is not None:
                kept.task.cancel()
                await asyncio.wait({kept.task})
        if self._deathwatch is not None:
            with suppress(ProcessLookupError):
                self._deathwatch.kill()
            await self._deathwatch.wait()

    async def start(self, command: Command) -> None:
        """Start and supervise a command; return when it is ready. Raises ChildFailed."""
        kept = _Kept(command, Restarts(self._policy))
        self._kept.append(kept)
        kept.task = asyncio.create_task(self._keep(kept))
        kept.task.add_done_callback(self._note_end)
        up = asyncio.create_task(kept.up.wait())
        try:
            await asyncio.wait({up, kept.task}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            up.cancel()
        if kept.task.done():
            kept.task.result()

    async def watch(self) -> NoReturn:
        """Wait for ever. Raises ChildFailed when a child is given up."""
        await self._given_up.wait()
        raise self._failure or AssertionError("given up without a cause")

    def _note_end(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and task.exception() is not None:
            self._failure = task.exception()
            self._given_up.set()

    async def _keep(self, kept: _Kept) -> None:
        while True:
            how = await self._live_once(kept)
            self._record()
            if not kept.command.restart:
                return
            delay_s = self._delay_s(kept, how)
            self._say(kept.command.name, f"{how}; starting it again")
            await asyncio.sleep(delay_s)

    async def _live_once(self, kept: _Kept) -> str:
        """Run a child from its start to its end. Return how it ended."""
        command = kept.command
        try:
            await command.before()
            kept.child = child = await start_child(command, self._say)
        except OSError as error:
            return f"could not start {command.argv[0]}: {error.strerror}"
        try:
            self._record()
            if await child.ready():
                kept.up.set()
            elif child.process.returncode is None:
                await child.stop()
                return f"was not ready within {command.ready_ms / 1000:g} s"
            code = await child.ended()
        except BaseException:
            await child.stop()
            raise
        return f"ended by signal {-code}" if code < 0 else f"ended with exit code {code}"

    def _delay_s(self, kept: _Kept, how: str) -> float:
        delay_s = kept.restarts.count(monotonic(), was_ready=kept.up.is_set())
        if delay_s is not None:
            return delay_s
        seconds = self._policy.within_ms // 1000
        last = kept.child.last_lines() if kept.child else ""
        raise ChildFailed(
            f"{kept.command.name} {how}: {kept.restarts.recent} deaths within {seconds} s, "
            f"giving up. Its last lines:\n{last}"
        )

    def _record(self) -> None:
        children = [kept.child for kept in self._kept if kept.child is not None]
        alive = [child for child in children if child.process.returncode is None]
        entries = [Recorded(c.identity, c.command.stop) for c in alive if c.identity is not None]
        record(self._file, self._us, entries)
