"""Exports all edges of a space, or some of them, to a file.

One run reads one snapshot. A run that continues an interrupted one reads a snapshot of its own. In
both cases, the exported edges and the changes of the change feed after the report's cursor, applied
in the order of their versions, give the current graph.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from graph.edge import MAX_SINCE, Kind
from graph.errors import BadInput
from storage.files.graph_file import EDGES_HEADER, FOLLOWS_HEADER, GraphFile, graph_file
from storage.postgres import sql
from storage.postgres.connection.connections import Connection
from storage.postgres.connection.session import session
from storage.settings import StorageSettings

CHUNK_ROWS = 200_000
"""Edges between two checkpoints: about half a second, and 6 MB."""


@dataclass(frozen=True, slots=True)
class _Statements:
    edges: str
    estimate: str


_SQL = sql.load(_Statements, "graph_export")


@dataclass(frozen=True, slots=True)
class Selection:
    """The edges to export: of these kinds, with a date from `since` until before `until`, in
    milliseconds, whose owners are in slice number `slice` (from 0) of `slices`."""

    kinds: Sequence[Kind] = (Kind.FOLLOW,)
    since: int = 0
    until: int = MAX_SINCE + 1
    slice: int = 0
    slices: int = 1


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The progress of an export: the change feed's cursor before the first edge was read, the last
    edge, the number of edges and the length of the file so far."""

    cursor: str | None
    from_user_id: int = 0
    to_user_id: int = 0
    edges: int = 0
    length: int = 0


@dataclass(frozen=True, slots=True)
class GraphExportReport:
    """The number of edges in the file, how many of them interrupted runs had written, and the
    change feed's cursor before the first edge was read, or None if Redis was unavailable."""

    edges: int
    resumed_after: int
    cursor: str | None


OnExported = Callable[[int, int], Awaitable[None]]
"""Called with the number of edges written so far, and an estimate of the total."""


async def export_graph(
    settings: StorageSettings,
    path: Path,
    selection: Selection,
    cursor: str | None,
    *,
    with_kinds: bool = False,
    on_exported: OnExported | None = None,
) -> GraphExportReport:
    """Write the edges to a `.csv`, `.csv.gz`, `.csv.zst` or `.parquet` file.

    `with_kinds` adds the columns `kind` and `flags`, as numbers, to a CSV file. `cursor` is the end
    of the change feed, read before this call.

    Raises:
        BadInput: the file exists, or an interrupted export of other edges does.
        OSError: the file cannot be written.
        Unavailable: PostgreSQL failed. The next run continues.
    """
    progress = _Progress(path, {**asdict(selection), "with_kinds": with_kinds})
    start = progress.read() or Checkpoint(cursor)
    header = EDGES_HEADER if with_kinds else FOLLOWS_HEADER
    file = await asyncio.to_thread(graph_file, progress.part_file, path.name, header, start.length)
    columns = 5 if with_kinds or path.suffix == ".parquet" else 3
    latest = start
    try:
        async with session(settings, "export") as connection, _snapshot(connection):
            estimate: int = await connection.fetchval(_SQL.estimate)
            async for checkpoint in _checkpoints(connection, selection, file, start, columns):
                latest = checkpoint
                if file.is_resumable:
                    await asyncio.to_thread(progress.write, latest)
                if on_exported is not None:
                    await on_exported(latest.edges, max(estimate, latest.edges))
    finally:
        await asyncio.to_thread(file.close)
    await asyncio.to_thread(progress.finish)
    return GraphExportReport(latest.edges, start.edges, start.cursor)


@asynccontextmanager
async def _snapshot(connection: Connection) -> AsyncIterator[None]:
    async with connection.transaction(isolation="repeatable_read", readonly=True):
        yield


async def _checkpoints(
    connection: Connection,
    selection: Selection,
    file: GraphFile,
    checkpoint: Checkpoint,
    columns: int,
) -> AsyncIterator[Checkpoint]:
    """Write the edges after `checkpoint` in chunks, and yield a new checkpoint after each."""
    names = ("from_user_id", "to_user_id", "since", "kind", "flags")[:columns]
    query = f"SELECT {', '.join(names)} FROM ({_SQL.edges}\n) AS edge"  # noqa: S608
    kinds = list(map(int, selection.kinds))
    while True:
        lines = bytearray()

        async def collect(part: bytes, lines: bytearray = lines) -> None:
            lines.extend(part)

        status = await connection.copy_from_query(
            query,
            CHUNK_ROWS,
            *(checkpoint.from_user_id, checkpoint.to_user_id, kinds),
            *(selection.since, selection.until, selection.slices, selection.slice),
            output=collect,
            format="csv",
        )
        written = int(status.removeprefix("COPY "))
        if not written:
            return
        last = bytes(lines[lines.rfind(b"\n", 0, len(lines) - 1) + 1 :]).split(b",")
        await asyncio.to_thread(file.write, bytes(lines))
        length = await asyncio.to_thread(file.checkpoint)
        checkpoint = Checkpoint(
            checkpoint.cursor, int(last[0]), int(last[1]), checkpoint.edges + written, length
        )
        yield checkpoint
        if written < CHUNK_ROWS:
            return


class _Progress:
    """The unfinished file, and the file beside it that has the last checkpoint."""

    def __init__(self, path: Path, options: dict[str, object]) -> None:
        if path.exists():
            raise BadInput("file", f"{path} exists already. Give a new name, or remove it.")
        self._path, self._options = path, json.loads(json.dumps(options))
        self.part_file = path.with_name(f"{path.name}.part")
        self._checkpoint_file = path.with_name(f"{path.name}.progress")

    def read(self) -> Checkpoint | None:
        """The checkpoint of an interrupted run. Raises BadInput if that run had other options."""
        if not (self._checkpoint_file.exists() and self.part_file.exists()):
            return None
        saved = json.loads(self._checkpoint_file.read_text(encoding="utf-8"))
        if saved["options"] != self._options:
            raise BadInput(
                "file",
                f"{self.part_file} is an unfinished export of other edges. Remove it, or continue"
                " it with the same options.",
            )
        return Checkpoint(**saved["checkpoint"])

    def write(self, checkpoint: Checkpoint) -> None:
        saved = {"options": self._options, "checkpoint": asdict(checkpoint)}
        new_file = self._checkpoint_file.with_name(f"{self._checkpoint_file.name}.new")
        new_file.write_text(json.dumps(saved), encoding="utf-8")
        new_file.replace(self._checkpoint_file)

    def finish(self) -> None:
        self.part_file.rename(self._path)
        self._checkpoint_file.unlink(missing_ok=True)
