"""The supervisor: keeps child processes running, and ends them in order.

It restarts a child that ends, after a growing, jittered delay. If a child ends too often, it is not
restarted, and `watch` raises.
"""

import asyncio
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from types import TracebackType
from typing import NoReturn, Self

from devstack.child import Child, Command, Say, start_child
from devstack.errors import ChildFailed
from devstack.restarts import RestartPolicy, Restarts
from devstack.watchdog import Watchdog


@dataclass(slots=True)
class _Supervised:
    """A supervised command. `was_ready` is set when it has been ready once."""

    command: Command
    restarts: Restarts
    was_ready: asyncio.Event = field(default_factory=asyncio.Event)
    child: Child | None = None
    task: asyncio.Task[None] | None = None


class Supervisor:
    """`async with Supervisor(...) as supervisor: await supervisor.start(command)`.

    Leaving the block ends all children, the last one started first.
    """

    def __init__(self, children_file: Path, say: Say, policy: RestartPolicy | None = None) -> None:
        """`children_file` records the children, for the watchdog and for the next start."""
        self._watchdog = Watchdog(children_file)
        self._say = say
        self._policy = policy or RestartPolicy()
        self._supervised: list[_Supervised] = []
        self._given_up: asyncio.Future[NoReturn] = asyncio.get_running_loop().create_future()

    async def __aenter__(self) -> Self:
        await self._watchdog.start()
        return self

    async def __aexit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        for supervised in reversed(self._supervised):
            if supervised.task is not None:
                supervised.task.cancel()
                await asyncio.wait({supervised.task})
        await self._watchdog.stop()

    async def start(self, command: Command) -> None:
        """Start and supervise a command. Return when it is ready or, without `restart`, has ended.
        Raises ChildFailed if it has ended too often without being ready."""
        supervised = _Supervised(command, Restarts(self._policy))
        self._supervised.append(supervised)
        supervised.task = task = asyncio.create_task(self._supervise(supervised))
        task.add_done_callback(self._give_up)
        ready = asyncio.create_task(supervised.was_ready.wait())
        try:
            await asyncio.wait({ready, task}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            ready.cancel()
        if task.done():
            task.result()

    async def watch(self) -> NoReturn:
        """Wait forever. Raises ChildFailed when a child has ended too often, also if that was
        before the call."""
        await asyncio.shield(self._given_up)

    def _give_up(self, task: asyncio.Task[None]) -> None:
        """Let `watch` raise the error of a supervising task that has ended with one."""
        if task.cancelled() or self._given_up.done():
            return
        error = task.exception()
        if error is not None:
            self._given_up.set_exception(error)
            self._given_up.exception()  # mark it as retrieved, because nobody may call `watch`

    async def _supervise(self, supervised: _Supervised) -> None:
        """Run a command, and again whenever it ends, if it has `restart`. Raises ChildFailed."""
        while True:
            exit_text = await self._run(supervised)
            self._record()
            if not supervised.command.restart:
                return
            delay_s = self._count_exit(supervised, exit_text)
            self._say(supervised.command.name, f"{exit_text}; starting it again")
            await asyncio.sleep(delay_s)

    async def _run(self, supervised: _Supervised) -> str:
        """Run a child from its start to its end. Returns a text that says how it ended."""
        command = supervised.command
        try:
            await command.before()
            supervised.child = child = await start_child(command, self._say)
        except OSError as error:
            return f"could not start {command.argv[0]}: {error.strerror}"
        try:
            self._record()
            if await child.ready():
                supervised.was_ready.set()
            elif child.process.returncode is None:
                await child.stop()
                return f"was not ready within {command.ready_ms / 1000:g} s"
            code = await child.ended()
        except BaseException:
            await child.stop()
            raise
        return f"ended by signal {-code}" if code < 0 else f"ended with exit code {code}"

    def _count_exit(self, supervised: _Supervised, exit_text: str) -> float:
        """Count an exit. Returns the seconds until the next start. Raises ChildFailed if there were
        too many exits."""
        restarts = supervised.restarts
        delay_s = restarts.count(monotonic(), was_ready=supervised.was_ready.is_set())
        if delay_s is not None:
            return delay_s
        last = supervised.child.last_lines() if supervised.child else ""
        raise ChildFailed(
            f"{supervised.command.name} {exit_text}: {restarts.recent} deaths within "
            f"{self._policy.within_ms // 1000} s, giving up. Its last lines:\n{last}"
        )

    def _record(self) -> None:
        self._watchdog.record(supervised.child for supervised in self._supervised)
