"""The `send` of an HTTP request, which can also send a whole response at once.

uvicorn validates every header of every response: 5 µs for those of a GraphQL response, all but two
of which are constants. A sender is called as any ASGI `send`; an application that has the header
lines as bytes can call `send_ok` instead. Middleware that replaces `send` gets messages, as always.
"""

from collections.abc import Awaitable, Iterable
from functools import lru_cache
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, RequestResponseCycle

from gateway.http.unsent_bytes import ConnectionUnsentBytes

CUT_OFF: Message = {"type": "kith.response.cut_off"}
"""An ASGI message of Kith's own: close the connection of a response that cannot be completed, so
that its client knows that something is missing. If an application just returns, uvicorn does the
same, but logs it as an error."""


def header_lines(headers: Iterable[tuple[bytes, bytes]]) -> bytes:
    """These headers as lines of HTTP/1.1. They are not validated."""
    return b"".join(b"%b: %b\r\n" % header for header in headers)


class ResponseSender:
    """Sends the response of one request. `send` is uvicorn's: a method of the request's cycle.
    `unsent` counts what the connection has to send."""

    __slots__ = ("_cycle", "_send", "_unsent")

    def __init__(self, send: Any, unsent: ConnectionUnsentBytes) -> None:
        self._send = send
        self._unsent = unsent
        self._cycle: RequestResponseCycle = send.__self__

    def __call__(self, message: Message) -> Awaitable[None]:
        if message is CUT_OFF:
            return self._cut_off()
        if self._cycle.flow.write_paused:
            return self._send_when_read(message)
        self._unsent.last_bytes = len(message.get("body", b""))
        sent: Awaitable[None] = self._send(message)
        return sent

    async def _send_when_read(self, message: Message) -> None:
        with self._unsent.waiting(len(message.get("body", b""))):
            await self._cycle.flow.drain()
        await self(message)  # which waits again if another part was first

    def send_ok(self, lines: bytes, body: bytes) -> bool:
        """Send a response with status 200. `lines` are valid header lines, one of them the length
        of `body`.

        Returns False if nothing was sent, because the connection ends with this response or has
        ended: the response must then be sent as messages.
        """
        cycle = self._cycle
        if cycle.disconnected or not cycle.keep_alive:
            return False
        cycle.response_started = cycle.response_complete = True
        cycle.message_event.set()
        head = b"%b%b%b\r\n" % (STATUS_LINE[200], _default_lines(*cycle.default_headers), lines)
        self._unsent.last_bytes = len(body)
        cycle.transport.writelines((head, body))
        cycle.on_response()
        return True

    async def _cut_off(self) -> None:
        self._cycle.disconnected = True
        self._cycle.transport.close()


@lru_cache(maxsize=2)
def _default_lines(*headers: tuple[bytes, bytes]) -> bytes:
    """The headers that uvicorn adds to every response. The date changes once a second."""
    return header_lines(headers)


def with_sender(app: ASGIApp, unsent: ConnectionUnsentBytes) -> ASGIApp:
    """Wrap the application of a connection so that it gets a `ResponseSender`."""

    # A plain function: a coroutine here would be resumed as often as the application's.
    def wrapped(scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        return app(scope, receive, ResponseSender(send, unsent))

    return wrapped
