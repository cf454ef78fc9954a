"""Traces of requests: a span for each, with the operation that it ran."""

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from engine import Operation
from gateway.graphql_request import GraphQLRequest
from gateway.operation_names import NAME
from gateway.request_ids import HEADER
from gateway.request_metrics import Ended
from telemetry import tracing

_PROPAGATED = (b"traceparent", b"tracestate")


class TracedApp:
    """Wraps an ASGI application. Web sockets are not traced: they live for hours."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or tracing.tracer is None:
            return await self._app(scope, receive, send)
        headers = {
            name.decode(): value.decode("latin-1")
            for name, value in scope["headers"]
            if name in _PROPAGATED
        }

        async def observe(message: Message) -> None:
            if message["type"] == "http.response.start":
                asked = dict(message["headers"]).get(HEADER, b"").decode()
                span.set_attributes(
                    {"http.response.status_code": message["status"], "kith.request_id": asked}
                )
            await send(message)

        method: str = scope["method"]
        with tracing.server_span(f"{method} /graphql", headers) as span:
            span.set_attributes({"http.request.method": method, "url.path": scope["path"]})
            return await self._app(scope, receive, observe)


def traced(ended: Ended) -> Ended:
    """The same, and it names the operation in the span of the request."""

    def call(
        operation: Operation | None, request: GraphQLRequest | None, code: str, seconds: float
    ) -> None:
        ended(operation, request, code, seconds)
        if tracing.tracer is None:
            return
        attributes = {"kith.code": code}
        name = None
        if operation is not None:
            name = kind = operation.kind.value
            attributes["graphql.operation.type"] = kind
            if operation.name is not None and NAME.fullmatch(operation.name):
                attributes["graphql.operation.name"] = operation.name
                name = f"{kind} {operation.name}"
        tracing.set_attributes(attributes, name)

    return call
