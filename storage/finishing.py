"""Changes that come to their end though whoever asked for them has hung up.

Knows nothing of what they change. Between the commit and the news of it nobody may stop them, or
caches would keep what is no longer true.
"""

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")

log = logging.getLogger(__name__)

CLOSE_S = 5.0
"""How long a process that ends waits for them: the deadline of a statement."""


class Finishing:
    """All such changes of a process: as many as there are requests, each with its own deadlines."""

    def __init__(self) -> None:
        self._running: set[asyncio.Task[Any]] = set()

    async def run(self, change: Coroutine[Any, Any, T]) -> T:
        """What the change returns, unless the caller hangs up before: then it goes on alone."""
        task = asyncio.create_task(change)
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return await asyncio.shield(task)

    async def close(self) -> None:
        """Waits for those that run, for `CLOSE_S` at most."""
        if not self._running:
            return
        _, late = await asyncio.wait(self._running, timeout=CLOSE_S)
        if late:
            log.warning("%d changes have not come to their end within %.1f s", len(late), CLOSE_S)
        for task in late:
            task.cancel()
        await asyncio.gather(*late, return_exceptions=True)
