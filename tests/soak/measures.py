"""Measures of a soak: the memory of each process, the age of waiting changes, and the rates."""

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

SAMPLE_EVERY_S = 1.0
MEMORY_PAGE_MB = os.sysconf("SC_PAGE_SIZE") / 1e6
DRIVER_ERRORS = (asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError)
START_UP_S = 120.0
"""The time in which caches, plans and pools fill. Growth is measured after it."""
GROWTH_MB_MAX = 8.0
"""If a process grows by more than this from the middle to the end of a run, the soak fails."""
OLDEST_WAITING_SQL = """
SELECT coalesce(max(extract(epoch FROM clock_timestamp()) - version / 1000000.0), 0)::float
FROM outbox WHERE NOT applied
"""


@dataclass
class Memory:
    """Samples of one process, by its id: its age in seconds and its memory in MB."""

    name: str
    pid: int
    began: float
    samples: list[tuple[float, float]] = field(default_factory=list)

    def growth_mb(self) -> float | None:
        """The growth from the middle to the end of the time after the start-up. None if there are
        too few samples."""
        warm = [size for age, size in self.samples if age > START_UP_S]
        fifth = len(warm) // 5
        if fifth < 3:
            return None
        middle = len(warm) // 2
        return statistics.median(warm[-fifth:]) - statistics.median(warm[middle - fifth : middle])

    def per_minute_mb(self) -> float | None:
        """The slope of a linear regression over all samples after the start-up. None if there are
        too few samples."""
        warm = [(age, size) for age, size in self.samples if age > START_UP_S]
        if len(warm) < 10:
            return None
        return statistics.linear_regression(*zip(*warm, strict=True)).slope * 60


@dataclass
class Measures:
    """All samples of a run."""

    memories: dict[int, Memory] = field(default_factory=dict)
    """By process id."""
    waits_s: list[float] = field(default_factory=list)
    """For each sample, the age of the oldest waiting change, or 0 if none waited."""
    rates: list[tuple[float, float]] = field(default_factory=list)
    """For each interval between two samples, the writes and reads a second that succeeded."""

    async def sample_on(self, stack: Stack, tally: Tally) -> None:
        """Take a sample every second, until cancelled. Processes that are down are left out."""
        previous = (time.monotonic(), 0, 0)
        while True:
            sample = (time.monotonic(), tally.answers["write OK"], tally.answers["read OK"])
            seconds, writes, reads = map(operator.sub, sample, previous)
            if seconds > SAMPLE_EVERY_S / 2:
                self.rates.append((writes / seconds, reads / seconds))
                previous = sample
            for part in stack.parts:
                if part.pid:
                    self._sample_memory(part.name, part.pid)
            with suppress(OSError, TimeoutError, *DRIVER_ERRORS):
                async with asyncio.timeout(2), stack.session() as session:
                    self.waits_s.append(await session.fetchval(OLDEST_WAITING_SQL))
            await asyncio.sleep(SAMPLE_EVERY_S)

    def _sample_memory(self, name: str, pid: int) -> None:
        memory = self.memories.setdefault(pid, Memory(name, pid, time.monotonic()))
        with suppress(OSError):  # it has just ended
            pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
            if pages:  # it has not just been killed
                memory.samples.append((time.monotonic() - memory.began, pages * MEMORY_PAGE_MB))
