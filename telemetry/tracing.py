"""Traces by OpenTelemetry. Its packages are an extra, and are imported when tracing starts.

Callers on the hot path first compare `tracer` with None, so that without tracing nothing else runs.
The SDK itself reads the standard variables (OTEL_SERVICE_NAME, OTEL_TRACES_SAMPLER,
OTEL_EXPORTER_OTLP_HEADERS and so on).

Spans hold names and numbers, but no arguments, ids of users or texts of errors.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager, nullcontext
from importlib.util import find_spec
from threading import Thread
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.trace import Link, Span, SpanKind, Tracer

Attributes: TypeAlias = Mapping[str, str | int]

SERVICE_NAME = "kith"
"""Unless OTEL_SERVICE_NAME or OTEL_RESOURCE_ATTRIBUTES names another one."""

LINKS_MAX = 64
"""Requests that the span of one drain is linked to."""

LAST_EXPORT_S = 3
"""How long a stopping process waits until its last spans are exported."""

tracer: "Tracer | None" = None
"""None: nothing is traced."""


def is_installed() -> bool:
    """Whether the packages of the extra `otel` are installed."""
    return find_spec("opentelemetry") is not None and find_spec("opentelemetry.sdk") is not None


@asynccontextmanager
async def tracing() -> AsyncIterator[None]:
    """Trace during the block, and export the remaining spans at its end. Call it in each process,
    because the exporter's thread does not survive a fork."""
    global tracer
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    resource = Resource.create()
    if str(resource.attributes.get("service.name", "")).startswith("unknown_service"):
        resource = resource.merge(Resource({"service.name": SERVICE_NAME}))
    provider = TracerProvider(resource=resource, shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    tracer = provider.get_tracer("kith")
    try:
        yield
    finally:
        tracer = None
        # A daemon, so that an unreachable collector does not delay the end of the process.
        last_export = Thread(target=provider.shutdown, daemon=True)
        last_export.start()
        await asyncio.to_thread(last_export.join, LAST_EXPORT_S)


@contextmanager
def server_span(name: str, headers: Mapping[str, str]) -> "Iterator[Span]":
    """The span of a request. It continues the trace in `traceparent` and `tracestate`, if any."""
    from opentelemetry.trace import SpanKind
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    assert tracer is not None
    parent = TraceContextTextMapPropagator().extract(headers)
    with _span(name, SpanKind.SERVER, {}, parent=parent) as span:
        yield span


@contextmanager
def operation_span(name: str, headers: Mapping[str, str]) -> Iterator[None]:
    """The span of one operation of a long-lived connection: a child of the current span if there is
    one, otherwise as by `server_span`."""
    from opentelemetry.trace import SpanKind, get_current_span

    if tracer is None:
        yield
    elif get_current_span().get_span_context().is_valid:
        with _span(name, SpanKind.INTERNAL, {}):
            yield
    else:
        with server_span(name, headers):
            yield


def client_span(name: str, attributes: Attributes) -> AbstractContextManager[object]:
    """The span of a call of PostgreSQL or Redis, if the current span is sampled."""
    from opentelemetry.trace import SpanKind

    return _child_span(name, SpanKind.CLIENT, attributes)


def internal_span(name: str) -> AbstractContextManager[object]:
    """The span of a part of the process's own work, if the current span is sampled."""
    from opentelemetry.trace import SpanKind

    return _child_span(name, SpanKind.INTERNAL, {})


def job_span(name: str) -> AbstractContextManager[object]:
    """The span of a job: the first one of a trace."""
    from opentelemetry.trace import SpanKind

    return _span(name, SpanKind.CONSUMER, {})


@contextmanager
def linked_span(name: str, traceparents: Sequence[str], attributes: Attributes) -> Iterator[None]:
    """The span of work that several requests have caused, with a link to each of them."""
    from opentelemetry.trace import Link, SpanKind, get_current_span
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    propagator = TraceContextTextMapPropagator()
    links = [
        Link(get_current_span(propagator.extract({"traceparent": parent})).get_span_context())
        for parent in traceparents[:LINKS_MAX]
    ]
    with _span(name, SpanKind.CONSUMER, attributes, links=links):
        yield


def set_attributes(attributes: Attributes, name: str | None = None) -> None:
    """Add attributes to the current span, and rename it if `name` is given."""
    from opentelemetry.trace import get_current_span

    span = get_current_span()
    span.set_attributes(attributes)
    if name is not None:
        span.update_name(name)


def traceparent() -> str | None:
    """The context of the current span as a `traceparent` header, for links to the span. None if it
    is not sampled."""
    from opentelemetry.trace import get_current_span

    context = get_current_span().get_span_context()
    if not (context.is_valid and context.trace_flags.sampled):
        return None
    return f"00-{context.trace_id:032x}-{context.span_id:016x}-01"


def _child_span(
    name: str, kind: "SpanKind", attributes: Attributes
) -> AbstractContextManager[object]:
    """A child of the current span, or no span if there is no sampled one: even a span that is not
    sampled takes 11 µs, and each read of a background task would begin a trace."""
    from opentelemetry.trace import get_current_span

    if tracer is None or not get_current_span().is_recording():
        return nullcontext()
    return _span(name, kind, attributes)


@contextmanager
def _span(
    name: str,
    kind: "SpanKind",
    attributes: Attributes,
    *,
    parent: "Context | None" = None,
    links: "Sequence[Link] | None" = None,
) -> "Iterator[Span]":
    """A span that is current during the block. Of an error, only the type is recorded, because its
    text may contain an id or an address."""
    from opentelemetry.trace import Status, StatusCode

    assert tracer is not None
    with tracer.start_as_current_span(
        name,
        parent,
        kind,
        attributes,
        links,
        record_exception=False,
        set_status_on_exception=False,
    ) as span:
        try:
            yield span
        except Exception as error:
            span.set_status(Status(StatusCode.ERROR, type(error).__name__))
            raise
