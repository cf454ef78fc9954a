"""GraphQL over HTTP: the format of requests, and the status codes of responses.

Follows the GraphQL-over-HTTP specification. An `Executor` runs the operations.
"""

from collections.abc import Awaitable, Callable, Mapping
from time import perf_counter
from types import MappingProxyType
from typing import Protocol

import orjson
from graphql import GraphQLError, OperationType
from starlette.types import ASGIApp, Receive, Scope, Send

from engine import ADMITTED, Operation, Turns
from gateway.graphql.admission import Admission, Reservation
from gateway.graphql.charges import COST_HEADER
from gateway.graphql.documents import NoDocuments
from gateway.graphql.execution import FormatError, code_of, response_of
from gateway.graphql.request import (
    LARGE_BODY_BYTES,
    Documents,
    Executor,
    GraphQLRequest,
    RequestRejected,
    from_body,
    from_query_string,
    with_declared_variables,
    without_variables,
)
from gateway.graphql.request_metrics import OK, Ended
from gateway.graphql.settings import AdmissionSettings, HttpLimits
from gateway.http.accept import ACCEPT, accepted, accepted_by
from gateway.http.headers import Headers, RawHeaders
from gateway.http.json_parts import LARGE_BYTES, dumps_in_turns
from gateway.http.long_requests import AUTHORIZATION, LONG_BODY_BYTES, LONG_TOKEN_BYTES, SLICE_BYTES
from gateway.http.media_types import EVENT_STREAM, GRAPHQL_JSON, PLAIN_JSON, require_json
from gateway.http.rejection import BodyLate, ClientGone, DeadlineExceeded, HttpRejection, body_late
from gateway.http.request_body import PartialBodies, read_body
from gateway.http.request_deadline import RequestDeadline, RequestDeadlines
from gateway.http.request_ids import HEADER as REQUEST_ID
from gateway.http.request_ids import begin_request
from gateway.http.response_sender import ResponseSender, header_lines
from gateway.http.security_headers import SECURITY_HEADERS

# A cached response could show one viewer's data to another, or outdated data.
COMMON_HEADERS = (
    (b"cache-control", b"no-store"),
    (b"vary", b"accept"),
    *SECURITY_HEADERS,
)
HEADERS = {
    media_type: ((b"content-type", f"{media_type}; charset=utf-8".encode()), *COMMON_HEADERS)
    for media_type in (GRAPHQL_JSON, PLAIN_JSON)
}
HEADER_LINES = {media_type: header_lines(headers) for media_type, headers in HEADERS.items()}
NO_ADDITIONAL: Mapping[str, str] = MappingProxyType({})

CLIENT_GONE = "CLIENT_GONE"
"""The code of requests whose client disconnected before the response."""

# Stored, because looking up an enum member costs more than comparing with it.
_SUBSCRIPTION = OperationType.SUBSCRIPTION


Answer = tuple[int, bytes, RawHeaders, str]
"""A response: a status, a JSON body, additional headers, and the code of its first error or OK."""


class EventStream(Protocol):
    """Responds to a parsed request with an event stream."""

    def answer(
        self,
        request: GraphQLRequest,
        scope: Scope,
        headers: Headers,
        receive: Receive,
        send: Send,
        reservation: Reservation | None = None,
    ) -> Awaitable[None]: ...


class GraphQLEndpoint:
    """The ASGI application behind /graphql.

    Args:
        executor: prepares, charges and runs operations.
        context_of: creates the context of one operation from the request's headers. May raise
            HttpRejection (401).
        format_error: returns an error in the form that it has in a response.
        page: served to browsers that open the address.
        documents: finds persisted documents.
        events: responds to subscriptions, and to clients that prefer event streams. If None, both
            get 406.
        admission: shared with the other transports.
        turns: turns of the event loop, in which long bodies that arrive together are read and large
            responses are written.
        take_turns: makes this task take turns for the sender of these headers. Called for a long
            request, which waits for a turn before its context is created.
        turn_to_verify: returns a turn to await directly before a request with these headers is
            identified, or None.
        ended: called when a request ends, unless `page` or `events` responds to it.
        bodies: the memory limit of partial bodies, which the endpoints of a process share.
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
        admission: Admission | None = None,
        turns: Turns | None = None,
        take_turns: Callable[[Headers], None] = lambda _: None,
        turn_to_verify: Callable[[Headers], Awaitable[None] | None] = lambda _: None,
        ended: Ended = lambda *_: None,
        bodies: PartialBodies | None = None,
    ) -> None:
        self._executor = executor
        self._context_of = context_of
        self._format_error = format_error
        self._limits = limits = limits or HttpLimits()
        self._deadlines = RequestDeadlines(limits.body_deadline_ms, limits.request_deadline_ms)
        self._page = page
        self._documents = documents or NoDocuments()
        self._takes_any = self._documents.takes_any
        self._events = events
        self._ended = ended
        self._bodies = bodies or PartialBodies(limits.partial_bodies_bytes_max)
        self._turns = turns or Turns()
        self._take_turns = take_turns
        self._turn_to_verify = turn_to_verify
        self._admission = admission or Admission(AdmissionSettings())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope["headers"], scope.get("client"))
        await self.answer(scope, headers, receive, send)

    async def answer(self, scope: Scope, headers: Headers, receive: Receive, send: Send) -> None:
        """Respond to an ASGI request with these headers."""
        # One long function: a coroutine within this one would be resumed as often as this one.
        answer: Answer | None = None
        operation: Operation | None = None
        request: GraphQLRequest | None = None
        begun, request_id = perf_counter(), begin_request(headers)
        media_type = PLAIN_JSON
        admitted = 0
        cost: int | None = None
        reservation: Reservation | None = None
        stream_reservation: Reservation | None = None
        try:
            accepts = accepted_by(headers) if headers.repeats else accepted(headers.get(ACCEPT))
            if accepts.page and self._page and scope["method"] == "GET":
                return await self._page(scope, receive, send)
            if not accepts.anything:
                raise _not_acceptable(f"{GRAPHQL_JSON}, {PLAIN_JSON} or {EVENT_STREAM}")
            media_type = accepts.json
            with RequestDeadline(self._deadlines, receive) as deadline:
                if scope["method"] == "POST":
                    require_json(headers.get(b"content-type"))
                    if len(headers.get(b"content-length", b"")) > 5:  # 100 KB or more
                        if (turn := self._turn_to_verify(headers)) is not None:
                            await turn
                        rejecting = self._admission.reject_full(self._context_of(headers))
                        if rejecting is not None:  # the rest of the body is received and dropped
                            await rejecting
                    try:
                        body = await read_body(
                            receive, headers, self._limits.body_bytes_max, self._bodies
                        )
                    finally:
                        begun = perf_counter()  # a slow client does not make an operation slow
                    deadline.body_received()
                    turn = self._turn_to_verify(headers) if AUTHORIZATION in headers else None
                    if turn is not None:
                        await turn
                    if (size := len(body)) >= LARGE_BODY_BYTES:
                        reservation = await self._admission.reserve(self._context_of(headers))
                        await self._turns.wait(ADMITTED)
                    else:
                        token = len(headers.get(AUTHORIZATION, b""))
                        is_long = size >= LONG_BODY_BYTES or token >= LONG_TOKEN_BYTES
                        if is_long and not self._turns.fits((size + token) / SLICE_BYTES):
                            self._take_turns(headers)
                            await self._turns.wait()
                    request = from_body(body)
                    del body  # a subscription would keep it until its end
                else:
                    deadline.body_received()
                    request = self._request_of_get(scope)
                    if (turn := self._turn_to_verify(headers)) is not None:
                        await turn
                if not accepts.prefers_streams:
                    context = self._context_of(headers)
                    if not self._takes_any or request.document_id:
                        request = await self._documents.load_document(request, context)
                    operation = self._executor.cached_operation(request, context)
                    if operation is None:
                        request = without_variables(request)
                        operation = await self._executor.prepare(request, context)
                    if request.read_variables is not None:
                        request = with_declared_variables(request, operation)
                    if operation.kind is not _SUBSCRIPTION:
                        values = None
                        if operation.conditions:
                            values = await self._executor.charge_compilation(
                                operation, request, context
                            )
                        charged = self._executor.charge(operation, request, context, values)
                        cost = charged.cost
                        if charged.waiting is not None:
                            await charged.waiting
                        # Not before: a client that does not send its body would occupy a place.
                        waiting = (reservation or self._admission).enter(cost, context)
                        if waiting is not None:
                            await waiting
                        admitted = cost
                        if waiting is not None:  # several can be admitted in one iteration
                            await self._turns.wait(ADMITTED)
                        result = await self._executor.run(charged, request, context)
                        # 200, also with field errors: the draft's "294 Partial Success" is not
                        # registered.
                        response, code = response_of(result, self._format_error), OK
                        if result.errors:
                            code = code_of(response)
                            self._executor.charge_errors(result, context)
                        if COST_HEADER in headers:
                            response["extensions"] = self._executor.extensions(charged, context)
                        if result.bytes < LARGE_BYTES:
                            content = orjson.dumps(response)
                        else:
                            content = await dumps_in_turns(response, self._turns)
                        answer = 200, content, (), code
                # An event stream reports its own errors, also for unknown documents.
                if answer is None:
                    if not accepts.streams or self._events is None:
                        raise _not_acceptable(
                            f"{EVENT_STREAM}, or use a web socket, for a subscription"
                        )
                    stream_reservation, reservation = reservation, None
        except ClientGone:
            return self._ended(operation, request, CLIENT_GONE, perf_counter() - begun, cost)
        except Exception as failure:
            answer = self._failed(failure, media_type)
        finally:
            if admitted:
                self._admission.leave(admitted)
            if reservation is not None:
                reservation.release()
        if answer is None:
            assert self._events is not None, "without it there is an answer"
            assert request is not None, "without it there is an answer"
            answering = self._events.answer(
                request, scope, headers, receive, send, stream_reservation
            )
            request = None  # a subscription would keep it until its end
            return await answering
        status, body, additional, code = answer
        self._ended(operation, request, code, perf_counter() - begun, cost)
        if status == 200 and not additional and isinstance(send, ResponseSender):
            lines = b"content-length: %d\r\n%b: %b\r\n" % (len(body), REQUEST_ID, request_id)
            if send.send_ok(HEADER_LINES[media_type] + lines, body):
                return None
        length, same_id = (b"content-length", b"%d" % len(body)), (REQUEST_ID, request_id)
        fields = [*HEADERS[media_type], length, same_id, *additional]
        await send({"type": "http.response.start", "status": status, "headers": fields})
        return await send({"type": "http.response.body", "body": body})

    def _request_of_get(self, scope: Scope) -> GraphQLRequest:
        """The request in a query string. Raises HttpRejection."""
        if scope["method"] != "GET":
            allow = {"allow": "GET, POST"}
            raise HttpRejection(405, "METHOD_NOT_ALLOWED", "The method must be GET or POST.", allow)
        query_string: bytes = scope["query_string"]
        bytes_max = self._limits.body_bytes_max
        if len(query_string) > bytes_max:
            message = f"The query string must have at most {bytes_max} bytes."
            raise HttpRejection(414, "PAYLOAD_TOO_LARGE", message)
        return from_query_string(query_string)

    def _failed(self, failure: Exception, media_type: str) -> Answer:
        """The error response of a failed request."""
        if isinstance(failure, RequestRejected):
            status = failure.status or (400 if media_type == GRAPHQL_JSON else 200)
            return self._errors(failure.errors, status, failure.headers)
        if isinstance(failure, BodyLate):
            return self._rejected(
                body_late(f"The body must arrive within {self._limits.body_deadline_ms} ms.")
            )
        if isinstance(failure, DeadlineExceeded):
            return self._rejected(self._late())
        if isinstance(failure, HttpRejection):
            return self._rejected(failure)
        return self._errors([GraphQLError(str(failure), original_error=failure)], 500)

    def _rejected(self, rejection: HttpRejection) -> Answer:
        error = GraphQLError(rejection.message, extensions={"code": rejection.code})
        return self._errors([error], rejection.status, rejection.headers)

    def _errors(
        self, errors: list[GraphQLError], status: int, headers: Mapping[str, str] = NO_ADDITIONAL
    ) -> Answer:
        response = {"errors": [self._format_error(error) for error in errors]}
        additional = [
            (name.encode("latin-1"), text.encode("latin-1")) for name, text in headers.items()
        ]
        return status, orjson.dumps(response), additional, code_of(response)

    def _late(self) -> HttpRejection:
        message = f"The request was stopped after {self._limits.request_deadline_ms} ms."
        return HttpRejection(503, "DEADLINE_EXCEEDED", message)


def _not_acceptable(readable: str) -> HttpRejection:
    return HttpRejection(406, "NOT_ACCEPTABLE", f"The Accept header must allow {readable}.")
