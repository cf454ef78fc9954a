"""Floods of connections to `kith serve`, while another client is served."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest

from storage.settings import StorageSettings
from tests.support.raw_connections import RawConnection, head
from tests.support.serve_process import Serve, asked, serving

QUERY = '{ user(id: "1") { followerCount } }'
EXPECTED = {"data": {"user": {"followerCount": 0}}}
LIMITS = {
    "KITH_HTTP_CONNECTIONS_MAX": "300",
    "KITH_HEADER_DEADLINE_MS": "3000",
    "KITH_BODY_DEADLINE_MS": "3000",
    "KITH_STALL_MS": "1000",
    "KITH_SLOW_OPERATION_MS": "2000",
}


@pytest.fixture
async def serve(storage_settings: StorageSettings, tmp_path: Path) -> AsyncIterator[Serve]:
    async with serving(storage_settings, tmp_path / "kith.sock", changes=LIMITS) as serve:
        yield serve


@asynccontextmanager
async def connected(serve: Serve, count: int, data: bytes) -> AsyncIterator[list[RawConnection]]:
    """Connections that have sent these bytes."""
    async with AsyncExitStack() as stack:
        connections = []
        for _ in range(count):
            connection = RawConnection(*await asyncio.open_unix_connection(serve.socket))
            stack.callback(connection.writer.close)
            await connection.send(data)
            connections.append(connection)
        yield connections


@pytest.mark.parametrize(
    ("data", "end"),
    [
        (b"", b""),
        (head()[:-2], b"HTTP/1.1 408 "),
        (head("Content-Length: 100000") + b"{", b"HTTP/1.1 408 "),
    ],
    ids=["silent", "half headers", "half bodies"],
)
async def test_other_clients_are_served_during_a_flood_of_connections_which_is_closed(
    serve: Serve, data: bytes, end: bytes
) -> None:
    async with connected(serve, 600, data) as flood, serve.http() as http:
        assert await asked(http, QUERY) == EXPECTED
        ends = await asyncio.gather(*(connection.rest() for connection in flood))
        assert all(one == b"" or one.startswith(end) for one in ends)
        assert sum(one == b"" for one in ends) >= 300 or not end  # replaced by newer ones
        assert await asked(http, QUERY) == EXPECTED
    assert not [line for line in serve.lines if "WARNING" in line or "ERROR" in line]


async def test_endless_headers_are_rejected_and_use_limited_memory(serve: Serve) -> None:
    before = resident_kb(serve)
    async with connected(serve, 20, head()[:-2] + b"X-Endless: ") as flood, serve.http() as http:
        ends = [asyncio.create_task(connection.rest()) for connection in flood]
        sent = 0
        while not all(one.done() for one in ends):
            for connection, one in zip(flood, ends, strict=True):
                if not one.done():
                    await connection.send(b"a" * 16_384)
                    sent += 16_384
            assert await asked(http, QUERY) == EXPECTED
        assert {one.result()[:13] for one in ends} <= {b"HTTP/1.1 431 ", b""}
        assert sent < 20 * 2_000_000
    assert resident_kb(serve) - before < 20_000


async def test_clients_that_do_not_read_are_disconnected(serve: Serve) -> None:
    ids = ", ".join(f'"{number}"' for number in range(1, 101))
    names = " ".join(f"f{number}: followerCount" for number in range(100))
    body = f'{{"query": "{{ users(ids: [{ids}]) {{ {names} }} }}"}}'.replace('["', '[\\"')
    body = body.replace('", "', '\\", \\"').replace('"])', '\\"])')
    request = head(f"Content-Length: {len(body)}", "X-Viewer: 1") + body.encode()
    async with connected(serve, 10, b"") as clients, serve.http() as http:
        for connection in clients:
            connection.writer.transport.pause_reading()  # type: ignore[attr-defined]
            await connection.send(request * 10)
        assert await asked(http, QUERY) == EXPECTED

        async def ended(connection: RawConnection) -> None:
            async with asyncio.timeout(30):
                while True:  # until the server has closed its end
                    connection.writer.write(b"\r\n")
                    await connection.writer.drain()

        outcomes = await asyncio.gather(*map(ended, clients), return_exceptions=True)
        assert all(isinstance(outcome, ConnectionError) for outcome in outcomes), outcomes
        assert await asked(http, QUERY) == EXPECTED


def resident_kb(serve: Serve) -> int:
    status = Path(f"/proc/{serve.process.pid}/status").read_text()
    (line,) = (line for line in status.splitlines() if line.startswith("VmRSS:"))
    return int(line.split()[1])
