"""Run the commands of a documentation page in a shell."""

import asyncio
import os
import signal
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[2]
DEADLINE_S = 60


@dataclass(frozen=True)
class Terminal:
    """A shell in the checkout's folder."""

    printed: Mapping[str, str]
    """Texts on a page, such as addresses and folders, and their replacements in this test."""
    environment: Mapping[str, str] = field(default_factory=dict)

    def as_here(self, text: str) -> str:
        for printed, here in self.printed.items():
            text = text.replace(printed, here)
        return text

    async def run(self, command: str) -> str:
        """Run a command, which must succeed, and return its standard output."""
        async with self.started(command) as process, asyncio.timeout(DEADLINE_S):
            out, _ = await process.communicate()
        assert process.returncode == 0, command
        return out.decode()

    @asynccontextmanager
    async def started(self, command: str) -> AsyncIterator[Process]:
        """A command that is killed, with all its processes, at the end of the block."""
        own = {key: value for key, value in os.environ.items() if not key.startswith("KITH_")}
        process = await asyncio.create_subprocess_shell(
            f"set -e; {self.as_here(command)}",
            cwd=ROOT,
            env={**own, **self.environment},
            stdout=PIPE,
            stderr=DEVNULL,
            start_new_session=True,
        )
        try:
            yield process
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
