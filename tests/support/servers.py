"""The real servers of a test run: started once, for all workers."""

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from devstack.state import State

START_S = 120
SCHEMES = ("postgresql://", "unix://")


class Servers:
    """PostgreSQL and Valkey from the wheels, unless the environment names others."""

    def __init__(self) -> None:
        self.database_url = os.environ.get("DATABASE_URL", "")
        self.redis_url = os.environ.get("REDIS_URL", "")
        self._process: subprocess.Popen[str] | None = None
        self._state: State | None = None

    def start(self) -> None:
        if self.database_url and self.redis_url:
            return
        folder = Path(tempfile.mkdtemp(prefix="kith-tests-"))
        folder.chmod(0o755)  # root's servers run as another user, who must get through
        self._state = State(folder / "state")
        self._process = subprocess.Popen(
            [sys.executable, "-m", "devstack", str(self._state.root)],
            cwd=Path(__file__).parents[2],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout is not None
        urls: dict[str, str] = {}
        while len(urls) < 2:  # a server that had to be restarted says so in between
            line = self._process.stdout.readline()
            assert line, f"the servers did not start; their logs are in {folder}"
            urls |= {scheme: line.strip() for scheme in SCHEMES if line.startswith(scheme)}
        self.database_url = self.database_url or urls["postgresql://"]
        self.redis_url = self.redis_url or urls["unix://"]

    def stop(self) -> None:
        if self._process is not None:
            self._process.send_signal(signal.SIGTERM)
            self._process.communicate(timeout=START_S)
        if self._state is not None:
            self._state.erase()
            self._state.root.parent.rmdir()
