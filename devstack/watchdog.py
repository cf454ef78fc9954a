"""The record of a run's children, and the parent watchdog, which ends them after a kill of the run.

`python -m devstack.watchdog` reads a pipe that only the supervisor can write to, so the pipe closes
when the supervisor ends. This needs no polling, and works for children of another user, on macOS,
and for children started by any thread. PR_SET_PDEATHSIG does not.
"""

import asyncio
import signal
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path

from devstack.processes import Identity, Step, end
from devstack.state import read_json, write_json


def record(
    file: Path, supervisor: Identity, children: Iterable[tuple[Identity, Sequence[Step]]]
) -> None:
    """Replace the record. `children`, with their stop steps, are in the order of their starts."""
    entries = [
        {**asdict(child), "stop": [[step.signum, step.wait_ms] for step in stop]}
        for child, stop in children
    ]
    write_json(file, {"supervisor": asdict(supervisor), "children": entries})


async def end_orphans(file: Path, supervisor: Identity | None = None) -> None:
    """End the recorded children that are still alive, the last one started first.

    With `supervisor`, only if the record is that supervisor's: a newer one may have replaced it.
    """
    found = read_json(file)
    if supervisor is not None and found.get("supervisor") != asdict(supervisor):
        return
    children = found.get("children")
    for child in reversed(children if isinstance(children, list) else []):
        match child:
            case {"pid": int(pid), "started": str(started), "stop": list(steps)}:
                await end(Identity(pid, started), [Step(*step) for step in steps])


def main(children_file: str, pid: str, started: str) -> None:
    for signum in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(signum, signal.SIG_IGN)  # signals to the supervisor may reach us too
    sys.stdin.buffer.read()
    asyncio.run(end_orphans(Path(children_file), Identity(int(pid), started)))


if __name__ == "__main__":
    main(*sys.argv[1:])
