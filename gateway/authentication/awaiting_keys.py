"""Holds requests whose token names an unknown key until the keys have been fetched."""

from collections.abc import Awaitable

from starlette.types import ASGIApp, Receive, Scope, Send

from gateway.authentication.identify import Authentication
from gateway.http.headers import Headers


def awaiting_keys(authentication: Authentication, app: ASGIApp) -> ASGIApp:
    """Wrap the application so that HTTP requests wait for keys, if keys are fetched from a URL.

    The application identifies the viewer synchronously, so the wait comes first; it is nearly never
    needed. Web sockets wait on their own, because the token may come in their first message.
    """
    if not authentication.fetches_keys:
        return app

    def wrapped(scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        if scope["type"] == "http":
            key_fetch = authentication.pending_key_fetch(Headers(scope["headers"]))
            if key_fetch is not None:
                return _call_after(key_fetch, app, scope, receive, send)
        return app(scope, receive, send)

    return wrapped


async def _call_after(
    key_fetch: Awaitable[None], app: ASGIApp, scope: Scope, receive: Receive, send: Send
) -> None:
    await key_fetch
    await app(scope, receive, send)
