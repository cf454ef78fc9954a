"""Loads a file of edges into a graph that may be in use. Knows nothing of the caches.

A load is a follow at load time, with the date that the file gives: an edge that exists keeps its
date, a tombstone becomes an edge again, any other kind stays. Of several lines of one edge the
first counts. Loading is safe to repeat; a load that was cut off goes on where it stopped when the
same file is given again. The caches are not told: flush them when a load is done.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

from storage.edge_file import BadLine, Batch, EdgeFile
from storage.postgres import load_segment, locks, sql
from storage.postgres.session import Connection, session
from storage.settings import StorageSettings

SEGMENT_LINES = 500_000
"""Sorted in memory, in 16 parts of half a second each."""
CONNECTIONS = 3
"""One more is slower on four cores: loads wait for each other's count rows."""
BAD_LINES_MAX = 100
ANALYZE_FROM = 10_000


@dataclass(frozen=True, slots=True)
class _Statements:
    claim: str
    begin: str
    advance: str
    finish: str
    analyze: str


_SQL = sql.load(_Statements, "bulk_load")


class OnBad(Enum):
    """What a bad line means: pass over it, or refuse the whole file before changing anything."""

    SKIP = "skip"
    REFUSE = "refuse"


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a load is. `checking` is the pass over the file that only looks for bad lines."""

    checking: bool
    lines: int
    bytes_read: int
    bytes_total: int
    loaded: int
    present: int
    bad: int


OnProgress = Callable[[Progress], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class LoadReport:
    """What became of a file, with what an earlier load of it did before it was cut off.

    `present` counts lines whose edge was there already, `bad_lines` are the first of this run, and
    `resumed_after` is the line up to which nothing had to be done.
    """

    lines: int
    loaded: int
    present: int
    bad: int
    bad_lines: tuple[BadLine, ...]
    resumed_after: int
    refused: bool


async def bulk_load(
    settings: StorageSettings,
    path: Path,
    *,
    on_bad: OnBad = OnBad.SKIP,
    on_progress: OnProgress | None = None,
    connections: int = CONNECTIONS,
) -> LoadReport:
    """Loads a `.csv`, `.csv.gz` or `.csv.zst` file: see `storage.edge_file` for what it holds.

    Raises:
        BadInput: it is no such file, or is damaged; what stands before the damage may be loaded.
        Unavailable: PostgreSQL went away, or another load of this space is running.
    """
    file = await asyncio.to_thread(EdgeFile, path)
    if on_bad is OnBad.REFUSE:
        checked = _Load(file, on_progress, checking=True)
        await checked.check()
        if checked.bad:
            return checked.report()
    load = _Load(file, on_progress)
    try:
        await load.run(settings, connections)
    except ExceptionGroup as failed:
        raise failed.exceptions[0] from failed
    return load.report()


@dataclass(slots=True, eq=False)
class _Segment:
    """Some lines on one connection. A part of it waits for that part of the segment before it,
    so that the first line of an edge is the first in the whole file."""

    before: "_Segment | None"
    rows: int = 0
    bad: int = 0
    loaded: int = 0
    first_line: int = 0
    last_line: int = 0
    merged: list[asyncio.Event] = field(
        default_factory=lambda: [asyncio.Event() for _ in range(load_segment.PARTS)]
    )

    def add(self, batch: Batch) -> None:
        self.rows += batch.good
        self.bad += batch.bad
        self.last_line = batch.last_line


class _Load:
    """One pass over a file by several connections, of which one at a time reads it."""

    def __init__(
        self, file: EdgeFile, on_progress: OnProgress | None, checking: bool = False
    ) -> None:
        self._file, self._on_progress, self._checking = file, on_progress, checking
        self._reading, self._noting = asyncio.Lock(), asyncio.Lock()
        self._batches = file.batches()
        self._newest: _Segment | None = None
        self._lines = self._bytes_read = self._loaded = self._present = self.bad = 0
        self._resumed_after, self._careful = 0, False
        self._bad_lines: list[BadLine] = []

    def report(self) -> LoadReport:
        return LoadReport(
            self._lines,
            self._loaded,
            self._present,
            self.bad,
            tuple(self._bad_lines),
            self._resumed_after,
            refused=self._checking,
        )

    async def check(self) -> None:
        """Reads the whole file and changes nothing."""
        while await self._next() is not None:
            pass

    async def run(self, settings: StorageSettings, connections: int) -> None:
        name = await asyncio.to_thread(self._file.fingerprint)
        async with session(settings, "load") as connection:
            await connection.execute(_SQL.claim, locks.LOAD, locks.space_key(settings.space))
            row = await connection.fetchrow(_SQL.begin, name)
            assert row is not None
            self._resumed_after, self._loaded, self._present, self.bad = row
            self._batches = self._file.batches(self._resumed_after)
            already = self._loaded
            async with asyncio.TaskGroup() as work:
                for _ in range(connections):
                    work.create_task(self._work(settings, connection, name))
            if self._loaded - already >= ANALYZE_FROM:
                await connection.execute(_SQL.analyze)
            await connection.execute(_SQL.finish, name)

    async def _work(self, settings: StorageSettings, ledger: Connection, name: str) -> None:
        async with session(settings, "load") as connection:
            await load_segment.prepare(connection)
            while (segment := await self._stage(connection)) is not None:
                await self._merge(connection, segment)
                async with self._noting:
                    await self._advance(ledger, name, segment)

    async def _stage(self, connection: Connection) -> _Segment | None:
        async with self._reading:
            segment = _Segment(before=self._newest)
            await load_segment.stage(connection, self._rows(segment), self._file.columns)
            if not segment.last_line:
                return None
            self._newest = segment
        return segment

    async def _rows(self, segment: _Segment) -> AsyncIterator[bytes]:
        while segment.rows < SEGMENT_LINES and (batch := await self._next()) is not None:
            segment.add(batch)
            yield batch.rows

    async def _next(self) -> Batch | None:
        batch = await asyncio.to_thread(next, self._batches, None)
        if batch is not None:
            self._lines, self._bytes_read = batch.last_line, batch.bytes_read
            self.bad += batch.bad
            self._bad_lines += batch.bad_lines[: BAD_LINES_MAX - len(self._bad_lines)]
            await self._tell()
        return batch

    async def _merge(self, connection: Connection, segment: _Segment) -> None:
        for part, slots in enumerate(load_segment.parts()):
            if segment.before is not None:
                await segment.before.merged[part].wait()
            loaded = await load_segment.merge(connection, slots, self._careful)
            if loaded is None:
                self._careful = True
                loaded = await load_segment.merge(connection, slots, careful=True) or 0
            segment.merged[part].set()
            segment.loaded += loaded
            self._loaded += loaded
            await self._tell()
        segment.before = None
        self._present += segment.rows - segment.loaded

    async def _advance(self, ledger: Connection, name: str, segment: _Segment) -> None:
        present = segment.rows - segment.loaded
        await ledger.execute(
            _SQL.advance, name, segment.last_line, segment.loaded, present, segment.bad
        )
        await self._tell()

    async def _tell(self) -> None:
        if self._on_progress is not None:
            await self._on_progress(
                Progress(
                    self._checking,
                    self._lines,
                    self._bytes_read,
                    self._file.bytes_total,
                    self._loaded,
                    self._present,
                    self.bad,
                )
            )
