"""The three ways to /graphql: one answer, a stream of events, a web socket. Decides which it is."""

from starlette.types import Receive, Scope, Send

from gateway.graphql_http import GraphQLEndpoint
from gateway.graphql_sse import GraphQLEventStream, wants_events
from gateway.graphql_ws import GraphQLSockets


class Transports:
    """The ASGI application behind /graphql."""

    def __init__(
        self, endpoint: GraphQLEndpoint, events: GraphQLEventStream, sockets: GraphQLSockets
    ) -> None:
        self._endpoint = endpoint
        self._events = events
        self._sockets = sockets

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await self._sockets(scope, receive, send)
        elif wants_events(scope):
            await self._events(scope, receive, send)
        else:
            await self._endpoint(scope, receive, send)
