"""Digests of the rows of both directions, whose difference says which pairs to compare."""

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from storage.postgres.comparison import Key

CELLS = 65_536
"""As many as `digest_forward` has. Of a million edges, a change makes 15 others suspicious."""
ALL_CELLS = b"\xff" * (CELLS // 8)
"""The bitmap of all cells."""


@dataclass(frozen=True, slots=True)
class Digest:
    """Cells and the exclusive or of their rows' hashes, the number of rows, and the last key, None
    at the end."""

    rows: int
    cells: Sequence[int]
    digests: Sequence[int]
    end: "Key | None"


class Digests:
    """The exclusive or of all rows of both directions in each cell of pairs: 0 where they agree."""

    def __init__(self) -> None:
        self._cells = array("q", bytes(8 * CELLS))

    def add(self, digest: Digest) -> None:
        cells = self._cells
        for cell, bits in zip(digest.cells, digest.digests, strict=True):
            cells[cell] ^= bits

    def suspicious(self) -> bytes | None:
        """The bitmap of the cells in which the directions differ, as `get_bit` reads it; None if
        there is none."""
        bitmap = bytearray(CELLS // 8)
        for cell, bits in enumerate(self._cells):
            if bits:
                bitmap[cell >> 3] |= 1 << (cell & 7)
        return bytes(bitmap) if any(bitmap) else None
