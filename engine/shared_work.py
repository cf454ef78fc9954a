"""Work in slices that concurrent callers share."""

import asyncio
from asyncio import Future, Task
from collections.abc import Callable, Generator, Hashable
from functools import partial
from typing import Generic, TypeVar

from engine.turns import Turns

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")


class SharedWork(Generic[K, T]):
    """Runs work in turns of the event loop. Concurrent callers with the same key share one run.

    Each of them takes turns for it: otherwise the work would wait behind all that its first caller
    has requested before.
    """

    def __init__(self) -> None:
        self._running: dict[K, _Work[T]] = {}

    async def run(self, key: K, turns: Turns, begin: Callable[[], Generator[None, None, T]]) -> T:
        """The result of the work, or its exception. The work continues if a caller is cancelled."""
        # Without variables for the work and its task: they would be reference cycles with the
        # exception.
        if self._is_running(key):
            return await self._running[key].run(turns)
        return await asyncio.shield(self._begun(key, turns, begin))

    def _is_running(self, key: K) -> bool:
        work = self._running.get(key)
        return work is not None and work.outcome.get_loop() is asyncio.get_running_loop()

    def _begun(
        self, key: K, turns: Turns, begin: Callable[[], Generator[None, None, T]]
    ) -> Task[T]:
        work = self._running[key] = _Work(begin())
        task = asyncio.create_task(work.run(turns))
        task.add_done_callback(partial(self._ended, key, work))
        return task

    def _ended(self, key: K, work: "_Work[T]", task: Task[T]) -> None:
        if self._running.get(key) is work:
            del self._running[key]
        if not task.cancelled():
            task.exception()  # its caller may have been cancelled


class _Work(Generic[T]):
    """Work that has begun."""

    def __init__(self, slices: Generator[None, None, T]) -> None:
        self.outcome: Future[T] = asyncio.get_running_loop().create_future()
        self._slices = slices
        self._turns: set[Future[None]] = set()
        """Requested for the next slice, which runs in the first of them."""

    async def run(self, turns: Turns) -> T:
        """Run slices in turns of this caller until the work is done. Other callers run slices
        of it, too."""
        while not self.outcome.done():
            turn = turns.request()
            self._turns.add(turn)
            try:
                await turn
            finally:
                self._turns.discard(turn)
            if not self.outcome.done():
                self._advance()
        try:
            return self.outcome.result()
        finally:
            del self  # its exception refers to this frame

    def _advance(self) -> None:
        """Run the next slice. If it was the last one, set the outcome and wake the other
        callers."""
        try:
            next(self._slices)
            return
        except StopIteration as done:
            self.outcome.set_result(done.value)
        except Exception as error:
            # Without this frame, which refers to the outcome: a reference cycle.
            traceback = error.__traceback__ and error.__traceback__.tb_next
            self.outcome.set_exception(error.with_traceback(traceback))
        for turn in self._turns:
            if not turn.done():
                turn.set_result(None)  # the other callers continue without a turn
