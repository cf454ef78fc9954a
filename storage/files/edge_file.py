"""Reads a CSV or Parquet file of edges and checks each line.

A file holds `from_user_id,to_user_id` or `from_user_id,to_user_id,created_at_ms`, and may begin
with exactly these names. An empty or missing date means unknown. Blank lines are skipped.
"""

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from graph.edge import MAX_SINCE, MAX_USER_ID
from graph.errors import BadInput
from storage.files.packed_file import PackedFile

if TYPE_CHECKING:
    from storage.files.parquet_file import ParquetFile

NAMES = (b"from_user_id", b"to_user_id", b"created_at_ms")

NO_PARQUET = "needs pyarrow, which is not installed. Install kith[parquet], or use .csv.zst."

BLOCK_BYTES = 1 << 20
"""Decompressed bytes that are read at once."""
LINE_BYTES_MAX = 1024
"""A longer line is bad, and is skipped without being held in memory."""
BAD_LINES_MAX = 20
"""How many bad lines of a batch are described. All are counted."""

# These match only ids and dates that are short enough to be in range, so a line that they match is
# good. If a batch has a line that they do not match, all its lines are checked one by one. A search
# takes 0.15 microseconds per line. A possessive group over all lines takes half of that, but loses
# its captures before Python 3.11.5.
_ID = rb"(?:[1-8]\d{0,18}|9\d{0,17})"
_EDGE = rb"(" + _ID + rb"),(?!\1[,\n])" + _ID
_LINES_TO_CHECK = {
    2: re.compile(rb"^(?!" + _EDGE + rb"\n|\Z)", re.MULTILINE),
    3: re.compile(rb"^(?!" + _EDGE + rb",\d{0,14}\n|\Z)", re.MULTILINE),
}
_PADDING = b' \t\r"'


@dataclass(frozen=True, slots=True)
class BadLine:
    """A line that is not an edge: its number, from 1, and the reason."""

    number: int
    reason: str


@dataclass(frozen=True, slots=True)
class Batch:
    """The next lines of a file. `rows`: the good ones. `good`, `bad`: how many there are of each.
    `bad_lines`: the first bad ones. `last_line`: the number of the last line. `bytes_read`: how
    much of the file, as it is stored, has been read."""

    rows: bytes
    good: int
    bad: int
    bad_lines: tuple[BadLine, ...]
    last_line: int
    bytes_read: int


class EdgeFile:
    """One file, which can be read many times.

    Raises:
        BadInput: by any method, if the path is not a file, or the file is damaged or has other
            columns.
    """

    def __init__(self, path: Path) -> None:
        self._packed = _open(path)
        self.bytes_total = self._packed.bytes_total
        block, bytes_read = next(self._blocks(), (b"", 0))
        self.columns = _columns(block.partition(b"\n")[0].removeprefix(b"\xef\xbb\xbf"))
        self.lines_about = block.count(b"\n") * self.bytes_total // max(1, bytes_read)
        """About how many lines the file has, if all are as long and as compressible as the first
        ones."""

    def fingerprint(self) -> str:
        """A hash of the content. Takes a second for a gigabyte, little compared to the load."""
        with self._packed.path.open("rb") as raw:
            return hashlib.file_digest(raw, "blake2b").hexdigest()[:32]

    def batches(self, after_line: int = 0) -> Iterator[Batch]:
        """All lines after line `after_line`, in batches of about a megabyte."""
        last_line = 0
        for block, bytes_read in self._blocks():
            first_line, last_line = last_line + 1, last_line + block.count(b"\n")
            if last_line > after_line:
                yield self._batch(block, first_line, after_line, bytes_read)

    def _batch(self, block: bytes, first_line: int, after_line: int, bytes_read: int) -> Batch:
        """The lines of a block after line `after_line`, without the header. `first_line`: the
        number of the block's first line."""
        lines = block.count(b"\n")
        last_line = first_line + lines - 1
        skipped = max(0, after_line - first_line + 1)
        if skipped:
            block = block.split(b"\n", skipped)[-1]
            first_line += skipped
        if first_line == 1:
            block = _without_header(block, self.columns)
        lines = block.count(b"\n")
        if not _LINES_TO_CHECK[self.columns].search(block):
            return Batch(block, lines, 0, (), last_line, bytes_read)
        return _check_lines(block, last_line - lines + 1, self.columns, last_line, bytes_read)

    def _blocks(self) -> Iterator[tuple[bytes, int]]:
        """Blocks of whole lines, with the number of bytes read so far. A line longer than
        `LINE_BYTES_MAX` is cut to one byte more, so that it is still too long."""
        incomplete = b""
        for piece, bytes_read in self._packed.pieces(BLOCK_BYTES):
            whole, feed, tail = piece.rpartition(b"\n")
            if feed:
                yield _with_line_feeds(incomplete + whole + feed), bytes_read
                incomplete = b""
            incomplete = (incomplete + tail)[: LINE_BYTES_MAX + 1]
        if incomplete:
            yield _with_line_feeds(incomplete + b"\n"), self.bytes_total


def _open(path: Path) -> "PackedFile | ParquetFile":
    if path.suffix != ".parquet":
        return PackedFile(path)
    try:
        from storage.files.parquet_file import ParquetFile
    except ImportError:
        raise BadInput("file", NO_PARQUET) from None
    return ParquetFile(path)


def _with_line_feeds(block: bytes) -> bytes:
    """The block with LF instead of CR LF."""
    return block.replace(b"\r\n", b"\n") if b"\r" in block else block


def _fields(line: bytes) -> list[bytes]:
    return [field.strip(_PADDING) for field in line.split(b",")]


def _columns(first_line: bytes) -> int:
    """The number of columns of a file with this first line. Raises BadInput."""
    names = _fields(first_line)
    if len(names) in (2, 3) and (tuple(names) == NAMES[: len(names)] or names[0].isdigit()):
        return len(names)
    if not first_line.strip(_PADDING):
        return 3
    raise BadInput(
        "file",
        "must begin with from_user_id,to_user_id or from_user_id,to_user_id,created_at_ms, or with "
        f"an edge, got {first_line[:80].decode(errors='replace')!r}.",
    )


def _without_header(block: bytes, columns: int) -> bytes:
    block = block.removeprefix(b"\xef\xbb\xbf")
    first, _, others = block.partition(b"\n")
    return others if tuple(_fields(first)) == NAMES[:columns] else block


def _check_lines(
    block: bytes, first_line: int, columns: int, last_line: int, bytes_read: int
) -> Batch:
    """Check each line of a block. Blank lines are neither good nor bad."""
    rows: list[bytes] = []
    bad: list[BadLine] = []
    bad_count = 0
    for number, line in enumerate(block.split(b"\n")[:-1], first_line):
        checked = _check_line(line, columns)
        if isinstance(checked, bytes):
            rows.append(checked)
        elif checked is not None:
            bad_count += 1
            if len(bad) < BAD_LINES_MAX:
                bad.append(BadLine(number, checked))
    good = sum(map(bool, rows))
    return Batch(b"".join(rows), good, bad_count, tuple(bad), last_line, bytes_read)


def _check_line(line: bytes, columns: int) -> bytes | str | None:
    """The line to load, or the reason why it is bad; None for a blank line."""
    if len(line) > LINE_BYTES_MAX:
        return f"longer than {LINE_BYTES_MAX} bytes"
    fields = _fields(line)
    if fields == [b""]:
        return None
    if len(fields) != columns:
        return f"{len(fields)} of {columns} fields"
    return _problem(fields) or b",".join(fields) + b"\n"


def _problem(fields: list[bytes]) -> str | None:
    """The reason why a line is bad, or None."""
    for name, field in zip(NAMES, fields, strict=False):
        if not field.isdigit() and (field or name is not NAMES[2]):
            return f"{name.decode()} is not an integer: {field[:40].decode(errors='replace')!r}"
    source, target = int(fields[0]), int(fields[1])
    if not (0 < source <= MAX_USER_ID and 0 < target <= MAX_USER_ID):
        return "a user id is not between 1 and 2^63 - 1"
    if source == target:
        return "a user cannot follow themselves"
    if len(fields) > 2 and int(fields[2] or b"0") > MAX_SINCE:
        return "created_at_ms is not a time before the year 10000"
    return None
