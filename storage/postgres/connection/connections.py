"""A bounded pool of connections, each used by one caller at a time.

The driver's own pool costs more in proxies and tasks for each use than a small statement does. The
connection returned last is acquired first: its statements are prepared and its caches are warm.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from time import perf_counter
from typing import TypeAlias

import asyncpg
from prometheus_client import Counter

from telemetry.histogram import Histogram

Connection: TypeAlias = "asyncpg.Connection[asyncpg.Record]"

IDLE_S_MAX = 300
"""A firewall may have dropped a connection that was idle for longer, so it is replaced."""


_waits = Histogram(
    "kith_postgres_pool_wait_seconds",
    "Time that callers waited for a connection while all were in use.",
).labels()
_timeouts = Counter(
    "kith_postgres_pool_timeouts",
    "Callers that waited for a connection in vain and failed with OVERLOADED.",
)


@dataclass(frozen=True, slots=True)
class PoolUsage:
    """Connections of a pool: those in use, those idle, and the most that it opens."""

    in_use: int
    idle: int
    limit: int


class PoolTimeout(Exception):
    """All connections of the pool, or of the process's budget, are in use, and none was released in
    time."""


class ConnectionPool:
    """A pool of at most `limit` connections, opened by `connect`. A caller waits up to `wait_s` for
    one."""

    def __init__(
        self,
        connect: Callable[[], Awaitable[Connection]],
        limit: int,
        wait_s: float,
        is_wanted: Callable[[], bool] = lambda: False,
    ) -> None:
        """`is_wanted`: whether another pool waits for a connection of this one to be closed."""
        self._connect = connect
        self._is_wanted = is_wanted
        self._limit = limit
        self._wait_s = wait_s
        self._free = asyncio.Semaphore(limit)
        self._idle: deque[tuple[Connection, float]] = deque()
        self._acquired: set[Connection] = set()

    @property
    def usage(self) -> PoolUsage:
        return PoolUsage(len(self._acquired), len(self._idle), self._limit)

    async def acquire(self) -> Connection:
        """A free connection; the caller must `release` it.

        Raises:
            PoolTimeout: no connection was returned within `wait_s`.
            Exception: any that `connect` raises.
        """
        if self._free.locked():
            await self._wait()
        else:
            await self._free.acquire()
        try:
            connection = self._idle_connection() or await self._connect()
        except BaseException:
            self._free.release()
            raise
        self._acquired.add(connection)
        return connection

    async def _wait(self) -> None:
        begun = perf_counter()
        try:
            async with asyncio.timeout(self._wait_s):
                await self._free.acquire()
        except TimeoutError as error:
            _timeouts.inc()
            # The traceback refers to the task, and the task to the exception that ends it: a cycle.
            raise PoolTimeout from error.with_traceback(None)
        finally:
            _waits.observe(perf_counter() - begun)

    def release(self, connection: Connection, failure: BaseException | None = None) -> None:
        """Return a connection. `failure`: the exception with which the caller's use of it ended."""
        self._acquired.discard(connection)
        if _is_usable(connection, failure) and not self._is_wanted():
            self._idle.append((connection, asyncio.get_running_loop().time()))
        else:
            connection.terminate()
        if isinstance(failure, asyncpg.ReadOnlySQLTransactionError):
            self._close_idle()
        self._free.release()

    def _close_idle(self) -> None:
        """Close all idle connections, because their server is not the primary any more."""
        while self._idle:
            self._idle.pop()[0].terminate()

    @property
    def last_used(self) -> float:
        """When a connection was returned last, by the clock of the event loop."""
        return self._idle[-1][1] if self._idle else 0.0

    def close_one_idle(self) -> None:
        """Close the connection that has been idle for the longest time, if any is."""
        if self._idle:
            self._idle.popleft()[0].terminate()

    async def close(self, deadline_s: float) -> None:
        """Wait for the connections in use up to `deadline_s`, then close all. None can be acquired
        afterwards."""
        try:
            async with asyncio.timeout(deadline_s):
                for _ in range(self._limit):
                    await self._free.acquire()
                while self._idle:
                    await self._idle.pop()[0].close()
        except (TimeoutError, OSError, asyncpg.PostgresError, asyncpg.InterfaceError):
            for connection in [*self._acquired, *(idle for idle, _ in self._idle)]:
                connection.terminate()

    def _idle_connection(self) -> "Connection | None":
        oldest_release = asyncio.get_running_loop().time() - IDLE_S_MAX
        while self._idle:
            connection, released = self._idle.pop()
            if released > oldest_release and not connection.is_closed():
                return connection
            connection.terminate()
        return None


def _is_usable(connection: Connection, failure: BaseException | None) -> bool:
    """Whether the connection can be used again.

    It can after a statement that the server has rejected, and after a cancelled one: the driver
    sends a cancel request and waits for the reply before the next statement. Any other failure
    leaves its state unknown, and a read-only server is a standby, where no write can succeed.
    """
    harmless = (asyncpg.PostgresError, asyncio.CancelledError)
    return (
        (failure is None or isinstance(failure, harmless))
        and not isinstance(failure, asyncpg.ReadOnlySQLTransactionError)
        and not connection.is_closed()
        and not connection.is_in_transaction()
    )
