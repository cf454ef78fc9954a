"""Long computations over rows, in slices, so that the event loop can do other work in between."""

import asyncio
from collections.abc import Generator
from typing import TypeVar

T = TypeVar("T")

ROWS_PER_SLICE = 4_000
"""A slice of so many takes 2 to 4 ms."""


class Slices:
    """Runs computations. Only one at a time continues after its first slice, so an iteration of the
    event loop runs one such slice of each instance at most, whatever the number of readers."""

    def __init__(self) -> None:
        self._long_lock = asyncio.Lock()

    async def run(self, slices: Generator[None, None, T]) -> T:
        """Run a computation that yields after each slice, and return its result."""
        try:
            next(slices)  # nearly all computations have only this slice
            async with self._long_lock:
                while True:
                    await asyncio.sleep(0)
                    next(slices)
        except StopIteration as done:
            result: T = done.value
            return result
        finally:
            slices.close()
