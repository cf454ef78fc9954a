"""Budgets of callers: token buckets, most of whose tokens are spent without a round trip.

A process spends a portion of each caller's bucket before it asks Redis, and then takes a portion at
a time. So most requests need no round trip, and all processes together allow a caller no more than
one portion each beyond the bucket. Without Redis, each process has buckets of its own.
"""

import time
from asyncio import Lock
from collections.abc import Awaitable, Callable
from math import ceil

from engine.cache import LruCache
from graph.edge import Millis
from graph.errors import Unavailable
from graph.rate_limit import Bucket, RateLimit
from storage.ports.limits import Budgets as BudgetStore

PORTIONS = 20
"""A process takes a 20th of a bucket at a time."""
CALLERS_MAX = 20_000
"""Callers whose portions a process holds, 400 bytes each."""


class Exhausted(Exception):
    """The budget does not suffice. It will after `wait_ms`."""

    def __init__(self, wait_ms: int) -> None:
        super().__init__(wait_ms)
        self.wait_ms = wait_ms


class _Portion:
    """A caller's tokens in this process, and what is known of their bucket."""

    __slots__ = ("at", "local", "lock", "own", "remaining", "unreported")

    def __init__(self, portion: int, size: int, now: float) -> None:
        self.local = portion
        self.unreported = portion
        """Tokens not taken out of the shared bucket yet: the first portion, a negative balance."""
        self.remaining = size
        self.at = now
        """The time at which the bucket had `remaining` tokens."""
        self.lock = Lock()
        self.own: OwnBucket | None = None
        """The bucket of this process, while the shared one is unavailable."""


class OwnBucket:
    """A token bucket in this process."""

    def __init__(self, bucket: Bucket, now: float) -> None:
        self._bucket = bucket
        self._tokens: float = bucket.size
        self._at = now

    def take(self, cost: int, now: float) -> None:
        """Take `cost` tokens. Raises Exhausted."""
        size, per_ms = self._bucket.size, self._bucket.per_ms
        self._tokens = min(size, self._tokens + (now - self._at) * 1000 * per_ms)
        self._at = now
        if self._tokens < min(cost, size):
            raise Exhausted(ceil((min(cost, size) - self._tokens) / per_ms))
        self._tokens -= cost


class Budgets:
    """The budgets of callers of one kind. `clock` returns seconds since 1970."""

    def __init__(
        self, store: BudgetStore, bucket: Bucket, clock: Callable[[], float] = time.time
    ) -> None:
        self._store = store
        self._bucket = bucket
        self._portion_size = bucket.size // PORTIONS
        self._clock = clock
        self._portions: LruCache[str | int, _Portion] = LruCache(entries=CALLERS_MAX)

    def charge(self, caller: str | int, cost: int) -> Awaitable[None] | None:
        """Charge a caller. Returns None, the usual case, or an awaitable that raises Exhausted."""
        portion = self._portions.get(caller)
        if portion is None:
            portion = self._new(caller)
        if portion.local >= cost:
            portion.local -= cost
            return None
        return self._take(caller, portion, cost)

    def debit(self, caller: str | int, cost: int) -> None:
        """Charge a caller who cannot be rejected: later requests wait until the balance is
        positive."""
        portion = self._portions.get(caller) or self._new(caller)
        portion.local = max(portion.local - cost, -self._bucket.size)

    def rate_limit(self, caller: str | int, cost: int) -> RateLimit:
        """The rest of a caller's budget, as far as this process knows."""
        now, size = self._clock(), self._bucket.size
        portion = self._portions.get(caller) or self._new(caller)
        returned = (now - portion.at) * 1000 * self._bucket.per_ms
        shared = min(size, portion.remaining + returned)
        remaining = max(0, min(size, int(shared + portion.local - portion.unreported)))
        missing_ms = (size - remaining) / self._bucket.per_ms
        reset_at = Millis(ceil(now * 1000 + missing_ms)) if missing_ms else None
        return RateLimit(cost, size, remaining, reset_at)

    def _new(self, caller: str | int) -> _Portion:
        portion = _Portion(self._portion_size, self._bucket.size, self._clock())
        self._portions.put(caller, portion)
        return portion

    async def _take(self, caller: str | int, portion: _Portion, cost: int) -> None:
        async with portion.lock:  # requests that arrive together need one portion
            if portion.local < cost:
                await self._refill(caller, portion, cost)
            portion.local -= cost

    async def _refill(self, caller: str | int, portion: _Portion, cost: int) -> None:
        """Take tokens out of the bucket for `cost` and a new portion. Raises Exhausted."""
        missing = cost - portion.local
        try:
            grant = await self._store.take(
                str(caller), self._bucket, portion.unreported, missing, missing + self._portion_size
            )
        except Unavailable:
            now = self._clock()
            portion.own = portion.own or OwnBucket(self._bucket, now)
            portion.own.take(missing, now)
            portion.local += missing
            return
        portion.own, portion.unreported = None, 0
        portion.remaining, portion.at = grant.remaining, self._clock()
        if grant.wait_ms:
            raise Exhausted(grant.wait_ms)
        portion.local += grant.granted
