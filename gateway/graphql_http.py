"""GraphQL over HTTP: what a request must look like, and which status an answer has.

Follows the GraphQL-over-HTTP specification. Knows no schema: an `Executor` runs the operations.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import orjson
from graphql import ExecutionResult, GraphQLError
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from gateway.attention import attend
from gateway.graphql_request import (
    Executor,
    GraphQLRequest,
    NotReadOnly,
    RequestRefused,
    from_body,
    from_query_string,
)
from gateway.http_refusal import ClientGone, DeadlineExceeded, HttpRefusal
from gateway.media_types import GRAPHQL_JSON, PLAIN_JSON, answer_type, prefers_html, require_json
from gateway.request_body import read_body

FormatError = Callable[[GraphQLError], dict[str, Any]]
# A cached answer would show one viewer's graph to another, and yesterday's to everyone.
COMMON_HEADERS = {
    "cache-control": "no-store",
    "vary": "accept",
    "x-content-type-options": "nosniff",
}


@dataclass(frozen=True, slots=True)
class HttpLimits:
    """Bounds of one request, and of how many are worked on at a time in this process."""

    body_bytes_max: int = 1 << 20
    body_deadline_ms: int = 10_000
    request_deadline_ms: int = 10_000
    concurrent_max: int = 1_000
    retry_after_s: int = 1


@dataclass(frozen=True, slots=True)
class Answer:
    """What goes out: a status, a JSON body and headers of its own."""

    status: int
    body: bytes
    headers: Mapping[str, str]


class GraphQLEndpoint:
    """The ASGI application behind /graphql.

    `context_of` makes the context of one operation from the HTTP request, and may raise
    HttpRefusal (401). `page` is shown to browsers that open the address.
    """

    def __init__(
        self,
        executor: Executor,
        context_of: Callable[[Request], object],
        format_error: FormatError,
        limits: HttpLimits | None = None,
        page: ASGIApp | None = None,
    ) -> None:
        self._executor = executor
        self._context_of = context_of
        self._format_error = format_error
        self._limits = limits or HttpLimits()
        self._page = page
        self._running = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        accept = request.headers.get("accept")
        if self._page and request.method == "GET" and prefers_html(accept):
            return await self._page(scope, receive, send)
        media_type = PLAIN_JSON
        try:
            media_type = answer_type(accept)
            answer = await self._bounded(request, media_type)
        except ClientGone:
            return None
        except HttpRefusal as refusal:
            answer = self._refused(refusal)
        await _send(answer, media_type, send)
        return None

    async def _bounded(self, request: Request, media_type: str) -> Answer:
        if self._running >= self._limits.concurrent_max:
            retry = {"retry-after": str(self._limits.retry_after_s)}
            raise HttpRefusal(503, "OVERLOADED", "Too many requests at once; try again.", retry)
        self._running += 1
        try:
            return await self._answered(request, media_type)
        finally:
            self._running -= 1

    async def _answered(self, request: Request, media_type: str) -> Answer:
        asked = await self.asked(request)
        context = self._context_of(request)
        deadline_ms = self._limits.request_deadline_ms
        try:
            result = await attend(
                lambda: self._executor.execute(asked, context), request.receive, deadline_ms
            )
            return self._executed(result)
        except NotReadOnly as refused:
            return self._failed(refused.errors, 405, {"allow": "POST"})
        except RequestRefused as refused:
            return self._failed(refused.errors, 400 if media_type == GRAPHQL_JSON else 200)
        except DeadlineExceeded:
            message = f"The request was stopped after {deadline_ms} ms."
            raise HttpRefusal(503, "DEADLINE_EXCEEDED", message) from None
        except (ClientGone, HttpRefusal):
            raise
        except Exception as bug:
            return self._failed([GraphQLError(str(bug), original_error=bug)], 500)

    async def asked(self, request: Request) -> GraphQLRequest:
        """What a request asks. Raises HttpRefusal, and ClientGone when the caller hangs up."""
        limits = self._limits
        if request.method == "GET":
            query_string: bytes = request.scope["query_string"]
            if len(query_string) > limits.body_bytes_max:
                message = f"A query string has at most {limits.body_bytes_max} bytes."
                raise HttpRefusal(414, "PAYLOAD_TOO_LARGE", message)
            return from_query_string(query_string)
        if request.method != "POST":
            allow = {"allow": "GET, POST"}
            raise HttpRefusal(405, "METHOD_NOT_ALLOWED", "Ask by GET or POST.", allow)
        require_json(request.headers.get("content-type"))
        body = await read_body(
            request.receive, request.headers, limits.body_bytes_max, limits.body_deadline_ms
        )
        return from_body(body)

    def _executed(self, result: ExecutionResult) -> Answer:
        """200, also with field errors: the draft's "294 Partial Success" is not registered."""
        content: dict[str, Any] = {"data": result.data}
        if result.errors:
            content["errors"] = [self._format_error(error) for error in result.errors]
        if result.extensions:
            content["extensions"] = result.extensions
        return Answer(200, orjson.dumps(content), {})

    def _failed(
        self, errors: list[GraphQLError], status: int, headers: Mapping[str, str] | None = None
    ) -> Answer:
        content = {"errors": [self._format_error(error) for error in errors]}
        return Answer(status, orjson.dumps(content), headers or {})

    def _refused(self, refusal: HttpRefusal) -> Answer:
        error = GraphQLError(refusal.message, extensions={"code": refusal.code})
        return self._failed([error], refusal.status, refusal.headers)


async def _send(answer: Answer, media_type: str, send: Send) -> None:
    headers = {
        "content-type": f"{media_type}; charset=utf-8",
        "content-length": str(len(answer.body)),
        **COMMON_HEADERS,
        **answer.headers,
    }
    raw = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": answer.status, "headers": raw})
    await send({"type": "http.response.body", "body": answer.body})
