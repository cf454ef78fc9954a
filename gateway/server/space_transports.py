"""Passes requests on to the space that they name: over HTTP, event streams and web sockets."""

from collections.abc import Awaitable, Callable

from prometheus_client import Counter
from starlette.types import ASGIApp, Receive, Scope, Send

from gateway.authentication.identify import Identity
from gateway.graphql.client_connections import Connection
from gateway.graphql.streams import Streams
from gateway.http.client_address import ClientAddresses
from gateway.http.headers import Headers
from gateway.http.rejection import HttpRejection
from gateway.http.rejection_response import rejection_response
from gateway.http.request_ids import HEADER as REQUEST_ID
from gateway.http.request_ids import begin_request
from gateway.server.served_space import ServedSpace
from gateway.server.spaces import Spaces, SpaceUse
from gateway.spaces.names import SpaceNames, name_in_path
from graph.space import running_in, set_space

_rejections = Counter(
    "kith_space_rejections",
    "Requests and web sockets rejected because of their space, by the code of the error.",
    ["code"],
)


class SpaceTransports:
    """Passes requests on to their spaces. Implements `gateway.graphql.transports.Endpoint`."""

    def __init__(self, names: SpaceNames, spaces: Spaces, addresses: ClientAddresses) -> None:
        self._names = names
        self._spaces = spaces
        self._addresses = addresses

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self.answer(scope, Headers(scope["headers"], scope.get("client")), receive, send)

    async def answer(self, scope: Scope, headers: Headers, receive: Receive, send: Send) -> None:
        """Respond to a GraphQL request with these headers."""

        async def respond(space: ServedSpace) -> None:
            key_fetch = space.authentication.pending_key_fetch(headers)
            if key_fetch is not None:
                await key_fetch
            await space.endpoint.answer(scope, headers, receive, send)

        await self._pass_to_space(
            name_in_path(scope["path"]), headers, respond, (scope, receive, send)
        )

    def service(self, app_of: Callable[[ServedSpace], ASGIApp]) -> ASGIApp:
        """An application that passes requests on to the one that `app_of` returns for their space.
        Its route may have the parameter `space`."""
        return _ServiceApp(self, app_of)

    async def pass_to_app(
        self,
        app_of: Callable[[ServedSpace], ASGIApp],
        scope: Scope,
        receive: Receive,
        send: Send,
    ) -> None:
        """Pass a request on to the application that `app_of` returns for its space."""
        headers = Headers(scope["headers"], scope.get("client"))

        async def respond(space: ServedSpace) -> None:
            await app_of(space)(scope, receive, send)

        in_path = scope["path_params"].get("space")
        await self._pass_to_space(in_path, headers, respond, (scope, receive, send))

    async def _pass_to_space(
        self,
        in_path: str | None,
        headers: Headers,
        respond: Callable[[ServedSpace], Awaitable[None]],
        request: tuple[Scope, Receive, Send],
    ) -> None:
        """Let `respond` handle a request in its space. Respond with an error if it names none that
        can be used."""
        try:
            use = await self._enter_space(in_path, headers)
        except HttpRejection as rejection:
            same_id = (REQUEST_ID, begin_request(headers))
            await rejection_response(rejection, same_id)(*request)
            return
        try:
            with running_in(use.space.name):
                await respond(use.space)
        finally:
            use.leave()

    async def enter(
        self, connection: Connection, path: str, headers: Headers
    ) -> tuple[Identity, Streams]:
        """Let a web socket into its space until it is closed. Raises HttpRejection."""
        use = await self._enter_space(name_in_path(path), headers)
        connection.at_close(use.leave)
        identity = await use.space.authentication.authenticate(headers)
        use.space.connections.add(connection)
        use.space.connections.claim(connection, identity, headers)
        # The protocol starts the tasks of the operations from this one.
        set_space(use.space.name)
        return identity, use.space.streams

    async def _enter_space(self, in_path: str | None, headers: Headers) -> SpaceUse:
        """Use the space that a request names, until `leave`. Raises HttpRejection."""
        try:
            name = self._names.name_of(in_path, headers)
            return await self._spaces.enter(name, self._addresses.address_of(headers))
        except HttpRejection as rejection:
            _rejections.labels(rejection.code).inc()
            raise


class _ServiceApp:
    """An ASGI application. A class, because Starlette's Route takes functions for handlers."""

    def __init__(
        self, transports: SpaceTransports, app_of: Callable[[ServedSpace], ASGIApp]
    ) -> None:
        self._transports = transports
        self._app_of = app_of

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._transports.pass_to_app(self._app_of, scope, receive, send)
