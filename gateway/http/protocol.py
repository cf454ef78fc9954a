"""HTTP connections with limits on the size, the number and the time of headers, on trailers, tiny
chunks and pipelined requests.

uvicorn with httptools has none: a header without an end occupies a core and the memory, and a
connection that sends nothing stays open. This subclass uses internals of uvicorn, which
tests/unit/test_http_protocol.py lists.
"""

import asyncio
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import httptools
from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol
from uvicorn.server import ServerState

from gateway.http.keep_alive_timer import KeepAliveTimer
from gateway.http.open_connections import ConnectionLimits, OpenConnections, rejections
from gateway.http.rejection import HttpRejection
from gateway.http.response_sender import header_lines, with_sender
from gateway.http.security_headers import SECURITY_HEADERS
from gateway.http.stall_timer import StallTimer
from gateway.http.unsent_bytes import ConnectionUnsentBytes, ProcessUnsentBytes

SLICE_BYTES = 16_384
"""The parser gets this much at once. An event loop reads up to 256 KB."""

FRAMING_BYTES_MAX = 262_144
"""Bytes of a request after its headers that are not of its body."""

TRAILERS_MAX = 100
"""Each takes 0.3 µs to receive and drop."""

PIECES_MAX = 250
"""Pieces of a body beyond one for each `PIECE_BYTES`. Each takes 0.7 µs to receive, whatever its
size, so a flood of chunks of one byte would stop the event loop."""

PIECE_BYTES = 32

PATH_BYTES_MAX = 2_000
"""Of the part of a URL before the question mark. uvicorn decodes it, which takes 50 ns for each
byte."""

PIPELINED_MAX = 16
"""Requests that wait for earlier ones of their connection."""

PIPELINED_BYTES_MAX = 49_152
"""Their bytes, without those of one slice: together less than the 64 KB of a body above which
uvicorn stops reading. They are always read, because only reading shows that the client has left."""

HANDSHAKE_ITEMS_MAX = 50
"""Items of the lists in the headers of a web socket's handshake. Browsers send five. websockets
takes 2 µs to parse one; without a limit, there could be 16,000."""

_HANDSHAKE_LISTS = (b"connection", b"upgrade")
_HANDSHAKE_PREFIX = b"sec-websocket-"

LINGER_S = 1.0
"""How long a rejected client may read its response. A close with unread data would discard it."""

MALFORMED = HttpRejection(400, "BAD_REQUEST", "This is not a valid HTTP request.")
PATH_TOO_LONG = HttpRejection(
    414, "URI_TOO_LONG", f"The path of a URL must have at most {PATH_BYTES_MAX} bytes."
)
UPGRADE_TOO_EARLY = HttpRejection(
    400, "BAD_REQUEST", "A web socket's handshake must not be sent before earlier responses end."
)
HOST = HttpRejection(400, "BAD_REQUEST", "A request must have one Host header.")
PIECES = HttpRejection(400, "BAD_REQUEST", "The body has too many small chunks. Send larger ones.")
PIPELINED = HttpRejection(400, "BAD_REQUEST", "Too many requests or bytes are pipelined.")
HANDSHAKE_ITEMS = HttpRejection(
    431,
    "HEADERS_TOO_LARGE",
    "The headers Connection, Upgrade and Sec-WebSocket-* of a handshake must have at most"
    f" {HANDSHAKE_ITEMS_MAX} items.",
)
FULL = HttpRejection(
    503, "OVERLOADED", "This server has too many open connections.", {"retry-after": "1"}
)


class _Trailers(list[tuple[bytes, bytes]]):
    """The list to which uvicorn appends the trailers of a request. It keeps none of them, so none
    becomes a header: a proxy checks only the headers."""

    _count = 0

    def append(self, trailer: tuple[bytes, bytes]) -> None:
        self._count += 1
        if self._count > TRAILERS_MAX:
            raise ValueError(TRAILERS_MAX)  # the parser turns it into an error of its own


_Create = Callable[..., asyncio.Protocol]


def bounded_protocol(limits: ConnectionLimits, unsent: ProcessUnsentBytes) -> _Create:
    """A factory of connections that share these limits: uvicorn's option `http`."""
    return partial(
        BoundedHttpProtocol,
        limits=limits,
        open_connections=OpenConnections(limits.connections_max),
        unsent=unsent,
    )


class BoundedHttpProtocol(HttpToolsProtocol):
    """One HTTP connection. Implements `gateway.http.open_connections.HttpConnection`."""

    # uvicorn declares both without the None that they are before the first request.
    cycle: Any
    scope: Any

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
        *,
        limits: ConnectionLimits,
        open_connections: OpenConnections,
        unsent: ProcessUnsentBytes,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._process_unsent = unsent
        self._unsent: ConnectionUnsentBytes
        """What its client has not read. Known once the connection is made."""
        self._next: tuple[Any, Any] | None = None
        """The request that begins when the client has read the responses before."""
        self._limits = limits
        self._open_connections = open_connections
        self._slice = min(SLICE_BYTES, limits.head_bytes_max)
        self._head_bytes = 0
        """Bytes of an incomplete head, and at most a slice of what came before it."""
        self._framing_bytes = 0
        self._pieces_left = PIECES_MAX
        self._pipelined_bytes = 0
        """All bytes that this connection has received while requests waited."""
        self._head_timer: asyncio.TimerHandle | None = None
        self._keep_alive_timer = KeepAliveTimer(self.loop, limits.idle_s)
        self._stall_timer = StallTimer(self.loop, limits.stall_ms)
        self._linger_timer: asyncio.TimerHandle | None = None
        self._rejection = MALFORMED
        """The response to a request that the parser does not accept."""
        self._is_closing = False
        self._running: Any = None
        """The cycle of the request that began last. uvicorn's `cycle` is that of the request which
        arrived last; it is a later one if requests are pipelined."""

    @property
    def address(self) -> str | None:
        return self.client[0] if self.client else None

    @property
    def waits_for_client(self) -> bool:
        running = self._running
        return running is None or running.response_complete or running.more_body

    @property
    def is_unused(self) -> bool:
        return self.cycle is None

    def evict(self) -> None:
        # The set is uvicorn's. Closing removes the connection later, but its place is needed now.
        self.connections.discard(self)
        self.transport.abort()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._unsent = ConnectionUnsentBytes(self._process_unsent, transport, self.address)
        self.app = with_sender(self.app, self._unsent)
        others = len(self.connections) - 1  # with web sockets
        if self._open_connections.add(self, others):
            self._start_head_timer()
        else:
            self._reject(FULL)

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timers()
        self._open_connections.discard(self)
        self._unsent.buffer_emptied()
        self._next = None
        if self.pipeline:  # uvicorn tells only the last request that its client has disconnected
            self.pipeline.clear()
            self._running.disconnected = not self._running.response_complete
            self._running.message_event.set()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if len(data) <= self._slice:
            return self._parse(data)
        for start in range(0, len(data), self._slice):
            self._parse(data[start : start + self._slice])
        return None

    def _parse(self, data: bytes) -> None:
        """Parse a slice of what was received, and check the limits on what is incomplete."""
        if self._is_closing:
            return
        self._keep_alive_timer.end_idle()
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            if super()._should_upgrade():
                if self._has_unanswered_request():
                    # The new protocol would not tell its application that the client has left.
                    self._reject(UPGRADE_TOO_EARLY)
                else:
                    self.handle_websocket_upgrade()
            else:
                # What follows the head may be a body. A proxy takes it for one: if it was read as
                # the next request, clients of the proxy would get each other's responses.
                (head_end,) = upgrade.args
                self._parse(self._head_without_upgrade() + data[head_end:])
        except httptools.HttpParserError:
            self._reject(self._rejection)
        else:
            cycle = self.cycle
            if cycle is None or cycle.response_complete or self._is_reading_head():
                self._limit_head(len(data))
            elif cycle.more_body:
                self._limit_framing(len(data) - len(cycle.body))
            if self.pipeline:
                self._limit_pipelined(len(data))

    def _is_reading_head(self) -> bool:
        # uvicorn sets the method when all headers have arrived.
        return self.scope is not None and "method" not in self.scope

    def _limit_head(self, size: int) -> None:
        """Limit a head that is incomplete, or has not begun since the last request ended."""
        self._start_head_timer()
        if not self._is_reading_head():
            return  # empty lines between requests, or the rest of a rejected body
        self._head_bytes += size
        is_long = self._head_bytes > self._limits.head_bytes_max + self._slice
        # 12,000 headers of four bytes take 540 KB.
        if is_long or len(self.headers) > self._limits.headers_max:
            self._reject(self._headers_too_large())

    def _limit_framing(self, size: int) -> None:
        """Limit what comes with a body: sizes of chunks, and trailers."""
        self._framing_bytes += max(0, size)
        if self._framing_bytes > FRAMING_BYTES_MAX:
            self._reject(MALFORMED)

    def _limit_pipelined(self, size: int) -> None:
        """Limit what has been received since the oldest request that waits."""
        self._pipelined_bytes += size
        oldest: Any = self.pipeline[-1][0]
        if self._pipelined_bytes - oldest.bytes_before > PIPELINED_BYTES_MAX + self._slice:
            self._reject(PIPELINED)

    def _start_head_timer(self) -> None:
        if self._head_timer is None:
            seconds = self._limits.head_deadline_ms / 1000
            self._head_timer = self.loop.call_later(seconds, self._on_head_timeout)

    def _on_head_timeout(self) -> None:
        """Reject an incomplete head, and close a connection that has sent nothing of one."""
        self._head_timer = None
        if not self._is_reading_head():
            rejections.labels("silent").inc()
            self._is_closing = True
            self.transport.abort()
            return
        message = f"The headers must arrive within {self._limits.head_deadline_ms} ms."
        self._reject(HttpRejection(408, "REQUEST_TIMEOUT", message))

    def on_headers_complete(self) -> None:
        """Check the limits on a whole head, before uvicorn handles it."""
        limits = self._limits
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None
        if len(self.url) > limits.url_bytes_max:
            message = f"The URL must have at most {limits.url_bytes_max} bytes."
            self._stop_parser(HttpRejection(414, "URI_TOO_LONG", message))
        if len(self.url) > PATH_BYTES_MAX and len(self.url.partition(b"?")[0]) > PATH_BYTES_MAX:
            self._stop_parser(PATH_TOO_LONG)
        # A head in one slice is below the limit, the usual case.
        if len(self.headers) > limits.headers_max or (
            self._head_bytes and self._size_of_head() > limits.head_bytes_max
        ):
            self._stop_parser(self._headers_too_large())
        # RFC 9112, section 3.2: a proxy may take the other Host. HTTP/1.0 does not require one.
        hosts = [name for name, _ in self.headers].count(b"host")
        if hosts != 1 and (hosts or self.parser.get_http_version() == "1.1"):
            self._stop_parser(HOST)
        if len(self.pipeline) >= PIPELINED_MAX:
            self._stop_parser(PIPELINED)
        self._head_bytes = self._framing_bytes = 0
        self._pieces_left = PIECES_MAX
        super().on_headers_complete()
        if self.pipeline and not self.parser.should_upgrade():
            self.cycle.bytes_before = self._pipelined_bytes
            self.flow.resume_reading()  # uvicorn stops it while a request waits

    def _start_asgi_task(self, cycle: Any, app: Any) -> None:
        if self.flow.write_paused:  # its response would be in memory too
            self._next = cycle, app
            return
        self._running = cycle
        super()._start_asgi_task(cycle, app)

    def _should_upgrade(self) -> bool:
        """Check the head of a request with an Upgrade. Returns True, so that uvicorn does not begin
        the request: `_parse` handles the handshake, or reads the head again without the Upgrade."""
        # uvicorn calls this only if there is an Upgrade, first when all headers have arrived.
        if _handshake_items(self.headers) > HANDSHAKE_ITEMS_MAX:
            self._stop_parser(HANDSHAKE_ITEMS)
        if self.parser.get_method() == b"CONNECT":
            self._stop_parser(MALFORMED)
        return True

    def _has_unanswered_request(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _head_without_upgrade(self) -> bytes:
        """The head of a request whose Upgrade is ignored, as RFC 9110, section 7.8 allows. The
        parser would not read its body. Such clients offer HTTP/2 (`h2c`)."""
        version = self.parser.get_http_version().encode()
        lines = [b"%b %b HTTP/%b" % (self.parser.get_method(), self.url, version)]
        for name, value in self.headers:
            if name == b"connection":
                items = [item.strip() for item in value.split(b",")]
                value = b", ".join([item for item in items if item.lower() != b"upgrade"])
            if name != b"upgrade":
                lines.append(b"%b: %b" % (name, value))
        return b"\r\n".join([*lines, b"", b""])

    def on_chunk_header(self) -> None:
        """Called before each chunk, the last one included, which trailers follow."""
        if self.parser.should_upgrade():
            self._stop_parser(MALFORMED)
        if type(self.headers) is not _Trailers:
            codings = [value for name, value in self.headers if name == b"transfer-encoding"]
            self.headers = _Trailers()
            # RFC 9112, section 6.1: a proxy of another version, or one that knows other codings,
            # may see another end of the request.
            if self.scope["http_version"] != "1.1" or [*map(bytes.lower, codings)] != [b"chunked"]:
                self._stop_parser(MALFORMED)

    def on_body(self, body: bytes) -> None:
        self._pieces_left += len(body) // PIECE_BYTES - 1
        if self._pieces_left < 0:
            self._stop_parser(PIECES)
        super().on_body(body)

    def _size_of_head(self) -> int:
        return len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers)

    def _headers_too_large(self) -> HttpRejection:
        message = (
            f"A request must have at most {self._limits.headers_max} headers, and together with the"
            f" URL {self._limits.head_bytes_max} bytes."
        )
        return HttpRejection(431, "HEADERS_TOO_LARGE", message)

    def _stop_parser(self, rejection: HttpRejection) -> None:
        self._rejection = rejection
        raise ValueError(rejection.code)  # the parser turns it into an error of its own

    def handle_websocket_upgrade(self) -> None:
        self._stop_timers()
        self._open_connections.discard(self)
        self._is_closing = True  # what follows belongs to the other protocol
        super().handle_websocket_upgrade()
        # It refers to this protocol. uvicorn breaks the reference cycle only when HTTP ends.
        self.parser = None  # type: ignore[assignment]

    def pause_writing(self) -> None:
        super().pause_writing()
        self._stall_timer.start(self.transport)
        self._unsent.buffer_filled()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._stall_timer.stop()
        self._unsent.buffer_emptied()
        if self._next is not None:
            request, self._next = self._next, None
            self._start_asgi_task(*request)

    def on_response_complete(self) -> None:
        # As uvicorn's, except for the timer.
        self.server_state.total_requests += 1
        if self.transport.is_closing():
            return
        self.flow.resume_reading()
        if self.pipeline:
            self._start_asgi_task(*self.pipeline.pop())
        else:
            self._keep_alive_timer.start_idle(self.transport)

    def _reject(self, rejection: HttpRejection) -> None:
        """Respond, if no other response comes first, and close the connection."""
        if self._is_closing:
            return None
        self._is_closing = True
        rejections.labels(rejection.code.lower()).inc()
        self._stop_timers()
        if not self._may_respond():
            return self.transport.abort()
        self.transport.write(closing_response(rejection))
        self.flow.resume_reading()  # otherwise the client's close would not be seen
        if self.transport.can_write_eof():
            self.transport.write_eof()
        self._linger_timer = self.loop.call_later(LINGER_S, self.transport.abort)
        return None

    def _may_respond(self) -> bool:
        """Whether a rejection can be the next response. If the body of a request is incomplete, end
        that request: its application sees that the client has disconnected."""
        cycle = self.cycle
        if cycle is None or cycle.response_complete:
            return True
        if self.pipeline or cycle.response_started or not cycle.more_body:
            return False  # the running request has the next response
        cycle.disconnected = True  # its body is malformed
        cycle.message_event.set()
        return True

    def _stop_timers(self) -> None:
        self._keep_alive_timer.stop()
        self._stall_timer.stop()
        for timer in (self._head_timer, self._linger_timer):
            if timer is not None:
                timer.cancel()


def _handshake_items(headers: Iterable[tuple[bytes, bytes]]) -> int:
    """The number of items, and of parameters of extensions, in the lists of a handshake."""
    return sum(
        1 + value.count(b",") + value.count(b";")
        for name, value in headers
        if name in _HANDSHAKE_LISTS or name.startswith(_HANDSHAKE_PREFIX)
    )


def closing_response(rejection: HttpRejection) -> bytes:
    """A whole response, after which the connection is closed."""
    body = rejection.body
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", b"%d" % len(body)),
        (b"connection", b"close"),
        (b"cache-control", b"no-store"),
        *SECURITY_HEADERS,
        *((name.encode(), value.encode()) for name, value in rejection.headers.items()),
    ]
    return STATUS_LINE[rejection.status] + header_lines(headers) + b"\r\n" + body
