"""Copies of what the caches hold of hot users. Knows no key, and nothing of how one is read.

A copy is thrown away the moment it is said to have changed, and after its TTL at the latest. It is
taken beside the request that asked for it, which never waits for it. Interest in a user is noted
before the read: what is said to have changed meanwhile takes the interest away, and the copy is not
kept. So no copy is older than the last message about it.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

from graph.edge import UserId
from graph.errors import Unavailable
from storage.hot.heavy_hitters import HeavyHitters

V = TypeVar("V")

COPY_BYTES = 400
"""What one copy takes besides its value: its place in the dictionary, its end and its size."""

COPYING_MAX = 1_000
"""Users whose copies are on their way: who is still hot a moment later is asked for again."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """How much of one kind of value is remembered, how long, and from when on."""

    ttl_s: float
    often: int
    """Questions within `ttl_s` that make a user hot."""
    entries_max: int
    bytes_max: int


class Sized(NamedTuple, Generic[V]):
    """A value, and about how many bytes of memory it takes."""

    value: V
    size: int


Read = Callable[[Sequence[UserId]], Awaitable[Mapping[UserId, Sized[V]]]]
"""Reads what there is of some users, on a connection whose server tells when it changes."""


class _Copy(NamedTuple, Generic[V]):
    value: V
    size: int
    ends: float


class HotValues(Generic[V]):
    """One kind of value. All copies live equally long, so the oldest is the first to go."""

    def __init__(
        self, read: Read[V], bounds: Bounds, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._read = read
        self._bounds = bounds
        self._clock = clock
        self._hitters = HeavyHitters(bounds.often, bounds.entries_max, bounds.ttl_s, clock)
        self._copies: dict[UserId, _Copy[V]] = {}
        self._interests: dict[UserId, object] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self.size = 0
        self.hits = 0
        self.misses = 0

    def __len__(self) -> int:
        return len(self._copies)

    def may_hold(self, users: Iterable[UserId]) -> bool:
        """Whether there may be a value of each of `users`: for nearly all it ends at the first."""
        return all(map(self._copies.__contains__, users))

    def held(self, users: Iterable[UserId]) -> dict[UserId, V]:
        """The values of those of `users` who have one."""
        copies = self._copies
        if copies.keys().isdisjoint(users):
            return {}
        now = self._clock()
        return {
            user: copy.value for user in users if (copy := copies.get(user)) and copy.ends > now
        }

    def known(self, user: UserId) -> V | None:
        """The value of one user, if there is one."""
        copy = self._copies.get(user)
        return copy.value if copy and copy.ends > self._clock() else None

    def answered(self, hits: int, missed: Sequence[UserId]) -> None:
        """Memory has answered so many questions; these users' caches were asked, and filled."""
        self.hits += hits
        self.misses += len(missed)
        hot = self._hitters.asked(missed) if missed else ()
        if hot:
            self._begin_copies(hot)

    def forget(self, user: UserId) -> None:
        """What was known of this user has changed."""
        self._interests.pop(user, None)
        self._drop(user)

    def forget_all(self) -> None:
        """Anything may have changed."""
        self._interests.clear()
        self._copies.clear()
        self.size = 0

    async def copied(self) -> None:
        """Waits for the copies that are on their way."""
        await asyncio.gather(*self._tasks)

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self.forget_all()

    def _begin_copies(self, hot: Sequence[UserId]) -> None:
        room = max(0, COPYING_MAX - len(self._interests))
        held = self.held(hot)
        if wanted := [u for u in hot if u not in self._interests and u not in held][:room]:
            interest = object()
            self._interests |= dict.fromkeys(wanted, interest)
            task = asyncio.create_task(self._copy(wanted, interest))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _copy(self, users: Sequence[UserId], interest: object) -> None:
        ends = self._clock() + self._bounds.ttl_s  # counted from before the read
        found: Mapping[UserId, Sized[V]] = {}
        try:
            found = await self._read(users)
        except Unavailable:
            pass  # whoever is still hot later is tried again
        finally:
            for user in users:
                if self._interests.get(user) is interest:
                    del self._interests[user]
                    if user in found:
                        self._keep(user, found[user], ends)

    def _keep(self, user: UserId, found: Sized[V], ends: float) -> None:
        size = found.size + COPY_BYTES
        self._drop(user)  # a newer copy goes to the end of the row
        if size <= self._bounds.bytes_max:
            self._copies[user] = _Copy(found.value, size, ends)
            self.size += size
        while self._copies and self._oldest_must_go():
            self._drop(next(iter(self._copies)))

    def _oldest_must_go(self) -> bool:
        full = self.size > self._bounds.bytes_max or len(self) > self._bounds.entries_max
        return full or next(iter(self._copies.values())).ends <= self._clock()

    def _drop(self, user: UserId) -> None:
        if copy := self._copies.pop(user, None):
            self.size -= copy.size
