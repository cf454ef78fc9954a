"""Holds requests whose token names an unknown key until the keys have been fetched."""

from collections.abc import Awaitable

from starlette.types import ASGIApp, Receive, Scope, Send

from gateway.authentication import Authentication
from gateway.headers import Headers


def awaiting_keys(authentication: Authentication, app: ASGIApp) -> ASGIApp:
    """The application, before which HTTP requests wait for keys where these are fetched.

    Who asks is found out synchronously in the application, and nearly always without a wait. A web
    socket waits on its own, because its token may come in its first message.
    """
    if not authentication.fetches_keys:
        return app

    def waits(scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        if scope["type"] == "http":
            waiting = authentication.pending(Headers(scope["headers"]))
            if waiting is not None:
                return _after(waiting, app, scope, receive, send)
        return app(scope, receive, send)

    return waits


async def _after(
    waiting: Awaitable[None], app: ASGIApp, scope: Scope, receive: Receive, send: Send
) -> None:
    await waiting
    await app(scope, receive, send)
