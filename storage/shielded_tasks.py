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


class ShieldedTasks:
    """The running changes of a process: at most one a request, and batches of bulk operations.
    Each has its own deadlines."""

    def __init__(self) -> None:
        self._running: set[asyncio.Task[Any]] = set()

    async def run(self, change: Coroutine[Any, Any, T]) -> T:
        """Return the change's result. If the caller is cancelled, the change continues."""
        return await asyncio.shield(self.begin(change))

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
