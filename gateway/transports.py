"""The three ways to /graphql: one answer, a stream of events, a web socket. Decides which it is."""

from collections.abc import Awaitable

from starlette.types import Receive, Scope, Send

from gateway.graphql_http import GraphQLEndpoint
from gateway.graphql_sse import GraphQLEventStream, wants_events
from gateway.graphql_ws import GraphQLSockets
from gateway.headers import Headers


class Transports:
    """The ASGI application behind /graphql."""

    def __init__(
        self, endpoint: GraphQLEndpoint, events: GraphQLEventStream, sockets: GraphQLSockets
    ) -> None:
        self._endpoint = endpoint
        self._events = events
        self._sockets = sockets

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        # Only hands on what is to be awaited: a coroutine here would be resumed as often as the
        # one in it.
        if scope["type"] == "websocket":
            return self._sockets(scope, receive, send)
        headers = Headers(scope["headers"])
        if b"accept" in headers and wants_events(headers):
            return self._events.answer(scope, headers, receive, send)
        return self._endpoint.answer(scope, headers, receive, send)
