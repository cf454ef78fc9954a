"""GraphQL over server-sent events: one request, one stream of results.

Follows the "distinct connections mode" of the GraphQL-over-SSE protocol: each result is an event
`next`, the last event is `complete`. If a stream ends without it, the client must request again.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Any

import orjson
from starlette.types import Message, Receive, Scope, Send

from gateway.authentication.identify import Identity
from gateway.graphql.admission import Reservation
from gateway.graphql.client_connections import Connection, OpensConnections, never_begun
from gateway.graphql.request import GraphQLRequest, RequestRejected
from gateway.graphql.request_metrics import Ended
from gateway.graphql.streams import FormattedResult, Streams
from gateway.http.headers import Headers
from gateway.http.media_types import EVENT_STREAM
from gateway.http.rejection import HttpRejection
from gateway.http.rejection_response import rejection_response
from gateway.http.request_ids import HEADER as REQUEST_ID
from gateway.http.security_headers import SECURITY_HEADERS
from telemetry.request_id import request_id

_HEADERS = [
    (b"content-type", f"{EVENT_STREAM}; charset=utf-8".encode()),
    (b"cache-control", b"no-store"),
    (b"vary", b"accept"),
    *SECURITY_HEADERS,
    (b"x-accel-buffering", b"no"),  # otherwise nginx buffers events
]
Answers = AsyncGenerator[FormattedResult, None]
_COMPLETE = b"event: complete\ndata: \n\n"
_KEEP_ALIVE = b":\n\n"


class GraphQLEventStream:
    """Implements `gateway.graphql.endpoint.EventStream`."""

    def __init__(
        self,
        identify: Callable[[Headers], Identity],
        streams: Streams,
        connections: OpensConnections,
        ended: Ended = lambda *_: None,
    ) -> None:
        self._ended = ended
        self._identify = identify
        self._streams = streams
        self._connections = connections

    async def answer(
        self,
        request: GraphQLRequest,
        scope: Scope,
        headers: Headers,
        receive: Receive,
        send: Send,
        reservation: Reservation | None = None,
    ) -> None:
        """Respond to an ASGI request whose headers and body have been read.

        The operation enters in place of the reservation, or the reservation is released.
        """
        try:
            identity = self._identify(headers)
            with self._connections.opened("sse", send) as connection:
                self._connections.claim(connection, identity, headers)
                connection.end_at(identity.expires_at)
                answers = self._streams.answers(request, identity, headers, reservation)
                del request  # a subscription would keep it until its end
                has_begun = await self._serve(connection, answers, receive)
            if not has_begun:  # if the operation ended, `answers` has counted it
                await rejection_response(never_begun(), _request_id_header())(scope, receive, send)
        except HttpRejection as rejection:
            self._ended(None, None, rejection.code, 0.0, None)
            await rejection_response(rejection, _request_id_header())(scope, receive, send)
        finally:
            if reservation is not None:
                reservation.release()

    async def _serve(self, connection: Connection, answers: Answers, receive: Receive) -> bool:
        """Send all answers. Returns whether the beginning of the stream was sent."""
        # The operation does not wait for this: a client that does not read would hold its
        # reservation for as long as a message may take.
        starting = asyncio.create_task(connection.send(_start()))
        answering = asyncio.create_task(self._answer(connection, answers, starting))
        tasks: list[asyncio.Task[Any]] = [
            starting,
            answering,
            asyncio.create_task(self._keep_alive(connection, starting)),
            asyncio.create_task(connection.end_with_client(receive)),
        ]
        try:
            await connection.until_ended_or(answering)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        if starting.cancelled() or not starting.result():
            return False
        if not await connection.send_last(_body(b"", more=False)):
            await connection.cut_off()
        return True

    async def _answer(
        self, connection: Connection, answers: Answers, starting: asyncio.Task[bool]
    ) -> None:
        """Send the results of the operation, or its errors, and then `complete`."""
        try:
            async with aclosing(answers):
                async for answer in answers:
                    message = _next(answer)
                    del answer
                    await _send(connection, message, starting)
                    del message  # nothing is kept while the next one is awaited
        except RequestRejected as rejected:
            errors = self._streams.formatted_errors(rejected)
            await _send(connection, _next({"errors": errors}), starting)
        await _send(connection, _body(_COMPLETE), starting)

    async def _keep_alive(self, connection: Connection, starting: asyncio.Task[bool]) -> None:
        """Send comments: proxies close silent connections, and sending detects dead clients."""
        while True:
            await asyncio.sleep(self._connections.limits.keep_alive_ms / 1000)
            await _send(connection, _body(_KEEP_ALIVE), starting)


async def _send(connection: Connection, message: Message, starting: asyncio.Task[bool]) -> None:
    """Send a message after the start of the response."""
    if not starting.done():
        await asyncio.wait([starting])
    await connection.send(message)


def _start() -> Message:
    return {
        "type": "http.response.start",
        "status": 200,
        "headers": [*_HEADERS, _request_id_header()],
    }


def _next(answer: object) -> Message:
    return _body(b"event: next\ndata: " + orjson.dumps(answer) + b"\n\n")


def _body(body: bytes, *, more: bool = True) -> Message:
    return {"type": "http.response.body", "body": body, "more_body": more}


def _request_id_header() -> tuple[bytes, bytes]:
    return REQUEST_ID, (request_id.get() or "").encode()
