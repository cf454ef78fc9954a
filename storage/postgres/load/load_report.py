"""The progress and the result of a bulk load."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import Enum

from storage.files.edge_file import BadLine, Batch

BAD_LINES_MAX = 100
"""How many bad lines are described. All are counted."""


class OnBad(Enum):
    """The treatment of a bad line: skip it, or reject the whole file before any change."""

    SKIP = "skip"
    REJECT = "reject"
    REFUSE = "refuse"
    """The older name of REJECT."""


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of a load. `checking`: the first pass, which only looks for bad lines."""

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
    """The result of a load, including earlier, interrupted loads of the same file.

    `present`: lines whose edge existed already, or that repeat an edge. `skipped`: edges that were
    skipped because of a block, a whisper or a request between the two users, or a deleted account.
    `bad_lines`: the first bad lines of this run. `resumed_after`: the last line of earlier loads.
    `rejected`: the file was invalid, and nothing was loaded.
    """

    lines: int
    loaded: int
    present: int
    skipped: int
    bad: int
    bad_lines: tuple[BadLine, ...]
    resumed_after: int
    rejected: bool


class Tally:
    """The sums of one pass over a file. It calls `on_progress` whenever they change."""

    def __init__(self, bytes_total: int, on_progress: OnProgress | None, checking: bool) -> None:
        self._bytes_total, self._on_progress, self._checking = bytes_total, on_progress, checking
        self._lines = self._bytes_read = self._present = self._skipped = 0
        self._bad_lines: list[BadLine] = []
        self.resumed_after = self.loaded = self.bad = 0

    def resume(self, lines: int, loaded: int, present: int, skipped: int, bad: int) -> None:
        """Start with the sums of an earlier load."""
        self.resumed_after = self._lines = lines
        self.loaded, self._present, self._skipped, self.bad = loaded, present, skipped, bad

    async def add_batch(self, batch: Batch) -> None:
        self._lines, self._bytes_read = batch.last_line, batch.bytes_read
        self.bad += batch.bad
        self._bad_lines += batch.bad_lines[: BAD_LINES_MAX - len(self._bad_lines)]
        await self._report_progress()

    async def add_loaded(self, loaded: int) -> None:
        self.loaded += loaded
        await self._report_progress()

    async def add_skipped(self, present: int, skipped: int) -> None:
        self._present += present
        self._skipped += skipped
        await self._report_progress()

    def report(self) -> LoadReport:
        return LoadReport(
            self._lines,
            self.loaded,
            self._present,
            self._skipped,
            self.bad,
            tuple(self._bad_lines),
            self.resumed_after,
            rejected=self._checking,
        )

    async def _report_progress(self) -> None:
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
