"""Traces by OpenTelemetry. Its packages are an extra, and are imported when tracing starts.

Callers on the hot path compare `tracer` with None first: without tracing, nothing else happens. The
SDK reads the standard variables (OTEL_SERVICE_NAME, OTEL_TRACES_SAMPLER, OTEL_EXPORTER_OTLP_HEADERS
and so on) itself.

Spans hold names and numbers, and no arguments, ids of users or texts of errors.
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
    """Trace for the block, and export what is left at its end. Each process starts its own, because
    the exporter's thread does not survive a fork."""
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
        # A daemon: an unreachable collector must not delay the end of the process.
        last = Thread(target=provider.shutdown, daemon=True)
        last.start()
        await asyncio.to_thread(last.join, LAST_EXPORT_S)


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
    """The span of one operation of a long-lived connection: below that of its request, if there is
    one, and otherwise a span of its own, as `server_span`."""
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
    """The span of a statement or of a call of Redis, below a span that is sampled."""
    from opentelemetry.trace import SpanKind

    return _child_span(name, SpanKind.CLIENT, attributes)


def internal_span(name: str) -> AbstractContextManager[object]:
    """The span of a part of the process's own work, below a span that is sampled."""
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
        Link(get_current_span(propagator.extract({"traceparent": one})).get_span_context())
        for one in traceparents[:LINKS_MAX]
    ]
    with _span(name, SpanKind.CONSUMER, attributes, links=links):
        yield


def set_attributes(attributes: Attributes, name: str | None = None) -> None:
    """Add attributes to the current span, and rename it."""
    from opentelemetry.trace import get_current_span

    span = get_current_span()
    span.set_attributes(attributes)
    if name is not None:
        span.update_name(name)


def traceparent() -> str | None:
    """The context of the current span, to be linked to. None if it is not sampled."""
    from opentelemetry.trace import get_current_span

    context = get_current_span().get_span_context()
    if not (context.is_valid and context.trace_flags.sampled):
        return None
    return f"00-{context.trace_id:032x}-{context.span_id:016x}-01"


def _child_span(
    name: str, kind: "SpanKind", attributes: Attributes
) -> AbstractContextManager[object]:
    """A span below one that is sampled; otherwise nothing. A span that is not sampled takes 11 µs
    too, and the reads of background tasks would each begin a trace."""
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
    """A span that is current during the block. An error is recorded by its type alone: its text may
    have an id or an address."""
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
