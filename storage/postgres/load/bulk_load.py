"""Loads a file of edges into a graph that may be in use.

A loaded edge is a follow made at the time of the load, with the date in the file. An existing
follow keeps its date; a tombstone becomes a follow and keeps its flags. A whisper, a request or a
block stays unchanged; an edge against a block, or from or to a deleted account, is skipped: these
are counted as `skipped`. Protection and limits do not apply. If lines repeat an edge, the first one
counts. Loading is safe to repeat; a load that was interrupted continues when the same file is given
again. The caches are not updated: flush them after a load.
"""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

import asyncpg

from graph.errors import Unavailable
from storage.files.edge_file import Batch, EdgeFile
from storage.postgres import sql
from storage.postgres.citus.distribution import is_coordinator, is_distributed
from storage.postgres.connection import locks
from storage.postgres.connection.connections import Connection
from storage.postgres.connection.session import session
from storage.postgres.load import load_segment
from storage.postgres.load.load_report import LoadReport, OnBad, OnProgress, Progress, Tally
from storage.settings import StorageSettings

__all__ = ["LoadReport", "OnBad", "Progress", "bulk_load"]

SEGMENT_LINES = 400_000
"""The most lines of a segment, which is sorted in memory."""
SMALL_SEGMENT_LINES = 50_000
"""In a load into an empty space, a segment has as many lines as give each connection one segment,
but at least this number."""
CONNECTIONS = 3
"""A fourth is slower on four cores, because loads wait for each other's count rows."""
ANALYZE_FROM = 10_000
"""Fewer new edges do not change a plan."""
ANALYZE_SHARE = 0.2
"""New edges that are a smaller share of those at the last ANALYZE do not change a plan. ANALYZE
takes seconds, and autovacuum runs it after as much growth."""

NOT_COORDINATOR = (
    "The database URL names a worker of Citus: a graph can only be loaded at the coordinator. Set "
    "KITH_DIRECT_DATABASE_URL."
)


@dataclass(frozen=True, slots=True)
class _Statements:
    hold_load: str
    begin: str
    advance: str
    finish: str
    is_empty: str
    analyzed: str
    sample_less: str
    analyze: str


_SQL = sql.load(_Statements, "bulk_load")


async def bulk_load(
    settings: StorageSettings,
    path: Path,
    *,
    on_bad: OnBad = OnBad.SKIP,
    on_progress: OnProgress | None = None,
    connections: int = CONNECTIONS,
) -> LoadReport:
    """Load a `.csv`, `.csv.gz`, `.csv.zst` or `.parquet` file: see `storage.files.edge_file`. With
    `OnBad.REJECT`, a file with a bad line is not loaded, and the report is `rejected`.

    Raises:
        BadInput: it has another format or is damaged; lines before the damage may have been loaded.
        ValueError: the machine is a worker of Citus.
        Unavailable: PostgreSQL failed, or another load of this space is running.
    """
    file = await asyncio.to_thread(EdgeFile, path)
    if on_bad in (OnBad.REJECT, OnBad.REFUSE):
        check_tally = Tally(file.bytes_total, on_progress, checking=True)
        batches = file.batches()
        while (batch := await asyncio.to_thread(next, batches, None)) is not None:
            await check_tally.add_batch(batch)
        if check_tally.bad:
            return check_tally.report()
    load = _Load(file, Tally(file.bytes_total, on_progress, checking=False), connections)
    try:
        return await load.run(settings)
    except ExceptionGroup as failed:
        raise failed.exceptions[0] from failed


async def _hold_load(control: Connection, space: str) -> None:
    """Lock the loads of the space until the connection ends. Raises Unavailable."""
    try:
        await control.execute(_SQL.hold_load, locks.LOAD, locks.space_key(space))
    except asyncpg.LockNotAvailableError as error:
        raise Unavailable(
            "bulk load", "Another load of this space is running. Try again when it is finished."
        ) from error


async def _analyze(control: Connection, loaded: int) -> None:
    """Analyze the tables if `loaded` new edges may change plans."""
    if loaded < ANALYZE_FROM:
        return
    rows_at_last_analyze = await control.fetchval(_SQL.analyzed)
    if loaded >= ANALYZE_SHARE * rows_at_last_analyze:
        await control.execute(_SQL.sample_less)
        await control.execute(_SQL.analyze)


@dataclass(slots=True, eq=False)
class _Segment:
    """Consecutive lines of the file, which one connection merges in parts. Before a part is merged,
    the parts of the previous segment with the same slots are, so that of lines that repeat an edge
    the first one in the file counts."""

    previous: "_Segment | None"
    rows: int = 0
    bad: int = 0
    loaded: int = 0
    skipped: int = 0
    last_line: int = 0
    merge_events: dict[load_segment.Slots, asyncio.Event] = field(default_factory=dict)
    """For each part, an event that is set when the part is merged."""

    @property
    def present(self) -> int:
        """Edges that existed already, and lines that repeat an edge."""
        return self.rows - self.loaded - self.skipped

    def divide(self, part_rows: int) -> None:
        """Choose parts of about `part_rows` rows. Called when all rows are staged."""
        self.merge_events = {
            slots: asyncio.Event() for slots in load_segment.parts(self.rows, part_rows)
        }

    async def wait(self, slots: load_segment.Slots) -> None:
        """Wait until the parts with these slots are merged."""
        for part, is_merged in self.merge_events.items():
            if part.overlaps(slots):
                await is_merged.wait()


class _Load:
    """One pass over a file by several connections, which take turns to read it."""

    def __init__(self, file: EdgeFile, tally: Tally, connections: int) -> None:
        self._file, self._tally = file, tally
        self._connections = connections
        self._segment_lines = self._part_rows = 0
        self._reading, self._progress_lock = asyncio.Lock(), asyncio.Lock()
        self._batches = file.batches()
        self._last_staged: _Segment | None = None
        self._expects_existing = False
        self._on_citus = False

    async def run(self, settings: StorageSettings) -> LoadReport:
        fingerprint = await asyncio.to_thread(self._file.fingerprint)
        # This connection locks out other loads and saves the progress. Others copy and merge rows.
        async with session(settings, "load") as control:
            self._on_citus = await is_distributed(control)
            if self._on_citus and not await is_coordinator(control):
                raise ValueError(NOT_COORDINATOR)
            await _hold_load(control, settings.space)
            self._plan_segments(graph_is_empty=await control.fetchval(_SQL.is_empty))
            row = await control.fetchrow(_SQL.begin, fingerprint)
            assert row is not None
            self._tally.resume(*row)
            self._batches = self._file.batches(self._tally.resumed_after)
            async with asyncio.TaskGroup() as work:
                for _ in range(self._connections):
                    work.create_task(self._load_segments(settings, control, fingerprint))
            await _analyze(control, self._tally.loaded - row["loaded"])
            await control.execute(_SQL.finish, fingerprint)
        return self._tally.report()

    def _plan_segments(self, graph_is_empty: bool) -> None:
        """Choose the lines of a segment, which is one COPY, and the rows that a part of it should
        have, which is one transaction. Larger parts change each index page and count less often,
        and hold their locks longer."""
        self._part_rows = load_segment.FIRST_PART_ROWS if graph_is_empty else load_segment.PART_ROWS
        lines_max = min(load_segment.MOST_PARTS * self._part_rows, SEGMENT_LINES)
        per_connection = max(self._file.lines_about // self._connections, SMALL_SEGMENT_LINES)
        self._segment_lines = min(per_connection, lines_max) if graph_is_empty else lines_max

    async def _load_segments(
        self, settings: StorageSettings, control: Connection, fingerprint: str
    ) -> None:
        async with session(settings, "load") as connection:
            await load_segment.prepare(connection, on_citus=self._on_citus)
            while (segment := await self._stage(connection)) is not None:
                await self._merge(connection, segment)
                await self._save_progress(control, fingerprint, segment)

    async def _stage(self, connection: Connection) -> _Segment | None:
        """Copy the next lines of the file to the connection's temporary table. None: there are no
        more."""
        async with self._reading:
            segment = _Segment(previous=self._last_staged)
            await load_segment.stage(connection, self._rows(segment), self._file.columns)
            if not segment.last_line:
                return None
            segment.divide(self._part_rows)
            self._last_staged = segment
        return segment

    async def _rows(self, segment: _Segment) -> AsyncIterator[bytes]:
        while (
            segment.rows < self._segment_lines and (batch := await self._next_batch()) is not None
        ):
            segment.rows += batch.good
            segment.bad += batch.bad
            segment.last_line = batch.last_line
            yield batch.rows

    async def _next_batch(self) -> Batch | None:
        batch = await asyncio.to_thread(next, self._batches, None)
        if batch is not None:
            await self._tally.add_batch(batch)
        return batch

    async def _merge(self, connection: Connection, segment: _Segment) -> None:
        """Merge the parts of a staged segment. Once an edge is found to exist, this part and all
        later ones expect existing edges."""
        for slots, is_merged in segment.merge_events.items():
            if segment.previous is not None:
                await segment.previous.wait(slots)
            merged = await load_segment.merge(
                connection, slots, self._expects_existing, on_citus=self._on_citus
            )
            if merged is None:
                self._expects_existing = True
                merged = await load_segment.merge(
                    connection, slots, expects_existing=True, on_citus=self._on_citus
                )
                assert merged is not None
            is_merged.set()
            segment.loaded += merged.loaded
            segment.skipped += merged.skipped
            await self._tally.add_loaded(merged.loaded)
        segment.previous = None
        await self._tally.add_skipped(segment.present, segment.skipped)

    async def _save_progress(
        self, control: Connection, fingerprint: str, segment: _Segment
    ) -> None:
        """Record the segment's progress. The segments before it are complete, because each of their
        parts was merged before the same part of this one."""
        async with self._progress_lock:
            await control.execute(
                _SQL.advance,
                fingerprint,
                segment.last_line,
                segment.loaded,
                segment.present,
                segment.skipped,
                segment.bad,
            )
