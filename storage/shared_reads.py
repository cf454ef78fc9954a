"""Reads that concurrent callers share."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Set
from typing import Generic, TypeVar

from storage.shielded_tasks import abandonable

K = TypeVar("K")
V = TypeVar("V")


class SharedReads(Generic[K, V]):
    """Runs one read at a time. Callers that come while one runs share the next one, so each gets
    what was read after its call, and thousands of callers need one connection."""

    def __init__(self, read: Callable[[Set[K]], Awaitable[V]]) -> None:
        """`read`: reads the values of some keys."""
        self._read = read
        self._running: asyncio.Task[V] | None = None
        self._next: asyncio.Task[V] | None = None
        self._keys: set[K] = set()
        """The keys of the next read."""

    async def read(self, keys: Iterable[K]) -> V:
        """The values of these keys, and maybe of others. Raises what `read` raises."""
        self._keys.update(keys)
        if self._next is None:
            self._next = abandonable(asyncio.create_task(self._run_after(self._running)))
        return await asyncio.shield(self._next)

    async def _run_after(self, previous: "asyncio.Task[V] | None") -> V:
        if previous is not None and not previous.done():
            await asyncio.wait([previous])
        self._running, self._next = self._next, None
        keys, self._keys = self._keys, set()
        return await self._read(keys)
