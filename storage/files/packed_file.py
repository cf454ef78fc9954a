"""Decompresses a plain, gzip or zstd file in pieces."""

import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import zstandard

from graph.errors import BadInput

_ZSTD_STEP = 4096
"""Compressed bytes that are read at once: few, so that even the most compressible input
decompresses to a bounded piece."""


def size_of(path: Path) -> int:
    """The size of a file in bytes. Raises BadInput if it is not a file."""
    if not path.is_file():
        raise BadInput("file", f"{path} is not a file.")
    return path.stat().st_size


class PackedFile:
    """A file whose suffix names its compression: `.gz`, `.zst`, anything else for none.

    Raises:
        BadInput: by any method, if the path is not a file, or the file is damaged.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.bytes_total = size_of(path)

    def pieces(self, size: int) -> Iterator[tuple[bytes, int]]:
        """Decompressed pieces of about `size` bytes, each with the number of compressed bytes read
        so far."""
        try:
            with self.path.open("rb") as raw:
                for piece in self._decompressed(raw, size):
                    yield piece, raw.tell()
        except (EOFError, gzip.BadGzipFile, zlib.error, zstandard.ZstdError) as error:
            raise BadInput("file", f"{self.path.name} is damaged: {error}.") from error
        except OSError as error:
            raise BadInput("file", f"{self.path.name} cannot be read: {error}.") from error

    def _decompressed(self, raw: BinaryIO, size: int) -> Iterator[bytes]:
        if self.path.suffix == ".zst":
            return _joined(_zstd(raw), size)
        if self.path.suffix == ".gz":
            decompressed = gzip.GzipFile(fileobj=raw)
            return iter(lambda: decompressed.read(size), b"")
        return iter(lambda: raw.read(size), b"")


def _joined(pieces: Iterator[bytes], size: int) -> Iterator[bytes]:
    """Join pieces to pieces of at least `size` bytes; the last one may be shorter."""
    buffered: list[bytes] = []
    for piece in pieces:
        buffered.append(piece)
        if sum(map(len, buffered)) >= size:
            yield b"".join(buffered)
            buffered.clear()
    if buffered:
        yield b"".join(buffered)


def _zstd(raw: BinaryIO) -> Iterator[bytes]:
    """Decompress frame by frame. The library's stream reader does not report a truncated file."""
    decompressor, is_within_frame = zstandard.ZstdDecompressor(), False
    frame = decompressor.decompressobj()
    while compressed := raw.read(_ZSTD_STEP):
        while compressed:
            is_within_frame = True
            yield frame.decompress(compressed)
            compressed = frame.unused_data if frame.eof else b""
            if frame.eof:
                frame, is_within_frame = decompressor.decompressobj(), False
    if is_within_frame:
        raise EOFError("it ends within a frame")
