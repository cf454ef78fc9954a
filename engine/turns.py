"""Turns: long computations share the event loop with everything else.

A computation is cut into slices, and waits for a turn before each. There is one turn in each
iteration of the loop, whatever the number of computations, so the loop is never busy with more than
one slice before it looks at its sockets and timers again. Deadlines and cancellations therefore
take effect between two slices.

The callers take turns, too: one with many computations delays another by one slice at a time. So do
groups of callers: many callers of one group delay those of another by one slice at a time.
"""

import asyncio
from asyncio import AbstractEventLoop, Future
from collections import deque
from collections.abc import Generator, Hashable
from contextvars import ContextVar
from typing import TypeAlias, TypeVar

T = TypeVar("T")

Caller: TypeAlias = tuple[Hashable, Hashable]
"""A group of callers, and one of them."""

ADMITTED: Caller = ("admitted", None)
"""The caller for work that has been admitted. Admission is fair between callers already, and the
work occupies a part of the server's budget, so it does not wait behind the many turns of work that
is not admitted yet."""

# A context variable, because a parameter would pass through all parts of a run.
_caller: ContextVar[Caller] = ContextVar("caller", default=(None, None))

take_turns_for = _caller.set
"""Let this task, and those that it starts, take turns for this caller from now on. Not a function
of its own: it is called for each request."""


class Turns:
    """The turns of one event loop: those of each caller in the order in which they were requested,
    the callers of each group in turn, and the groups in turn."""

    def __init__(self) -> None:
        self.taken = 0
        """The number of turns so far."""
        self._waiting: dict[Hashable, dict[Hashable, deque[Future[None]]]] = {}
        """By group and caller, the next one first."""
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

    async def wait(self, caller: Caller | None = None) -> None:
        """Wait for a turn of `caller`; by default of the caller of this task, whom `take_turns_for`
        has set. The turn lasts until the task waits for anything."""
        await self.request(caller)

    def request(self, caller: Caller | None = None) -> Future[None]:
        """The same as `wait`, as a future. A turn whose future is done already is not given."""
        loop = self._entered_loop()
        group, name = caller or _caller.get()
        turn = loop.create_future()
        self._waiting.setdefault(group, {}).setdefault(name, deque()).append(turn)
        if not self._is_scheduled:
            self._is_scheduled = True
            loop.call_soon(self._give)
        return turn

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
        if loop is not self._loop:  # the previous loop has ended, with those who waited there
            self._loop, self._is_scheduled, self._begun = loop, False, 0.0
            self._waiting.clear()
        return loop

    def _forget_begun(self) -> None:
        self._begun = 0.0

    def _give(self) -> None:
        """Give a turn to the first waiter of the next caller of the next group."""
        is_given = False
        while self._waiting and not is_given:
            group = next(iter(self._waiting))
            callers = self._waiting.pop(group)
            while callers and not is_given:
                name = next(iter(callers))
                waiting = callers.pop(name)
                while waiting and not is_given:
                    turn = waiting.popleft()
                    is_given = not turn.done()  # otherwise it was cancelled, or is not needed
                    if is_given:
                        turn.set_result(None)
                        self.taken += 1
                if waiting:
                    callers[name] = waiting  # behind the other callers
            if callers:
                self._waiting[group] = callers  # behind the other groups
        self._is_scheduled = bool(self._waiting)
        if self._waiting and self._loop is not None:
            self._loop.call_soon(self._give)


def run_at_once(slices: Generator[None, None, T]) -> T:
    """Run a computation without a pause, and return its result."""
    while True:
        try:
            next(slices)
        except StopIteration as done:
            result: T = done.value
            return result
