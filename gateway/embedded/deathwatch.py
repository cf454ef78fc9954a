"""Outlives a supervisor that was killed, and ends its children. Knows nothing but their record.

Its standard input is a pipe that only the supervisor holds: its end is the supervisor's end. This
needs no polling, works for children of another user, on macOS, and whichever thread started them,
which PR_SET_PDEATHSIG does not.
"""

import asyncio
import signal
import sys
from pathlib import Path

from gateway.embedded.leftovers import end_leftovers
from gateway.embedded.process import Identity


def main(children_file: str, pid: str, started: str) -> None:
    for signum in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(signum, signal.SIG_IGN)  # whoever ends the supervisor may signal us as well
    sys.stdin.buffer.read()
    asyncio.run(end_leftovers(Path(children_file), Identity(int(pid), started)))


if __name__ == "__main__":
    main(*sys.argv[1:])
