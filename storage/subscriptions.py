"""The subscriptions of this process to changes of users.

A subscription stores one bit: something may have changed. Its reader fetches the changes itself, so
a slow reader costs no memory, and frequent changes are combined.
"""

import asyncio
import logging
from collections import deque
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Hashable,
    Iterable,
    Iterator,
    Sequence,
    Set,
)
from contextlib import asynccontextmanager, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from itertools import chain, islice
from weakref import WeakValueDictionary

from graph.edge import Pair, UserId
from graph.errors import Overloaded
from storage.ports.events import Woken

LIVE_EVENTS = "Live events"

log = logging.getLogger(__name__)

CANCEL_S = 2.0
"""How long `close` waits for the listener to end."""

WOKEN_AT_ONCE = 20
"""Subscriptions woken in one iteration of the event loop. Each then reads for about 0.2 ms."""

RESUMED_AT_ONCE = 10
"""Pauses that end in one iteration of the event loop. After each, a subscription reads, too."""

READS_AT_ONCE = 8
"""Subscriptions that read at once."""
READS_OF_CALLER = 2
"""At most this many subscriptions of one caller read or queue for a read, so that one caller cannot
fill the queue."""
READS_OF_ANONYMOUS = 4
"""The same for all callers without a token together, who may have many addresses."""

VIEWER_SHARE = 100
VIEWER_MIN = 100
"""A viewer has at most 1/100 of the limit of a space in a process, and may always have 100. Each
change of their relations wakes all."""

ANONYMOUS_SHARE = 2
"""All anonymous clients together have at most 1/2 of the limit of a space in a process."""


@dataclass(frozen=True, slots=True)
class Notification:
    """Whose subscriptions must look for changes."""

    public: Sequence[UserId] = ()
    """Something changed that others may see of these users."""
    own: Sequence[UserId] = ()
    """Something changed that these users may see as viewers."""
    hidden: Sequence[UserId] = ()
    """Something changed about these users that only they, or one other user, may see."""
    blocks: Sequence[Pair] = ()
    """The source blocks or unblocks the target, who can or cannot open the source's lists now."""
    absences: Sequence[UserId] = ()
    """The users' lists may contain an account that has become absent or active."""
    everybody: bool = False
    """Anything may have changed."""


class Subscription:
    """One subscription. It starts woken, so that earlier changes are not missed."""

    __slots__ = ("_changed", "_woken")

    def __init__(self) -> None:
        self._changed = asyncio.Event()
        self._woken = Woken.NOT
        self.wake(Woken.BY_OTHERS)

    def wake(self, woken: Woken) -> None:
        self._woken = max(self._woken, woken)
        self._changed.set()

    async def wait_for_change(self, within_s: float | None = None) -> Woken:
        """Wait until something may have changed since the last return, or for `within_s`."""
        if not self._changed.is_set():
            with suppress(TimeoutError):
                async with asyncio.timeout(within_s):
                    await self._changed.wait()
        woken, self._woken = self._woken, Woken.NOT
        self._changed.clear()
        return woken


class _SubscriptionsByUser:
    """Subscriptions by user."""

    def __init__(self) -> None:
        self._by_user: dict[UserId, set[Subscription]] = {}

    def get(self, user: UserId) -> Set[Subscription]:
        return self._by_user.get(user, _NONE)

    def add(self, users: Iterable[UserId], subscription: Subscription) -> None:
        for user in users:
            self._by_user.setdefault(user, set()).add(subscription)

    def discard(self, users: Iterable[UserId], subscription: Subscription) -> None:
        for user in users:
            waiting = self._by_user.get(user, set())
            waiting.discard(subscription)
            if not waiting:
                self._by_user.pop(user, None)


_NONE: Set[Subscription] = frozenset()


class Subscriptions:
    """The subscriptions of one space in this process, at most `limit`.

    The first one starts `listen`, which calls `wake` and `wake_all` until it is cancelled. A
    process without subscriptions does not listen.
    """

    def __init__(self, listen: Callable[["Subscriptions"], Awaitable[None]], limit: int) -> None:
        self._listen = listen
        self._limit = limit
        self._limit_of_viewer = max(VIEWER_MIN, limit // VIEWER_SHARE)
        self._limit_of_anonymous = max(1, limit // ANONYMOUS_SHARE)
        self._open: set[Subscription] = set()
        self._for_all: set[Subscription] = set()
        self._anonymous: set[Subscription] = set()
        self._of_viewers = _SubscriptionsByUser()
        self._to_public = _SubscriptionsByUser()
        """By user: subscriptions to what others may see of the user."""
        self._to_hidden = _SubscriptionsByUser()
        """By user: subscriptions that see everything, to what others may not see of the user."""
        self._to_wake: dict[Subscription, Woken] = {}
        """Those that are not woken yet although something may have changed, in order."""
        self._to_resume: deque[asyncio.Future[None]] = deque()
        """The pauses whose time is over, in order."""
        self._reads = asyncio.Semaphore(READS_AT_ONCE)
        self._anonymous_reads = asyncio.Semaphore(READS_OF_ANONYMOUS)
        self._reads_of: WeakValueDictionary[Hashable, asyncio.Semaphore] = WeakValueDictionary()
        """By the caller."""
        self._waking: asyncio.Handle | None = None
        self._listening: asyncio.Future[None] | None = None

    def __len__(self) -> int:
        return len(self._open)

    @contextmanager
    def open(
        self, *users: UserId, viewer: UserId | None = None, sees_everything: bool = False
    ) -> Iterator[Subscription]:
        """A subscription of `viewer`, inside the `with` statement: to changes of the viewer's
        relations and settings, by either user, and to what others may see of `users`; with
        `sees_everything`, to all changes of `users`. It is anonymous if it has neither.

        Raises:
            Overloaded: there are `limit` subscriptions already, or too many of this viewer, or too
                many anonymous ones.
        """
        is_anonymous = viewer is None and not sees_everything
        if is_anonymous and len(self._anonymous) >= self._limit_of_anonymous:
            message = f"This server has {self._limit_of_anonymous} subscriptions without a token"
            raise Overloaded(LIVE_EVENTS, f"{message}, the maximum. Sign in, or try again later.")
        viewers = () if viewer is None else (viewer,)
        if any(len(self._of_viewers.get(one)) >= self._limit_of_viewer for one in viewers):
            message = f"You have {self._limit_of_viewer} subscriptions here, the maximum."
            raise Overloaded(LIVE_EVENTS, f"{message} End some of them.")
        indexed = (
            (self._of_viewers, viewers),
            (self._to_public, users),
            (self._to_hidden, users if sees_everything else ()),
        )
        subscription = self._new_subscription()
        if is_anonymous:
            self._anonymous.add(subscription)
        for index, keys in indexed:
            index.add(keys, subscription)
        try:
            yield subscription
        finally:
            self._open.discard(subscription)
            self._anonymous.discard(subscription)
            for index, keys in indexed:
                index.discard(keys, subscription)

    @contextmanager
    def open_for_all(self) -> Iterator[Subscription]:
        """A subscription to changes of all users, inside the `with` statement. Raises
        Overloaded."""
        subscription = self._new_subscription()
        self._for_all.add(subscription)
        try:
            yield subscription
        finally:
            self._open.discard(subscription)
            self._for_all.discard(subscription)

    def _new_subscription(self) -> Subscription:
        if len(self._open) >= self._limit:
            raise Overloaded(
                LIVE_EVENTS,
                f"This server has {self._limit} subscriptions, the maximum. Try again later.",
            )
        if self._listening is None or self._listening.done():
            self._listening = asyncio.ensure_future(self._listen(self))
        subscription = Subscription()
        self._open.add(subscription)
        return subscription

    def wake(self, notification: Notification) -> None:
        """Wake the subscriptions that it concerns: some now, the others in the next iterations of
        the event loop."""
        absences = notification.absences
        for user in chain(notification.public, absences):
            self._wake_later(self._to_public.get(user))
        for user in notification.hidden:
            self._wake_later(self._to_hidden.get(user))
        for user in absences:
            self._wake_later(self._of_viewers.get(user))
        for blocker, blocked in notification.blocks:
            self._wake_later(self._to_public.get(blocker) & self._of_viewers.get(blocked))
        self._wake_later(self._for_all)
        for user in notification.own:
            self._to_wake.update(dict.fromkeys(self._of_viewers.get(user), Woken.BY_OWN))
        if self._waking is None:
            self._wake_some()

    def _wake_later(self, subscriptions: Iterable[Subscription]) -> None:
        for subscription in subscriptions:
            self._to_wake.setdefault(subscription, Woken.BY_OTHERS)

    @asynccontextmanager
    async def reading(self, caller: Hashable, *, is_anonymous: bool) -> AsyncIterator[None]:
        """See `storage.ports.events.Subscriptions`."""
        own_reads = self._reads_of.get(caller)
        if own_reads is None:
            own_reads = self._reads_of[caller] = asyncio.Semaphore(READS_OF_CALLER)
        async with own_reads, self._anonymous_reads if is_anonymous else nullcontext(), self._reads:
            yield

    async def pause(self, seconds: float) -> None:
        """Wait for `seconds`, and for the pauses that have ended before: `RESUMED_AT_ONCE` end in
        one iteration of the event loop.

        The pauses of thousands of subscriptions may end at once. If all read then, nothing else
        would run, and collections of garbage would visit all that these reads hold.
        """
        loop = asyncio.get_running_loop()
        ended = loop.create_future()
        timer = loop.call_later(seconds, self._resume_later, ended)
        try:
            await ended
        finally:
            timer.cancel()

    def _resume_later(self, pause: asyncio.Future[None]) -> None:
        self._to_resume.append(pause)
        if self._waking is None:
            self._waking = asyncio.get_running_loop().call_soon(self._wake_some)

    def _wake_some(self) -> None:
        self._waking = None
        for subscription in list(islice(self._to_wake, WOKEN_AT_ONCE)):
            subscription.wake(self._to_wake.pop(subscription))
        for _ in range(min(len(self._to_resume), RESUMED_AT_ONCE)):
            pause = self._to_resume.popleft()
            if not pause.done():  # otherwise its subscription has ended
                pause.set_result(None)
        if self._to_wake or self._to_resume:
            self._waking = asyncio.get_running_loop().call_soon(self._wake_some)

    def wake_all(self) -> None:
        """Wake all subscriptions."""
        self._wake_later(self._open)
        if self._waking is None:
            self._wake_some()

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
