"""Bursts: many short computations that could begin in one iteration of the event loop.

Each is too short to wait for a turn (see `engine.turns`), but a thousand of them would keep the
loop from its sockets and timers for tenths of a second. So only some begin in an iteration; the
others follow in the next ones, in order.
"""

import asyncio
from asyncio import AbstractEventLoop, Future
from collections import deque


class Bursts:
    """Limits the work that begins in one iteration of the event loop to about `work_max`. Counting
    starts only after this much work has begun, so one iteration may run twice the maximum. The unit
    of work is the caller's."""

    def __init__(self, work_max: float) -> None:
        self._work_max = work_max
        self._begun = 0.0
        """The work that has begun in this iteration. While iterations are not counted: the work
        that has begun since counting stopped. Counting costs one callback for each iteration."""
        self._is_counted = False
        self._waiting: deque[tuple[Future[None], float]] = deque()
        self._loop: AbstractEventLoop | None = None

    def enter(self, work: float) -> Future[None] | None:
        """A future to await directly before a computation of this work begins. None, the usual
        case: it may begin at once."""
        self._begun += work
        if self._begun <= self._work_max:
            return None
        return self._enter_counted(work)

    def _enter_counted(self, work: float) -> Future[None] | None:
        """`enter`, when the work that was not counted has exceeded the maximum. The first call
        begins to count by iterations, and lets its computation begin; those after it wait."""
        loop = asyncio.get_running_loop()
        if loop is not self._loop:  # the previous loop has ended, with those who waited there
            self._loop, self._is_counted = loop, False
            self._waiting.clear()
        if not self._is_counted:
            self._is_counted, self._begun = True, work
            loop.call_soon(self._begin_next)
            return None
        future: Future[None] = loop.create_future()
        self._waiting.append((future, work))
        return future

    def _begin_next(self) -> None:
        """Let those begin that have waited the longest, until their work exceeds the maximum. While
        others wait, `_begun` is the maximum, so that later computations wait behind them."""
        begun = 0.0
        while self._waiting and begun <= self._work_max:
            future, work = self._waiting.popleft()
            if not future.done():  # otherwise it was cancelled
                future.set_result(None)
                begun += work
        self._is_counted = begun > 0
        self._begun = self._work_max if self._waiting else begun
        if self._is_counted:
            asyncio.get_running_loop().call_soon(self._begin_next)
