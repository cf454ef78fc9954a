"""A server with bounded connections, and connections that send it raw bytes."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import uvicorn
from starlette.types import ASGIApp

from gateway.http.open_connections import ConnectionLimits
from gateway.http.protocol import bounded_protocol
from gateway.http.socket_protocol import bounded_web_socket
from gateway.http.unsent_bytes import ProcessUnsentBytes
from gateway.server.serve import UVICORN_OPTIONS
from tests.support.waiting import until

DEADLINE_S = 20


class Response(NamedTuple):
    """A response with a Content-Length."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def code(self) -> str:
        return str(json.loads(self.body)["errors"][0]["extensions"]["code"])


class RawConnection:
    """One connection to a server."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def send(self, data: bytes) -> None:
        """Send bytes. The server may have closed the connection already."""
        self.writer.write(data)
        try:
            await self.writer.drain()
        except ConnectionError:
            return

    async def response(self) -> Response:
        async with asyncio.timeout(DEADLINE_S):
            head = (await self.reader.readuntil(b"\r\n\r\n")).decode()
            status, *lines = head.split("\r\n")
            pairs = (line.partition(": ") for line in lines if line)
            headers = {name.lower(): value for name, _, value in pairs}
            body = await self.reader.readexactly(int(headers["content-length"]))
        return Response(int(status.split()[1]), headers, body)

    async def rest(self) -> bytes:
        """All bytes that the server sends until it closes the connection."""
        async with asyncio.timeout(DEADLINE_S):
            try:
                return await self.reader.read()
            except ConnectionError:
                return b""


class BoundedServer:
    """A server, which listens on a unix socket."""

    def __init__(self, path: Path, server: uvicorn.Server) -> None:
        self.path = path
        self.server = server

    @property
    def connections(self) -> int:
        return len(self.server.server_state.connections)

    @asynccontextmanager
    async def connected(self, count: int) -> AsyncIterator[list[RawConnection]]:
        """Connections, which are closed at the end of the block."""
        async with AsyncExitStack() as stack:
            connections = []
            for _ in range(count):
                connection = RawConnection(*await asyncio.open_unix_connection(self.path))
                stack.callback(connection.writer.close)
                connections.append(connection)
            yield connections

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[RawConnection]:
        async with self.connected(1) as (connection,):
            yield connection

    async def until_open(self, count: int) -> None:
        async def reached() -> bool:
            return self.connections == count

        await until(reached, f"{count} connections are open")


@asynccontextmanager
async def bounded_server(
    app: ASGIApp, path: Path, limits: ConnectionLimits | None = None
) -> AsyncIterator[BoundedServer]:
    """Serve an application in this event loop."""
    limits = limits or ConnectionLimits()
    unsent = ProcessUnsentBytes(limits.unsent_bytes_max)
    http: Any = bounded_protocol(limits, unsent)
    ws: Any = bounded_web_socket(limits, unsent)
    config = uvicorn.Config(
        app,
        http=http,
        ws=ws,
        uds=str(path),
        lifespan="off",
        timeout_graceful_shutdown=1,
        **UVICORN_OPTIONS,
    )
    server = uvicorn.Server(config)
    serving = asyncio.create_task(server.serve())

    async def started() -> bool:
        return server.started

    await until(started, "the server has started")
    try:
        yield BoundedServer(path, server)
    finally:
        server.should_exit = True
        await serving


def post(body: bytes, *lines: str) -> bytes:
    """A complete POST request to /graphql."""
    return head(f"Content-Length: {len(body)}", *lines) + body


def head(*lines: str, first: str = "POST /graphql HTTP/1.1") -> bytes:
    """The head of a request."""
    common = [first, "Host: kith", "Content-Type: application/json"]
    return "\r\n".join([*common, *lines, "", ""]).encode()
