"""Batch loading: one store call for all keys requested in the same turn of the event loop.

Each key is loaded once; a request does not read again what it has read.

* Each waiter has its own future, so cancelling one waiter does not affect the others.
* A batch that fails, is cancelled or takes too long fails for all its waiters, and none of its
  values are stored.
* A batch runs in the context variables of the first waiter, so it must not read any.

aiodataloader is not used: its futures and tasks take 22 µs for a load of one key, this loader 9 µs.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Hashable, Mapping, Sequence
from itertools import chain
from typing import Generic, TypeAlias, TypeVar

from graph.errors import Unavailable

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
T = TypeVar("T")

BATCH_S_MAX = 10.0
"""Longer than all timeouts of the stores, so only a stuck batch reaches it."""

Question: TypeAlias = tuple[Sequence[K], "asyncio.Future[None]"]
"""The keys of a waiter, and the future that is done when they are loaded."""


class Loader(Generic[K, V]):
    """Loads columns of keys. `batch` takes distinct keys and returns the value of each.

    A request for a thousand keys costs one future.
    """

    def __init__(
        self,
        batch: Callable[[Sequence[K]], Awaitable[Mapping[K, V]]],
        batch_s_max: float = BATCH_S_MAX,
    ) -> None:
        self._batch = batch
        self._batch_s_max = batch_s_max
        self._known: Mapping[K, V] = {}
        self._asked: list[Question[K]] = []
        self._coming: Collection[K] = ()
        """The keys that are being loaded, by a batch or by `bring`."""
        self._awaited: list[Question[K]] = []
        """Waiters for keys that are being loaded."""

    async def load(self, key: K) -> V:
        """The value of one key."""
        return (await self.load_many([key]))[0]

    async def load_many(self, keys: Sequence[K]) -> list[V]:
        """The values of many keys, in their order."""
        answer = self.ask(keys)
        if answer is not None:
            await answer
        return self.known(keys)

    def ask(self, keys: Sequence[K]) -> "asyncio.Future[None] | None":
        """Request keys. Return a future that is done when all are loaded, or None if they are.

        For callers that request more in the same turn: it needs no task for each request.
        """
        if self.knows(keys):
            return None
        answer: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        if self._coming and set(self._coming).issuperset(keys):
            self._awaited.append((keys, answer))
        else:
            self._ask((keys, answer))
        return answer

    def may_bring(self, keys: Sequence[K]) -> bool:
        """Whether some of these keys are missing and no key is being loaded: then call `bring`."""
        if self._coming or self._asked:
            return False
        return not all(map(self._known.__contains__, keys))

    async def bring(self, keys: Sequence[K], read: Awaitable[tuple[T, Mapping[K, V]]]) -> T:
        """Await `read`, store the values that it returns for these keys, and return its result.

        It saves a task where one query can read both. Call it only if `may_bring` returns True.
        Requests for these keys wait meanwhile; if `read` fails, they load the keys themselves. It
        has no timeout: the request that awaits it has one.
        """
        self._coming = keys
        try:
            found, values = await read
            self._known = {**values, **self._known}
        finally:
            self._arrived()
        return found

    def _arrived(self) -> None:
        """Resolve the waiters whose keys are loaded; load the keys of the others."""
        self._coming = ()
        if not self._awaited:
            return
        awaited, self._awaited = self._awaited, []
        for keys, answer in awaited:
            if answer.done():  # its waiter was cancelled
                continue
            if self.knows(keys):
                answer.set_result(None)
            else:
                self._ask((keys, answer))

    def known(self, keys: Sequence[K]) -> list[V]:
        """The values of loaded keys, in their order."""
        return list(map(self._known.__getitem__, keys))

    def knows(self, keys: Sequence[K]) -> bool:
        """Whether all these keys are loaded."""
        return all(map(self._known.__contains__, keys))

    def _ask(self, question: Question[K]) -> None:
        if not self._asked:
            loop = asyncio.get_running_loop()
            task = loop.create_task(self._load())
            limit = loop.call_later(self._batch_s_max, task.cancel)
            task.add_done_callback(lambda _: limit.cancel())
        self._asked.append(question)

    async def _load(self) -> None:
        asked, self._asked = self._asked, []
        wanted = self._wanted(asked)
        is_alone = not self._coming
        if is_alone:
            self._coming = wanted
        failure: Exception | None = None
        try:
            found = await self._batch(wanted)
            if len(found) != len(wanted):
                raise ValueError("A batch has one value for each of its keys.")
            # Values that the request has read before take precedence.
            self._known = {**found, **self._known} if self._known else found
        except asyncio.CancelledError as cancelled:
            failure = Unavailable("A store")
            failure.__cause__ = cancelled
        except Exception as error:
            failure = error
        if is_alone:
            self._arrived()
        for _, answer in asked:
            if answer.done():  # its waiter was cancelled
                continue
            if failure is None:
                answer.set_result(None)
            else:
                answer.set_exception(failure)
                answer.exception()  # mark it retrieved: its waiter may have failed before

    def _wanted(self, asked: Sequence[Question[K]]) -> list[K]:
        """The distinct keys that are not loaded yet."""
        first, *others = [keys for keys, _ in asked]
        # The fields of one user, or of one column of users, request the same keys.
        columns = [first, *(keys for keys in others if keys != first)]
        distinct = dict.fromkeys(chain.from_iterable(columns))
        return (
            [key for key in distinct if key not in self._known] if self._known else list(distinct)
        )
