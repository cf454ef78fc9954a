"""What a bulk load says of itself, while it runs and at its end."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import Enum

from storage.edge_file import BadLine, Batch

BAD_LINES_MAX = 100
"""How many bad lines are described; all are counted."""


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

    `present` counts lines whose edge was there already, `kept` edges that must not be follows: for
    a block, a whisper or a request between the two, or for a deleted account. `bad_lines` are the
    first of this run, and `resumed_after` is the line up to which nothing had to be done. Of a
    `refused` file nothing was loaded.
    """

    lines: int
    loaded: int
    present: int
    kept: int
    bad: int
    bad_lines: tuple[BadLine, ...]
    resumed_after: int
    refused: bool


class Tally:
    """The sums of one pass over a file, told to `on_progress` whenever they change."""

    def __init__(self, bytes_total: int, on_progress: OnProgress | None, checking: bool) -> None:
        self._bytes_total, self._on_progress, self._checking = bytes_total, on_progress, checking
        self._lines = self._bytes_read = self._present = self._kept = 0
        self._bad_lines: list[BadLine] = []
        self.resumed_after = self.loaded = self.bad = 0

    def resume(self, lines: int, loaded: int, present: int, kept: int, bad: int) -> None:
        """Begins with what an earlier load has done."""
        self.resumed_after = self._lines = lines
        self.loaded, self._present, self._kept, self.bad = loaded, present, kept, bad

    async def read(self, batch: Batch) -> None:
        self._lines, self._bytes_read = batch.last_line, batch.bytes_read
        self.bad += batch.bad
        self._bad_lines += batch.bad_lines[: BAD_LINES_MAX - len(self._bad_lines)]
        await self._tell()

    async def merged(self, loaded: int) -> None:
        self.loaded += loaded
        await self._tell()

    async def found(self, present: int, kept: int) -> None:
        self._present += present
        self._kept += kept
        await self._tell()

    def report(self) -> LoadReport:
        return LoadReport(
            self._lines,
            self.loaded,
            self._present,
            self._kept,
            self.bad,
            tuple(self._bad_lines),
            self.resumed_after,
            refused=self._checking,
        )

    async def _tell(self) -> None:
        if self._on_progress is not None:
            progress = Progress(
                self._checking,
                self._lines,
                self._bytes_read,
                self._bytes_total,
                self.loaded,
                self._present,
                self.bad,
            )
            await self._on_progress(progress)
