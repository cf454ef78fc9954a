"""Traces of requests: a span for each, with the operation that it ran.

An operation over a web socket has a span of its own, and so has each event of a subscription.
"""

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from engine import Operation
from gateway.graphql.operation_names import NAME
from gateway.graphql.request import GraphQLRequest
from gateway.graphql.request_metrics import Ended
from gateway.http.headers import Headers
from gateway.http.request_ids import HEADER
from telemetry import tracing
from telemetry.request_id import request_id

SpanContext = AbstractContextManager[None]

PROPAGATED = (b"traceparent", b"tracestate")
"""The headers that name the trace which a request continues."""

UNKNOWN_OPERATION = "WS /graphql"
"""The name of a span whose operation is not known, or not yet."""


class TracedApp:
    """Wraps an ASGI application. A web socket itself has no span: it lives for hours."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or tracing.tracer is None:
            return await self._app(scope, receive, send)
        headers = {
            name.decode(): value.decode("latin-1")
            for name, value in scope["headers"]
            if name in PROPAGATED
        }

        async def observe(message: Message) -> None:
            if message["type"] == "http.response.start":
                request_id = dict(message["headers"]).get(HEADER, b"").decode()
                span.set_attributes(
                    {"http.response.status_code": message["status"], "kith.request_id": request_id}
                )
            await send(message)

        method: str = scope["method"]
        with tracing.server_span(f"{method} /graphql", headers) as span:
            span.set_attributes({"http.request.method": method, "url.path": scope["path"]})
            return await self._app(scope, receive, observe)


def operation_span(headers: Headers, operation: Operation | None = None) -> SpanContext:
    """The span of an operation of a long-lived connection, or of one event of a subscription. The
    headers are those of the connection."""
    if tracing.tracer is None:
        return nullcontext()
    texts = {
        name.decode(): value.decode("latin-1")
        for name in PROPAGATED
        if (value := headers.get(name)) is not None
    }
    return _operation_span(texts, operation)


@contextmanager
def _operation_span(headers: Mapping[str, str], operation: Operation | None) -> Iterator[None]:
    with tracing.operation_span(UNKNOWN_OPERATION, headers):
        tracing.set_attributes({"kith.request_id": request_id.get() or ""})
        if operation is not None:
            tracing.set_attributes(*_span_attributes(operation))
        yield


def _span_attributes(operation: Operation) -> tuple[dict[str, str], str]:
    """The attributes of the span of an operation, and its name."""
    kind, name = operation.kind.value, operation.name
    if name is None or not NAME.fullmatch(name):
        return {"graphql.operation.type": kind}, kind
    attributes = {"graphql.operation.type": kind, "graphql.operation.name": name}
    return attributes, f"{kind} {name}"


def traced(ended: Ended) -> Ended:
    """Wrap `ended`, so that it also sets the operation and the code in the current span."""

    def call(
        operation: Operation | None,
        request: GraphQLRequest | None,
        code: str,
        seconds: float,
        cost: int | None,
    ) -> None:
        ended(operation, request, code, seconds, cost)
        if tracing.tracer is None:
            return
        attributes, shown = ({}, None) if operation is None else _span_attributes(operation)
        tracing.set_attributes({**attributes, "kith.code": code}, shown)

    return call
