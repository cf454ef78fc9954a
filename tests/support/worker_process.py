"""Run `kith worker` as a process that a test can kill."""

import asyncio
import contextlib
import os
import signal
from pathlib import Path

from storage.settings import StorageSettings
from tests.support.kith_process import ROOT, Command, start_kith

DEADLINE_S = 30


class Worker:
    """A worker process on one test's graph, from the code in `tree`."""

    def __init__(
        self,
        settings: StorageSettings,
        tree: Path = ROOT,
        spaces: str = "",
        metrics_port: int | None = None,
    ) -> None:
        self._settings = settings
        self._tree = tree
        self._spaces = spaces
        self._metrics_port = metrics_port
        self.process: Command | None = None

    async def start(self) -> None:
        self.process = await start_kith(
            "worker",
            tree=self._tree,
            env={
                **os.environ,
                "DATABASE_URL": self._settings.database_url,
                "REDIS_URL": self._settings.redis_url,
                "KITH_SPACES": self._spaces,
                "KITH_METRICS_PORT": str(self._metrics_port or ""),
            },
        )

    async def end(self, how: signal.Signals) -> int:
        assert self.process is not None
        with contextlib.suppress(ProcessLookupError):
            self.process.send_signal(how)
        async with asyncio.timeout(DEADLINE_S):
            return await self.process.wait()
