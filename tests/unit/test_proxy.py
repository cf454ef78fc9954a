"""The proxy of the fault tests closes every connection that it has accepted."""

import asyncio
import gc
import socket
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.support.proxy import Proxy

CLIENTS = 4


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[Path]:
    """A server that accepts connections and answers nothing."""

    async def read_all(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            await reader.read()
        writer.close()

    path = tmp_path / "server.sock"
    listener = await asyncio.start_unix_server(read_all, path)
    yield path
    listener.close()
    await asyncio.sleep(0.05)


@pytest.mark.parametrize("iterations", range(8))
async def test_a_cut_closes_connections_at_any_stage_of_their_start(
    server: Path, tmp_path: Path, iterations: int
) -> None:
    proxy = Proxy(server, tmp_path / "proxy.sock")
    await proxy.restore()
    clients = [socket.socket(socket.AF_UNIX) for _ in range(CLIENTS)]
    for client in clients:
        client.connect(str(tmp_path / "proxy.sock"))
    for _ in range(iterations):
        await asyncio.sleep(0)
    await proxy.cut()
    for client in clients:
        client.settimeout(5)
        with suppress(ConnectionError):
            assert client.recv(1) == b""
        client.close()
    gc.collect()  # an unclosed socket is a warning, and a warning is an error
