"""Copies of hot users' cached values, in process memory.

A copy is dropped when Redis reports a change, and after its TTL at the latest. It is read in the
background: the request that triggers the read does not wait. The user is registered before the
read. A change that is reported during the read removes the registration, and the value is
discarded. So no copy is older than the last report of a change.
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
    requests_to_copy: int
    """Requests within `ttl_s` that make a user hot."""
    entries_max: int
    bytes_max: int


class Sized(NamedTuple, Generic[V]):
    """A value and its approximate size in bytes."""

    value: V
    size: int


Read = Callable[[Sequence[UserId]], Awaitable[Mapping[UserId, Sized[V]]]]
"""Reads these users' values, on a connection on which Redis reports their changes."""


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
        self._hitters = HeavyHitters(
            bounds.requests_to_copy, bounds.entries_max, bounds.ttl_s, clock
        )
        self._copies: dict[UserId, _Copy[V]] = {}
        self._copying: dict[UserId, object] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self.size = 0
        self.hits = 0
        self.misses = 0

    def __len__(self) -> int:
        return len(self._copies)

    def may_hold(self, users: Iterable[UserId]) -> bool:
        """Whether each of `users` has a copy, possibly an expired one."""
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

    def count_misses(self, users: Sequence[UserId]) -> None:
        """Count a request for each of `users`, which the copies did not answer, and begin to copy
        the values of those who have become hot."""
        self.misses += len(users)
        hot = self._hitters.count(users) if users else ()
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

    async def wait(self) -> None:
        """Wait for the copies in progress."""
        await asyncio.gather(*self._tasks)

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self.forget_all()

    def _begin_copies(self, hot: Sequence[UserId]) -> None:
        capacity = max(0, COPYING_MAX - len(self._copying))
        held = self.held(hot)
        if wanted := [u for u in hot if u not in self._copying and u not in held][:capacity]:
            token = object()
            self._copying |= dict.fromkeys(wanted, token)
            task = asyncio.create_task(self._copy(wanted, token))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _copy(self, users: Sequence[UserId], token: object) -> None:
        """Read the users' values, and store those of the users who are still registered with
        `token`: no change of these was reported meanwhile."""
        expires_at = self._clock() + self._bounds.ttl_s  # counted from before the read
        values: Mapping[UserId, Sized[V]] = {}
        try:
            values = await self._read(users)
        except Unavailable:
            pass  # a user who stays hot is tried again later
        finally:
            for user in users:
                if self._copying.get(user) is token:
                    del self._copying[user]
                    if user in values:
                        self._store(user, values[user], expires_at)

    def _store(self, user: UserId, sized: Sized[V], expires_at: float) -> None:
        size = sized.size + COPY_BYTES
        self._drop(user)  # so that a newer copy is appended at the end
        if size <= self._bounds.bytes_max:
            self._copies[user] = _Copy(sized.value, size, expires_at)
            self.size += size
        while self._copies and self._must_evict_oldest():
            self._drop(next(iter(self._copies)))

    def _must_evict_oldest(self) -> bool:
        full = self.size > self._bounds.bytes_max or len(self) > self._bounds.entries_max
        return full or next(iter(self._copies.values())).expires_at <= self._clock()

    def _drop(self, user: UserId) -> None:
        if copy := self._copies.pop(user, None):
            self.size -= copy.size
