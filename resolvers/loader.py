"""Batch loading: one read for all keys that are requested in the same iteration of the event loop.

The only module of the resolvers that uses aiodataloader. Traps of version 0.4.3, and what is done:
* a cancelled waiter cancels the future that it shares with others: each waiter has its own;
* a cancelled future and the error of a key stay cached: the base class caches nothing;
* a cancelled batch leaves its waiters waiting: the batch turns the cancellation into an error;
* a batch runs in the context variables of its first waiter: it must not depend on any.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Hashable, Mapping, Sequence
from itertools import chain
from typing import Any, Generic, TypeVar

from aiodataloader import DataLoader, dispatch_queue_batch
from aiodataloader import Loader as Queued

from graph.errors import Unavailable
from telemetry.histogram import SIZES, Histogram, Series

_batches = Histogram(
    "kith_loader_batch_keys",
    "Keys that a loader has read at once, by loader.",
    ["loader"],
    SIZES,
)
ACCOUNTS, PROFILES, VIEWER_RELATIONS, UNNAMED = map(
    _batches.labels, ("accounts", "profiles", "viewer_relations", "other")
)

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
T = TypeVar("T")

BATCH_S_MAX = 10.0
"""Longer than all timeouts of the stores, so only a stuck batch reaches it."""


class ColumnLoader(DataLoader[Sequence[K], None], Generic[K, V]):
    """A DataLoader whose keys are whole columns of keys. It reads each key once.

    A column of 1,000 keys takes 0.09 ms; with a future for each key it takes 1.9 ms (measured in
    docs/adr/0022). `read` takes distinct keys and returns the value of each.
    """

    cache = False

    def __init__(
        self,
        read: Callable[[Sequence[K]], Awaitable[Mapping[K, V]]],
        batch_s_max: float = BATCH_S_MAX,
        batches: Series = UNNAMED,
    ) -> None:
        # Sets what the base class sets. That one also inspects `batch_load_fn`: 2.6 µs and nine
        # calls, a third of what a page takes in the resolvers.
        self.loop = asyncio.get_running_loop()
        self._queue: list[Queued] = []
        self._cache = {}
        # aiodataloader computes a cache key when a batch fails. A list is not hashable, so its `id`
        # is the key. The base class declares an unbound type.
        self.get_cache_key = id  # type: ignore[assignment]
        self._read = read
        self._batch_s_max = batch_s_max
        self._batches = batches
        self._values: Mapping[K, V] = {}
        self._in_flight: tuple[Collection[K], list[asyncio.Future[None]]] | None = None
        """The keys that are being read, and the futures to complete when they are read."""

    async def get_many(self, keys: Sequence[K]) -> list[V]:
        """Load keys and return their values, in their order."""
        loaded = self.request(keys)
        if loaded is not None:
            await loaded
        return list(map(self._values.__getitem__, keys))

    def request(self, keys: Sequence[K]) -> "asyncio.Future[None] | None":
        """Start loading keys. Return a future that is done when they are loaded, or None if they
        are loaded already.
        """
        if all(map(self._values.__contains__, keys)):
            return None
        loaded = self.load(keys)
        loaded.add_done_callback(_mark_retrieved)  # its waiter may fail before it waits
        return loaded

    def may_load_with(self, keys: Sequence[K]) -> bool:
        """Whether `load_with` is worth its call: a key is missing, and none is being loaded."""
        if self._in_flight or self._queue:
            return False
        return not all(map(self._values.__contains__, keys))

    async def load_with(self, keys: Sequence[K], read: Awaitable[tuple[T, Mapping[K, V]]]) -> T:
        """Await `read`, keep the values that it returns for these keys, and return its result.

        It saves a batch where `read` fetches these values together with its result. Batches wait
        for these keys; if `read` fails, they read the keys themselves. There is no time limit: the
        request that awaits this has one.
        """
        self._batches.observe(len(keys))
        waiters: list[asyncio.Future[None]] = []
        is_first = self._in_flight is None
        if is_first:
            self._in_flight = keys, waiters
        try:
            found, values = await read
            # Values that the request has read before take precedence.
            self._values = {**values, **self._values} if self._values else values
        finally:
            if is_first:
                self._in_flight = None
            for waiter in waiters:
                if not waiter.done():
                    waiter.set_result(None)
        return found

    def do_resolve_reject(self, key: Sequence[K], future: "asyncio.Future[None]") -> None:
        """Queue a column. aiodataloader calls it once per column.

        The batch runs in the next iteration, as a page's read does, so both share a round trip. The
        base class runs it two iterations later.
        """
        if not self._queue:
            self._batch = self.loop.create_task(self._dispatch())
        self._queue.append(Queued(key, future))

    async def _dispatch(self) -> None:
        queue, self._queue = self._queue, []
        limit = self.loop.call_later(self._batch_s_max, self._batch.cancel)
        try:
            await dispatch_queue_batch(self, queue)
        finally:
            limit.cancel()

    async def batch_load_fn(self, columns: list[Sequence[K]]) -> list[Any]:
        """Read the missing keys of all columns. aiodataloader calls it for each batch.

        An error is returned for each column. If it was raised, its traceback would have a frame of
        aiodataloader that refers to the futures with the error: a reference cycle.
        """
        try:
            await self._load_missing(columns)
        except asyncio.CancelledError:  # also of a batch that takes too long
            return [Unavailable("A store")] * len(columns)
        except Exception as error:
            return [error] * len(columns)
        return [None] * len(columns)

    async def _load_missing(self, columns: Sequence[Sequence[K]]) -> None:
        """Read the keys that are not loaded. Wait for those that `load_with` is reading, and read
        them too if it fails."""
        missing = self._missing(columns)
        if self._in_flight is not None:
            keys, waiters = self._in_flight
            in_flight = set(keys)
            loaded = self.loop.create_future()
            waiters.append(loaded)
            if own := [key for key in missing if key not in in_flight]:
                await self.load_with(own, self._read_all(own))
            await loaded
            missing = self._missing([missing])
        if missing:
            await self.load_with(missing, self._read_all(missing))

    def _missing(self, columns: Sequence[Sequence[K]]) -> list[K]:
        """The distinct keys of all columns that are not loaded yet."""
        first, *others = columns
        # The fields of one user, or of one column of users, request the same keys.
        columns = [first, *(keys for keys in others if keys != first)]
        distinct = dict.fromkeys(chain.from_iterable(columns))
        if not self._values:
            return list(distinct)
        return [key for key in distinct if key not in self._values]

    async def _read_all(self, keys: Sequence[K]) -> tuple[None, Mapping[K, V]]:
        values = await self._read(keys)
        if len(values) != len(keys):
            raise ValueError("A batch has one value for each of its keys.")
        return None, values


def _mark_retrieved(loaded: "asyncio.Future[None]") -> None:
    """Keep asyncio from logging an error that nobody waits for."""
    if not loaded.cancelled():
        loaded.exception()
