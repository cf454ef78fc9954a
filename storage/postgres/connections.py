"""A bounded number of connections, kept open and lent to one caller at a time. Knows no SQL.

Leaner than the driver's own pool, whose proxies and tasks around each loan cost more than a small
statement does. The one given back last is lent first: its statements are prepared, its caches warm.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import TypeAlias

import asyncpg

Connection: TypeAlias = "asyncpg.Connection[asyncpg.Record]"

IDLE_S_MAX = 300
"""Longer silence may have been cut by a firewall without a word: better connect anew."""


class NoneFree(Exception):
    """All connections are lent, and none came back in time."""


class Connections:
    """`connect` makes one; at most `most` exist; who finds none free waits for `wait_s`."""

    def __init__(
        self, connect: Callable[[], Awaitable[Connection]], most: int, wait_s: float
    ) -> None:
        self._connect = connect
        self._most = most
        self._wait_s = wait_s
        self._free = asyncio.Semaphore(most)
        self._idle: deque[tuple[Connection, float]] = deque()
        self._lent: set[Connection] = set()

    async def borrow(self) -> Connection:
        """A connection, to be given back.

        Raises:
            NoneFree: as it says.
            Whatever `connect` raises.
        """
        if self._free.locked():
            await self._wait()
        else:
            await self._free.acquire()
        try:
            connection = self._kept() or await self._connect()
        except BaseException:
            self._free.release()
            raise
        self._lent.add(connection)
        return connection

    async def _wait(self) -> None:
        try:
            async with asyncio.timeout(self._wait_s):
                await self._free.acquire()
        except TimeoutError as error:
            raise NoneFree from error

    def give_back(self, connection: Connection, failure: BaseException | None = None) -> None:
        """`failure` is what the caller's use of it ended with."""
        self._lent.discard(connection)
        if _usable(connection, failure):
            self._idle.append((connection, asyncio.get_running_loop().time()))
        else:
            connection.terminate()
        self._free.release()

    async def close(self, deadline_s: float) -> None:
        """Waits for what is lent, and lends nothing more."""
        try:
            async with asyncio.timeout(deadline_s):
                for _ in range(self._most):
                    await self._free.acquire()
                while self._idle:
                    await self._idle.pop()[0].close()
        except (TimeoutError, OSError, asyncpg.PostgresError, asyncpg.InterfaceError):
            for connection in [*self._lent, *(idle for idle, _ in self._idle)]:
                connection.terminate()

    def _kept(self) -> "Connection | None":
        since = asyncio.get_running_loop().time() - IDLE_S_MAX
        while self._idle:
            connection, given_back = self._idle.pop()
            if given_back > since and not connection.is_closed():
                return connection
            connection.terminate()
        return None


def _usable(connection: Connection, failure: BaseException | None) -> bool:
    """Whether the next caller may have it.

    After a refused statement, yes. After a cancelled one too: the driver has told the server, and
    waits for its word before the next. All else leaves in doubt what state it is in.
    """
    known = (asyncpg.PostgresError, asyncio.CancelledError)
    return (
        (failure is None or isinstance(failure, known))
        and not connection.is_closed()
        and not connection.is_in_transaction()
    )
