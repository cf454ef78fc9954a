"""The measured servers: how each is started, and which shapes it supports."""

import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench import postgraphile
from bench.shapes import Shape

PEERS = Path(__file__).with_name("peers")


def _own_document(shape: Shape) -> str | None:
    return shape.document


def _document_of_cached_read(shape: Shape) -> str | None:
    return None if shape.writes or shape.beyond_cache else shape.document


def _unchanged(data: Any) -> Any:
    return data


async def _no_preparation(database_url: str, space: str) -> None:
    return


@dataclass(frozen=True, slots=True)
class Contestant:
    """A server. In `argv`, `{port}` and `{space}` are filled in.

    `document` returns a shape's document for this server, or None if it does not support the shape;
    `normalise` converts the data of an answer, its own or ours, into a comparable form.
    """

    name: str
    argv: tuple[str, ...]
    ready: str = "/readyz"
    """The path that answers 200 when the server is ready."""
    document: Callable[[Shape], str | None] = _own_document
    normalise: Callable[[Any], Any] = _unchanged
    prepare: Callable[[str, str], Awaitable[None]] = _no_preparation
    """Called before the start with the database's URL and the space."""
    same_bytes: bool = False
    """Whether its answers must equal Kith's byte for byte."""
    reads_cold: bool = False
    """Whether it can answer on a cache miss."""
    node: bool = False
    """Whether it runs on Node.js."""


def _python(*arguments: str) -> tuple[str, ...]:
    return (sys.executable, "-m", *arguments)


def _node(script: str) -> tuple[str, ...]:
    return (str(node_binary() or "node"), str(PEERS / script), "{port}", "{space}")


def node_binary() -> Path | None:
    """The Node binary that `npm ci` installs with the peers."""
    return next(PEERS.glob("node_modules/node-linux-*/bin/node"), None)


KITH = Contestant(
    "kith",
    _python("gateway", "serve", "--development", "--port", "{port}", "--space", "{space}"),
    reads_cold=True,
)
RAW = Contestant(
    "raw",
    _python("bench.raw", "{port}", "{space}"),
    document=_document_of_cached_read,
    same_bytes=True,
)
RAW_REDIS_PY = Contestant(
    "raw-redis-py",
    _python("bench.raw", "{port}", "{space}", "redis-py"),
    document=_document_of_cached_read,
    same_bytes=True,
)
"""For information: no goal refers to it."""
STRAWBERRY = Contestant(
    "strawberry", _python("bench.stock_strawberry", "{port}", "{space}"), reads_cold=True
)
MERCURIUS = Contestant(
    "mercurius", _node("mercurius.js"), document=_document_of_cached_read, node=True
)
POSTGRAPHILE = Contestant(
    "postgraphile",
    _node("postgraphile.js"),
    prepare=postgraphile.prepare,
    document=postgraphile.document,
    normalise=postgraphile.normalised,
    reads_cold=True,
    node=True,
)
WORKER = Contestant(
    "worker",
    ("env", "KITH_METRICS_PORT={port}", *_python("gateway", "worker", "--space", "{space}")),
    ready="/metrics",
)
"""Gets no requests: it applies Kith's writes to the reverse rows, and exports metrics."""

ALL = (KITH, RAW, RAW_REDIS_PY, STRAWBERRY, MERCURIUS, POSTGRAPHILE)
