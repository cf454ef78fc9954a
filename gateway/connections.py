"""Clients that stay: how many there may be, how each is sent to, and why it is sent away.

Nothing is buffered for a client beyond what its connection takes: whoever does not read in time is
sent away. Knows neither web sockets nor server-sent events.
"""

import asyncio
import contextlib
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from prometheus_client import Counter, Gauge
from starlette.types import Message, Send

from gateway.http_refusal import HttpRefusal

_connections = Gauge("kith_stream_connections", "Clients that stay connected.", ["transport"])
_slow = Counter("kith_slow_consumers_dropped", "Clients sent away because they did not read.")


@dataclass(frozen=True, slots=True)
class StreamLimits:
    """Bounds of clients that stay. `send_deadline_ms` is how long one may leave a message lying."""

    connections_max: int = 5_000
    subscriptions_per_connection_max: int = 100
    send_deadline_ms: int = 5_000
    init_deadline_ms: int = 10_000
    request_deadline_ms: int = 10_000
    keep_alive_ms: int = 15_000


@dataclass(frozen=True, slots=True)
class Ending:
    """Why a connection ends. Without a code there is nobody left to tell."""

    code: int | None
    reason: str = ""


A_YEAR_S = 366 * 86_400
"""No connection lasts as long as that, and no timer need."""

GONE = Ending(None)
GOING_AWAY = Ending(1001, "This server is shutting down; connect again")
INTERNAL = Ending(4500, "Internal error")
EXPIRED = Ending(4403, "Forbidden: the token has expired")
SLOW = Ending(4413, "Too slow: messages were not read in time")


class Connection:
    """One client that stays, until `ended` says why it does not."""

    def __init__(self, send: Send, limits: StreamLimits) -> None:
        self._send = send
        self._deadline_s = limits.send_deadline_ms / 1000
        self._expiry: asyncio.TimerHandle | None = None
        self.ended: asyncio.Future[Ending] = asyncio.get_running_loop().create_future()

    def end(self, ending: Ending) -> None:
        """Only the first reason counts."""
        if not self.ended.done():
            self.ended.set_result(ending)

    def end_at(self, moment_s: int | None) -> None:
        """Ends at a moment, in seconds since 1970, as the client's token expires."""
        if moment_s is not None:
            loop = asyncio.get_running_loop()
            left_s = min(moment_s - int(time.time()), A_YEAR_S)
            self._expiry = loop.call_later(max(0, left_s), self.end, EXPIRED)

    async def until_ended_or(self, work: "asyncio.Task[None]") -> None:
        """Returns as soon as the connection has ended or the work is done."""
        either: set[asyncio.Future[Any]] = {self.ended, work}
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)

    async def send(self, message: Message) -> None:
        """Returns when the connection has taken it, or has ended."""
        try:
            if not self.ended.done() and not await self._taken(message):
                _slow.inc()
                self.end(SLOW)
        except OSError:
            self.end(GONE)

    async def send_last(self, message: Message) -> None:
        """What may be the last words: as long as any others, and then no longer."""
        try:
            await self._taken(message)
        except OSError:
            return

    def close(self) -> None:
        self.end(GONE)
        if self._expiry is not None:
            self._expiry.cancel()

    async def _taken(self, message: Message) -> bool:
        try:
            async with asyncio.timeout(self._deadline_s):
                await self._send(message)
        except TimeoutError:
            return False
        return True


class Connections:
    """All that stay in this process."""

    def __init__(self, limits: StreamLimits) -> None:
        self.limits = limits
        self._open: set[Connection] = set()
        self._stopped = False
        self._none_open = asyncio.Event()
        self._none_open.set()

    @contextlib.contextmanager
    def opened(self, transport: str, send: Send) -> Iterator[Connection]:
        """A connection for as long as the block runs. Raises HttpRefusal 503 if all are taken."""
        if self._stopped or len(self._open) >= self.limits.connections_max:
            message = "This server has too many open streams. Try again later."
            raise HttpRefusal(503, "OVERLOADED", message, {"retry-after": "1"})
        connection = Connection(send, self.limits)
        self._open.add(connection)
        self._none_open.clear()
        _connections.labels(transport).inc()
        try:
            yield connection
        finally:
            _connections.labels(transport).dec()
            self._open.discard(connection)
            connection.close()
            if not self._open:
                self._none_open.set()

    async def hang_up(self) -> None:
        """Ends all, and lets no other in; returns when they have been told, or would not hear."""
        self._stopped = True
        for connection in self._open:
            connection.end(GOING_AWAY)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self.limits.send_deadline_ms / 1000):
                await self._none_open.wait()
