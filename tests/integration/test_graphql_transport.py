"""GraphQL over real connections: large and slow bodies, deadlines, disconnections, overload."""

import asyncio
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager

import httpx
import pytest

from gateway.graphql import endpoint as graphql_endpoint
from gateway.graphql.admission import Admission
from gateway.graphql.endpoint import GraphQLEndpoint
from gateway.graphql.request import LARGE_BODY_BYTES, GraphQLRequest, from_body
from gateway.graphql.settings import AdmissionSettings, HttpLimits
from schema.errors import formatted
from tests.support.http_server import served, wait_until
from tests.support.small_schema import Context, endpoint, executor

JSON = {"content-type": "application/json"}
DEADLINE_S = 10


def limited_endpoint(
    limits: HttpLimits, context: Context | None = None, admission: Admission | None = None
) -> GraphQLEndpoint:
    shared = context or Context()
    return GraphQLEndpoint(executor(), lambda _: shared, formatted, limits, admission=admission)


def code_of(response: httpx.Response) -> str:
    return str(response.json()["errors"][0]["extensions"]["code"])


@contextmanager
def connection_to(url: str) -> Iterator[socket.socket]:
    address = httpx.URL(url)
    with socket.create_connection((address.host, address.port), timeout=DEADLINE_S) as connection:
        yield connection


def request_head(*lines: str) -> bytes:
    common = ["POST /graphql HTTP/1.1", "Host: kith", "Content-Type: application/json"]
    return "\r\n".join([*common, *lines, "", ""]).encode()


def read_response(connection: socket.socket) -> str:
    """Read a response with errors, up to the end of its JSON."""
    received = b""
    while not received.endswith(b"]}"):
        chunk = connection.recv(65_536)
        assert chunk, f"closed after {received!r}"
        received += chunk
    return received.decode()


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with served(endpoint()) as url:
        yield url


async def chunks(count: int) -> AsyncIterator[bytes]:
    for _ in range(count):
        yield b" " * 65_536


async def test_a_body_of_thirty_megabytes_is_too_large(url: str) -> None:
    async with httpx.AsyncClient() as client:
        response = await client.post(f"{url}/graphql", content=b" " * 30_000_000, headers=JSON)
    assert response.status_code == 413
    assert code_of(response) == "PAYLOAD_TOO_LARGE"


async def test_a_large_body_of_unknown_length_is_too_large(url: str) -> None:
    async with httpx.AsyncClient() as client:
        response = await client.post(f"{url}/graphql", content=chunks(100), headers=JSON)
    assert response.status_code == 413
    assert code_of(response) == "PAYLOAD_TOO_LARGE"


@pytest.mark.parametrize("length", ["1048577", "9" * 19, "0" * 50 + "9" * 19])
def test_an_announced_length_is_rejected_before_the_body_arrives(url: str, length: str) -> None:
    with connection_to(url) as connection:
        connection.sendall(request_head(f"Content-Length: {length}"))
        assert " 413 " in read_response(connection)


def test_a_body_at_the_limit_is_read(url: str) -> None:
    body = b'{"query": "{ who }"}'.ljust(1 << 20)
    response = httpx.post(f"{url}/graphql", content=body, headers=JSON)
    assert response.json() == {"data": {"who": "None"}}


def test_a_slow_body_times_out_and_ends_the_connection() -> None:
    with (
        served(limited_endpoint(HttpLimits(body_deadline_ms=50))) as url,
        connection_to(url) as connection,
    ):
        connection.sendall(request_head("Content-Length: 20") + b'{"query":')
        received = read_response(connection)
        assert " 408 " in received
        assert "REQUEST_TIMEOUT" in received
        assert "connection: close" in received.lower()
        assert connection.recv(1) == b""


def test_a_connection_serves_the_next_request_after_a_body_that_was_too_large(url: str) -> None:
    with httpx.Client() as client:
        for _ in range(2):
            too_large = client.post(f"{url}/graphql", content=b" " * 2_000_000, headers=JSON)
            assert too_large.status_code == 413
        response = client.post(f"{url}/graphql", json={"query": "{ who }"})
    assert response.json() == {"data": {"who": "None"}}


@pytest.mark.parametrize("accept", ["application/json", "application/graphql-response+json"])
async def test_an_operation_is_stopped_at_its_deadline(accept: str) -> None:
    context = Context()
    transport = httpx.ASGITransport(limited_endpoint(HttpLimits(request_deadline_ms=500), context))
    async with httpx.AsyncClient(transport=transport, base_url="http://kith") as client:
        async with asyncio.timeout(DEADLINE_S):
            response = await client.post(
                "/graphql", json={"query": "{ a: forever b: forever }"}, headers={"accept": accept}
            )
    assert response.status_code == 503
    assert code_of(response) == "DEADLINE_EXCEEDED"
    assert context.cancelled == ["forever", "forever"]


async def test_a_disconnect_cancels_the_operation() -> None:
    context = Context()
    app = limited_endpoint(HttpLimits(), context)
    body = b'{"query": "{ a: forever b: forever }"}'
    sent: list[object] = []
    messages = iter([{"type": "http.request", "body": body, "more_body": False}])

    async def receive() -> dict[str, object]:
        message = next(messages, None)
        if message is not None:
            return message
        await context.started.wait()
        return {"type": "http.disconnect"}

    async def send(message: object) -> None:
        sent.append(message)

    headers = [(b"content-type", b"application/json")]
    scope = {"type": "http", "method": "POST", "headers": headers, "query_string": b""}
    async with asyncio.timeout(DEADLINE_S):
        await app(scope, receive, send)
    assert context.cancelled == ["forever", "forever"]
    assert sent == []


def test_a_closed_connection_cancels_the_operation_under_uvicorn() -> None:
    context = Context()
    body = b'{"query": "{ forever }"}'
    with served(limited_endpoint(HttpLimits(request_deadline_ms=60_000), context)) as url:
        with connection_to(url) as connection:
            connection.sendall(request_head(f"Content-Length: {len(body)}") + body)
            wait_until(context.started.is_set)
        wait_until(lambda: context.cancelled == ["forever"])


@pytest.mark.parametrize("accept", ["application/json", "text/event-stream"])
async def test_a_large_body_is_not_parsed_if_it_would_be_rejected(
    accept: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    parsed: list[int] = []

    def counting_parse(body: bytes) -> GraphQLRequest:
        parsed.append(len(body))
        return from_body(body)

    monkeypatch.setattr(graphql_endpoint, "from_body", counting_parse)
    admission = Admission(AdmissionSettings(queue_max=0))
    app = limited_endpoint(HttpLimits(), admission=admission)
    cost_max = AdmissionSettings().cost_max
    body = {"query": "{ who }", "variables": {"padding": "x" * LARGE_BODY_BYTES}}
    headers = {"accept": f"{accept}, application/json;q=0.5"}
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://kith") as client:
        assert admission.enter(cost_max, None) is None
        for _ in range(3):
            response = await client.post("/graphql", json=body, headers=headers)
            assert response.status_code == 503
            assert response.headers["retry-after"] == "1"
            assert code_of(response) == "OVERLOADED"
        assert parsed == []
        assert (await client.post("/graphql", json={"query": "{ who }"})).status_code == 200
        admission.leave(cost_max)
        response = await client.post("/graphql", json=body)
        assert response.json() == {"data": {"who": "None"}}
        broken = await client.post("/graphql", content=b"{" * LARGE_BODY_BYTES, headers=JSON)
        assert broken.status_code == 400
    assert len(parsed) == 3
    assert admission.enter(cost_max, None) is None  # the rejected requests have left no reservation


async def test_a_request_beyond_the_limit_gets_retry_after() -> None:
    context = Context()
    admission = Admission(AdmissionSettings(cost_max=1, queue_max=0))
    app = limited_endpoint(HttpLimits(request_deadline_ms=60_000), context, admission)
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://kith") as client:
        first = asyncio.create_task(client.post("/graphql", json={"query": "{ forever }"}))
        async with asyncio.timeout(DEADLINE_S):
            await context.started.wait()
        second = await client.post("/graphql", json={"query": "{ who }"})
        first.cancel()
        await asyncio.wait([first])
        third = await client.post("/graphql", json={"query": "{ who }"})
    assert second.status_code == 503
    assert second.headers["retry-after"] == "1"
    assert code_of(second) == "OVERLOADED"
    assert third.status_code == 200
