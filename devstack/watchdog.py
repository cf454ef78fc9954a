"""The record of a run's children, and the parent watchdog, which ends them if the run is killed.

`python -m devstack.watchdog` reads a pipe that only the supervisor can write to, so the pipe closes
when the supervisor ends. Unlike PR_SET_PDEATHSIG, this works on macOS, for children of another
user, and for children started by any thread. It needs no polling.
"""

import asyncio
import os
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

from devstack.child import Child
from devstack.processes import Identity, Step, end, identity_of
from devstack.state import read_json, write_json

_CHECKOUT = Path(__file__).parents[1]


class Watchdog:
    """The watchdog of this process, and the record of its children."""

    def __init__(self, file: Path) -> None:
        """`file`: where the children are recorded, for the watchdog and for the next start."""
        self._file = file.absolute()  # the watchdog has another working directory
        self._supervisor = identity_of(os.getpid()) or Identity(os.getpid(), "")
        self._process: Process | None = None

    async def start(self) -> None:
        """Start the process that ends the recorded children when this one is killed."""
        self.record(())
        self._process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "devstack.watchdog"),
            *(str(self._file), str(self._supervisor.pid), self._supervisor.started),
            cwd=_CHECKOUT,
            stdin=PIPE,
            stdout=DEVNULL,
            start_new_session=True,
        )

    def record(self, children: Iterable[Child | None]) -> None:
        """Replace the record. The children are in the order of their starts."""
        entries = [
            {
                **asdict(child.identity),
                "stop": [[step.signum, step.wait_ms] for step in child.command.stop],
            }
            for child in children
            if child is not None and child.identity and child.process.returncode is None
        ]
        write_json(self._file, {"supervisor": asdict(self._supervisor), "children": entries})

    async def stop(self) -> None:
        """End the watchdog. The children continue to run."""
        if self._process is not None:
            with suppress(ProcessLookupError):
                self._process.kill()
            await self._process.wait()


async def end_orphans(file: Path, supervisor: Identity | None = None) -> None:
    """End the recorded children that are still alive, the last one started first.

    With `supervisor`, only if that supervisor has written the record: a newer supervisor may have
    replaced it.
    """
    recorded = read_json(file)
    if supervisor is not None and recorded.get("supervisor") != asdict(supervisor):
        return
    children = recorded.get("children")
    for child in reversed(children if isinstance(children, list) else []):
        match child:
            case {"pid": int(pid), "started": str(started), "stop": list(steps)}:
                await end(Identity(pid, started), [Step(*step) for step in steps])


def main(children_file: str, pid: str, started: str) -> None:
    for signum in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(signum, signal.SIG_IGN)  # a signal to the supervisor may reach this process
    sys.stdin.buffer.read()
    asyncio.run(end_orphans(Path(children_file), Identity(int(pid), started)))


if __name__ == "__main__":
    main(*sys.argv[1:])
