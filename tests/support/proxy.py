"""A proxy in front of a server, whose network faults tests set while it is in use."""

import asyncio
import socket
from contextlib import suppress
from enum import Enum, auto
from pathlib import Path

CHUNK_BYTES = 65536
DELAY_S = 0.2
SLICE_BYTES = 256
SLICE_S = 0.02
BACKLOG = 100


class Replies(Enum):
    """The treatment of the bytes that the server sends."""

    PASSED = auto()
    DELAYED = auto()
    """Each read is forwarded `DELAY_S` later."""
    THROTTLED = auto()
    """`SLICE_BYTES` in each `SLICE_S`: about 12 kB/s."""
    SWALLOWED = auto()
    """None arrives. The server executes requests, and the client does not learn of it."""
    HALVED = auto()
    """The first half of a read arrives, then the connection ends."""


class Proxy:
    """Forwards bytes between its own unix socket and that of a server."""

    def __init__(self, server: Path, own: Path) -> None:
        self._server = server
        self._own = own
        self._listener: socket.socket | None = None
        self._carriers: set[asyncio.Task[None]] = set()
        self._muted: set[asyncio.Task[None]] = set()
        """Connections with a gap in their replies: nothing after it may arrive."""
        self._forwards = asyncio.Event()
        self._forwards.set()
        self.replies = Replies.PASSED

    async def restore(self) -> None:
        """End all faults. Connections that have lost bytes are closed."""
        self.replies = Replies.PASSED
        for carrier in list(self._muted):
            carrier.cancel()
        self._forwards.set()
        if self._listener is None:
            self._listener = socket.socket(socket.AF_UNIX)
            self._listener.setblocking(False)
            self._listener.bind(str(self._own))
            self._listener.listen(BACKLOG)
            asyncio.get_running_loop().add_reader(self._listener, self._accept, self._listener)

    async def cut(self) -> None:
        """End every connection, and refuse new ones."""
        if self._listener is not None:
            asyncio.get_running_loop().remove_reader(self._listener)
            self._listener.close()
            self._listener = None
            self._own.unlink(missing_ok=True)
        for carrier in self._carriers:
            carrier.cancel()
        await asyncio.gather(*self._carriers, return_exceptions=True)

    def stop_answering(self) -> None:
        """Accept connections and bytes, and forward nothing, like a stopped machine."""
        self._forwards.clear()

    def _accept(self, listener: socket.socket) -> None:
        """Accept one connection. A server of asyncio would not close those that it has accepted
        just before it is closed."""
        with suppress(BlockingIOError):
            accepted, _ = listener.accept()
            carrier = asyncio.create_task(self._carry(accepted))
            self._carriers.add(carrier)
            carrier.add_done_callback(self._carriers.discard)
            carrier.add_done_callback(
                lambda _: accepted.close()
            )  # if the task was cancelled before it began

    async def _carry(self, accepted: socket.socket) -> None:
        task = asyncio.current_task()
        assert task is not None
        writers: list[asyncio.StreamWriter] = []
        try:
            reader, writer = await asyncio.open_unix_connection(sock=accepted)
            writers.append(writer)
            far_reader, far_writer = await asyncio.open_unix_connection(self._server)
            writers.append(far_writer)
            async with asyncio.TaskGroup() as both:
                both.create_task(self._copy_requests(reader, far_writer))
                both.create_task(self._copy_replies(far_reader, writer, task))
        except* (OSError, asyncio.CancelledError):
            pass
        finally:
            self._muted.discard(task)
            for each in writers:
                each.transport.abort()

    async def _copy_requests(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        while data := await reader.read(CHUNK_BYTES):
            await self._forwards.wait()
            writer.write(data)
            await writer.drain()
        raise ConnectionResetError

    async def _copy_replies(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        carrier: "asyncio.Task[None]",
    ) -> None:
        while data := await reader.read(CHUNK_BYTES):
            await self._forwards.wait()
            if self.replies is Replies.SWALLOWED:
                self._muted.add(carrier)
            elif self.replies is Replies.HALVED:
                writer.write(data[: len(data) // 2])
                await writer.drain()
                raise ConnectionResetError
            if carrier not in self._muted:
                await self._send(writer, data)
        raise ConnectionResetError

    async def _send(self, writer: asyncio.StreamWriter, data: bytes) -> None:
        if self.replies is Replies.DELAYED:
            await asyncio.sleep(DELAY_S)
        size = SLICE_BYTES if self.replies is Replies.THROTTLED else len(data)
        for at in range(0, len(data), size):
            writer.write(data[at : at + size])
            await writer.drain()
            if size < len(data):
                await asyncio.sleep(SLICE_S)
