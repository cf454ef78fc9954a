"""Shields changes from the cancellation of their request.

A change must not stop between its commit and the invalidation of the caches, or they would stay
stale.
"""

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")

log = logging.getLogger(__name__)

CLOSE_S = 5.0
"""How long a stopping process waits for changes: the deadline of a statement."""


def abandonable(task: "asyncio.Task[T]") -> "asyncio.Task[T]":
    """Return the task. If it fails after all its waiters were cancelled, asyncio does not log that
    its exception was never retrieved: their clients have left."""
    task.add_done_callback(_retrieve_exception)
    return task


def _retrieve_exception(task: "asyncio.Task[Any]") -> None:
    if not task.cancelled():
        task.exception()


class ShieldedTasks:
    """The running changes of a process: those of requests, and batches of bulk operations. Each has
    its own deadlines. One may run others."""

    def __init__(self) -> None:
        self._running: set[asyncio.Task[Any]] = set()

    async def run(self, change: Coroutine[Any, Any, T]) -> T:
        """Return the change's result. If the caller is cancelled, the change continues."""
        # Without a variable for the task: it would be a reference cycle with its exception.
        return await asyncio.shield(abandonable(self.begin(change)))

    def begin(self, change: Coroutine[Any, Any, T]) -> "asyncio.Task[T]":
        """Begin a change that nobody can cancel."""
        task = asyncio.create_task(change)
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return task

    async def close(self) -> None:
        """Wait for the running changes, for `CLOSE_S` at most, then cancel them."""
        if not self._running:
            return
        _, late = await asyncio.wait(self._running, timeout=CLOSE_S)
        if late:
            log.warning("%d changes did not complete within %.1f s", len(late), CLOSE_S)
        for task in late:
            task.cancel()
        await asyncio.gather(*late, return_exceptions=True)
