"""Long-lived client connections: their limits, sending, and closing.

The gateway buffers nothing for a client beyond the transport's own buffers. It closes a connection
whose client does not read in time.
"""

import asyncio
import contextlib
import time
from collections import Counter
from collections.abc import Callable, Hashable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

from prometheus_client import Counter as MetricCounter
from prometheus_client import Gauge
from starlette.types import Message, Receive, Send

from gateway.authentication.token_claims import Identity
from gateway.graphql.settings import StreamLimits
from gateway.graphql.shares import give_back
from gateway.http.client_address import ClientAddresses
from gateway.http.headers import Headers
from gateway.http.rejection import HttpRejection
from gateway.http.response_sender import CUT_OFF

_connections = Gauge(
    "kith_stream_connections",
    "Open web sockets, event streams, exports and streams of the change feed.",
    ["transport"],
)
_slow = MetricCounter(
    "kith_slow_consumers_dropped", "Clients disconnected because they did not read in time."
)


@dataclass(frozen=True, slots=True)
class Ending:
    """Why a connection ends: the code and reason of a web socket's close frame. Without a code,
    none is sent: the client has disconnected, or the connection's work is done."""

    code: int | None
    reason: str = ""


A_YEAR_S = 366 * 86_400
"""The longest timer: no connection lasts as long."""

GONE = Ending(None)
FULL = Ending(1013, "This server has too many open streams; try again later")
GOING_AWAY = Ending(1001, "This server is shutting down; connect again")
SPACE_CHANGED = Ending(1001, "The space was changed or closed; connect again")
INTERNAL = Ending(4500, "Internal error")
EXPIRED = Ending(4403, "Forbidden: the token has expired")
SLOW = Ending(4413, "Too slow: messages were not read in time")


class Connection:
    """One client connection. `ended` is done with the reason when it must close."""

    def __init__(self, send: Send, limits: StreamLimits) -> None:
        self._send = send
        self._deadline_s = limits.send_deadline_ms / 1000
        self._expiry: asyncio.TimerHandle | None = None
        self._closing: list[Callable[[], None]] = []
        self.ended: asyncio.Future[Ending] = asyncio.get_running_loop().create_future()

    def end(self, ending: Ending) -> None:
        """End the connection. Later reasons are ignored."""
        if not self.ended.done():
            self.ended.set_result(ending)

    def end_at(self, moment_s: int | None) -> None:
        """End the connection at `moment_s`, when its token expires, in seconds since 1970. None:
        never."""
        if moment_s is not None:
            loop = asyncio.get_running_loop()
            left_s = min(moment_s - int(time.time()), A_YEAR_S)
            self._expiry = loop.call_later(max(0, left_s), self.end, EXPIRED)

    async def end_with_client(self, receive: Receive) -> None:
        """Wait until the client of an HTTP request has disconnected, and end the connection."""
        while (await receive())["type"] != "http.disconnect":
            pass
        self.end(GONE)

    async def until_ended_or(self, work: "asyncio.Task[Any]") -> None:
        """Return as soon as the connection has ended or the work is done."""
        either: set[asyncio.Future[Any]] = {self.ended, work}
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)

    async def send(self, message: Message) -> bool:
        """Send a message. Returns whether the transport has accepted it before the deadline. If it
        has not, the connection ends."""
        if self.ended.done():
            return False
        try:
            is_taken = await self._taken(message)
        except OSError:
            self.end(GONE)
            return False
        if not is_taken:
            _slow.inc()
            self.end(SLOW)
        return is_taken

    async def send_last(self, message: Message) -> bool:
        """Send a final message, even after the end. Gives up after the usual deadline. Returns
        whether the transport has taken it."""
        try:
            return await self._taken(message)
        except OSError:
            return False

    async def cut_off(self) -> None:
        """End an HTTP response without its end, so that the client knows that it is incomplete."""
        await self._send(CUT_OFF)

    def at_close(self, closed: Callable[[], None]) -> None:
        """Call `closed` when the connection is closed."""
        self._closing.append(closed)

    def close(self) -> None:
        self.end(GONE)
        if self._expiry is not None:
            self._expiry.cancel()
        closing, self._closing = self._closing, []  # they refer to this connection
        for closed in closing:
            closed()

    async def _taken(self, message: Message) -> bool:
        try:
            async with asyncio.timeout(self._deadline_s):
                await self._send(message)
        except TimeoutError:
            return False
        return True


def never_begun() -> HttpRejection:
    """The response if a connection ended before the beginning of its stream was sent."""
    return _overloaded("This stream ended before it began. Try again.")


def _overloaded(message: str) -> HttpRejection:
    return HttpRejection(503, "OVERLOADED", message, {"retry-after": "1"})


PER_CALLER_DIVISOR = 10
PER_CALLER_MIN = 100
"""A viewer has at most 1/10 of the connections of a process, and may always have 100. So has an
address without a token."""

ANONYMOUS_DIVISOR = 2
"""All connections without a token are at most 1/2 of those of a process."""

_ANONYMOUS = object()


class OpensConnections(Protocol):
    """Opens connections within limits."""

    limits: StreamLimits

    def claim(self, connection: Connection, identity: Identity, headers: Headers) -> None:
        """Count an open connection for its viewer or address. Raises HttpRejection 503 above the
        limit."""

    def opened(self, transport: str, send: Send) -> AbstractContextManager[Connection]:
        """Open a connection inside the `with` statement. Raises HttpRejection 503 above the
        limit."""


class Connections:
    """All open connections of this process.

    A connection is unclaimed until it is known whose it is. If there are too many, the oldest
    unclaimed one gives its place to the next: otherwise clients that never say who they are would
    keep viewers and services out.
    """

    def __init__(self, limits: StreamLimits) -> None:
        self.limits = limits
        self._open: set[Connection] = set()
        self._unclaimed: dict[Connection, None] = {}
        self._limit_of_one = max(PER_CALLER_MIN, limits.connections_max // PER_CALLER_DIVISOR)
        self._limit_of_anonymous = max(1, limits.connections_max // ANONYMOUS_DIVISOR)
        self._claimed: Counter[Hashable] = Counter()
        self._stopped = False
        self._none_open = asyncio.Event()
        self._none_open.set()

    @contextlib.contextmanager
    def opened(self, transport: str, send: Send) -> Iterator[Connection]:
        """Open a connection inside the `with` statement. Raises HttpRejection 503 above the
        limit."""
        is_full = len(self._open) >= self.limits.connections_max
        if self._stopped or (is_full and not self._make_room()):
            raise _overloaded("This server has too many open streams. Try again later.")
        connection = Connection(send, self.limits)
        self._open.add(connection)
        self._unclaimed[connection] = None
        self._none_open.clear()
        _connections.labels(transport).inc()
        try:
            yield connection
        finally:
            _connections.labels(transport).dec()
            self._forget(connection)
            connection.close()
            if not self._open:
                self._none_open.set()

    def claim_for_service(self, connection: Connection) -> None:
        """Keep an open connection for a service."""
        self._unclaimed.pop(connection, None)

    def claim_for_viewer(self, connection: Connection, viewer: Hashable) -> None:
        """Count an open connection for a viewer. Raises HttpRejection 503 above the limit."""
        message = f"You have {self._limit_of_one} open streams here. Close some of them."
        self._count(connection, viewer, self._limit_of_one, message)
        self._unclaimed.pop(connection, None)

    def claim_for_address(self, connection: Connection, address: str) -> None:
        """Count an open connection without a token for its address. Raises HttpRejection 503 above
        its limit, or that of all such connections."""
        message = f"Your address has {self._limit_of_one} open streams without a token. Sign in."
        self._count(connection, address, self._limit_of_one, message)
        message = "This server has too many open streams without a token. Sign in."
        self._count(connection, _ANONYMOUS, self._limit_of_anonymous, message)
        self._unclaimed.pop(connection, None)

    def _count(self, connection: Connection, holder: Hashable, limit: int, message: str) -> None:
        """Count a connection for its holder until it is closed. Raises HttpRejection 503."""
        if self._claimed[holder] >= limit:
            raise _overloaded(message)
        self._claimed[holder] += 1
        connection.at_close(partial(give_back, self._claimed, holder))

    def _make_room(self) -> bool:
        """End the oldest unclaimed connection. Returns whether there is one."""
        oldest = next(iter(self._unclaimed), None)
        if oldest is None:
            return False
        oldest.end(FULL)
        self._forget(oldest)  # it takes a moment to close, but its place is needed now
        return True

    def _forget(self, connection: Connection) -> None:
        self._open.discard(connection)
        self._unclaimed.pop(connection, None)

    async def close_connections(self) -> None:
        """End all connections and reject new ones. Return when all are closed, or at a deadline."""
        self._stopped = True
        for connection in self._open:
            connection.end(GOING_AWAY)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self.limits.send_deadline_ms / 1000):
                await self._none_open.wait()


class SpaceConnections:
    """The connections of one space, among those of this process."""

    def __init__(self, connections: Connections, addresses: ClientAddresses) -> None:
        self.limits = connections.limits
        self._all = connections
        self._addresses = addresses
        self._open: set[Connection] = set()
        self._has_ended = False

    @contextlib.contextmanager
    def opened(self, transport: str, send: Send) -> Iterator[Connection]:
        """The same as `Connections.opened`."""
        with self._all.opened(transport, send) as connection:
            self.add(connection)
            yield connection

    def claim(self, connection: Connection, identity: Identity, headers: Headers) -> None:
        """Count an open connection for the viewer, or without one for the address in the headers,
        unless a service has opened it. Raises HttpRejection 503 above the limit."""
        if identity.service:
            self._all.claim_for_service(connection)
        elif identity.user_id is not None:
            self._all.claim_for_viewer(connection, (id(self), identity.user_id))
        else:
            self._all.claim_for_address(connection, self._addresses.address_of(headers))

    def add(self, connection: Connection) -> None:
        """Add a connection that is open already."""
        self._open.add(connection)
        connection.at_close(lambda: self._open.discard(connection))
        if self._has_ended:
            connection.end(SPACE_CHANGED)

    def end(self) -> None:
        """End all connections, and later ones as soon as they are opened: this process stops
        serving the space, or serves it with other settings."""
        self._has_ended = True
        for connection in self._open:
            connection.end(SPACE_CHANGED)
