"""Turns: long computations share the event loop with everything else.

A computation is cut into slices, and waits for a turn before each. There is one turn in each
iteration of the loop, whatever the number of computations, so the loop is never busy with more than
one slice before it looks at its sockets and timers again. Deadlines and cancellations therefore
take effect between two slices.
"""

import asyncio
from asyncio import AbstractEventLoop, Future
from collections import deque
from collections.abc import Generator
from typing import TypeVar

T = TypeVar("T")


class Turns:
    """The turns of one event loop, in the order in which they were requested."""

    def __init__(self) -> None:
        self.taken = 0
        """The number of turns so far."""
        self._waiting: deque[Future[None]] = deque()
        self._loop: AbstractEventLoop | None = None
        self._is_scheduled = False
        self._begun = 0.0
        """The part of a slice that `fits` has granted in this iteration."""

    def fits(self, part: float) -> bool:
        """Whether a computation of this part of a slice may begin at once, without a turn.

        It may if nobody waits for a turn, and if all that have begun so in this iteration of the
        loop take at most one slice together. The first of them may take more.
        """
        loop = self._entered_loop()
        if self._waiting or (self._begun and self._begun + part > 1):
            return False
        if not self._begun:
            loop.call_soon(self._forget_begun)
        self._begun += part
        return True

    async def wait(self) -> None:
        """Wait for a turn. It lasts until the caller waits for anything."""
        loop = self._entered_loop()
        turn = loop.create_future()
        self._waiting.append(turn)
        if not self._is_scheduled:
            self._is_scheduled = True
            loop.call_soon(self._give)
        await turn
        self.taken += 1

    async def run(self, slices: Generator[None, None, T]) -> T:
        """Run a computation, one slice a turn, and return its result."""
        try:
            while True:
                await self.wait()
                next(slices)
        except StopIteration as done:
            result: T = done.value
            return result
        finally:
            slices.close()

    def _entered_loop(self) -> AbstractEventLoop:
        loop = asyncio.get_running_loop()
        if loop is not self._loop:  # the loop of those who wait there does not run any more
            self._loop, self._is_scheduled, self._begun = loop, False, 0.0
            self._waiting.clear()
        return loop

    def _forget_begun(self) -> None:
        self._begun = 0.0

    def _give(self) -> None:
        """Give a turn to the first waiter that was not cancelled."""
        waiting = self._waiting
        while waiting:
            turn = waiting.popleft()
            if not turn.done():  # cancelled
                turn.set_result(None)
                break
        self._is_scheduled = bool(waiting)
        if waiting and self._loop is not None:
            self._loop.call_soon(self._give)


def run_at_once(slices: Generator[None, None, T]) -> T:
    """Run a computation without a pause, and return its result."""
    while True:
        try:
            next(slices)
        except StopIteration as done:
            result: T = done.value
            return result
