"""The one way to Redis: pipelines with a deadline, a breaker, and a memory for what it owes.

Knows nothing of keys. Everything that goes wrong is `Unavailable`: to a cache, that is a miss.
"""

import asyncio
import time
from collections.abc import Callable, Collection, Sequence
from typing import Any, Protocol

from redis.asyncio import BlockingConnectionPool
from redis.asyncio import Redis as RedisPy
from redis.exceptions import RedisError

from graph.errors import Unavailable
from storage.settings import StorageSettings

PART = "Redis"

Command = tuple[str | bytes | int, ...]
Reply = Any

OWED_MAX = 10_000
"""Keys to forget once Redis is back. Beyond that the drain alone mends them, a little later."""


class Redis(Protocol):
    """What the caches need of a server."""

    async def pipe(self, commands: Sequence[Command]) -> list[Reply]:
        """Runs all commands in one round trip; each reply in its place.

        Raises:
            Unavailable: the server is away, too slow, or refused one of them.
        """
        ...

    def owe(self, keys: Collection[str]) -> None:
        """These keys may be wrong: they are deleted before anything else is asked."""
        ...


class Breaker:
    """Leaves a failing server alone for a while, so that a request waits for it only once."""

    def __init__(self, retry_after_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._retry_after_s = retry_after_s
        self._clock = clock
        self._open_until = 0.0

    def check(self) -> None:
        if self._clock() < self._open_until:
            raise Unavailable(PART)

    def trip(self) -> None:
        self._open_until = self._clock() + self._retry_after_s


class PooledRedis:
    """Keeps `Redis` on redis-py's connection pool; serves a single server or a Cluster's proxy."""

    def __init__(self, settings: StorageSettings) -> None:
        self._client = client(settings)
        self._timeout_s = settings.redis_timeout_s
        self._breaker = Breaker(settings.redis_retry_after_s)
        self._owed: dict[str, None] = {}
        self.round_trips = 0
        """How many pipelines were sent: what the tests of costs count."""

    async def close(self) -> None:
        await self._client.aclose()

    async def ping(self) -> None:
        """Raises Unavailable if Redis does not answer."""
        await self.pipe([("PING",)])

    def owe(self, keys: Collection[str]) -> None:
        room = OWED_MAX - len(self._owed)
        self._owed.update(dict.fromkeys(list(keys)[: max(0, room)]))

    async def pipe(self, commands: Sequence[Command]) -> list[Reply]:
        if not commands:
            return []
        self._breaker.check()
        try:
            async with asyncio.timeout(self._timeout_s):
                await self._pay()
                return await self._send(commands)
        except (RedisError, OSError, TimeoutError) as error:
            self._breaker.trip()
            raise Unavailable(PART) from error

    async def _send(self, commands: Sequence[Command]) -> list[Reply]:
        self.round_trips += 1
        if len(commands) == 1:
            return [await self._client.execute_command(*commands[0])]  # type: ignore[no-untyped-call]
        async with self._client.pipeline(transaction=False) as pipeline:
            for command in commands:
                pipeline.execute_command(*command)
            return await pipeline.execute()

    async def _pay(self) -> None:
        if not self._owed:
            return
        owed = list(self._owed)
        await self._send([("UNLINK", key) for key in owed])
        for key in owed:
            self._owed.pop(key, None)


def client(settings: StorageSettings) -> "RedisPy":
    """A redis-py client with bounded connections and short time-outs."""
    pool = BlockingConnectionPool.from_url(
        settings.redis_url,
        max_connections=settings.redis_connections_max,
        timeout=settings.redis_timeout_s,
        socket_timeout=settings.redis_timeout_s,
        socket_connect_timeout=settings.redis_timeout_s,
        client_name="kith",
    )
    return RedisPy.from_pool(pool)
