"""Measures of a soak: the memory of each process, how long changes wait, and the rates."""

import asyncio
import operator
import os
import statistics
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import asyncpg

from tests.support.faults.stack import Stack
from tests.support.faults.traffic import Tally

EVERY_S = 1.0
PAGE_MB = os.sysconf("SC_PAGE_SIZE") / 1e6
DRIVER_ERRORS = (asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError)
WARM_S = 120.0
"""Caches, plans and pools fill for so long: growth is measured afterwards."""
GROWTH_MB_MAX = 8.0
"""More than this from the middle to the end of a run is not flat."""
OLDEST = """
SELECT coalesce(max(extract(epoch FROM clock_timestamp()) - version / 1000000.0), 0)::float
FROM outbox WHERE NOT applied
"""


@dataclass
class Memory:
    """Samples of one process that was not restarted: its age in seconds and its memory in MB."""

    name: str
    pid: int
    began: float
    samples: list[tuple[float, float]] = field(default_factory=list)

    def growth_mb(self) -> float | None:
        """From the middle of the time after the start-up to the end. None: too few samples."""
        warm = [size for age, size in self.samples if age > WARM_S]
        part = len(warm) // 5
        if part < 3:
            return None
        middle = len(warm) // 2
        return statistics.median(warm[-part:]) - statistics.median(warm[middle - part : middle])

    def per_minute_mb(self) -> float | None:
        """The slope of the line through all samples after the start-up."""
        warm = [(age, size) for age, size in self.samples if age > WARM_S]
        if len(warm) < 10:
            return None
        return statistics.linear_regression(*zip(*warm, strict=True)).slope * 60


@dataclass
class Measures:
    """All samples of a run."""

    memories: dict[int, Memory] = field(default_factory=dict)
    """By process id."""
    waits_s: list[float] = field(default_factory=list)
    """The age of the oldest change that waited, at each sample; 0 if none did."""
    rates: list[tuple[float, float]] = field(default_factory=list)
    """Writes and reads answered without an error, per second, between two samples."""

    async def sample_on(self, stack: Stack, tally: Tally) -> None:
        """Sample once a second, until cancelled. A server that is down is left out."""
        previous = (time.monotonic(), 0, 0)
        while True:
            sample = (time.monotonic(), tally.answers["write OK"], tally.answers["read OK"])
            seconds, writes, reads = map(operator.sub, sample, previous)
            if seconds > EVERY_S / 2:
                self.rates.append((writes / seconds, reads / seconds))
                previous = sample
            for part in stack.parts:
                if part.pid:
                    self._sample_memory(part.name, part.pid)
            with suppress(OSError, TimeoutError, *DRIVER_ERRORS):
                async with asyncio.timeout(2), stack.session() as session:
                    self.waits_s.append(await session.fetchval(OLDEST))
            await asyncio.sleep(EVERY_S)

    def _sample_memory(self, name: str, pid: int) -> None:
        memory = self.memories.setdefault(pid, Memory(name, pid, time.monotonic()))
        with suppress(OSError):  # it has just ended
            pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
            if pages:  # it has not just been killed
                memory.samples.append((time.monotonic() - memory.began, pages * PAGE_MB))
