"""Exports all edges of a space, or some of them, to a file.

One run reads one snapshot. A run that was interrupted continues with a snapshot of its own. In
both cases the changes after the report's cursor, applied in the order of their versions, give the
graph as it is.
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
    """Which edges: of these kinds, that began from `since` until before `until`, and of the users
    of one slice of `slices`."""

    kinds: Sequence[Kind] = (Kind.FOLLOW,)
    since: int = 0
    until: int = MAX_SINCE + 1
    slice: int = 0
    slices: int = 1


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """How far an export has come: the last edge, the edges so far, and the length of the file."""

    cursor: str | None
    from_user_id: int = 0
    to_user_id: int = 0
    edges: int = 0
    length: int = 0


@dataclass(frozen=True, slots=True)
class GraphExportReport:
    """The edges in the file, how many of them an interrupted run had written, and the cursor of the
    change feed before the first one was read; None: Redis was unavailable."""

    edges: int
    resumed_after: int
    cursor: str | None


OnExported = Callable[[int, int], Awaitable[None]]
"""Called with the edges so far, and about how many there are in all."""


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
    of the change feed, read before this.

    Raises:
        BadInput: the file exists, or an interrupted export of other edges does.
        OSError: the file cannot be written.
        Unavailable: PostgreSQL failed. The next run continues.
    """
    progress = _Progress(path, {**asdict(selection), "with_kinds": with_kinds})
    begun = progress.read() or Checkpoint(cursor)
    header = EDGES_HEADER if with_kinds else FOLLOWS_HEADER
    file = await asyncio.to_thread(graph_file, progress.part, path.name, header, begun.length)
    columns = 5 if with_kinds or path.suffix == ".parquet" else 3
    reached = begun
    try:
        async with session(settings, "export") as connection, _snapshot(connection):
            estimate: int = await connection.fetchval(_SQL.estimate)
            async for checkpoint in _checkpoints(connection, selection, file, begun, columns):
                reached = checkpoint
                if file.is_resumable:
                    await asyncio.to_thread(progress.write, reached)
                if on_exported is not None:
                    await on_exported(reached.edges, max(estimate, reached.edges))
    finally:
        await asyncio.to_thread(file.close)
    await asyncio.to_thread(progress.finish)
    return GraphExportReport(reached.edges, begun.edges, begun.cursor)


@asynccontextmanager
async def _snapshot(connection: Connection) -> AsyncIterator[None]:
    async with connection.transaction(isolation="repeatable_read", readonly=True):
        yield


async def _checkpoints(
    connection: Connection, chosen: Selection, file: GraphFile, at: Checkpoint, columns: int
) -> AsyncIterator[Checkpoint]:
    """Write one chunk after the other, and yield a checkpoint after each."""
    names = ("from_user_id", "to_user_id", "since", "kind", "flags")[:columns]
    query = f"SELECT {', '.join(names)} FROM ({_SQL.edges}\n) AS edge"  # noqa: S608
    kinds = list(map(int, chosen.kinds))
    while True:
        lines = bytearray()

        async def take(part: bytes, lines: bytearray = lines) -> None:
            lines.extend(part)

        status = await connection.copy_from_query(
            query,
            CHUNK_ROWS,
            *(at.from_user_id, at.to_user_id, kinds),
            *(chosen.since, chosen.until, chosen.slices, chosen.slice),
            output=take,
            format="csv",
        )
        written = int(status.removeprefix("COPY "))
        if not written:
            return
        last = bytes(lines[lines.rfind(b"\n", 0, len(lines) - 1) + 1 :]).split(b",")
        await asyncio.to_thread(file.write, bytes(lines))
        length = await asyncio.to_thread(file.checkpoint)
        at = Checkpoint(at.cursor, int(last[0]), int(last[1]), at.edges + written, length)
        yield at
        if written < CHUNK_ROWS:
            return


class _Progress:
    """The unfinished file, and the last checkpoint beside it."""

    def __init__(self, path: Path, options: dict[str, object]) -> None:
        if path.exists():
            raise BadInput("file", f"{path} exists already. Give a new name, or remove it.")
        self._path, self._options = path, json.loads(json.dumps(options))
        self.part = path.with_name(f"{path.name}.part")
        self._saved = path.with_name(f"{path.name}.progress")

    def read(self) -> Checkpoint | None:
        """The checkpoint of an interrupted run. Raises BadInput if it was about other edges."""
        if not (self._saved.exists() and self.part.exists()):
            return None
        saved = json.loads(self._saved.read_text(encoding="utf-8"))
        if saved["options"] != self._options:
            raise BadInput(
                "file",
                f"{self.part} is an unfinished export of other edges. Remove it, or continue it"
                " with the same options.",
            )
        return Checkpoint(**saved["checkpoint"])

    def write(self, checkpoint: Checkpoint) -> None:
        saved = {"options": self._options, "checkpoint": asdict(checkpoint)}
        fresh = self._saved.with_name(f"{self._saved.name}.new")
        fresh.write_text(json.dumps(saved), encoding="utf-8")
        fresh.replace(self._saved)

    def finish(self) -> None:
        self.part.rename(self._path)
        self._saved.unlink(missing_ok=True)
