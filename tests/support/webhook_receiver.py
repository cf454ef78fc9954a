"""A receiver of webhooks on a real socket, which can also delay, break or refuse responses."""

import asyncio
import ssl
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

import orjson

from tests.support.http_server import listener

HEAD_MAX = 64 * 1024


@dataclass(frozen=True)
class Received:
    """A request, with its header names in lower case."""

    path: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def target(self) -> str:
        return str(orjson.loads(self.body)["change"]["target"])

    @property
    def id(self) -> str:
        return self.headers["kith-event-id"]


Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]
Answer = Callable[[Received, asyncio.StreamWriter], Awaitable[None]]


async def accept(_: Received, writer: asyncio.StreamWriter) -> None:
    """Answer 200."""
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
    await writer.drain()


def status(code: int, headers: str = "") -> Answer:
    """Answer with a status."""

    async def answer(_: Received, writer: asyncio.StreamWriter) -> None:
        writer.write(f"HTTP/1.1 {code} Status\r\nContent-Length: 0\r\n{headers}\r\n".encode())
        await writer.drain()

    return answer


async def hang(_: Received, writer: asyncio.StreamWriter) -> None:
    """Send nothing until the sender disconnects."""
    await writer.wait_closed()


async def drip(_: Received, writer: asyncio.StreamWriter) -> None:
    """Answer 200, and a body that does not end."""
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n1")
    await writer.drain()
    await writer.wait_closed()


async def flood(_: Received, writer: asyncio.StreamWriter) -> None:
    """Answer 200, and send a body for as long as the sender reads."""
    writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    with suppress(ConnectionError):
        while not writer.is_closing():
            writer.write(b"4000\r\n" + b"x" * 0x4000 + b"\r\n")
            await writer.drain()


async def crumble(_: Received, writer: asyncio.StreamWriter) -> None:
    """Answer 200, and send a body in chunks of one byte for as long as the sender reads."""
    writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    await _repeat(b"1\r\nx\r\n", writer)


async def stall(_: Received, writer: asyncio.StreamWriter) -> None:
    """Send informational responses for as long as the sender reads, and no other one."""
    await _repeat(b"HTTP/1.1 100 Continue\r\n\r\n", writer)


async def _repeat(piece: bytes, writer: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError):
        while not writer.is_closing():
            writer.write(piece * 1_000)
            await writer.drain()


async def reset(_: Received, writer: asyncio.StreamWriter) -> None:
    """Cut the connection."""
    writer.transport.abort()


async def babble(_: Received, writer: asyncio.StreamWriter) -> None:
    """Answer something that is not HTTP."""
    writer.write(b"220 mail.example ESMTP\r\n\r\n")
    await writer.drain()


@dataclass
class Receiver:
    """The received requests, and the answers to them."""

    url: str = ""
    answer: Answer = accept
    received: list[Received] = field(default_factory=list)
    answers: dict[str, Answer] = field(default_factory=dict)
    """How requests about some targets are answered, instead of by `answer`."""
    busy: Counter[str] = field(default_factory=Counter)
    """Requests about each target that are being answered now."""
    overlaps: list[str] = field(default_factory=list)
    """Targets with two requests at a time."""

    def ids(self, target: int | None = None) -> list[str]:
        """The ids of the events that were received, in order and with repeats; only those about
        `target` if it is given."""
        return [one.id for one in self.received if target in (None, int(one.target))]

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            while True:
                request = await _read(reader)
                await self._answer(request, writer)

    async def _answer(self, request: Received, writer: asyncio.StreamWriter) -> None:
        self.received.append(request)
        change = orjson.loads(request.body)["change"]
        target = "" if change is None else change["target"]
        if self.busy[target]:
            self.overlaps.append(target)
        self.busy[target] += 1
        try:
            await self.answers.get(target, self.answer)(request, writer)
        finally:
            self.busy[target] -= 1


async def _read(reader: asyncio.StreamReader) -> Received:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *lines = head.strip().split("\r\n")
    headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}
    body = await reader.readexactly(int(headers["content-length"]))
    return Received(first.split(" ")[1], headers, body)


@asynccontextmanager
async def receiving(context: ssl.SSLContext | None = None) -> AsyncIterator[Receiver]:
    """A receiver on a free port of the loopback."""
    receiver, handlers = Receiver(), set[asyncio.Task[None]]()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        handlers.add(task)
        try:
            await receiver.handle(reader, writer)
        except asyncio.CancelledError:
            pass
        finally:
            handlers.discard(task)
            writer.transport.abort()

    bound = listener()
    server = await asyncio.start_server(handle, sock=bound, ssl=context, limit=HEAD_MAX)
    scheme = "http" if context is None else "https"
    receiver.url = f"{scheme}://127.0.0.1:{bound.getsockname()[1]}/hook"
    try:
        yield receiver
    finally:
        server.close()
        ending = list(handlers)
        for task in ending:
            task.cancel()
        await asyncio.gather(*ending, return_exceptions=True)
