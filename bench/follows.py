"""Sends follows at a steady rate, whether earlier ones are answered or not, and times each.

A wait for a free connection counts too: times are measured from the moment when the follow was due,
to avoid what Gil Tene calls "coordinated omission".
"""

import asyncio
import itertools
import time
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from urllib.parse import urlsplit

from bench.answers import WrongAnswer
from bench.graphql_requests import Request

CONNECTIONS = 48
"""Connections to each gateway."""
ANSWER_S_MAX = 10.0
FOLLOWED = b'"FOLLOWED"'


@dataclass(frozen=True, slots=True)
class Answered:
    """One follow: its stream, and the time from when it was due to its answer."""

    stream: str
    seconds: float
    followed: bool
    """Whether the follow is new: a random one may exist already."""
    at_s: float
    """The time of the answer since the start of the round."""


@dataclass(frozen=True, slots=True)
class Stream:
    """Follows of one kind, with their rate per second."""

    name: str
    per_s: int
    requests: Iterator[Request]


class _Connections:
    """Open connections to all gateways, used in turn, so that none is idle for long."""

    def __init__(self, urls: Sequence[str]) -> None:
        self._urls = urls
        self._free: asyncio.Queue[_Connection] = asyncio.Queue()
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> "_Connections":
        for _, url in itertools.product(range(CONNECTIONS), self._urls):
            address = urlsplit(url)
            reader, writer = await asyncio.open_connection(address.hostname, address.port)
            self._stack.callback(writer.close)
            self._free.put_nowait(_Connection(reader, writer))
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    async def send(self, request: Request) -> bytes:
        """The body of the answer. Raises WrongAnswer."""
        connection = await self._free.get()
        try:
            async with asyncio.timeout(ANSWER_S_MAX):
                return await connection.send(request)
        except (OSError, TimeoutError, asyncio.IncompleteReadError) as error:
            raise WrongAnswer(f"a follow was not answered: {error!r}") from error
        finally:
            self._free.put_nowait(connection)


@dataclass(frozen=True, slots=True)
class _Connection:
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def send(self, request: Request) -> bytes:
        lines = [f"{name}: {value}\r\n" for name, value in request.headers.items()]
        head = f"POST /graphql HTTP/1.1\r\nHost: kith\r\n{''.join(lines)}"
        length = f"Content-Length: {len(request.body)}\r\n\r\n"
        self.writer.write((head + length).encode() + request.body)
        headers = (await self.reader.readuntil(b"\r\n\r\n")).lower()
        size = int(headers.split(b"content-length:")[1].split(b"\r\n")[0])
        body = await self.reader.readexactly(size)
        if not headers.startswith(b"http/1.1 200") or b'"errors"' in body:
            raise WrongAnswer(f"a follow failed: {headers[:20]!r} {body[:300]!r}")
        return body


async def send_at_rate(
    urls: Sequence[str], streams: Sequence[Stream], seconds: float
) -> list[Answered]:
    """Send all streams together for this time, and wait for the last answer.

    Raises an ExceptionGroup of WrongAnswer if a follow failed or was not answered within
    ANSWER_S_MAX.
    """
    answered: list[Answered] = []
    start = 0.0

    async def send_when_due(
        connections: _Connections, stream: Stream, request: Request, due: float
    ) -> None:
        await asyncio.sleep(due - time.monotonic())
        body = await connections.send(request)
        now = time.monotonic()
        answered.append(Answered(stream.name, now - due, FOLLOWED in body, now - start))

    async with _Connections(urls) as connections, asyncio.TaskGroup() as group:
        start = time.monotonic() + 0.1
        for stream in streams:
            for number in range(int(stream.per_s * seconds)):
                due = start + number / stream.per_s
                group.create_task(send_when_due(connections, stream, next(stream.requests), due))
    return answered
