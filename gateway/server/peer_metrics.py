"""Metrics of several gateway processes of one command.

A scrape reaches any one of them, which reports all. Every sample has a label `process`, because
Prometheus would otherwise see counters that jump between processes.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import orjson
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

ANSWER_MAX_BYTES = 4_000_000
DEADLINE_S = 1.0
"""How long the report waits for a process that does not answer."""

_Sample: TypeAlias = tuple[str, dict[str, str], float | None]
"""A name, labels and a value. None, in an answer of a peer: NaN."""
_Family: TypeAlias = tuple[str, str, str, list[_Sample]]
"""A metric: name, documentation, type and samples."""


@dataclass(frozen=True, slots=True)
class Peers:
    """`count` processes. This one has the number `index`. Their sockets are in `folder`."""

    folder: Path
    index: int
    count: int

    def socket(self, index: int) -> Path:
        return self.folder / f"{index}.sock"


@asynccontextmanager
async def serving_peers(peers: Peers | None, own: Collector) -> AsyncIterator[None]:
    """Serve this process's metrics to its peers for as long as the block runs."""
    if peers is None:
        yield
        return

    async def answer(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, TimeoutError):
            async with asyncio.timeout(DEADLINE_S):
                writer.write(orjson.dumps(_families(own)))
                await writer.drain()
        writer.close()

    path = peers.socket(peers.index)
    path.unlink(missing_ok=True)  # left by the process that this one replaces
    server = await asyncio.start_unix_server(answer, path)
    try:
        yield
    finally:
        server.close()


async def collect_peers(peers: Peers, own: Collector) -> Collector:
    """The metrics of all processes, and which of them answered."""
    answers = await asyncio.gather(
        *(_families_of_peer(peers, index, own) for index in range(peers.count))
    )
    return _Merged(answers)


async def _families_of_peer(peers: Peers, index: int, own: Collector) -> list[_Family] | None:
    """The metrics of one process. None if it does not answer in time, or with too much."""
    if index == peers.index:
        return _families(own)
    try:
        async with asyncio.timeout(DEADLINE_S):
            reader, writer = await asyncio.open_unix_connection(peers.socket(index))
            try:
                return _parse_families(await _read_all(reader))
            finally:
                writer.close()
    except (OSError, TimeoutError, ValueError):
        return None


async def _read_all(reader: asyncio.StreamReader) -> bytes:
    """All data until the other end closes. Raises ValueError above the limit."""
    parts = bytearray()
    while part := await reader.read(65_536):
        parts += part
        if len(parts) > ANSWER_MAX_BYTES:
            raise ValueError("the metrics of a process are too many")
    return bytes(parts)


def _parse_families(text: bytes) -> list[_Family]:
    families: list[_Family] = orjson.loads(text)
    return families


def _families(own: Collector) -> list[_Family]:
    return [
        (metric.name, metric.documentation, metric.type, [_sample(s) for s in metric.samples])
        for metric in own.collect()
    ]


def _sample(sample: Iterable[object]) -> _Sample:
    name, labels, value, *_ = sample
    assert isinstance(name, str)
    assert isinstance(labels, dict)
    assert isinstance(value, int | float)
    return name, labels, float(value)


class _Merged(Collector):
    """The metric families of several processes, with the label `process`."""

    def __init__(self, answers: Iterable[list[_Family] | None]) -> None:
        self._answers = list(answers)

    def collect(self) -> Iterator[Metric]:
        up = GaugeMetricFamily(
            "kith_process_up", "Whether this gateway process gave its metrics.", labels=["process"]
        )
        merged: dict[str, Metric] = {}
        for index, families in enumerate(self._answers):
            process = {"process": str(index)}
            up.add_metric([str(index)], 0.0 if families is None else 1.0)
            for name, documentation, kind, samples in families or ():
                metric = merged.setdefault(name, Metric(name, documentation, kind))
                for sample, labels, value in samples:
                    number = float("nan") if value is None else value  # JSON has no NaN
                    metric.add_sample(sample, {**labels, **process}, number)
        yield up
        yield from merged.values()
