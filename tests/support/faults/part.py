"""A process that is restarted when it ends, and that tests can kill, pause and stop."""

import asyncio
import os
import signal
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from devstack.child import Child, Command, start_child
from devstack.processes import processes_within

RESTART_S = 0.1
"""The delay of the supervisor before it starts an ended process again."""


def _discard(_name: str, _line: str) -> None:
    """Ignore the line: every part also writes a log file."""


class Part:
    """One part of a stack.

    `programs` are the names of a server's processes, which work in the folder of its command:
    PostgreSQL has many.
    """

    def __init__(
        self,
        command: Command,
        programs: frozenset[str] = frozenset(),
        on_start: Callable[[], None] = lambda: None,
    ) -> None:
        """`on_start` is called after each start of its process."""
        self.command = command
        self._on_start = on_start
        self.name = command.name
        self.starts = 0
        self._programs = programs
        self.child: Child | None = None
        self._wanted = asyncio.Event()
        self._ready = asyncio.Event()
        self._keeping: asyncio.Task[None] | None = None

    @property
    def pid(self) -> int:
        """The id of its first process. 0 while there is none."""
        running = self.child is not None and self.child.process.returncode is None
        return self.child.process.pid if self.child is not None and running else 0

    def pids(self) -> list[int]:
        """The ids of its processes, the first before the processes that it has started."""
        folder = self.command.cwd
        others = processes_within(folder, self._programs) if self._programs and folder else []
        first = [self.pid] if self.pid else []
        return [*first, *(other.pid for other in others if other.pid != self.pid)]

    async def start(self) -> None:
        self._wanted.set()
        self._keeping = self._keeping or asyncio.create_task(self._keep())
        await self._ready.wait()

    async def stop(self) -> None:
        """End the process by the steps of its command."""
        self.resume()
        if self._keeping is not None:
            self._keeping.cancel()
            await asyncio.wait({self._keeping})
        if self.child is not None:
            await self.child.stop()

    def kill(self) -> None:
        """End the process as a crash does. It is restarted, unless it is held down."""
        self._ready.clear()
        self._signal(signal.SIGKILL, [self.pid] if self.pid else [])

    def hold_down(self) -> None:
        """Kill the process. It is not restarted before `start`."""
        self._wanted.clear()
        self.kill()

    def kill_other(self) -> None:
        """Kill one of the processes that the first one has started."""
        self._signal(signal.SIGKILL, self.pids()[-1:])

    def pause(self) -> None:
        self._signal(signal.SIGSTOP, self.pids())

    def resume(self) -> None:
        self._signal(signal.SIGCONT, self.pids())

    async def restart(self, environment: Mapping[str, str]) -> None:
        """Kill the process, and start it with additional environment variables."""
        self.hold_down()
        self.command = replace(self.command, env={**(self.command.env or {}), **environment})
        await self.start()

    def _signal(self, signum: signal.Signals, pids: list[int]) -> None:
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signum)

    async def _keep(self) -> None:
        while True:
            await self._wanted.wait()
            await self.command.before()
            self.child = await start_child(self.command, _discard)
            self._on_start()
            self.starts += 1
            if await self.child.ready():
                self._ready.set()
            await self.child.ended()
            self._ready.clear()
            await asyncio.sleep(RESTART_S)


def log_of(part: Part) -> str:
    """All that a part has written."""
    log = part.command.log
    assert log is not None
    return Path(log).read_text(encoding="utf-8", errors="replace")
