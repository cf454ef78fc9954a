"""Budgets of callers: token buckets in Redis, most of whose tokens are spent without a round trip.

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
"""A process takes 1/20 of a bucket at a time."""
CALLERS_MAX = 20_000
"""Callers whose portions a process holds, 400 bytes each."""


class Exhausted(Exception):
    """The budget is too low for the cost, until `wait_ms` milliseconds have passed."""

    def __init__(self, wait_ms: int) -> None:
        super().__init__(wait_ms)
        self.wait_ms = wait_ms


class _CallerTokens:
    """A caller's tokens in this process, and the last known state of the bucket in Redis."""

    __slots__ = ("local", "local_bucket", "lock", "read_at", "remaining", "unreported")

    def __init__(self, portion: int, size: int, now: float) -> None:
        self.local = portion
        """Tokens that this process may still spend; negative after a debit."""
        self.unreported = portion
        """The first portion, until it is subtracted from the bucket."""
        self.remaining = size
        self.read_at = now
        """When the bucket had `remaining` tokens."""
        self.lock = Lock()
        self.local_bucket: LocalBucket | None = None
        """Used while Redis is unavailable."""


class LocalBucket:
    """A token bucket in this process."""

    def __init__(self, bucket: Bucket, now: float) -> None:
        self._bucket = bucket
        self._tokens: float = bucket.size
        self._at = now

    def take(self, cost: int, now: float) -> None:
        """Take `cost` tokens: more than `size` only from a full bucket, which leaves a negative
        balance. Raises Exhausted."""
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
        self._callers: LruCache[str | int, _CallerTokens] = LruCache(entries=CALLERS_MAX)

    def charge(self, caller: str | int, cost: int) -> Awaitable[None] | None:
        """Charge a caller. Returns None, the usual case, or an awaitable that asks Redis for tokens
        and may raise Exhausted."""
        tokens = self._callers.get(caller)
        if tokens is None:
            tokens = self._new_caller(caller)
        if tokens.local >= cost:
            tokens.local -= cost
            return None
        return self._charge_and_refill(caller, tokens, cost)

    def debit(self, caller: str | int, cost: int) -> None:
        """Charge a caller for work that cannot be rejected. A negative balance, which
        is at most the size of the bucket, is taken by the next charge that succeeds."""
        tokens = self._callers.get(caller) or self._new_caller(caller)
        tokens.local = max(tokens.local - cost, -self._bucket.size)

    def rate_limit(self, caller: str | int, cost: int) -> RateLimit:
        """`cost`, and the rest of the caller's budget as far as this process knows it."""
        now, size = self._clock(), self._bucket.size
        tokens = self._callers.get(caller) or self._new_caller(caller)
        regained = (now - tokens.read_at) * 1000 * self._bucket.per_ms
        shared = min(size, tokens.remaining + regained)
        remaining = max(0, min(size, int(shared + tokens.local - tokens.unreported)))
        missing_ms = (size - remaining) / self._bucket.per_ms
        reset_at = Millis(ceil(now * 1000 + missing_ms)) if missing_ms else None
        return RateLimit(cost, size, remaining, reset_at)

    def _new_caller(self, caller: str | int) -> _CallerTokens:
        tokens = _CallerTokens(self._portion_size, self._bucket.size, self._clock())
        self._callers.put(caller, tokens)
        return tokens

    async def _charge_and_refill(self, caller: str | int, tokens: _CallerTokens, cost: int) -> None:
        async with tokens.lock:  # requests that arrive together need one portion
            if tokens.local < cost:
                await self._refill(caller, tokens, cost)
            tokens.local -= cost

    async def _refill(self, caller: str | int, tokens: _CallerTokens, cost: int) -> None:
        """Take tokens out of the bucket for `cost` and a new portion. Without Redis, take those for
        `cost` out of a bucket of this process. Raises Exhausted."""
        missing = cost - tokens.local
        try:
            grant = await self._store.take(
                str(caller), self._bucket, tokens.unreported, missing, missing + self._portion_size
            )
        except Unavailable:
            now = self._clock()
            tokens.local_bucket = tokens.local_bucket or LocalBucket(self._bucket, now)
            tokens.local_bucket.take(missing, now)
            tokens.local += missing
            return
        tokens.local_bucket, tokens.unreported = None, 0
        tokens.remaining, tokens.read_at = grant.remaining, self._clock()
        if grant.wait_ms:
            raise Exhausted(grant.wait_ms)
        tokens.local += grant.granted
