"""Digests of the rows of both directions, whose difference says which pairs to compare."""

from array import array
from collections.abc import Sequence

CELLS = 65_536
"""As many as `digest_forward` has. Of a million edges, a change makes 15 others suspicious."""
ALL_CELLS = b"\xff" * (CELLS // 8)
"""The bitmap of all cells."""


class Digests:
    """The exclusive or of all rows of both directions in each cell of pairs: 0 where they agree."""

    def __init__(self) -> None:
        self._cells = array("q", bytes(8 * CELLS))

    def add(self, cells: Sequence[int], digests: Sequence[int]) -> None:
        """Add the digests of some rows, each of the cell at the same position."""
        for cell, bits in zip(cells, digests, strict=True):
            self._cells[cell] ^= bits

    def suspicious(self) -> bytes | None:
        """The bitmap of the cells in which the directions differ, as `get_bit` reads it; None if
        there is none."""
        bitmap = bytearray(CELLS // 8)
        for cell, bits in enumerate(self._cells):
            if bits:
                bitmap[cell >> 3] |= 1 << (cell & 7)
        return bytes(bitmap) if any(bitmap) else None
