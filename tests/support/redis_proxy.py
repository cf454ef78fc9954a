"""A proxy before Redis that a test can cut, or stop from answering, while it is in use."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit


class RedisProxy:
    """Carries bytes between its own unix socket and a server's."""

    def __init__(self, server: Path, own: Path) -> None:
        self._server = server
        self._own = own
        self._listener: asyncio.Server | None = None
        self._carriers: set[asyncio.Task[None]] = set()
        self._speaks = asyncio.Event()
        self._speaks.set()

    async def restore(self) -> None:
        """Works from now on."""
        self._speaks.set()
        if self._listener is None:
            self._listener = await asyncio.start_unix_server(self._carry, self._own)

    async def cut(self) -> None:
        """Ends every connection, and refuses new ones."""
        if self._listener is not None:
            self._listener.close()
            self._listener = None
            self._own.unlink(missing_ok=True)
        for carrier in list(self._carriers):
            carrier.cancel()
        await asyncio.gather(*self._carriers, return_exceptions=True)

    def stop_answering(self) -> None:
        """Takes everything and answers nothing: what a stopped machine does."""
        self._speaks.clear()

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._carriers.add(task)
        far_reader, far_writer = await asyncio.open_unix_connection(self._server)
        try:
            async with asyncio.TaskGroup() as both:
                both.create_task(self._copy(reader, far_writer))
                both.create_task(self._copy(far_reader, writer))
        except* (OSError, asyncio.CancelledError):
            pass
        finally:
            self._carriers.discard(task)
            for end in (writer, far_writer):
                end.transport.abort()

    async def _copy(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65536):
            await self._speaks.wait()
            writer.write(data)
            await writer.drain()
        raise ConnectionResetError


@asynccontextmanager
async def proxy_to(redis_url: str, folder: Path) -> AsyncIterator[tuple[RedisProxy, str]]:
    """A proxy to the server at `redis_url`, and the address of its near end."""
    url = urlsplit(redis_url)
    assert url.scheme == "unix", "the suite's Redis is reached by a unix socket"
    near = folder / "proxy.sock"
    proxy = RedisProxy(Path(url.path), near)
    await proxy.restore()
    try:
        yield proxy, urlunsplit(url._replace(path=str(near)))
    finally:
        with suppress(OSError):
            await proxy.cut()
