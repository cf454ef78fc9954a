"""The parent watchdog: ends the children of a supervisor that was killed.

Its standard input is a pipe that only the supervisor holds, so it closes when the supervisor ends.
This needs no polling, and works for children of another user, on macOS, and for children started by
any thread. PR_SET_PDEATHSIG does not.
"""

import asyncio
import signal
import sys
from pathlib import Path

from gateway.embedded.leftovers import end_leftovers
from gateway.embedded.process import Identity


def main(children_file: str, pid: str, started: str) -> None:
    for signum in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(signum, signal.SIG_IGN)  # signals to the supervisor may reach us too
    sys.stdin.buffer.read()
    asyncio.run(end_leftovers(Path(children_file), Identity(int(pid), started)))


if __name__ == "__main__":
    main(*sys.argv[1:])
