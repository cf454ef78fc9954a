"""Response headers that restrict what a browser does with a response."""

from collections.abc import Iterable

from starlette.types import ASGIApp, Message, Receive, Scope, Send

SECURITY_HEADERS: tuple[tuple[bytes, bytes], ...] = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
)
"""Headers of every response. A page adds its Content-Security-Policy."""

NO_CONTENT_POLICY = (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'")
"""The policy of a response that is not a page: nothing in it is loaded or run."""


def with_security_headers(app: ASGIApp) -> ASGIApp:
    """Wrap an application so that its HTTP responses have the headers that they lack."""

    async def wrapped(scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": _completed(message.get("headers", ()))}
            await send(message)

        await app(scope, receive, send_with_headers if scope["type"] == "http" else send)

    return wrapped


def _completed(headers: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    given = list(headers)
    names = {name.lower() for name, _ in given}
    others = (*SECURITY_HEADERS, NO_CONTENT_POLICY)
    return [*given, *((name, value) for name, value in others if name not in names)]
