"""Clients that send endless headers, partial requests or nothing, and clients that do not read."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from prometheus_client import REGISTRY
from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import HEADER_RE, HEADER_VALUE_RE

from gateway.graphql.admission import Admission
from gateway.graphql.endpoint import HEADERS, GraphQLEndpoint
from gateway.graphql.settings import AdmissionSettings, HttpLimits
from gateway.http.open_connections import ConnectionLimits
from gateway.http.protocol import (
    FRAMING_BYTES_MAX,
    PIECES_MAX,
    PIPELINED_BYTES_MAX,
    PIPELINED_MAX,
    TRAILERS_MAX,
)
from schema.errors import formatted
from tests.support.raw_connections import (
    DEADLINE_S,
    BoundedServer,
    RawConnection,
    bounded_server,
    head,
    post,
)
from tests.support.small_schema import Context, executor
from tests.support.waiting import until

LENGTH_0, LENGTH_2 = (b"content-length", b"0"), (b"content-length", b"2")
QUERY = b'{"query": "{ who }"}'
SHORT_HEAD_DEADLINE = ConnectionLimits(head_deadline_ms=200)


def endpoint(limits: HttpLimits | None = None) -> GraphQLEndpoint:
    return GraphQLEndpoint(executor(), lambda _: Context(), formatted, limits)


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[BoundedServer]:
    async with bounded_server(endpoint(), tmp_path / "kith.sock") as server:
        yield server


async def is_answered(connection: RawConnection) -> bool:
    await connection.send(post(QUERY))
    return (await connection.response()).status == 200


def open_connections() -> float:
    return REGISTRY.get_sample_value("kith_http_connections") or 0


async def test_a_header_without_an_end_is_rejected_after_a_bounded_number_of_bytes(
    server: BoundedServer,
) -> None:
    async with server.connection() as connection:
        await connection.send(head().removesuffix(b"\r\n") + b"X-Endless: ")
        sent = 0
        while connection.writer.can_write_eof() and not connection.reader._buffer:  # type: ignore[attr-defined]
            await connection.send(b"a" * 4_096)
            sent += 4_096
            assert sent < 1_000_000
            await asyncio.sleep(0)
        response = await connection.response()
        assert (response.status, response.code) == (431, "HEADERS_TOO_LARGE")
        assert response.headers["connection"] == "close"


async def test_too_many_headers_are_rejected_before_the_head_is_complete(
    server: BoundedServer,
) -> None:
    async with server.connection() as connection:
        await connection.send(
            head(*(f"X-{number}: 1" for number in range(101))).removesuffix(b"\r\n")
        )
        response = await connection.response()
        assert (response.status, response.code) == (431, "HEADERS_TOO_LARGE")


@pytest.mark.parametrize(
    ("request_head", "status", "code"),
    [
        (head(f"X-Large: {'a' * 33_000}"), 431, "HEADERS_TOO_LARGE"),
        (head(*(f"X-{number}: 1" for number in range(101))), 431, "HEADERS_TOO_LARGE"),
        (head(first=f"GET /{'a' * 16_384} HTTP/1.1"), 414, "URI_TOO_LONG"),
        (head(first=f"GET /{'%41' * 700}?a HTTP/1.1"), 414, "URI_TOO_LONG"),
        (b"GET /graphql\r\n\r\n\r\n", 400, "BAD_REQUEST"),
        (b"\x16\x03\x01\x02\x00", 400, "BAD_REQUEST"),  # TLS
    ],
)
async def test_a_head_outside_of_the_limits_is_rejected_with_a_code(
    server: BoundedServer, request_head: bytes, status: int, code: str
) -> None:
    async with server.connection() as connection:
        await connection.send(request_head)
        response = await connection.response()
        assert (response.status, response.code) == (status, code)
        assert response.headers["x-content-type-options"] == "nosniff"
        assert await connection.rest() == b""


@pytest.mark.parametrize(
    "lines",
    [
        [f"X-Large: {'a' * 31_000}"],
        [f"X-{number}: 1" for number in range(96)],
    ],
)
async def test_a_head_within_the_limits_is_accepted(
    server: BoundedServer, lines: list[str]
) -> None:
    async with server.connection() as connection:
        for _ in range(2):
            await connection.send(post(QUERY, *lines))
            assert (await connection.response()).status == 200


async def test_a_web_sockets_handshake_has_the_same_limits(server: BoundedServer) -> None:
    handshake = (
        "Upgrade: websocket",
        "Connection: Upgrade",
        "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
        f"X-Large: {'a' * 33_000}",
    )
    async with server.connection() as connection:
        await connection.send(head(*handshake, first="GET /graphql HTTP/1.1"))
        assert (await connection.response()).status == 431


async def test_silent_connections_and_half_headers_are_closed(tmp_path: Path) -> None:
    limits = ConnectionLimits(head_deadline_ms=2_000)
    async with (
        bounded_server(endpoint(), tmp_path / "kith.sock", limits) as server,
        server.connected(200) as silent,
        server.connected(100) as half,
    ):
        for connection in half:
            await connection.send(head().removesuffix(b"\r\n"))
        for connection in silent:
            assert await connection.rest() == b""
        for connection in half:
            response = await connection.response()
            assert (response.status, response.code) == (408, "REQUEST_TIMEOUT")
        for connection in half:
            connection.writer.close()
        await server.until_open(0)


async def test_a_head_that_arrives_byte_by_byte_has_one_deadline(tmp_path: Path) -> None:
    async with (
        bounded_server(endpoint(), tmp_path / "kith.sock", SHORT_HEAD_DEADLINE) as server,
        server.connection() as connection,
    ):
        assert await is_answered(connection)  # later requests have the deadline too
        await connection.send(b"POST /graphql HTTP/1.1\r\nX-Slow: ")
        reading = asyncio.create_task(connection.response())

        async def answered() -> bool:
            await connection.send(b"a")
            return reading.done()

        await until(answered, "the head is late")
        assert reading.result().status == 408


async def test_empty_lines_do_not_keep_a_connection_open(tmp_path: Path) -> None:
    async with (
        bounded_server(endpoint(), tmp_path / "kith.sock", SHORT_HEAD_DEADLINE) as server,
        server.connection() as connection,
    ):
        assert await is_answered(connection)
        closed = asyncio.create_task(connection.rest())

        async def is_closed() -> bool:
            await connection.send(b"\r\n")
            return closed.done()

        await until(is_closed, "the connection is closed")
        assert closed.result() == b""


async def test_an_idle_connection_is_closed_after_its_last_request(tmp_path: Path) -> None:
    limits = ConnectionLimits(idle_s=1)
    async with (
        bounded_server(endpoint(), tmp_path / "kith.sock", limits) as server,
        server.connection() as connection,
    ):
        assert await is_answered(connection)
        assert await is_answered(connection)
        assert await connection.rest() == b""


async def test_an_idle_connection_is_closed_however_long_it_was_used(tmp_path: Path) -> None:
    """The timer, which was started after the first request, fires while a later one runs."""
    release, running = asyncio.Event(), asyncio.Event()

    async def waits_for_release(scope: Scope, receive: Receive, send: Send) -> None:
        running.set()
        await release.wait()
        await send({"type": "http.response.start", "status": 200, "headers": [LENGTH_2]})
        await send({"type": "http.response.body", "body": b"{}"})

    limits = ConnectionLimits(idle_s=1)
    async with (
        bounded_server(waits_for_release, tmp_path / "kith.sock", limits) as server,
        server.connection() as connection,
    ):
        release.set()
        assert await is_answered(connection)
        release.clear()
        running.clear()
        await connection.send(post(QUERY))
        await running.wait()
        closed = asyncio.create_task(connection.rest())
        done, _ = await asyncio.wait([closed], timeout=1.5)
        assert not done, "a connection with a running request is not idle"
        release.set()
        assert (await closed).endswith(b"{}"), "the response, and then the end"


async def test_a_response_sent_in_one_call_has_the_headers_of_one_sent_as_messages(
    server: BoundedServer,
) -> None:
    """The last response of a connection is sent as messages."""
    own = ("X-Request-Id: 42", "Accept: application/graphql-response+json")
    async with server.connection() as connection:
        await connection.send(post(QUERY, *own))
        in_one_call = await connection.response()
        await connection.send(post(QUERY, *own, "Connection: close"))
        last = await connection.response()
    for response in (in_one_call, last):
        assert response.headers.pop("date").endswith("GMT")
    assert last.headers.pop("connection") == "close"
    assert in_one_call.headers == last.headers
    assert (in_one_call.status, in_one_call.body) == (last.status, last.body)
    assert in_one_call.headers["x-request-id"] == "42"
    assert in_one_call.headers["cache-control"] == "no-store"


@pytest.mark.parametrize("media_type", HEADERS)
def test_the_constant_headers_are_valid(media_type: str) -> None:
    """uvicorn does not validate them when they are sent."""
    for name, value in HEADERS[media_type]:
        assert not HEADER_RE.search(name)
        assert not HEADER_VALUE_RE.search(value)


async def test_trailers_without_an_end_are_rejected(server: BoundedServer) -> None:
    async with server.connection() as connection:
        await connection.send(head("Transfer-Encoding: chunked") + b"1\r\n{\r\n0\r\nX-Endless: ")
        closed = asyncio.create_task(connection.rest())
        sent = 0

        async def is_closed() -> bool:
            nonlocal sent
            await connection.send(b"a" * 16_384)
            sent += 16_384
            return closed.done()

        await until(is_closed, "the connection is closed")
        assert b" 400 " in closed.result() or closed.result() == b""
        assert sent < 20 * FRAMING_BYTES_MAX


@pytest.mark.parametrize("coding", ["chunked", "gzip, chunked", "identity", "gzip"])
@pytest.mark.parametrize("version", ["1.0", "0.9", "2.0"])
@pytest.mark.parametrize("is_split", [False, True], ids=["one packet", "two packets"])
async def test_a_transfer_encoding_is_rejected_if_the_version_does_not_have_it(
    tmp_path: Path, version: str, coding: str, is_split: bool
) -> None:
    """RFC 9112 section 6.1: a proxy may have forwarded such a request by another length."""
    bodies = []

    async def application(scope: Scope, receive: Receive, send: Send) -> None:
        while (message := await receive())["type"] == "http.request":
            if not message["more_body"]:
                bodies.append(message)
                await send({"type": "http.response.start", "status": 200, "headers": [LENGTH_0]})
                await send({"type": "http.response.body"})
                return

    start = head(
        f"Transfer-Encoding: {coding}", "Connection: keep-alive", first=f"POST / HTTP/{version}"
    )
    chunks = b"1\r\n{\r\n0\r\n\r\n" + head("Content-Length: 0")
    async with (
        bounded_server(application, tmp_path / "kith.sock") as server,
        server.connection() as connection,
    ):
        for part in (start, chunks) if is_split else (start + chunks,):
            await connection.send(part)
        received = await connection.rest()
        assert received.startswith(b"HTTP/1.1 400 ")
        assert received.count(b"HTTP/1.1 ") == 1
    assert not bodies


@pytest.mark.parametrize(
    ("version", "hosts", "is_valid"),
    [
        ("1.1", [], False),
        ("1.1", ["Host: kith", "host: kith"], False),
        ("1.1", ["Host: kith", "Host: other"], False),
        ("1.1", ["Host:", "Host:"], False),
        ("1.0", ["Host: kith", "Host: other"], False),
        ("1.1", ["Host: kith"], True),
        ("1.1", ["Host:"], True),
        ("1.0", ["Host: kith"], True),
        ("1.0", [], True),
    ],
)
@pytest.mark.parametrize("upgrade", [[], ["Connection: Upgrade", "Upgrade: websocket"]])
async def test_several_hosts_or_none_are_rejected(
    tmp_path: Path, version: str, hosts: list[str], is_valid: bool, upgrade: list[str]
) -> None:
    """RFC 9112 section 3.2: a proxy may have chosen another of several. HTTP/1.0 may have none."""
    seen = []

    async def application(scope: Scope, receive: Receive, send: Send) -> None:
        seen.append(scope["type"])
        if scope["type"] == "http":
            await send({"type": "http.response.start", "status": 200, "headers": [LENGTH_0]})
            await send({"type": "http.response.body"})

    lines = [f"GET / HTTP/{version}", *hosts, *upgrade, "", ""]
    async with (
        bounded_server(application, tmp_path / "kith.sock") as server,
        server.connection() as connection,
    ):
        await connection.send("\r\n".join(lines).encode())
        if not is_valid:
            response = await connection.response()
            assert (response.status, response.code) == (400, "BAD_REQUEST")
            assert b"Host" in response.body
            assert not seen
        elif not upgrade:
            assert (await connection.response()).status == 200
            assert seen == ["http"]


@pytest.mark.parametrize("protocol", ["h2c", "foo"])
@pytest.mark.parametrize("is_chunked", [False, True])
@pytest.mark.parametrize("is_split", [False, True])
async def test_the_body_of_a_request_with_an_upgrade_is_not_another_request(
    tmp_path: Path, protocol: str, is_chunked: bool, is_split: bool
) -> None:
    """A proxy takes it for the body, and would give the response to another client."""
    seen: list[tuple[str, bytes]] = []

    async def application(scope: Scope, receive: Receive, send: Send) -> None:
        body, more = b"", True
        while more:
            message = await receive()
            body, more = body + message["body"], message["more_body"]
        seen.append((scope["path"], body))
        assert b"upgrade" not in {name for name, _ in scope["headers"]}
        await send({"type": "http.response.start", "status": 200, "headers": [LENGTH_0]})
        await send({"type": "http.response.body"})

    smuggled = head("Content-Length: 0", first="POST /smuggled HTTP/1.1")
    upgrade = (f"Upgrade: {protocol}", "Connection: Upgrade, HTTP2-Settings", "HTTP2-Settings: AA")
    if is_chunked:
        first = head(*upgrade, "Transfer-Encoding: chunked", first="POST /first HTTP/1.1")
        body = b"%x\r\n%b\r\n0\r\n\r\n" % (len(smuggled), smuggled)
    else:
        length = f"Content-Length: {len(smuggled)}"
        first, body = head(*upgrade, length, first="POST /first HTTP/1.1"), smuggled
    second = head(*upgrade, first="GET /second HTTP/1.1")
    third = head("Content-Length: 0", first="POST /third HTTP/1.1")
    async with (
        bounded_server(application, tmp_path / "kith.sock") as server,
        server.connection() as connection,
    ):
        parts = [first[:20], first[20:], body, second + third]
        for part in parts if is_split else [b"".join(parts)]:
            await connection.send(part)
        for _ in range(3):
            assert (await connection.response()).status == 200
    assert seen == [("/first", smuggled), ("/second", b""), ("/third", b"")]


@pytest.mark.parametrize(
    "codings", [["gzip, chunked"], ["identity", "chunked"], ["chunked", "chunked"]]
)
async def test_other_transfer_codings_are_rejected(tmp_path: Path, codings: list[str]) -> None:
    """A proxy may see another end of the body."""

    async def application(scope: Scope, receive: Receive, send: Send) -> None:
        while (await receive()).get("more_body"):
            pass

    lines = [f"Transfer-Encoding: {coding}" for coding in codings]
    async with (
        bounded_server(application, tmp_path / "kith.sock") as server,
        server.connection() as connection,
    ):
        await connection.send(head(*lines) + b"0\r\n\r\n")
        response = await connection.response()
        assert (response.status, response.code) == (400, "BAD_REQUEST")


async def test_connect_is_rejected(tmp_path: Path) -> None:
    async def application(scope: Scope, receive: Receive, send: Send) -> None:
        raise AssertionError("This is no proxy.")

    async with (
        bounded_server(application, tmp_path / "kith.sock") as server,
        server.connection() as connection,
    ):
        await connection.send(head(first="CONNECT example.com:443 HTTP/1.1"))
        assert (await connection.response()).status == 400


async def test_trailers_do_not_become_headers(tmp_path: Path) -> None:
    """A proxy checks the headers: a trailer could name another address, viewer or space."""
    seen: list[list[tuple[bytes, bytes]]] = []

    async def application(scope: Scope, receive: Receive, send: Send) -> None:
        while (await receive())["more_body"]:
            pass
        seen.append(scope["headers"])
        await send({"type": "http.response.start", "status": 200, "headers": [LENGTH_0]})
        await send({"type": "http.response.body"})

    trailers = b"".join(b"X-Viewer: %d\r\n" % number for number in range(TRAILERS_MAX))
    request = head("Transfer-Encoding: chunked") + b"1\r\n{\r\n0\r\n" + trailers + b"\r\n"
    async with (
        bounded_server(application, tmp_path / "kith.sock") as server,
        server.connection() as connection,
    ):
        for sent in (request, request + request, head("Content-Length: 0")):
            await connection.send(sent)
        for _ in range(4):
            assert (await connection.response()).status == 200
        await connection.send(request.replace(trailers, trailers + b"X-Viewer: 1\r\n"))
        assert (await connection.response()).status == 400
    names = {b"host", b"content-type"}
    assert [{name for name, _ in headers} - names for headers in seen] == [
        *[{b"transfer-encoding"}] * 3,
        {b"content-length"},
    ]


async def test_a_handshake_with_a_body_in_chunks_is_rejected(server: BoundedServer) -> None:
    upgrade = ("Connection: Upgrade", "Upgrade: websocket", "Transfer-Encoding: chunked")
    async with server.connection() as connection:
        await connection.send(head(*upgrade, first="GET /graphql HTTP/1.1") + b"0\r\n\r\n")
        assert (await connection.response()).status == 400


@pytest.mark.parametrize(("size", "pieces", "status"), [(1, PIECES_MAX + 1, 400), (64, 9_000, 200)])
async def test_a_flood_of_tiny_chunks_is_rejected_after_few_of_them(
    server: BoundedServer, size: int, pieces: int, status: int
) -> None:
    chunk = b"%x\r\n%s\r\n" % (size, b" " * size)
    async with server.connection() as connection:
        await connection.send(head("Transfer-Encoding: chunked") + chunk * pieces)
        await connection.send(b"%x\r\n%s\r\n0\r\n\r\n" % (len(QUERY), QUERY))
        assert (await connection.response()).status == status


async def test_pipelined_requests_are_answered_in_order_and_bounded(server: BoundedServer) -> None:
    async with server.connection() as connection:
        await connection.send(post(QUERY) * PIPELINED_MAX)
        for _ in range(PIPELINED_MAX):
            assert (await connection.response()).status == 200
        await connection.send(post(QUERY) * 100)
        assert (await connection.rest()).count(b"HTTP/1.1 200") <= PIPELINED_MAX + 1


class Waiting:
    """An application that responds when its client has disconnected."""

    def __init__(self) -> None:
        self.begun, self.ended = asyncio.Event(), asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await receive()
        self.begun.set()
        assert (await receive())["type"] == "http.disconnect"
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body"})
        self.ended.set()


@pytest.mark.parametrize("at_once", [True, False], ids=["sent at once", "sent while it runs"])
async def test_a_request_with_a_pipelined_one_behind_it_ends_with_its_client(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, at_once: bool
) -> None:
    app = Waiting()
    async with (
        asyncio.timeout(DEADLINE_S),
        bounded_server(app, tmp_path / "kith.sock") as server,
    ):
        async with server.connection() as connection:
            await connection.send(post(QUERY) * (2 if at_once else 1))
            await app.begun.wait()
            if not at_once:
                await connection.send(post(QUERY))
        await app.ended.wait()
    assert caplog.messages == []


@pytest.mark.parametrize(
    "pipelined",
    [head("Content-Length: 900000") + b"a" * 80_000, post(b"a" * 9_000) * 9],
    ids=["one request", "several"],
)
async def test_too_many_pipelined_bytes_close_the_connection(
    tmp_path: Path, pipelined: bytes
) -> None:
    app = Waiting()
    async with (
        asyncio.timeout(DEADLINE_S),
        bounded_server(app, tmp_path / "kith.sock") as server,
        server.connection() as connection,
    ):
        await connection.send(post(QUERY))
        await app.begun.wait()
        await connection.send(pipelined)
        assert await connection.rest() == b""
        await app.ended.wait()


@pytest.mark.parametrize("at_once", [True, False], ids=["sent at once", "sent while it runs"])
async def test_a_handshake_behind_an_unanswered_request_closes_the_connection(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, at_once: bool
) -> None:
    """The web socket's protocol would take the connection, and the request would not end with its
    client."""
    handshake = head(
        "Connection: Upgrade",
        "Upgrade: websocket",
        "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==",
        "Sec-WebSocket-Version: 13",
        first="GET /graphql HTTP/1.1",
    )
    app = Waiting()
    async with (
        asyncio.timeout(DEADLINE_S),
        bounded_server(app, tmp_path / "kith.sock") as server,
        server.connection() as connection,
    ):
        await connection.send(post(QUERY) + (handshake if at_once else b""))
        if not at_once:
            await app.begun.wait()
            await connection.send(handshake)
        assert await connection.rest() == b""
        await app.ended.wait()
    assert caplog.messages == []


async def test_pipelined_requests_up_to_the_limit_on_their_bytes_are_answered(
    server: BoundedServer,
) -> None:
    request = post(QUERY.ljust(PIPELINED_BYTES_MAX // 4 - len(post(QUERY)) - 9))
    async with server.connection() as connection:
        for _ in range(3):
            await connection.send(request * 5)
            for _ in range(5):
                assert (await connection.response()).status == 200


async def test_partial_bodies_do_not_count_as_running_requests(tmp_path: Path) -> None:
    app = GraphQLEndpoint(
        executor(),
        lambda _: Context(),
        formatted,
        admission=Admission(AdmissionSettings(cost_max=1, queue_max=0)),
    )
    async with (
        bounded_server(app, tmp_path / "kith.sock") as server,
        server.connected(200) as half,
        server.connection() as other_client,
    ):
        for connection in half:
            await connection.send(head("Content-Length: 1000") + b"{")
        assert await is_answered(other_client)


async def test_an_overloaded_server_rejects_a_large_body_before_it_arrives(tmp_path: Path) -> None:
    admission = Admission(AdmissionSettings(queue_max=0))
    app = GraphQLEndpoint(executor(), lambda _: Context(), formatted, admission=admission)
    cost_max, body = AdmissionSettings().cost_max, QUERY.ljust(400_000)
    async with (
        bounded_server(app, tmp_path / "kith.sock") as server,
        server.connection() as connection,
    ):
        assert admission.enter(cost_max, None) is None
        await connection.send(head(f"Content-Length: {len(body)}") + body[:100])
        response = await connection.response()
        assert (response.status, response.code) == (503, "OVERLOADED")
        assert response.headers["retry-after"] == "1"
        admission.leave(cost_max)
        await connection.send(body[100:] + post(body))
        assert (await connection.response()).status == 200


async def test_the_memory_of_partial_bodies_is_bounded(tmp_path: Path) -> None:
    app = endpoint(HttpLimits(partial_bodies_bytes_max=100_000))
    async with (
        bounded_server(app, tmp_path / "kith.sock") as server,
        server.connected(2) as (first, second),
        server.connection() as other_client,
    ):
        for connection in (first, second):
            await connection.send(head("Content-Length: 90000") + b" " * 80_000)
        reading = [asyncio.create_task(one.response()) for one in (first, second)]
        (rejected,), (other,) = await asyncio.wait(reading, return_when=asyncio.FIRST_COMPLETED)
        response = rejected.result()
        assert (response.status, response.code) == (503, "OVERLOADED")
        assert response.headers["retry-after"] == "1"
        other.cancel()
        assert await is_answered(other_client)


async def test_new_connections_replace_those_that_wait_for_their_clients(tmp_path: Path) -> None:
    limits = ConnectionLimits(connections_max=50)
    async with (
        bounded_server(endpoint(), tmp_path / "kith.sock", limits) as server,
        server.connected(40) as silent,
        server.connected(10) as used,
    ):
        for connection in used:
            assert await is_answered(connection)
        async with server.connected(20) as new:
            for connection in new:
                assert await is_answered(connection)
            assert server.connections <= 50
        for connection in used:
            assert await is_answered(connection)  # unused connections were closed first
        for connection in silent[:20]:
            assert await connection.rest() == b""


async def test_the_metric_of_open_connections_counts_those_of_all_servers_of_the_process(
    tmp_path: Path,
) -> None:
    before = open_connections()
    async with (
        bounded_server(endpoint(), tmp_path / "graphql.sock") as server,
        bounded_server(endpoint(), tmp_path / "metrics.sock") as metrics_server,
    ):
        async with server.connected(3), metrics_server.connected(1):
            await server.until_open(3)
            await metrics_server.until_open(1)
            assert open_connections() - before == 4
        await server.until_open(0)
        await metrics_server.until_open(0)
        assert open_connections() == before


@pytest.mark.parametrize("behind", [b"", head("Content-Length: 9")], ids=["alone", "pipelined"])
async def test_a_connection_is_refused_while_all_others_run_requests(
    tmp_path: Path, behind: bytes
) -> None:
    entered, leave = 0, asyncio.Event()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        nonlocal entered
        entered += 1
        while (await receive()).get("more_body"):
            pass
        await leave.wait()
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body"})

    async def all_entered() -> bool:
        return entered == 10

    limits = ConnectionLimits(connections_max=10)
    async with (
        bounded_server(app, tmp_path / "kith.sock", limits) as server,
        server.connected(10) as busy,
    ):
        for connection in busy:
            await connection.send(post(QUERY) + behind)
        await until(all_entered, "all requests run")
        async with server.connection() as rejected:
            response = await rejected.response()
        assert (response.status, response.code) == (503, "OVERLOADED")
        assert response.headers["retry-after"] == "1"
        leave.set()
        for connection in busy:
            async with asyncio.timeout(20):
                assert b" 204 " in await connection.reader.readuntil(b"\r\n\r\n")


async def test_a_client_that_does_not_read_is_disconnected(tmp_path: Path) -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        body = b"a" * 8_000_000
        headers = [(b"content-length", b"%d" % len(body))]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    limits = ConnectionLimits(stall_ms=200)
    async with (
        bounded_server(app, tmp_path / "kith.sock", limits) as server,
        server.connection() as connection,
    ):
        connection.writer.transport.pause_reading()  # type: ignore[attr-defined]
        await connection.send(head(first="GET / HTTP/1.1"))
        await server.until_open(1)
        await server.until_open(0)


async def large(scope: Scope, receive: Receive, send: Send) -> None:
    """4 MB for the method GET, and nothing for others."""
    body = b"a" * 4_000_000 if scope["method"] == "GET" else b""
    headers = [(b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def chunked(scope: Scope, receive: Receive, send: Send) -> None:
    """An endless response in parts of 1 MB, of which six wait at once."""
    await send({"type": "http.response.start", "status": 200, "headers": []})

    async def send_part() -> None:
        body = b"a" * 1_000_000
        await send({"type": "http.response.body", "body": body, "more_body": True})

    await asyncio.gather(*[send_part() for _ in range(6)])
    await asyncio.Event().wait()


async def test_the_memory_of_responses_that_are_not_read_is_bounded(tmp_path: Path) -> None:
    limits = ConnectionLimits(unsent_bytes_max=10_000_000, stall_ms=600_000)
    async with (
        bounded_server(large, tmp_path / "kith.sock", limits) as server,
        server.connected(5) as connections,
    ):
        await server.until_open(5)
        for connection in connections:
            connection.writer.transport.pause_reading()  # type: ignore[attr-defined]
            await connection.send(head(first="GET / HTTP/1.1"))
        await server.until_open(2)
        async with server.connection() as other:
            await other.send(head(first="DELETE / HTTP/1.1"))
            assert (await other.response()).status == 200
        assert server.connections >= 2


async def test_a_response_of_which_a_part_is_not_read_counts_as_a_whole(tmp_path: Path) -> None:
    """The transport keeps all of its bytes until the last one is sent."""
    limits = ConnectionLimits(idle_s=600, unsent_bytes_max=10_000_000, stall_ms=600_000)
    async with (
        bounded_server(large, tmp_path / "kith.sock", limits) as server,
        server.connected(5) as connections,
    ):
        for connection in connections:
            await connection.send(head(first="GET / HTTP/1.1"))
            with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
                await connection.reader.readexactly(2_500_000)
            connection.writer.transport.pause_reading()  # type: ignore[attr-defined]
        await server.until_open(2)


async def test_parts_of_a_response_that_wait_for_the_client_count_as_unread(tmp_path: Path) -> None:
    limits = ConnectionLimits(unsent_bytes_max=4_000_000, stall_ms=600_000)
    async with (
        bounded_server(chunked, tmp_path / "kith.sock", limits) as server,
        server.connection() as connection,
    ):
        await server.until_open(1)
        connection.writer.transport.pause_reading()  # type: ignore[attr-defined]
        await connection.send(head(first="GET / HTTP/1.1"))
        await server.until_open(0)


async def test_parts_that_still_wait_after_one_was_read_count_as_unread(tmp_path: Path) -> None:
    limits = ConnectionLimits(unsent_bytes_max=8_000_000, stall_ms=600_000)
    async with (
        bounded_server(chunked, tmp_path / "kith.sock", limits) as server,
        server.connected(2) as (first, second),
    ):
        await first.send(head(first="GET / HTTP/1.1"))
        await first.reader.readexactly(1_000_100)
        first.writer.transport.pause_reading()  # type: ignore[attr-defined]
        await server.until_open(2)
        second.writer.transport.pause_reading()  # type: ignore[attr-defined]
        await second.send(head(first="GET / HTTP/1.1"))
        await server.until_open(1)


async def test_a_request_begins_when_the_response_before_it_is_read(tmp_path: Path) -> None:
    begun: list[str] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        begun.append(scope["path"])
        await large(scope, receive, send)

    async with (
        bounded_server(app, tmp_path / "kith.sock") as server,
        server.connection() as connection,
        server.connection() as other,
    ):
        connection.writer.transport.pause_reading()  # type: ignore[attr-defined]
        await connection.send(head(first="GET /1 HTTP/1.1") + head(first="GET /2 HTTP/1.1"))
        await connection.send(head(first="GET /3 HTTP/1.1"))
        for _ in range(3):
            await other.send(head(first="DELETE /other HTTP/1.1"))
            assert (await other.response()).status == 200
        assert set(begun) == {"/1", "/other"}
        connection.writer.transport.resume_reading()  # type: ignore[attr-defined]
        for _ in range(3):
            assert len((await connection.response()).body) == 4_000_000
        assert [path for path in begun if path != "/other"] == ["/1", "/2", "/3"]


async def test_a_client_that_reads_slowly_gets_its_whole_response(tmp_path: Path) -> None:
    size = 2_000_000

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        headers = [(b"content-length", b"%d" % size)]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b"a" * size})

    async with (
        bounded_server(app, tmp_path / "kith.sock", ConnectionLimits(stall_ms=500)) as server,
        server.connection() as connection,
    ):
        await connection.send(head(first="GET / HTTP/1.1"))
        await connection.reader.readuntil(b"\r\n\r\n")
        left = size
        while left:
            async with asyncio.timeout(20):
                left -= len(await connection.reader.read(4_096))
