"""A receiver of OTLP over HTTP: decodes the spans that a process exports."""

import gzip
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span


class Receiver:
    """The spans that have arrived, and the names of the services that sent them."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self.spans: list[Span] = []
        self.services: set[str] = set()

    def received(self, request: ExportTraceServiceRequest) -> None:
        for of_resource in request.resource_spans:
            for attribute in of_resource.resource.attributes:
                if attribute.key == "service.name":
                    self.services.add(attribute.value.string_value)
            for of_scope in of_resource.scope_spans:
                self.spans += of_scope.spans

    def named(self, name: str) -> list[Span]:
        return [span for span in self.spans if span.name == name]

    def ancestors(self, span: Span) -> list[str]:
        """The names of the span's ancestors that have arrived, the nearest first."""
        by_id = {one.span_id: one for one in self.spans}
        names: list[str] = []
        while (parent := by_id.get(span.parent_span_id)) is not None:
            names.append(parent.name)
            span = parent
        return names


@contextmanager
def receiving() -> Iterator[Receiver]:
    """Run a receiver at a free port of this machine during the block."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            if self.headers.get("content-encoding") == "gzip":
                body = gzip.decompress(body)
            assert self.path == "/v1/traces"
            receiver.received(ExportTraceServiceRequest.FromString(body))
            self.send_response(200)
            self.send_header("content-type", "application/x-protobuf")
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            return

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        receiver = Receiver(server.server_port)
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield receiver
        finally:
            server.shutdown()
            thread.join()


def attributes(span: Span) -> dict[str, object]:
    """The span's attributes: texts and integers."""
    return {one.key: one.value.string_value or one.value.int_value for one in span.attributes}
