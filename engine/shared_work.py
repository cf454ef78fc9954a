"""Work in slices that concurrent callers share."""

import asyncio
from asyncio import Task
from collections.abc import Callable, Generator, Hashable
from functools import partial
from typing import Generic, TypeVar

from engine.turns import Turns

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")


class SharedWork(Generic[K, T]):
    """Runs work in turns of the event loop. Concurrent callers with the same key share one run."""

    def __init__(self) -> None:
        self._running: dict[K, Task[T]] = {}

    async def run(self, key: K, turns: Turns, begin: Callable[[], Generator[None, None, T]]) -> T:
        """The result of the work, or its exception. The work continues if a caller is cancelled."""
        # Without a variable for the task: it would be a reference cycle with its exception.
        return await asyncio.shield(self._task(key, turns, begin))

    def _task(self, key: K, turns: Turns, begin: Callable[[], Generator[None, None, T]]) -> Task[T]:
        task = self._running.get(key)
        if task is None or task.get_loop() is not asyncio.get_running_loop():
            task = self._running[key] = asyncio.create_task(turns.run(begin()))
            task.add_done_callback(partial(self._ended, key))
        return task

    def _ended(self, key: K, task: Task[T]) -> None:
        if self._running.get(key) is task:
            del self._running[key]
        if not task.cancelled():
            task.exception()  # all callers may have been cancelled
