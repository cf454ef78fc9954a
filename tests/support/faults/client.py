"""A client of one gateway that uses little CPU: HTTP over persistent unix sockets."""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

TIMEOUT_S = 3.0
GET_TIMEOUT_S = 2.0


@dataclass(frozen=True, slots=True)
class Answer:
    """The result of a request.

    `code` is None if it was answered without errors. It is `extensions.code` of the first error, or
    WITHOUT_CODE; TIMEOUT, DISCONNECTED or BACKLOG_FULL (of connections) if there was no answer; and
    NOT_JSON_ or STATUS_ with the status if the answer is no response of GraphQL.
    """

    data: Any
    code: str | None
    message: str = ""


class Client:
    """Sends requests to one gateway, one at a time over each connection."""

    def __init__(self, name: str, socket: Path) -> None:
        self.name = name
        self.socket = socket
        self._idle: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []

    async def ask(
        self, document: str, viewer: int | None, variables: Mapping[str, Any], token: str = ""
    ) -> Answer:
        """Send an operation, with a consistency token if there is one."""
        body = orjson.dumps({"query": document, "variables": variables})
        try:
            async with asyncio.timeout(TIMEOUT_S):
                status, content = await self._send("POST", "/graphql", viewer, body, token)
        except TimeoutError:
            return Answer(None, "TIMEOUT")
        except BlockingIOError:
            return Answer(None, "BACKLOG_FULL")
        except (OSError, EOFError) as error:  # an IncompleteReadError is an EOFError
            return Answer(None, "DISCONNECTED", repr(error))
        return _answer(status, content)

    async def is_ready(self) -> bool:
        return await self.get("/readyz") == 200

    async def get(self, path: str) -> int:
        """The status of a GET; 0 without an answer."""
        try:
            async with asyncio.timeout(GET_TIMEOUT_S):
                return (await self._send("GET", path))[0]
        except (OSError, EOFError, TimeoutError):
            return 0

    async def close(self) -> None:
        for _, writer in self._idle:
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()
        self._idle.clear()

    async def _send(
        self,
        method: str,
        path: str,
        viewer: int | None = None,
        body: bytes = b"",
        token: str = "",
    ) -> tuple[int, bytes]:
        reader, writer = await self._connection()
        try:
            writer.write(_request(method, path, viewer, body, token))
            head = (await reader.readuntil(b"\r\n\r\n")).lower()
            size = int(head.partition(b"content-length:")[2].split(b"\r\n", 1)[0])
            content = await reader.readexactly(size)
        except BaseException:
            writer.transport.abort()
            raise
        if b"connection: close" in head:
            writer.transport.abort()
        else:
            self._idle.append((reader, writer))
        return int(head[9:12]), content

    async def _connection(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        while self._idle:
            reader, writer = self._idle.pop()
            if not reader.at_eof() and not writer.transport.is_closing():
                return reader, writer
            writer.transport.abort()
        return await asyncio.open_unix_connection(self.socket)


def _request(method: str, path: str, viewer: int | None, body: bytes, token: str) -> bytes:
    fresh = f"X-Consistency-Token: {token}\r\n" if token else ""
    name = f"X-Viewer: {viewer}\r\n" if viewer is not None else ""
    return (
        f"{method} {path} HTTP/1.1\r\nHost: kith\r\nContent-Type: application/json\r\n{name}{fresh}"
        f"Content-Length: {len(body)}\r\n\r\n"
    ).encode() + body


def _answer(status: int, content: bytes) -> Answer:
    try:
        response = orjson.loads(content)
    except orjson.JSONDecodeError:
        return Answer(None, f"NOT_JSON_{status}", content[:200].decode(errors="replace"))
    errors = response.get("errors")
    if errors:
        first = errors[0]
        code = first.get("extensions", {}).get("code", "WITHOUT_CODE")
        return Answer(response.get("data"), code, f"{status} {first.get('message')}")
    if status != 200:
        return Answer(None, f"STATUS_{status}", content[:200].decode(errors="replace"))
    return Answer(response["data"], None)
