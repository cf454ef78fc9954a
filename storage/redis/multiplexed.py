"""One multiplexed connection for all requests of a process.

Commands of one event loop iteration are sent in one write, and replies arrive in order. It is
faster than a pool, in which every call takes, wakes and returns a connection. A call whose caller
was cancelled stays in the queue, so that later replies still match their calls.
"""

import asyncio
import ssl
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from time import perf_counter
from typing import Protocol, TypeAlias, cast

import hiredis
from redis.exceptions import RedisError

from storage.redis.address import Address
from storage.redis.scripts import LOADS
from storage.redis.sentinel import location_of
from storage.redis.wire import (
    LONG,
    Command,
    Preformatted,
    ReadOnly,
    Reply,
    ScriptUnknown,
    WireError,
    rejection,
)
from telemetry.histogram import Histogram, Series

GRACE_S = 0.05
"""How long a connection stays open after its timeout, to read replies that have arrived already."""

IN_FLIGHT_MAX = 10_000
"""Calls that wait for replies. More could not be answered before their timeout, so they fail at
once."""


class Listener(Protocol):
    """Receives the server's push messages (RESP3) on a connection of its own."""

    greeting: Sequence[Command]
    """Commands that enable the push messages."""

    def pushed(self, message: Reply) -> None:
        """Handle a push message. All replies that arrived before it have been read already."""
        ...

    def lost(self) -> None:
        """The connection was lost, and any push messages with it."""
        ...


_pack: Callable[[Command], bytes] = hiredis.pack_command  # type: ignore[assignment]

_durations = Histogram(
    "kith_redis_call_duration_seconds",
    "Time from a call, which may have many commands, to its last reply.",
    ["connection"],
)

SHARED, CACHES, LOCAL, NOTIFIER = "shared", "caches", "local", "notifier"
"""The purpose of a connection, in metrics. `shared` is the one to `REDIS_URL`."""

_Call: TypeAlias = "tuple[asyncio.Future[list[Reply]], int, float]"
"""A call, the number of replies that it waits for, and when it began."""


class _Statistics:
    """The statistics of all connections that a wire has opened."""

    __slots__ = ("durations", "round_trips")

    def __init__(self, durations: Series) -> None:
        self.durations = durations
        self.round_trips = 0


class MultiplexedWire:
    """Implements `Wire`. Connects at the first call, and again at the first call after a loss."""

    def __init__(
        self,
        redis_url: str,
        timeout_s: float,
        listener: Listener | None = None,
        purpose: str = SHARED,
    ) -> None:
        """`purpose`: for metrics. Raises ValueError if the URL has a wrong parameter."""
        self._timeout_s = timeout_s
        self._listener = listener
        self._location = location_of(redis_url)
        self._connection: _Connection | None = None
        self._statistics = _Statistics(_durations.labels(purpose))
        self._connecting = asyncio.Lock()

    def send(self, commands: Sequence[Command]) -> Awaitable[list[Reply]]:
        connection = self._connection
        if connection is None or connection.lost:
            return self._send_once_connected(commands)
        return connection.send(commands)

    async def _send_once_connected(self, commands: Sequence[Command]) -> list[Reply]:
        return await (await self._current_connection()).send(commands)

    @property
    def round_trips(self) -> int:
        return self._statistics.round_trips

    async def close(self) -> None:
        async with self._connecting:  # a connection that is being opened is closed too
            if self._connection is not None:
                self._connection.close()

    async def _current_connection(self) -> "_Connection":
        try:
            async with asyncio.timeout(self._timeout_s), self._connecting:
                if self._connection is None or self._connection.lost:
                    self._connection = await self._connect_to_current()
                return self._connection
        except ssl.SSLCertVerificationError as error:
            text = f"the certificate of {self._location} was rejected: {error.verify_message}"
            raise WireError(text) from error
        except TimeoutError as error:
            text = f"{self._location} did not answer within {self._timeout_s:g} s"
            # A traceback refers to its task, and a task to its exception: a reference cycle.
            raise WireError(text) from error.with_traceback(None)
        except (OSError, RedisError) as error:
            raise WireError(f"{self._location} cannot be reached: {error}") from error

    async def _connect_to_current(self) -> "_Connection":
        """A connection to the server that has the address when it answers: a primary that hung
        meanwhile may have been replaced."""
        greeting = self._listener.greeting if self._listener else ()
        while True:
            address = await self._location.find()
            connection = await _connect(address, self._new_connection, greeting)
            try:
                if await self._location.find() == address:
                    return connection
            except BaseException:
                connection.close()
                raise
            connection.close("another server is the primary now")

    def _new_connection(self) -> "_Connection":
        return _Connection(self._timeout_s, self._statistics, self._listener)


class _Connection(asyncio.Protocol):
    """A connection and the calls that wait for its replies, oldest first."""

    def __init__(
        self, timeout_s: float, statistics: _Statistics, listener: Listener | None
    ) -> None:
        self._timeout_s = timeout_s
        self._listener = listener
        self._statistics = statistics
        self._reads = 0
        """How often data has arrived. The timeout starts again each time, because all replies to
        one call may take longer than `timeout_s`."""
        self._is_watched = False
        self._loop = asyncio.get_running_loop()
        self._reader = hiredis.Reader()
        self._transport: asyncio.Transport | None = None
        self._unsent: list[bytes] = []
        self._waiting: deque[_Call] = deque()
        self._replies: list[Reply] = []
        self._closed_because = "the server closed it"
        self.lost = False

    def send(self, commands: Sequence[Command]) -> "asyncio.Future[list[Reply]]":
        """Send the commands in the next write. Raises WireError at once if the connection is lost
        or `IN_FLIGHT_MAX` calls wait."""
        if self.lost or len(self._waiting) >= IN_FLIGHT_MAX:
            raise WireError("the connection is lost" if self.lost else "too many calls in flight")
        # Pack all commands before sending any: if packing fails in between, half a call would be
        # sent, and all later calls would get wrong replies.
        packed: list[bytes] = []
        for command in commands:
            if type(command) is Preformatted and len(command) >= LONG:
                packed.append(command.packed())
            else:
                packed.append(_pack(command))
        if not self._unsent:
            self._loop.call_soon(self._flush)
        self._unsent += packed
        future: asyncio.Future[list[Reply]] = self._loop.create_future()
        self._waiting.append((future, len(packed), perf_counter()))
        return future

    def close(self, reason: str = "it was closed") -> None:
        """Close the connection. Calls that wait fail with `reason`."""
        self._closed_because = reason
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's is not a subclass

    def connection_lost(self, exc: Exception | None) -> None:
        self.lost = True
        for future, _, _ in self._waiting:
            if not future.done():
                future.set_exception(
                    WireError(f"the connection was lost: {exc or self._closed_because}")
                )
        self._waiting.clear()
        if self._listener is not None:
            self._listener.lost()

    def data_received(self, data: bytes) -> None:
        self._reads += 1
        self._reader.feed(data)
        next_reply, listener = self._reader.gets, self._listener
        try:
            while (reply := next_reply()) is not False:
                if listener is not None and type(reply) is hiredis.PushNotification:
                    listener.pushed(reply)
                    continue
                self._replies.append(reply)
                if len(self._replies) == self._waiting[0][1]:
                    self._answer()
        except hiredis.ProtocolError as error:
            self.close(f"invalid reply: {error}")

    def _answer(self) -> None:
        """Complete the oldest call, which has all its replies."""
        future, _, began_at = self._waiting.popleft()
        self._statistics.durations.observe(perf_counter() - began_at)
        replies, self._replies = self._replies, []
        if future.done():
            return  # the caller was cancelled
        for reply in replies:
            if isinstance(reply, hiredis.HiredisError):
                error = rejection(str(reply))
                future.set_exception(error)
                if isinstance(error, ScriptUnknown | ReadOnly):
                    # The next call connects again: to the primary, with the scripts.
                    self.close(f"to connect again: {error}")
                return
        future.set_result(replies)

    def _flush(self) -> None:
        unsent, self._unsent = self._unsent, []
        if self._transport is not None and not self.lost:
            self._statistics.round_trips += 1
            if not self._is_watched:
                self._watch()
            self._transport.write(b"".join(unsent))

    def _watch(self) -> None:
        """Start the shared timer. The connection is closed if nothing arrives within
        `timeout_s`."""
        self._is_watched = True
        self._loop.call_later(self._timeout_s, self._check_timeout, self._reads)

    def _check_timeout(self, reads: int) -> None:
        """Close the connection if calls wait and nothing was read since the timer started. `reads`:
        the number of reads at that moment."""
        if self._waiting and self._reads == reads:
            # The event loop may have been late: read the replies in the socket's buffer first.
            self._loop.call_later(GRACE_S, self._close_or_watch, reads)
        else:
            self._watch_if_waiting()

    def _close_or_watch(self, reads: int) -> None:
        if self._waiting and self._reads == reads:
            self._is_watched = False
            self.close(f"no reply within {self._timeout_s:g} s")
        else:
            self._watch_if_waiting()

    def _watch_if_waiting(self) -> None:
        self._is_watched = False
        if self._waiting:
            self._watch()


async def _connect(
    address: Address, made: Callable[[], _Connection], greeting: Sequence[Command]
) -> _Connection:
    loop = asyncio.get_running_loop()
    if address.path:
        _, connection = await loop.create_unix_connection(made, address.path)
    else:
        _, connection = await loop.create_connection(
            made, address.host, address.port, ssl=address.tls
        )
    try:
        await connection.send([*_greeting(address), *greeting])
    except BaseException:
        connection.close()
        raise
    return connection


def _greeting(address: Address) -> list[Command]:
    commands: list[Command] = []
    if address.password:
        credentials = filter(None, (address.username, address.password))
        commands.append(("AUTH", *credentials))
    return [*commands, ("SELECT", address.database), ("CLIENT", "SETNAME", "kith"), *LOADS]
