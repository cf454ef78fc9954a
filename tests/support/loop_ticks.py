"""Count what is done in each iteration of the event loop."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class LoopTicks:
    """Counts units of work by kind: in total, and the most in one iteration."""

    def __init__(self) -> None:
        self.most: Counter[str] = Counter()
        self.total: Counter[str] = Counter()
        self._now: Counter[str] = Counter()

    def add(self, kind: str, units: int) -> None:
        self.total[kind] += units
        self._now[kind] += units
        self.most[kind] = max(self.most[kind], self._now[kind])

    def next(self) -> None:
        """Begin another iteration."""
        self._now.clear()


@asynccontextmanager
async def loop_ticks() -> AsyncIterator[LoopTicks]:
    """Count inside the block. A callback in each iteration of the loop separates them."""
    ticks, loop = LoopTicks(), asyncio.get_running_loop()
    handle: asyncio.Handle

    def tick() -> None:
        nonlocal handle
        ticks.next()
        handle = loop.call_soon(tick)

    handle = loop.call_soon(tick)
    try:
        yield ticks
    finally:
        handle.cancel()
