"""Web socket clients that send floods of tiny frames, or do not read."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from starlette.types import Receive, Scope, Send
from websockets.frames import Frame, Opcode
from websockets.protocol import Protocol

from gateway.http import socket_protocol
from gateway.http.open_connections import ConnectionLimits
from gateway.http.socket_protocol import SLICE_BYTES
from tests.support.raw_connections import BoundedServer, RawConnection, bounded_server, head
from tests.support.waiting import until

HANDSHAKE = head(
    "Upgrade: websocket",
    "Connection: Upgrade",
    "Sec-WebSocket-Version: 13",
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
    first="GET /graphql HTTP/1.1",
)
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
        assert sum(parsed) <= len(HANDSHAKE) + 2 * SLICE_BYTES
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
    handshake = head(
        "Upgrade: websocket",
        "Connection: Upgrade",
        "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
        *length,
        first=first,
    )
    async with server.connection() as connection:
        await connection.send(handshake + body)
        response = await connection.rest()
        assert response.startswith(b"HTTP/1.1 400 ")
        assert b'"code":"BAD_REQUEST"' in response
        await server.until_open(0)


async def test_a_large_message_is_parsed_in_slices_of_separate_turns(
    server: BoundedServer, parsed: list[int]
) -> None:
    async with server.connection() as connection:
        await open_socket(connection)
        largest = 0
        is_answered = False

        def turn() -> None:
            nonlocal largest
            largest = max(largest, sum(parsed))
            parsed.clear()
            if not is_answered:
                loop.call_soon(turn)

        loop = asyncio.get_running_loop()
        turn()
        await connection.send(frame(Opcode.BINARY, b"a" * 1_000_000))
        async with asyncio.timeout(20):
            assert b"received" in await connection.reader.readexactly(10)
        is_answered = True
        assert 0 < largest <= SLICE_BYTES


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
