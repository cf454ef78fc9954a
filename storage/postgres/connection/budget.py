"""The connections to PostgreSQL that the pools of all spaces of a process may open together."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable

from storage.postgres.connection.connections import Connection, ConnectionPool, PoolTimeout


class ConnectionBudget:
    """At most `limit` connections, in the pools of one process.

    If none is left, one idle connection of the pool that was used longest ago is closed. If none is
    idle, callers wait in the order of their arrival, so that a busy space cannot keep the others
    from PostgreSQL. A caller waits for at most as long as for a connection of its own pool.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.open = 0
        self._pools: list[ConnectionPool] = []
        self._waiting: deque[asyncio.Future[None]] = deque()

    @property
    def is_wanted(self) -> bool:
        """Whether a caller waits until another pool closes a connection."""
        return bool(self._waiting)

    def add(self, pool: ConnectionPool) -> None:
        """Add a pool, whose idle connections may be closed for callers of other pools."""
        self._pools.append(pool)

    def remove(self, pool: ConnectionPool) -> None:
        self._pools.remove(pool)

    async def connect(
        self, connect: Callable[[], Awaitable[Connection]], wait_s: float
    ) -> Connection:
        """Open a connection. It is counted until it is closed.

        Raises:
            PoolTimeout: there was no place for it within `wait_s`.
            Exception: any that `connect` raises.
        """
        await self._reserve(wait_s)
        try:
            connection = await connect()
        except BaseException:
            self._free_place()
            raise
        connection.add_termination_listener(self._on_closed)
        return connection

    async def _reserve(self, wait_s: float) -> None:
        """Count a connection that is about to be opened. If there is no place for it, close an idle
        one and wait for the place. Raises PoolTimeout."""
        if self.open < self.limit and not self._waiting:
            self.open += 1
            return
        place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(place)
        self._close_an_idle_one()
        try:
            async with asyncio.timeout(wait_s):
                await place
        except TimeoutError as error:
            self._stop_waiting(place)
            raise PoolTimeout from error.with_traceback(None)  # as in `ConnectionPool`
        except asyncio.CancelledError:
            self._stop_waiting(place)
            raise

    def _stop_waiting(self, place: "asyncio.Future[None]") -> None:
        if place in self._waiting:
            self._waiting.remove(place)
        elif place.done() and not place.cancelled():
            self._free_place()  # its place was granted at the same moment

    def _close_an_idle_one(self) -> None:
        idle = [pool for pool in self._pools if pool.usage.idle]
        if idle:
            min(idle, key=lambda pool: pool.last_used).close_one_idle()

    def _on_closed(self, _: object) -> None:
        self._free_place()

    def _free_place(self) -> None:
        while self._waiting:
            place = self._waiting.popleft()
            if not place.done():
                place.set_result(None)  # gives the place to the next caller
                return
        self.open -= 1
