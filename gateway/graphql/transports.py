"""The transports of /graphql: HTTP, cross-origin HTTP, and web sockets."""

from collections.abc import Awaitable
from typing import Protocol

from starlette.types import Receive, Scope, Send

from gateway.graphql.sockets import GraphQLSockets
from gateway.http.browsers import BrowserSettings, CrossOrigin, reject_socket
from gateway.http.headers import Headers


class Endpoint(Protocol):
    """GraphQL over HTTP."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None: ...

    def answer(
        self, scope: Scope, headers: Headers, receive: Receive, send: Send
    ) -> Awaitable[None]:
        """Respond to an ASGI request with these headers."""


class Transports:
    """The ASGI application behind /graphql."""

    def __init__(
        self, endpoint: Endpoint, sockets: GraphQLSockets, browsers: BrowserSettings
    ) -> None:
        self._endpoint = endpoint
        self._sockets = sockets
        self._browsers = browsers
        self._cross_origin = CrossOrigin(endpoint, browsers)

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        # A plain function: a coroutine here would be resumed as often as the inner one.
        headers = Headers(scope["headers"], scope.get("client"))
        if scope["type"] == "websocket":
            if self._browsers.allow_socket(headers):
                return self._sockets(scope, receive, send)
            return reject_socket(scope, receive, send)
        if b"origin" in headers:
            return self._cross_origin(scope, receive, send)
        return self._endpoint.answer(scope, headers, receive, send)
