"""Counts the functions that a request calls, with the interpreter's profiling hook.

Resuming a coroutine counts as a call, because it costs as much. The count depends on the code, and
hardly on the load of the machine: a delayed request starts one more timer.
"""

import sys
from asyncio import Event, create_task
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import orjson
from starlette.types import ASGIApp, Message, Scope

from bench.graphql_requests import Request

ROOT = Path(__file__).parent.parent
LIBRARIES = ("site-packages/", f"python{sys.version_info.major}.{sys.version_info.minor}/")


class ErrorResponse(Exception):
    """A request was rejected, or its response has errors. The text is the response."""


@dataclass(frozen=True, slots=True)
class Calls:
    """Calls per request, by the name of the Python or C function."""

    python: Mapping[str, float]
    c: Mapping[str, float]

    @property
    def python_calls(self) -> float:
        return sum(self.python.values())

    @property
    def c_calls(self) -> float:
        return sum(self.c.values())

    def most_called(self, count: int) -> list[tuple[str, float]]:
        """The most called Python functions, with their calls."""
        return sorted(self.python.items(), key=itemgetter(1), reverse=True)[:count]


async def counted(app: ASGIApp, requests: Sequence[Request]) -> Calls:
    """The mean number of calls of an application for these requests, sent one at a time.

    Raises ErrorResponse.
    """
    asgi_requests, tally = _asgi_requests(requests), _Tally()

    async def send() -> None:
        sys.setprofile(tally)
        try:
            await _send(app, asgi_requests)
        finally:
            sys.setprofile(None)

    # In a separate task, as in a server: otherwise the resumed coroutines of the callers would
    # be counted too.
    await create_task(send())
    return tally.per_request(len(requests))


async def send_all(app: ASGIApp, requests: Sequence[Request]) -> int:
    """Send these requests one at a time, without counting. Returns the bytes of all bodies,
    requests and responses. Raises ErrorResponse."""
    return await _send(app, _asgi_requests(requests))


class _Tally:
    """A profiler that counts calls, except those of this file."""

    def __init__(self) -> None:
        self._python: Counter[CodeType] = Counter()
        self._c: Counter[str] = Counter()

    def __call__(self, frame: FrameType, event: str, called: Any) -> None:
        code = frame.f_code
        if code.co_filename == __file__:
            return
        if event == "call":
            self._python[code] += 1
        elif event == "c_call":
            self._c[called.__qualname__] += 1

    def per_request(self, requests: int) -> Calls:
        """The mean of this number of requests."""
        python: Counter[str] = Counter()
        for code, times in self._python.items():
            python[_name(code)] += times
        return Calls(_divided(python, requests), _divided(self._c, requests))


async def _send(app: ASGIApp, requests: Sequence[tuple[Scope, bytes]]) -> int:
    transferred = 0
    for scope, body in requests:
        answer = _Exchange(body)
        await app(scope, answer.receive, answer.send)
        if answer.status != 200 or "errors" in orjson.loads(answer.body):
            raise ErrorResponse(answer.body.decode())
        transferred += len(body) + len(answer.body)
    return transferred


class _Exchange:
    """The ASGI callables of one request: they deliver its body and collect the answer."""

    def __init__(self, body: bytes) -> None:
        self._body: bytes | None = body
        self.status = 0
        self.body = b""

    async def receive(self) -> Message:
        body, self._body = self._body, None
        if body is None:
            await Event().wait()  # the client does not disconnect
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
        else:
            self.body = message["body"]


def _asgi_requests(requests: Sequence[Request]) -> list[tuple[Scope, bytes]]:
    return [(_scope(request), request.body) for request in requests]


def _scope(request: Request) -> Scope:
    given = {"Host": "127.0.0.1", "Content-Length": str(len(request.body)), **request.headers}
    return {
        "type": "http",
        "method": "POST",
        "path": "/graphql",
        "query_string": b"",
        "headers": [(name.lower().encode(), value.encode()) for name, value in given.items()],
    }


def _name(code: CodeType) -> str:
    """`engine/run.py:Run.spend`: the file within its library, or within this project."""
    file = code.co_filename.removeprefix(f"{ROOT}/")
    for library in LIBRARIES:
        file = file.rpartition(library)[2]
    return f"{file}:{code.co_qualname}"


def _divided(calls: Counter[str], by: int) -> Mapping[str, float]:
    return {name: times / by for name, times in calls.items()}
