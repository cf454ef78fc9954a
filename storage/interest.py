"""Who in this process waits for news of whom. Knows nothing of what the news are.

Nothing is kept for a waiter but one bit: there was news. Whoever is woken reads for themselves, so
a slow one costs no memory, and news that come faster than they are read are one piece of news.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager

from graph.edge import UserId
from graph.errors import Overloaded

PART = "Live events"

log = logging.getLogger(__name__)

CANCEL_S = 2.0


class Interest:
    """One waiter. It has news from the start: what came before it began to wait is not lost."""

    __slots__ = ("_news",)

    def __init__(self) -> None:
        self._news = asyncio.Event()
        self._news.set()

    def wake(self) -> None:
        self._news.set()

    async def news(self) -> None:
        """Returns as soon as there was news since it last returned."""
        await self._news.wait()
        self._news.clear()


class Interests:
    """All waiters of a process, at most `most`.

    `listen` is started with the first of them, and calls `wake` and `wake_all` until it is
    cancelled: a process in which nobody waits hears nothing, and pays nothing.
    """

    def __init__(self, listen: Callable[["Interests"], Awaitable[None]], most: int) -> None:
        self._listen = listen
        self._most = most
        self._waiting: dict[UserId, set[Interest]] = {}
        self._count = 0
        self._listening: asyncio.Future[None] | None = None

    def __len__(self) -> int:
        return self._count

    @contextmanager
    def of(self, *users: UserId) -> Iterator[Interest]:
        """A waiter for news of any of `users`, as long as the block runs.

        Raises:
            Overloaded: too many wait already.
        """
        if self._count >= self._most:
            raise Overloaded(
                PART,
                f"This server has {self._most} subscriptions, the maximum. Try again later.",
            )
        if self._listening is None or self._listening.done():
            self._listening = asyncio.ensure_future(self._listen(self))
        interest = Interest()
        for user in users:
            self._waiting.setdefault(user, set()).add(interest)
        self._count += 1
        try:
            yield interest
        finally:
            self._count -= 1
            for user in users:
                self._forget(user, interest)

    def _forget(self, user: UserId, interest: Interest) -> None:
        waiting = self._waiting.get(user, set())
        waiting.discard(interest)
        if not waiting:
            self._waiting.pop(user, None)

    def wake(self, users: Iterable[UserId]) -> None:
        """There is news of these users."""
        for user in users:
            for interest in self._waiting.get(user, ()):
                interest.wake()

    def wake_all(self) -> None:
        """There may be news of anybody."""
        self.wake(self._waiting)

    async def close(self) -> None:
        """Stops listening."""
        if self._listening is None:
            return
        self._listening.cancel()
        await asyncio.wait([self._listening], timeout=CANCEL_S)
        if not self._listening.done():
            log.warning("what listens for events has not ended within %.1f s", CANCEL_S)
