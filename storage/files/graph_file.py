"""Writes files of edges: CSV in the format that `storage.files.edge_file` reads, or Parquet.

A CSV file grows from checkpoint to checkpoint. At each checkpoint, all bytes are on the disk, and
the compressed data end with a whole member or frame, so the file can be cut there and continued. A
Parquet file has its index at its end, so it cannot be continued.
"""

import gzip
import os
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import zstandard

from graph.errors import BadInput
from storage.files.edge_file import NAMES, NO_PARQUET

FOLLOWS_HEADER = b",".join(NAMES) + b"\n"
EDGES_HEADER = FOLLOWS_HEADER.rstrip() + b",kind,flags\n"


class GraphFile(Protocol):
    """A file that is being written."""

    is_resumable: bool
    """Whether the file can be continued from a checkpoint."""

    def write(self, lines: bytes) -> None:
        """Add CSV lines, without a header."""
        ...

    def checkpoint(self) -> int:
        """Write all data to the disk, and return the file's length in bytes. If the file is not
        resumable, do nothing and return 0."""
        ...

    def close(self) -> None: ...


def graph_file(path: Path, final_name: str, header: bytes, length: int) -> GraphFile:
    """Open the file in the format that `final_name` names. A CSV file keeps `length` bytes of an
    earlier run, or begins with `header`; a Parquet file ignores both. Only the user of this process
    may read a new file, because it may hold blocks.

    Raises:
        BadInput: the format needs a package that is not installed.
        OSError: the file cannot be written.
    """
    path.touch(mode=0o600)
    if final_name.endswith(".parquet"):
        try:
            from storage.files.parquet_file import ParquetGraphFile
        except ImportError:
            raise BadInput("file", NO_PARQUET) from None
        return ParquetGraphFile(path)
    return CsvGraphFile(path, _compressor(final_name), header, length)


def _compressor(name: str) -> Callable[[bytes], bytes]:
    """A function that compresses bytes to a whole member (gzip) or frame (zstd), by the end of the
    name. For another name it returns them unchanged."""
    if name.endswith(".gz"):
        return lambda lines: gzip.compress(lines, compresslevel=4)
    if name.endswith(".zst"):
        return zstandard.ZstdCompressor(level=3).compress
    return bytes


class CsvGraphFile:
    """Implements `GraphFile`. Each `write` is compressed by itself."""

    is_resumable = True

    def __init__(
        self, path: Path, compress: Callable[[bytes], bytes], header: bytes, length: int
    ) -> None:
        self._compress = compress
        self._out = path.open("r+b" if length else "wb")
        self._out.truncate(length)
        self._out.seek(length)
        if not length:
            self.write(header)

    def write(self, lines: bytes) -> None:
        self._out.write(self._compress(lines))

    def checkpoint(self) -> int:
        self._out.flush()
        os.fsync(self._out.fileno())
        return self._out.tell()

    def close(self) -> None:
        self._out.close()
