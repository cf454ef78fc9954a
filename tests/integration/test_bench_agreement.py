"""The benchmark measures servers only if their answers agree, with warm and with cold caches."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from types import SimpleNamespace
from typing import Any, cast

import pytest

from bench import caches
from bench.answers import WrongAnswer
from bench.comparison import Comparison, Durations
from bench.contestants import KITH, STRAWBERRY
from bench.load import Sample
from bench.population import Population
from bench.processes import ServerProcess
from bench.services import Services
from bench.shapes import BY_NAME

PEOPLE = Population([1, 2], [3, 4], [1], {}, 4, [])
FOLLOWERS = BY_NAME["followers-20"]


@contextmanager
def answering(name: str, answer: bytes) -> Iterator[ServerProcess]:
    """A server that gives the same answer to every request."""

    class FixedAnswer(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _send_answer(self) -> None:
            self.rfile.read(int(self.headers["content-length"] or 0))
            self.send_response(200)
            self.send_header("content-length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        do_GET = do_POST = _send_answer  # noqa: N815 - http.server's names

        def log_message(self, *args: Any, **kwargs: Any) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), FixedAnswer)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield ServerProcess(name, f"http://127.0.0.1:{server.server_port}", 0)
    finally:
        server.shutdown()
        server.server_close()


class Bench:
    """Compares two servers, "kith" and "strawberry", with given answers. Records the steps."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
        self.done: list[str] = []
        self._folder = folder
        monkeypatch.setattr(caches, "empty", self._empty)
        monkeypatch.setattr("bench.comparison.loaded", self._loaded)

    async def _empty(self, redis_url: str) -> None:
        self.done.append("emptied")

    async def _loaded(self, services: Services, server: ServerProcess, *rest: Any) -> Sample:
        self.done.append(f"{server.name} timed")
        return cast(Sample, None)

    def run(self, kith: bytes, strawberry: bytes, *, cold: bool) -> None:
        with (
            answering(KITH.name, kith) as ours,
            answering(STRAWBERRY.name, strawberry) as theirs,
        ):
            comparison = Comparison(
                cast(Services, SimpleNamespace(redis_url="")),
                "space",
                PEOPLE,
                Durations(rounds=1, seconds=1, warm_up_s=1),
                self._folder,
                {KITH.name: (KITH, ours), STRAWBERRY.name: (STRAWBERRY, theirs)},
            )
            asyncio.run(comparison.cold(FOLLOWERS) if cold else comparison.warm(FOLLOWERS))


@pytest.mark.parametrize("cold", [False, True])
def test_a_different_answer_stops_the_run_before_anything_is_timed(
    cold: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    bench = Bench(monkeypatch, tmp_path)
    with pytest.raises(WrongAnswer, match="strawberry does not agree"):
        bench.run(b'{"data": 1}', b'{"data": 2}', cold=cold)
    assert not any("timed" in what for what in bench.done)


def test_each_server_is_compared_and_timed_with_empty_caches(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    bench = Bench(monkeypatch, tmp_path)
    bench.run(b'{"data": 1}', b'{"data": 1}', cold=True)
    assert bench.done == [*["emptied"] * 3, "kith timed", "emptied", "strawberry timed"]
