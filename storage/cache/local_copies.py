"""Copies of hot users' cached values, in process memory.

A copy is dropped when the server reports a change, and after its TTL at the latest. It is read in
the background: the request that triggers it does not wait. The reader registers the user before the
read; a change reported meanwhile removes the registration, and the copy is discarded. So no copy is
older than the last message about it.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

from graph.edge import UserId
from graph.errors import Unavailable
from storage.cache.heavy_hitters import HeavyHitters

V = TypeVar("V")

COPY_BYTES = 400
"""Memory of a copy besides its value, in bytes: its dictionary entry, expiry and size."""

COPYING_MAX = 1_000
"""Users being copied at the same time. A user who stays hot is tried again later."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """The bounds of one kind of value."""

    ttl_s: float
    often: int
    """Requests within `ttl_s` that make a user hot."""
    entries_max: int
    bytes_max: int


class Sized(NamedTuple, Generic[V]):
    """A value and its approximate size in bytes."""

    value: V
    size: int


Read = Callable[[Sequence[UserId]], Awaitable[Mapping[UserId, Sized[V]]]]
"""Reads some users' values, on a connection on which the server reports their changes."""


class _Copy(NamedTuple, Generic[V]):
    value: V
    size: int
    expires_at: float


class LocalCopies(Generic[V]):
    """The copies of one kind of value. All have the same TTL, so the oldest is evicted first."""

    def __init__(
        self, read: Read[V], bounds: Bounds, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._read = read
        self._bounds = bounds
        self._clock = clock
        self._hitters = HeavyHitters(bounds.often, bounds.entries_max, bounds.ttl_s, clock)
        self._copies: dict[UserId, _Copy[V]] = {}
        self._copying: dict[UserId, object] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self.size = 0
        self.hits = 0
        self.misses = 0

    def __len__(self) -> int:
        return len(self._copies)

    def may_hold(self, users: Iterable[UserId]) -> bool:
        """Whether each of `users` may have a copy. Nearly always false for the first of them."""
        return all(map(self._copies.__contains__, users))

    def held(self, users: Iterable[UserId]) -> dict[UserId, V]:
        """The values of those of `users` that have a copy."""
        copies = self._copies
        if copies.keys().isdisjoint(users):
            return {}
        now = self._clock()
        return {
            user: copy.value
            for user in users
            if (copy := copies.get(user)) and copy.expires_at > now
        }

    def get(self, user: UserId) -> V | None:
        """One user's value, or None."""
        copy = self._copies.get(user)
        return copy.value if copy and copy.expires_at > self._clock() else None

    def answered(self, hits: int, missed: Sequence[UserId]) -> None:
        """Record `hits` answers from copies, and requests for `missed` users, whose caches are
        filled now."""
        self.hits += hits
        self.misses += len(missed)
        hot = self._hitters.count(missed) if missed else ()
        if hot:
            self._begin_copies(hot)

    def forget(self, user: UserId) -> None:
        """Drop the user's copy, because the value has changed."""
        self._copying.pop(user, None)
        self._drop(user)

    def forget_all(self) -> None:
        """Drop all copies, because any value may have changed."""
        self._copying.clear()
        self._copies.clear()
        self.size = 0

    async def copied(self) -> None:
        """Wait for the copies in progress."""
        await asyncio.gather(*self._tasks)

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self.forget_all()

    def _begin_copies(self, hot: Sequence[UserId]) -> None:
        room = max(0, COPYING_MAX - len(self._copying))
        held = self.held(hot)
        if wanted := [u for u in hot if u not in self._copying and u not in held][:room]:
            token = object()
            self._copying |= dict.fromkeys(wanted, token)
            task = asyncio.create_task(self._copy(wanted, token))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _copy(self, users: Sequence[UserId], token: object) -> None:
        expires_at = self._clock() + self._bounds.ttl_s  # counted from before the read
        found: Mapping[UserId, Sized[V]] = {}
        try:
            found = await self._read(users)
        except Unavailable:
            pass  # a user who stays hot is tried again later
        finally:
            for user in users:
                if self._copying.get(user) is token:
                    del self._copying[user]
                    if user in found:
                        self._keep(user, found[user], expires_at)

    def _keep(self, user: UserId, found: Sized[V], expires_at: float) -> None:
        size = found.size + COPY_BYTES
        self._drop(user)  # so that a newer copy is appended at the end
        if size <= self._bounds.bytes_max:
            self._copies[user] = _Copy(found.value, size, expires_at)
            self.size += size
        while self._copies and self._oldest_must_go():
            self._drop(next(iter(self._copies)))

    def _oldest_must_go(self) -> bool:
        full = self.size > self._bounds.bytes_max or len(self) > self._bounds.entries_max
        return full or next(iter(self._copies.values())).expires_at <= self._clock()

    def _drop(self, user: UserId) -> None:
        if copy := self._copies.pop(user, None):
            self.size -= copy.size
