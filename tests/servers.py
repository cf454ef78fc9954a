"""The real servers of a test run: started once, by whoever runs the tests, for all workers."""

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

START_S = 120


class Servers:
    """PostgreSQL and Valkey from the wheels, unless the environment names others."""

    def __init__(self) -> None:
        self.database_url = os.environ.get("DATABASE_URL", "")
        self.redis_url = os.environ.get("REDIS_URL", "")
        self._process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        if self.database_url and self.redis_url:
            return
        folder = Path(tempfile.mkdtemp(prefix="kith-tests-"))
        folder.chmod(0o755)  # root's servers run as another user, who must get through
        self._process = subprocess.Popen(
            [sys.executable, "-m", "gateway.embedded", str(folder / "state")],
            cwd=Path(__file__).parents[1],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout is not None
        lines = [self._process.stdout.readline().strip() for _ in range(2)]
        assert all(lines), "the servers did not start; their logs are in the folder above"
        self.database_url = self.database_url or lines[0]
        self.redis_url = self.redis_url or lines[1]

    def stop(self) -> None:
        if self._process is not None:
            self._process.send_signal(signal.SIGINT)
            self._process.communicate(timeout=START_S)
