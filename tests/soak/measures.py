"""What a soak measures beside answers: memory of each process, and how long changes wait."""

import asyncio
import re
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.faults.part import Part
from tests.support.faults.stack import Stack

EVERY_S = 1.0
WARM_S = 60.0
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

    memories: list[Memory] = field(default_factory=list)
    waits_s: list[float] = field(default_factory=list)
    """The age of the oldest change that waited, at each sample; 0 if none did."""

    async def sample(self, stack: Stack) -> None:
        """Sample once. A database that is down at the moment is left out."""
        for part in stack.parts:
            self._sample_memory(part)
        try:
            async with asyncio.timeout(2), stack.session() as session:
                self.waits_s.append(await session.fetchval(OLDEST))
        except (OSError, asyncio.TimeoutError, *stack.DOWN):
            return
