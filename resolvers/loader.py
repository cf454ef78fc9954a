"""aiodataloader, made safe to cancel and to fail. Knows nothing of what is loaded.

Whoever asks in one turn of the event loop is answered by one call, with each key in it once; what
a request has read, it does not read again. The traps of aiodataloader 0.4.3 are closed here:

* a waiter who is cancelled leaves alone: nobody else's future is touched;
* a batch that fails, is cancelled or takes too long fails for all its waiters, and nothing of it
  is remembered;
* a batch runs in the context variables of whoever asked first: it must not read any.
"""

import asyncio
from collections.abc import Awaitable, Callable, Hashable, Sequence
from itertools import chain
from typing import Generic, TypeVar

from aiodataloader import DataLoader

from graph.errors import Unavailable

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

BATCH_S_MAX = 10.0
"""Longer than every time-out below it: only a batch that is stuck reaches it."""


class Loader(Generic[K, V]):
    """Loads columns of keys. `batch` takes distinct keys and returns one value for each, in order.

    A column is one key to aiodataloader, so a thousand keys cost one future, not a thousand.
    """

    def __init__(
        self,
        batch: Callable[[Sequence[K]], Awaitable[Sequence[V]]],
        batch_s_max: float = BATCH_S_MAX,
    ) -> None:
        self._batch = batch
        self._batch_s_max = batch_s_max
        self._known: dict[K, V] = {}
        self._columns: DataLoader[Sequence[K], None] = DataLoader(
            self._load_columns, cache=False, get_cache_key=id
        )

    async def load(self, key: K) -> V:
        """The value of one key."""
        return (await self.load_many([key]))[0]

    async def load_many(self, keys: Sequence[K]) -> list[V]:
        """The values of many keys, in their order."""
        known = self._known
        if not all(key in known for key in keys):
            await asyncio.shield(self._columns.load(keys))
        return [known[key] for key in keys]

    async def _load_columns(self, columns: list[Sequence[K]]) -> list[None]:
        wanted = [key for key in dict.fromkeys(chain(*columns)) if key not in self._known]
        try:
            async with asyncio.timeout(self._batch_s_max):
                values = await self._batch(wanted)
        except (TimeoutError, asyncio.CancelledError) as error:
            # aiodataloader would leave its waiters waiting: it hands on nothing but exceptions.
            raise Unavailable("A store") from error
        self._known |= dict(zip(wanted, values, strict=True))  # all of it, or nothing
        return [None] * len(columns)
