"""Web socket clients that send floods of tiny frames, or do not read."""

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from prometheus_client import REGISTRY
from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from websockets.frames import Frame, Opcode
from websockets.http11 import Request, Response
from websockets.protocol import Protocol
from websockets.server import ServerProtocol

from gateway.http import socket_protocol
from gateway.http.open_connections import ConnectionLimits
from gateway.http.parsing_turns import (
    FRAME_COST,
    HANDSHAKE_COST,
    ITERATION_COST,
    SLICE_COST,
    ParsingTurns,
)
from gateway.http.socket_protocol import MESSAGE_FRAMES_MAX, SLICE_BYTES, BoundedWebSocket
from tests.support.loop_ticks import LoopTicks, loop_ticks
from tests.support.raw_connections import BoundedServer, RawConnection, bounded_server, head
from tests.support.waiting import until

SOCKETS = 80


def handshake(*lines: str) -> bytes:
    """The head of a handshake; `lines` include its header Connection."""
    return head(
        "Upgrade: websocket",
        "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
        *lines,
        first="GET /graphql HTTP/1.1",
    )


HANDSHAKE = handshake("Connection: Upgrade")
POLICY_VIOLATION = (1008).to_bytes(2, "big")


def frame(opcode: Opcode, data: bytes = b"", *, fin: bool = True) -> bytes:
    return Frame(opcode, data, fin=fin).serialize(mask=True)


async def echo(scope: Scope, receive: Receive, send: Send) -> None:
    await send({"type": "websocket.accept"})
    while (await receive())["type"] != "websocket.disconnect":
        await send({"type": "websocket.send", "text": "received"})


async def open_socket(connection: RawConnection) -> None:
    await connection.send(HANDSHAKE)
    async with asyncio.timeout(20):
        assert b" 101 " in await connection.reader.readuntil(b"\r\n\r\n")


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[BoundedServer]:
    async with bounded_server(echo, tmp_path / "kith.sock") as server:
        yield server


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The sizes of the data that the parser receives."""
    sizes: list[int] = []
    receive_data = Protocol.receive_data

    def record_and_receive(self: Protocol, data: bytes) -> None:
        sizes.append(len(data))
        receive_data(self, data)

    monkeypatch.setattr(Protocol, "receive_data", record_and_receive)
    return sizes


def _count_parsed(ticks: LoopTicks, monkeypatch: pytest.MonkeyPatch) -> None:
    """Count the bytes, frames and different sockets that are parsed."""
    receive_data, check = Protocol.receive_data, Frame.check
    seen: set[Protocol] = set()

    def counting_receive(self: Protocol, data: bytes) -> None:
        ticks.add("bytes", len(data))
        ticks.add("sockets", self not in seen)
        seen.add(self)
        receive_data(self, data)

    def counting_check(self: Frame) -> None:
        ticks.add("frames", 1)
        check(self)

    monkeypatch.setattr(Protocol, "receive_data", counting_receive)
    monkeypatch.setattr(Frame, "check", counting_check)


@pytest.mark.parametrize(
    "flood",
    [
        frame(Opcode.TEXT, fin=False) + frame(Opcode.CONT, fin=False) * 50_000,
        frame(Opcode.TEXT, fin=False) + frame(Opcode.CONT, b"a", fin=False) * 50_000,
        frame(Opcode.PING) * 50_000,
        frame(Opcode.PONG) * 50_000,
    ],
    ids=["empty continuations", "continuations", "pings", "pongs"],
)
async def test_a_flood_of_tiny_frames_is_closed_after_few_of_them(
    server: BoundedServer, parsed: list[int], flood: bytes
) -> None:
    async with server.connection() as connection:
        await open_socket(connection)
        sending = asyncio.create_task(connection.send(flood))
        rest = await connection.rest()
        await sending
        assert POLICY_VIOLATION + b"Too many frames" in rest
        assert sum(parsed) <= 2 * SLICE_BYTES + MESSAGE_FRAMES_MAX * len(frame(Opcode.TEXT, b"a"))
        await server.until_open(0)


@pytest.mark.parametrize(
    ("first", "body"),
    [
        ("GET /graphql HTTP/1.1", b"{}"),
        ("GET /graphql?" + "a" * 9_000 + " HTTP/1.1", b""),
    ],
    ids=["a body", "a long URL"],
)
async def test_a_handshake_that_cannot_be_read_is_rejected(
    server: BoundedServer, first: str, body: bytes
) -> None:
    """Otherwise, such a connection gets no response, has no time limit, and is not counted."""
    length = [f"Content-Length: {len(body)}"] if body else []
    request = head(
        "Upgrade: websocket",
        "Connection: Upgrade",
        "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
        *length,
        first=first,
    )
    async with server.connection() as connection:
        await connection.send(request + body)
        response = await connection.rest()
        assert response.startswith(b"HTTP/1.1 400 ")
        assert b'"code":"BAD_REQUEST"' in response
        await server.until_open(0)


async def test_a_large_message_is_parsed_in_slices_of_separate_turns(
    server: BoundedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with server.connection() as connection, loop_ticks() as ticks:
        await open_socket(connection)
        _count_parsed(ticks, monkeypatch)
        await connection.send(frame(Opcode.BINARY, b"a" * 1_000_000))
        async with asyncio.timeout(20):
            answers = await connection.reader.readexactly(2 * 10)  # the first to the handshake
    assert answers.count(b"received") == 2
    assert ticks.total["bytes"] > 1_000_000
    assert ticks.most["bytes"] <= 2 * ITERATION_COST


@pytest.mark.parametrize(
    "tiny",
    [
        frame(Opcode.TEXT),
        frame(Opcode.PING),
        frame(Opcode.CONT, fin=False),
        frame(Opcode.TEXT, b"a") + b"\xff",
    ],
    ids=["empty", "pings", "continuations", "an invalid frame"],
)
async def test_many_sockets_parse_tiny_frames_that_arrive_together_in_bounded_parts(
    server: BoundedServer, monkeypatch: pytest.MonkeyPatch, tiny: bytes
) -> None:
    async with server.connected(SOCKETS) as connections, loop_ticks() as ticks:
        for connection in connections:
            await open_socket(connection)
        _count_parsed(ticks, monkeypatch)
        frames = tiny * (16_000 // len(tiny))
        for connection in connections:
            connection.writer.write(frame(Opcode.TEXT, fin=tiny[0] != Opcode.CONT) + frames)

        async def have_all_been_parsed() -> bool:
            return ticks.total["sockets"] >= SOCKETS

        await until(have_all_been_parsed, "all sockets have parsed a slice")
    slice_frames = SLICE_BYTES // len(frame(Opcode.TEXT))
    assert ticks.most["frames"] <= 2 * ITERATION_COST // FRAME_COST + slice_frames
    assert ticks.most["sockets"] <= 2 * ITERATION_COST // SLICE_COST + 1


async def test_handshakes_that_arrive_together_are_parsed_in_bounded_parts(
    server: BoundedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    accept = ServerProtocol.accept
    async with server.connected(SOCKETS) as connections, loop_ticks() as ticks:

        def counting_accept(self: ServerProtocol, request: Request) -> Response:
            ticks.add("handshakes", 1)
            return accept(self, request)

        monkeypatch.setattr(ServerProtocol, "accept", counting_accept)
        await asyncio.gather(*map(open_socket, connections))
    assert ticks.total["handshakes"] == SOCKETS
    assert ticks.most["handshakes"] <= 2 * (ITERATION_COST // HANDSHAKE_COST + 1)


async def test_a_handshake_whose_connection_is_closed_before_its_turn_is_not_parsed(
    server: BoundedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting: list[Callable[[], int]] = []

    async def is_one_waiting() -> bool:
        return bool(waiting)

    monkeypatch.setattr(ParsingTurns, "parse", lambda _, parse_slice: False)
    monkeypatch.setattr(ParsingTurns, "wait", lambda _, parse_slice: waiting.append(parse_slice))
    async with server.connection() as connection:
        await connection.send(HANDSHAKE)
        await until(is_one_waiting, "the handshake waits for its turn")
        (socket,) = server.server.server_state.connections
        socket.transport.abort()
        waiting.pop()()
        assert not socket.handshake_initiated  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "lines",
    [
        ["Connection: " + "a," * 50 + "Upgrade"],
        ["Connection: Upgrade", "Sec-WebSocket-Protocol: " + ",".join(["a"] * 50)],
        ["Connection: Upgrade", "Sec-WebSocket-Extensions: " + ";".join(["a"] * 50)],
        ["Connection: Upgrade", *["Sec-WebSocket-Protocol: " + "a," * 10] * 5],
    ],
    ids=["connection", "protocols", "parameters", "repeated"],
)
async def test_a_handshake_with_long_lists_is_rejected_before_they_are_parsed(
    server: BoundedServer, monkeypatch: pytest.MonkeyPatch, lines: list[str]
) -> None:
    monkeypatch.delattr(HttpToolsProtocol, "_get_upgrade")
    monkeypatch.delattr(BoundedWebSocket, "data_received")
    name = "kith_http_connections_rejected_total", {"reason": "headers_too_large"}
    before = REGISTRY.get_sample_value(*name) or 0
    async with server.connection() as connection:
        await connection.send(handshake(*lines))
        response = await connection.response()
    assert (response.status, response.code) == (431, "HEADERS_TOO_LARGE")
    assert REGISTRY.get_sample_value(*name) == before + 1


async def test_a_handshake_may_offer_several_protocols_and_extensions(
    server: BoundedServer,
) -> None:
    lines = [
        "Connection: keep-alive, Upgrade",
        "Sec-WebSocket-Protocol: graphql-transport-ws, graphql-ws, " + "a" * 4_000,
        "Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits, x; y=1; z=2",
    ]
    async with server.connection() as connection:
        await connection.send(handshake(*lines))
        async with asyncio.timeout(20):
            assert b" 101 " in await connection.reader.readuntil(b"\r\n\r\n")


async def test_messages_of_many_frames_between_pings_are_received(
    server: BoundedServer,
) -> None:
    part = frame(Opcode.CONT, b"a", fin=False) * 998
    message = frame(Opcode.TEXT, fin=False) + part + frame(Opcode.CONT)
    async with server.connection() as connection:
        await open_socket(connection)
        await connection.send((message + frame(Opcode.PING)) * 50)
        async with asyncio.timeout(20):
            data = await connection.reader.readexactly(50 * 10 + 50 * 2)
        assert data.count(b"received") == 50


async def test_the_queue_for_a_client_that_does_not_read_is_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(socket_protocol, "CONTROL_FRAMES_BURST", 10**9)
    limits = ConnectionLimits(stall_ms=500)
    async with (
        bounded_server(echo, tmp_path / "kith.sock", limits) as server,
        server.connection() as connection,
    ):
        await open_socket(connection)
        connection.writer.transport.pause_reading()  # type: ignore[attr-defined]
        (socket,) = server.server.server_state.connections
        transport = socket.transport
        connection.writer.write(frame(Opcode.PING, b"a" * 100) * 50_000)
        largest = 0

        async def is_closed() -> bool:
            nonlocal largest
            largest = max(largest, transport.get_write_buffer_size())
            return server.connections == 0

        await until(is_closed, "the client is disconnected")
        assert 0 < largest <= 65_536 + 2 * SLICE_BYTES


async def test_messages_that_wait_for_clients_that_do_not_read_take_bounded_memory(
    tmp_path: Path,
) -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "websocket.accept"})
        text = {"type": "websocket.send", "text": "a" * 1_000_000}
        await asyncio.gather(*[send(text) for _ in range(6)], return_exceptions=True)

    limits = ConnectionLimits(unsent_bytes_max=4_000_000, stall_ms=600_000)
    async with (
        bounded_server(app, tmp_path / "kith.sock", limits) as server,
        server.connection() as connection,
    ):
        await open_socket(connection)
        connection.writer.transport.pause_reading()  # type: ignore[attr-defined]
        await server.until_open(0)


async def test_the_memory_of_messages_that_arrive_in_part_is_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(socket_protocol, "MESSAGES_BYTES_MAX", 150_000)
    part = frame(Opcode.TEXT, b"a" * 100_000)
    async with (
        bounded_server(echo, tmp_path / "kith.sock") as server,
        server.connected(2) as (first, second),
        server.connection() as other_client,
    ):
        for connection in (first, second):
            await open_socket(connection)
            await connection.send(part[:-1])
        reading = [asyncio.create_task(one.rest()) for one in (first, second)]
        async with asyncio.timeout(20):
            (rejected,), (other,) = await asyncio.wait(reading, return_when="FIRST_COMPLETED")
        assert (1013).to_bytes(2, "big") in rejected.result()
        await open_socket(other_client)
        await other_client.send(frame(Opcode.TEXT, b"a" * 1_000))
        async with asyncio.timeout(20):
            assert b"received" in await other_client.reader.readuntil(b"received")
        other.cancel()


async def test_the_memory_of_messages_that_wait_for_the_application_is_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(socket_protocol, "MESSAGES_BYTES_MAX", 250_000)
    message = frame(Opcode.TEXT, b"a" * 100_000)
    handling, handled = asyncio.Semaphore(0), asyncio.Event()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await receive()
        await send({"type": "websocket.accept"})
        while (await receive())["type"] != "websocket.disconnect":
            handling.release()
            await handled.wait()

    async with (
        bounded_server(app, tmp_path / "kith.sock") as server,
        server.connected(4) as connections,
    ):
        for connection in connections:
            await open_socket(connection)
        *busy, rejected, later = connections
        async with asyncio.timeout(20):
            for connection in busy:
                await connection.send(message)
                await handling.acquire()
            await rejected.send(message)
            assert (1013).to_bytes(2, "big") in await rejected.rest()
            handled.set()
            for _ in range(3):  # the memory of handled messages is free again
                await later.send(message)
                await handling.acquire()


async def test_a_large_message_has_a_deadline(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(socket_protocol, "MESSAGE_DEADLINE_S", 0.05)
    async with (
        bounded_server(echo, tmp_path / "kith.sock") as server,
        server.connection() as connection,
    ):
        await open_socket(connection)
        await connection.send(frame(Opcode.TEXT, b"a" * 100_000)[:-1])
        assert POLICY_VIOLATION in await connection.rest()


async def test_an_application_that_sends_after_a_rejection_gets_an_os_error(
    tmp_path: Path,
) -> None:
    failures: list[Exception] = []
    ended = asyncio.Event()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "websocket.accept"})
        while (await receive())["type"] != "websocket.disconnect":
            pass
        try:
            await send({"type": "websocket.send", "text": "late"})
        except Exception as failure:
            failures.append(failure)
        ended.set()

    async with (
        bounded_server(app, tmp_path / "kith.sock") as server,
        server.connection() as connection,
    ):
        await open_socket(connection)
        await connection.send(frame(Opcode.TEXT, b"\xff"))
        async with asyncio.timeout(20):
            await ended.wait()
    assert [isinstance(one, OSError) for one in failures] == [True]


PING_S = 0.05
"""The time between pings in tests, and that for an answer."""


def ping_often(server: BoundedServer) -> None:
    """Let the server send pings to its only connection every `PING_S`."""
    (socket,) = server.server.server_state.connections
    assert isinstance(socket, BoundedWebSocket)
    socket.ping_interval = socket.ping_timeout = PING_S
    socket.stop_keepalive()
    socket.start_keepalive()


async def answer_pings(connection: RawConnection, count: int) -> None:
    """Answer the next pings, and ignore other messages."""
    while count:
        first, length = await connection.reader.readexactly(2)
        data = await connection.reader.readexactly(length)
        if first & 15 == Opcode.PING:
            await connection.send(frame(Opcode.PONG, data))
            count -= 1


async def test_a_client_whose_messages_wait_is_not_disconnected_because_its_pong_waits_too(
    tmp_path: Path,
) -> None:
    may_go_on = asyncio.Event()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "websocket.accept"})
        while (await receive())["type"] != "websocket.disconnect":
            await may_go_on.wait()

    async with (
        bounded_server(app, tmp_path / "kith.sock") as server,
        server.connection() as connection,
    ):
        await open_socket(connection)
        await connection.send(frame(Opcode.TEXT, b"a") * 10)
        ping_often(server)
        async with asyncio.timeout(20):
            await answer_pings(connection, 1)
            await asyncio.sleep(10 * PING_S)
            assert server.connections == 1
            may_go_on.set()
            await answer_pings(connection, 3)
        assert server.connections == 1


async def test_a_client_that_does_not_answer_pings_is_disconnected(server: BoundedServer) -> None:
    async with server.connection() as connection:
        await open_socket(connection)
        ping_often(server)
        async with asyncio.timeout(20):
            received = await connection.rest()
        assert (1011).to_bytes(2, "big") + b"keepalive ping timeout" in received
