"""GraphQL over HTTP: the format of requests, and the status codes of responses.

Follows the GraphQL-over-HTTP specification. An `Executor` runs the operations.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Protocol

import orjson
from graphql import GraphQLError, OperationType
from starlette.types import ASGIApp, Receive, Scope, Send

from engine import Result
from gateway.accept import ACCEPT, Accepted, accepted, accepted_by
from gateway.documents import NoDocuments
from gateway.graphql_execution import FormatError, response_of
from gateway.graphql_request import (
    Documents,
    Executor,
    GraphQLRequest,
    RequestRejected,
    from_body,
    from_query_string,
)
from gateway.headers import Headers, RawHeaders
from gateway.http_rejection import BodyLate, ClientGone, DeadlineExceeded, HttpRejection, body_late
from gateway.media_types import EVENT_STREAM, GRAPHQL_JSON, PLAIN_JSON, require_json
from gateway.request_body import read_body
from gateway.request_deadline import Attended, RequestDeadline

# A cached response could show one viewer's data to another, or outdated data.
COMMON_HEADERS = (
    (b"cache-control", b"no-store"),
    (b"vary", b"accept"),
    (b"x-content-type-options", b"nosniff"),
)
HEADERS = {
    media_type: ((b"content-type", f"{media_type}; charset=utf-8".encode()), *COMMON_HEADERS)
    for media_type in (GRAPHQL_JSON, PLAIN_JSON)
}
NO_OWN: Mapping[str, str] = MappingProxyType({})
ALLOW_POST: Mapping[str, str] = MappingProxyType({"allow": "POST"})

# Stored, because looking up an enum member costs more than comparing with it.
_SUBSCRIPTION = OperationType.SUBSCRIPTION


@dataclass(frozen=True, slots=True)
class HttpLimits:
    """Limits of one request, and of concurrent requests in this process."""

    body_bytes_max: int = 1 << 20
    body_deadline_ms: int = 10_000
    request_deadline_ms: int = 10_000
    concurrent_max: int = 1_000
    retry_after_s: int = 1


Answer = tuple[int, bytes, RawHeaders]
"""A response: a status, a JSON body and additional headers."""


class EventStream(Protocol):
    """Responds to a parsed request with an event stream."""

    async def answer(
        self, asked: GraphQLRequest, scope: Scope, headers: Headers, receive: Receive, send: Send
    ) -> None: ...


class GraphQLEndpoint:
    """The ASGI application behind /graphql.

    `context_of` creates the context of one operation from the request's headers, and may raise
    HttpRejection (401). `page` is served to browsers that open the address. `events` responds to
    subscriptions, and to clients that prefer event streams; without it both get 406.
    """

    def __init__(
        self,
        executor: Executor,
        context_of: Callable[[Headers], object],
        format_error: FormatError,
        limits: HttpLimits | None = None,
        page: ASGIApp | None = None,
        documents: Documents | None = None,
        events: EventStream | None = None,
    ) -> None:
        self._executor = executor
        self._context_of = context_of
        self._format_error = format_error
        self._limits = limits = limits or HttpLimits()
        self._attention = RequestDeadline(limits.body_deadline_ms, limits.request_deadline_ms)
        self._page = page
        self._documents = documents or NoDocuments()
        self._takes_any = self._documents.takes_any
        self._events = events
        self._running = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self.answer(scope, Headers(scope["headers"]), receive, send)

    async def answer(self, scope: Scope, headers: Headers, receive: Receive, send: Send) -> None:
        """Respond to an ASGI request with these headers."""
        answer: Answer | None = None
        media_type = PLAIN_JSON
        self._running += 1
        try:
            reads = accepted_by(headers) if headers.repeats else accepted(headers.get(ACCEPT))
            if reads.page and self._page and scope["method"] == "GET":
                return await self._page(scope, receive, send)
            if not reads.anything:
                raise _not_acceptable(f"{GRAPHQL_JSON}, {PLAIN_JSON} or {EVENT_STREAM}")
            media_type = reads.json
            if self._running > self._limits.concurrent_max:
                raise self._overloaded()
            with Attended(self._attention, receive) as attended:
                asked = await self.asked(scope, headers, receive)
                attended.received()
                # An event stream reports its own errors, also for unknown documents.
                if (not self._takes_any or asked.document_id) and not reads.prefers_streams:
                    asked = await self._documents.found(asked)
                work = self._begin(asked, reads, headers)
                if work is not None:
                    response = response_of(await work, self._format_error)
                    # 200, also with field errors: the draft's "294 Partial Success" is not
                    # registered.
                    answer = 200, orjson.dumps(response), ()
        except ClientGone:
            return None
        except Exception as failure:
            answer = self._failed(failure, media_type)
        finally:
            self._running -= 1
        if answer is None:
            assert self._events is not None, "without it there is an answer"
            return await self._events.answer(asked, scope, headers, receive, send)
        status, body, own = answer
        fields = [*HEADERS[media_type], (b"content-length", b"%d" % len(body)), *own]
        await send({"type": "http.response.start", "status": status, "headers": fields})
        return await send({"type": "http.response.body", "body": body})

    def _begin(
        self, asked: GraphQLRequest, reads: Accepted, headers: Headers
    ) -> Awaitable[Result] | None:
        """The work on a single response. None if an event stream must respond."""
        if not reads.prefers_streams:
            operation = self._executor.prepared(asked)
            if operation.kind is not _SUBSCRIPTION:
                return self._executor.run(operation, asked, self._context_of(headers))
        if not reads.streams or self._events is None:
            raise _not_acceptable(f"{EVENT_STREAM}, or use a web socket, for a subscription")
        return None

    async def asked(self, scope: Scope, headers: Headers, receive: Receive) -> GraphQLRequest:
        """Parse a request. Raises HttpRejection, and ClientGone when the client disconnects."""
        bytes_max, method = self._limits.body_bytes_max, scope["method"]
        if method == "POST":
            require_json(headers.get(b"content-type"))
            return from_body(await read_body(receive, headers, bytes_max))
        if method != "GET":
            allow = {"allow": "GET, POST"}
            raise HttpRejection(405, "METHOD_NOT_ALLOWED", "Ask by GET or POST.", allow)
        query_string: bytes = scope["query_string"]
        if len(query_string) > bytes_max:
            message = f"A query string has at most {bytes_max} bytes."
            raise HttpRejection(414, "PAYLOAD_TOO_LARGE", message)
        return from_query_string(query_string)

    def _failed(self, failure: Exception, media_type: str) -> Answer:
        """The error response of a failed request."""
        if isinstance(failure, RequestRejected):
            status = failure.status or (400 if media_type == GRAPHQL_JSON else 200)
            return self._errors(failure.errors, status, ALLOW_POST if status == 405 else NO_OWN)
        if isinstance(failure, BodyLate):
            return self._rejected(body_late(self._limits.body_deadline_ms))
        if isinstance(failure, DeadlineExceeded):
            return self._rejected(self._late())
        if isinstance(failure, HttpRejection):
            return self._rejected(failure)
        return self._errors([GraphQLError(str(failure), original_error=failure)], 500)

    def _rejected(self, rejection: HttpRejection) -> Answer:
        error = GraphQLError(rejection.message, extensions={"code": rejection.code})
        return self._errors([error], rejection.status, rejection.headers)

    def _errors(
        self, errors: list[GraphQLError], status: int, headers: Mapping[str, str] = NO_OWN
    ) -> Answer:
        body = orjson.dumps({"errors": [self._format_error(error) for error in errors]})
        own = [(name.encode("latin-1"), text.encode("latin-1")) for name, text in headers.items()]
        return status, body, own

    def _overloaded(self) -> HttpRejection:
        retry = {"retry-after": str(self._limits.retry_after_s)}
        return HttpRejection(503, "OVERLOADED", "Too many requests at once; try again.", retry)

    def _late(self) -> HttpRejection:
        message = f"The request was stopped after {self._limits.request_deadline_ms} ms."
        return HttpRejection(503, "DEADLINE_EXCEEDED", message)


def _not_acceptable(readable: str) -> HttpRejection:
    return HttpRejection(406, "NOT_ACCEPTABLE", f"The Accept header must allow {readable}.")
