"""The routes and web sockets of one space."""

from collections.abc import Awaitable, Callable

from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from gateway.authentication.identify import Identity
from gateway.graphql.client_connections import Connection
from gateway.graphql.sockets import Enter
from gateway.graphql.streams import Streams
from gateway.http.headers import Headers
from gateway.server.served_space import ServedSpace
from gateway.spaces.names import PATH_HEAD
from graph.space import PUBLIC_SPACE, set_space


def service_routes(
    app_of: Callable[[Callable[[ServedSpace], ASGIApp]], ASGIApp], *, is_path_read: bool
) -> list[BaseRoute]:
    """The routes of services. `app_of` returns an application that calls the one of its space."""
    paths = ("", f"{PATH_HEAD}{{space}}") if is_path_read else ("",)
    return [
        Route(f"{head}{path}", app_of(handler_of))
        for head in paths
        for path, handler_of in (
            ("/export/account/{user}", lambda space: space.services.account_exports),
            ("/export/{list}/{user}", lambda space: space.services.exports),
            ("/changes", lambda space: space.services.changes),
            ("/bulk", lambda space: space.services.bulk_uploads),
            ("/bulk/{id}/results", lambda space: space.services.bulk_results),
        )
    ]


def only_space(space: ServedSpace) -> Enter:
    """Let all web sockets into the only space of this process."""

    async def enter(connection: Connection, _: str, headers: Headers) -> tuple[Identity, Streams]:
        identity = await space.authentication.authenticate(headers)
        space.connections.claim(connection, identity, headers)
        return identity, space.streams

    return enter


def in_space(space: ServedSpace, app: ASGIApp) -> ASGIApp:
    """Wrap the application so that its requests run in the space. In the space `public`, they do so
    by default."""
    return app if space.name == PUBLIC_SPACE else _InSpace(space.name, app)


class _InSpace:
    """An ASGI application. A class, because Starlette's Route takes functions for handlers."""

    def __init__(self, space: str, app: ASGIApp) -> None:
        self._space = space
        self._app = app

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        # Each request is a task of its own, so the space need not be reset.
        set_space(self._space)
        return self._app(scope, receive, send)
