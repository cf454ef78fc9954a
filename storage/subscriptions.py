"""The subscriptions of this process to changes of users.

A subscription stores one bit: something may have changed. Its reader fetches the changes itself, so
a slow reader costs no memory, and frequent changes are combined.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import islice

from graph.edge import UserId
from graph.errors import Overloaded

LIVE_EVENTS = "Live events"

log = logging.getLogger(__name__)

CANCEL_S = 2.0

WOKEN_AT_ONCE = 20
"""Subscriptions that are woken in one iteration of the event loop. Each reads at once: 0.2 ms."""

OF_VIEWER_SHARE = 100
OF_VIEWER_MIN = 100
"""A viewer has at most 1/100 of the subscriptions of a process, and may always have 100. Each
change of their relations wakes all."""


class Subscription:
    """One subscription. It starts woken, so that earlier changes are not missed."""

    __slots__ = ("_changed",)

    def __init__(self) -> None:
        self._changed = asyncio.Event()
        self._changed.set()

    def wake(self) -> None:
        self._changed.set()

    async def wait_for_change(self, within_s: float | None = None) -> bool:
        """Wait until something may have changed since the last return, or for `within_s`. Returns
        whether it may have."""
        if not self._changed.is_set():
            with suppress(TimeoutError):
                async with asyncio.timeout(within_s):
                    await self._changed.wait()
        may_differ = self._changed.is_set()
        self._changed.clear()
        return may_differ


class Subscriptions:
    """All subscriptions of a process, at most `limit`.

    The first one starts `listen`, which calls `wake` and `wake_all` until it is cancelled. A
    process without subscriptions does not listen.
    """

    def __init__(self, listen: Callable[["Subscriptions"], Awaitable[None]], limit: int) -> None:
        self._listen = listen
        self._limit = limit
        self._waiting: dict[UserId, set[Subscription]] = {}
        self._for_all: set[Subscription] = set()
        self._count = 0
        self._limit_of_viewer = max(OF_VIEWER_MIN, limit // OF_VIEWER_SHARE)
        self._of_viewers: Counter[UserId] = Counter()
        self._to_wake: dict[Subscription, None] = {}
        """Those that are not woken yet although something may have changed, in order."""
        self._waking: asyncio.Handle | None = None
        self._listening: asyncio.Future[None] | None = None

    def __len__(self) -> int:
        return self._count

    @contextmanager
    def open(self, *users: UserId, viewer: UserId | None = None) -> Iterator[Subscription]:
        """A subscription of `viewer` to changes of any of `users`, for the block.

        Raises:
            Overloaded: there are `limit` subscriptions already, or too many of this viewer.
        """
        if viewer is not None and self._of_viewers[viewer] >= self._limit_of_viewer:
            message = f"You have {self._limit_of_viewer} subscriptions here, the maximum."
            raise Overloaded(LIVE_EVENTS, f"{message} End some of them.")
        subscription = self._opened()
        if viewer is not None:
            self._of_viewers[viewer] += 1
        for user in users:
            self._waiting.setdefault(user, set()).add(subscription)
        try:
            yield subscription
        finally:
            self._count -= 1
            if viewer is not None:
                self._of_viewers[viewer] -= 1
                if not self._of_viewers[viewer]:
                    del self._of_viewers[viewer]
            for user in users:
                self._forget(user, subscription)

    @contextmanager
    def open_for_all(self) -> Iterator[Subscription]:
        """A subscription to changes of all users, for the block. Raises as above."""
        subscription = self._opened()
        self._for_all.add(subscription)
        try:
            yield subscription
        finally:
            self._count -= 1
            self._for_all.discard(subscription)

    def _opened(self) -> Subscription:
        if self._count >= self._limit:
            raise Overloaded(
                LIVE_EVENTS,
                f"This server has {self._limit} subscriptions, the maximum. Try again later.",
            )
        if self._listening is None or self._listening.done():
            self._listening = asyncio.ensure_future(self._listen(self))
        self._count += 1
        return Subscription()

    def _forget(self, user: UserId, subscription: Subscription) -> None:
        waiting = self._waiting.get(user, set())
        waiting.discard(subscription)
        if not waiting:
            self._waiting.pop(user, None)

    def wake(self, users: Iterable[UserId]) -> None:
        """Wake the subscriptions to these users: some now, the others in the next iterations of the
        event loop."""
        for user in users:
            self._to_wake.update(dict.fromkeys(self._waiting.get(user, ())))
        self._to_wake.update(dict.fromkeys(self._for_all))
        if self._waking is None:
            self._wake_some()

    def _wake_some(self) -> None:
        self._waking = None
        for subscription in list(islice(self._to_wake, WOKEN_AT_ONCE)):
            del self._to_wake[subscription]
            subscription.wake()
        if self._to_wake:
            self._waking = asyncio.get_running_loop().call_soon(self._wake_some)

    def wake_all(self) -> None:
        """Wake all subscriptions."""
        self.wake(self._waiting)

    async def close(self) -> None:
        """Stop listening."""
        if self._waking is not None:
            self._waking.cancel()
        if self._listening is None:
            return
        self._listening.cancel()
        await asyncio.wait([self._listening], timeout=CANCEL_S)
        if not self._listening.done():
            log.warning("the event listener did not stop within %.1f s", CANCEL_S)
