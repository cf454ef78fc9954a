"""A connection to one server: pipelines behind a circuit breaker, with pending invalidations.

Every failure becomes `Unavailable`, which a cache treats as a miss.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Sequence
from contextlib import AbstractContextManager, suppress
from enum import Enum, auto
from typing import Protocol

from graph.errors import Unavailable
from storage.redis.wire import UNLINK, Command, Redirected, Reply, Wire, WireError
from telemetry import tracing

log = logging.getLogger(__name__)

REDIS = "Redis"


class KeyKind(Enum):
    """Kinds of keys to invalidate, by whether a later invalidation follows. Each has its own
    maximum in `PENDING_MAX`."""

    ACCOUNTS = auto()
    """Accounts, and all keys of an erased user. No other invalidation follows: keys above the
    maximum stay stale until they expire. Profiles do so within 300 s, the relations and lists of an
    erased user within `KITH_CACHE_TTL_S`."""
    TOTALS = auto()
    """Totals of users who have an account in their lists that has become absent or active. No other
    invalidation follows: they are parts of profiles, which expire within 300 s."""
    EDGES = auto()
    """Relations, lists and totals after changes of edges. The drain invalidates them again."""


PENDING_MAX = {KeyKind.ACCOUNTS: 10_000, KeyKind.TOTALS: 50_000, KeyKind.EDGES: 10_000}
"""The maximum number of keys of each kind that wait until their server is available again, to be
deleted: about 15 MB for each server."""

FLUSHED_AT_ONCE = 10_000
"""Pending keys deleted in one pipeline, which takes far less than the timeout of a reply."""

FLUSHED_AT_ONCE_IN_CLUSTER = 100
"""Pending keys deleted in one call to a cluster, where each key has a command of its own: few
enough to repeat the call after a timeout."""

Send = Callable[[Sequence[Command]], Awaitable[object]]


class Redis(Protocol):
    """The operations on a server that the caches need."""

    async def pipe(self, commands: Sequence[Command]) -> list[Reply]:
        """Run all commands in one round trip, and return their replies in order.

        Raises:
            Unavailable: the server cannot be reached, is too slow, or has rejected a command.
        """
        ...

    def partly(self, commands: Sequence[Command]) -> Awaitable[list[Reply]]:
        """Like `pipe`, but the reply to a command is `UNAVAILABLE` if the server of its key is
        unavailable. In the reply to MGET, each value may be `UNAVAILABLE`.

        Raises:
            Unavailable: the only server is unavailable or, of a cluster, the slot map is not known.
        """
        ...

    def after(self, first: Command, commands: Sequence[Command]) -> Awaitable[list[Reply]]:
        """Like `partly`, with the guarantee that `first` has run before any of `commands`.
        `first`'s reply comes first.

        Raises as `partly`.
        """
        ...

    def scan(self, pattern: str, limit: int) -> AsyncIterator[list[bytes]]:
        """The keys that match `pattern`, in batches. One step of the scan looks at about `limit`
        keys.

        Raises as `pipe`.
        """
        ...

    def add_pending(self, keys: Collection[str], kind: KeyKind = KeyKind.EDGES) -> None:
        """Record pending invalidations: the keys are deleted before any later command is sent. Keys
        above `PENDING_MAX[kind]` are dropped."""
        ...

    async def reachable(self) -> Callable[[str], bool]:
        """Ping the servers. Returns a function that tells whether the server of a key answered."""
        ...


class RedisServers(Redis, Protocol):
    """`Redis` with the operations for lifecycle and monitoring."""

    @property
    def round_trips(self) -> int: ...

    @property
    def failures(self) -> int:
        """Number of calls that found a server unavailable."""
        ...

    @property
    def open_breakers(self) -> int:
        """Number of servers that are not called at the moment, because they have failed."""
        ...

    async def ping(self) -> None:
        """Raise Unavailable if a server does not answer."""
        ...

    async def close(self) -> None: ...


async def unlink_all(redis: Redis, pattern: str) -> None:
    """Delete every key that matches `pattern`.

    Raises:
        Unavailable: a server cannot be reached; some keys may be left.
    """
    async for keys in redis.scan(pattern, 1000):
        await redis.pipe([(UNLINK, key) for key in keys])


class Breaker:
    """A circuit breaker: while it is open, no request calls the server, so none waits for it. A
    task of its own calls `ping` every `retry_after_s`, and closes the breaker after an answer."""

    def __init__(self, ping: Callable[[], Awaitable[object]], retry_after_s: float) -> None:
        self._ping = ping
        self._retry_after_s = retry_after_s
        self._pinging: asyncio.Task[None] | None = None
        self.is_open = False

    def check(self) -> None:
        """Raise Unavailable while the breaker is open."""
        if self.is_open:
            raise Unavailable(REDIS)

    def trip(self) -> bool:
        """Open the breaker. Returns whether it was closed."""
        if self.is_open:
            return False
        self.is_open = True
        self._pinging = asyncio.create_task(self._ping_until_answered())
        return True

    async def stop(self) -> None:
        """Stop the pings."""
        if self._pinging is not None:
            self._pinging.cancel()
            with suppress(asyncio.CancelledError):
                await self._pinging

    async def _ping_until_answered(self) -> None:
        while self.is_open:
            await asyncio.sleep(self._retry_after_s)
            with suppress(Exception):  # whatever it is, the breaker must not stay open for ever
                await self._ping()
                self.is_open = False


class PendingInvalidations:
    """Pending invalidations of one server, up to `PENDING_MAX` keys of each kind."""

    def __init__(self) -> None:
        self._keys: dict[KeyKind, dict[str, object]] = {kind: {} for kind in KeyKind}
        """Keys, each with an object that is new at each addition of the key."""
        self.is_empty = True

    def add(self, keys: Collection[str], kind: KeyKind) -> None:
        """Add keys. New keys above the maximum are dropped."""
        pending, addition = self._keys[kind], object()
        for key in keys:
            if key in pending or len(pending) < PENDING_MAX[kind]:
                pending[key] = addition
        self.is_empty = False

    def take_all(self) -> dict[KeyKind, list[str]]:
        """Remove and return all of them."""
        taken = {kind: list(keys) for kind, keys in self._keys.items()}
        self._keys, self.is_empty = {kind: {} for kind in KeyKind}, True
        return taken

    async def flush(self, send: Send, at_once: int) -> None:
        """Delete the pending keys with `send`, `at_once` keys per call. If `send` raises, the
        remaining keys stay pending."""
        for pending in self._keys.values():
            snapshot = list(pending.items())
            for first in range(0, len(snapshot), at_once):
                batch = snapshot[first : first + at_once]
                await send([(UNLINK, key) for key, _ in batch])
                for key, addition in batch:
                    if pending.get(key) is addition:  # else it was added again meanwhile
                        del pending[key]
        self.is_empty = not any(self._keys.values())


def _call_span(commands: Sequence[Command]) -> AbstractContextManager[object]:
    first = str(commands[0][0])
    attributes: dict[str, str | int] = {
        "db.system.name": "redis",
        "db.operation.name": first,
        "db.operation.batch.size": len(commands),
    }
    return tracing.client_span(f"redis {first}", attributes)


class GuardedRedis:
    """Implements `RedisServers` for one server, over any wire."""

    def __init__(self, wire: Wire, retry_after_s: float, *, is_one_of_many: bool = False) -> None:
        self.wire = wire
        self._is_one_of_many = is_one_of_many
        """Whether the server belongs to a cluster, so that the caller handles Redirected."""
        self._breaker = Breaker(lambda: wire.send([("PING",)]), retry_after_s)
        self._pending = PendingInvalidations()
        self._flushing = asyncio.Lock()
        self.failures = 0

    @property
    def round_trips(self) -> int:
        return self.wire.round_trips

    @property
    def open_breakers(self) -> int:
        return int(self._breaker.is_open)

    async def close(self) -> None:
        await self._breaker.stop()
        await self.wire.close()

    async def ping(self) -> None:
        await self.pipe([("PING",)])

    def after(self, first: Command, commands: Sequence[Command]) -> Awaitable[list[Reply]]:
        return self.pipe([first, *commands])  # a server runs a pipeline in order

    async def scan(self, pattern: str, limit: int) -> AsyncIterator[list[bytes]]:
        cursor = b"0"
        while True:
            ((cursor, keys),) = await self.pipe(
                [("SCAN", cursor, "MATCH", pattern, "COUNT", limit)]
            )
            yield keys
            if cursor == b"0":
                return

    def add_pending(self, keys: Collection[str], kind: KeyKind = KeyKind.EDGES) -> None:
        self._pending.add(keys, kind)

    async def reachable(self) -> Callable[[str], bool]:
        with suppress(Unavailable):
            await self.ping()
            return lambda _: True
        return lambda _: False

    async def flush_pending(self, send: Send) -> None:
        """Flush the pending invalidations of a server of a cluster with `send`. Raises what `send`
        raises."""
        async with self._flushing:
            await self._pending.flush(send, FLUSHED_AT_ONCE_IN_CLUSTER)

    def take_pending(self) -> dict[KeyKind, list[str]]:
        """Remove and return the pending invalidations, because other servers now have the keys."""
        return self._pending.take_all()

    async def pipe(self, commands: Sequence[Command]) -> list[Reply]:
        """Flush the pending invalidations, then run the commands. Fails without a call while the
        breaker is open. A server of a cluster also raises Redirected."""
        if not commands:
            return []
        try:
            self._breaker.check()
            if not self._pending.is_empty:
                async with self._flushing:  # one task flushes, the others wait for it
                    self._breaker.check()
                    await self._pending.flush(self.wire.send, FLUSHED_AT_ONCE)
            if tracing.tracer is None:
                return await self.wire.send(commands)
            with _call_span(commands):
                return await self.wire.send(commands)
        except WireError as error:
            if self._is_one_of_many and isinstance(error, Redirected):
                raise
            self.failures += 1
            if self._breaker.trip():
                log.warning("Redis is unavailable and is not called for a moment: %s", error)
            raise Unavailable(REDIS) from error
        except Unavailable:
            self.failures += 1
            raise

    partly = pipe
    """A single server is either available or not."""
