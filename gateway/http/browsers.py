"""Cross-origin requests: which origins may send them, by HTTP (CORS) and over web sockets.

Starlette's middleware implements CORS. This module adds the settings, and rejections with a code. A
request without an `Origin` header does not come from a page of another origin, and is allowed.

There are no cookies, so a page can do no more than its visitor could without signing in. Changes
need a POST of JSON, which browsers announce by a preflight. A form or a `text/plain` body is
rejected before it is read (`gateway.http.media_types.require_json`).
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from starlette.datastructures import Headers as StarletteHeaders
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.websockets import WebSocket

from gateway.http.headers import Headers
from gateway.http.rejection import error_body

ANY = "*"
ENTRIES_MAX = 100
"""How many origins, and how many header names, a setting may list."""
MAX_AGE_S = 7_200
"""How long a browser caches a preflight. Chromium's maximum."""
METHODS = ("GET", "POST")
REQUEST_HEADERS_CHARS_MAX, REQUEST_HEADERS_MAX = 4_096, 100
"""The length of the list of header names in a preflight, and their number."""
_REQUEST_HEADERS = b"access-control-request-headers"

PROTOCOL_HEADERS = (
    "accept authorization content-type kith-cost kith-space last-event-id x-consistency-token"
)
CLIENT_HEADERS = (
    "apollo-require-preflight apollographql-client-name apollographql-client-version"
    " graphql-client-name graphql-client-version graphql-preflight graphql-require-preflight"
    " x-apollo-operation-id x-apollo-operation-name x-graphql-client-name"
    " x-graphql-client-version x-graphql-yoga-csrf x-requested-with"
)
"""Headers of Apollo, GraphQL Yoga, and compatible clients."""
TRACING_HEADERS = (
    "b3 baggage cache-control pragma sentry-trace traceparent tracestate x-b3-parentspanid"
    " x-b3-sampled x-b3-spanid x-b3-traceid x-datadog-origin x-datadog-parent-id"
    " x-datadog-sampling-priority x-datadog-trace-id x-request-id"
)
"""Headers of caches and tracing: fetch, Sentry, OpenTelemetry, Zipkin, Datadog."""
REQUEST_HEADERS = tuple(f"{PROTOCOL_HEADERS} {CLIENT_HEADERS} {TRACING_HEADERS}".split())
RESPONSE_HEADERS = ("Allow", "Retry-After", "WWW-Authenticate", "X-Request-Id")

_ORIGIN = re.compile(
    r"(?P<scheme>[a-z][a-z0-9+.-]*)://"
    r"(?P<host>[a-z0-9_]([a-z0-9_.-]*[a-z0-9_])?|\[[0-9a-f:.]+\])(?::(?P<port>[0-9]{1,5}))?"
)
_HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9a-z-]{1,100}")
_LOCAL = re.compile(r"https?://(localhost|127\.0\.0\.1|\[::1\])(:[0-9]{1,5})?")
_DEFAULT_PORTS = {"http": "80", "https": "443"}


@dataclass(frozen=True, slots=True)
class BrowserSettings:
    """The other origins that may send requests. `headers` are allowed besides REQUEST_HEADERS.
    `credentials` allows requests that a page sends with `credentials: "include"`.

    `local` allows every port of this machine, for local development only.
    """

    origins: frozenset[str] = frozenset()
    credentials: bool = False
    headers: frozenset[str] = frozenset()
    local: bool = False

    def allow(self, origin: str) -> bool:
        """Whether pages of this origin may send requests."""
        if ANY in self.origins or origin in self.origins:
            return True
        return self.local and _LOCAL.fullmatch(origin) is not None

    def allow_socket(self, headers: Headers) -> bool:
        """Whether a web socket may be opened: by a page of an allowed origin, by a page of this
        server's own origin, or by a client that is not a browser."""
        if (raw := headers.get(b"origin")) is None:
            return True
        origin = raw.decode("latin-1")
        # The scheme is not compared: a proxy may terminate TLS.
        host = headers.get(b"host", b"").decode("latin-1").lower()
        is_own = bool(host) and origin.partition("://")[2] == host
        return is_own or self.allow(origin)


def parse_origins(text: str) -> frozenset[str]:
    """The origins in a comma-separated list, as browsers write them, or `*`.

    Raises ValueError for an invalid one, or if there are more than `ENTRIES_MAX`; its text
    continues a sentence that begins with the name of the variable."""
    entries = [entry.strip() for entry in text.split(",") if entry.strip()]
    if len(entries) > ENTRIES_MAX:
        raise ValueError(f"names {len(entries)} origins; at most {ENTRIES_MAX} are allowed")
    return frozenset(ANY if entry == ANY else _origin(entry) for entry in entries)


def _origin(text: str) -> str:
    """One origin, as browsers write it. Raises ValueError."""
    found = _ORIGIN.fullmatch(text.lower())
    if found is None or int(found["port"] or 0) > 65_535:
        raise ValueError(
            f"holds {text[:100]!r}, which is no origin; it must be a scheme, a host and a port if"
            " that is not the default one, without a path: https://app.example.com or"
            " http://localhost:5173"
        )
    # As browsers write it: without the default port of the scheme.
    if found["port"] == _DEFAULT_PORTS.get(found["scheme"]):
        return f"{found['scheme']}://{found['host']}"
    return text.lower()


def parse_header_names(text: str) -> frozenset[str]:
    """The header names in a comma-separated list, in lower case. Raises ValueError as
    `parse_origins`."""
    names = [name.strip().lower() for name in text.split(",") if name.strip()]
    if len(names) > ENTRIES_MAX:
        raise ValueError(f"names {len(names)} headers; at most {ENTRIES_MAX} are allowed")
    for name in names:
        if not _HEADER.fullmatch(name):
            raise ValueError(f"holds {name[:100]!r}, which is no name of a header")
    return frozenset(names)


class CrossOrigin(CORSMiddleware):
    """Starlette's CORS, but preflights are answered with 204 or an error with a code."""

    def __init__(self, app: ASGIApp, settings: BrowserSettings) -> None:
        super().__init__(
            app,
            allow_origins=settings.origins,
            allow_methods=METHODS,
            allow_headers=sorted({*REQUEST_HEADERS, *settings.headers}),
            allow_credentials=settings.credentials,
            allow_origin_regex=_LOCAL.pattern if settings.local else None,
            allow_private_network=True,
            expose_headers=RESPONSE_HEADERS,
            max_age=MAX_AGE_S,
        )

    def preflight_response(self, request_headers: StarletteHeaders) -> Response:
        rejection = self._rejection(request_headers)
        # Starlette would examine the names again, however many they are.
        response = super().preflight_response(_without_names(request_headers))
        headers = {
            name: value
            for name, value in response.headers.items()
            if name not in ("content-length", "content-type")
        }
        if rejection is None:
            return Response(None, 204, headers)
        status, code, message = rejection
        return Response(error_body(code, message), status, headers, "application/json")

    def _rejection(self, asked: StarletteHeaders) -> tuple[int, str, str] | None:
        """Why a preflight is rejected: status, code and message. None: it is allowed."""
        if not self.is_allowed_origin(asked["origin"]):
            return 403, "ORIGIN_NOT_ALLOWED", _not_allowed(asked["origin"])
        method = asked["access-control-request-method"]
        if method not in self.allow_methods:
            message = f"The method {method[:100]!r} is not allowed. Use GET or POST."
            return 403, "METHOD_NOT_ALLOWED", message
        names = asked.get("access-control-request-headers")
        wrong = None if names is None else self._first_wrong(names)
        if wrong is None:
            return None
        message = (
            f"The request header {wrong[:100]!r} is not allowed. KITH_CORS_HEADERS can allow it."
        )
        return 403, "HEADER_NOT_ALLOWED", message

    def _first_wrong(self, names: str) -> str | None:
        """The first header name that is not allowed, or the whole list if it is too long."""
        if len(names) > REQUEST_HEADERS_CHARS_MAX or names.count(",") >= REQUEST_HEADERS_MAX:
            return names
        asked: Iterable[str] = (name.strip().lower() for name in names.split(","))
        # RFC 9110, section 5.6.1: a recipient ignores empty elements of a list.
        return next((name for name in asked if name and name not in self.allow_headers), None)


def _without_names(asked: StarletteHeaders) -> StarletteHeaders:
    """The headers of a preflight without the names of the headers that the request will have."""
    return StarletteHeaders(raw=[one for one in asked.raw if one[0] != _REQUEST_HEADERS])


async def reject_socket(scope: Scope, receive: Receive, send: Send) -> None:
    """Reject a web socket's handshake, with a reason if the server supports it."""
    socket = WebSocket(scope, receive, send)
    origin = socket.headers.get("origin", "")
    body = error_body("ORIGIN_NOT_ALLOWED", _not_allowed(origin))
    if "websocket.http.response" in scope.get("extensions", {}):
        await socket.send_denial_response(Response(body, 403, media_type="application/json"))
    else:
        await socket.close()


def _not_allowed(origin: str) -> str:
    return f"The origin {origin[:100]!r} is not allowed: KITH_CORS_ORIGINS does not list it."
