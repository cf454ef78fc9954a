"""Digests of the rows of both directions, whose difference says which pairs to compare."""

from array import array
from collections.abc import Sequence

BUCKETS = 65_536
"""The number of buckets of `digest_forward`. Among a million edges, a change makes 15 others
suspicious."""
ALL_BUCKETS = b"\xff" * (BUCKETS // 8)
"""The bitmap of all buckets."""


class Digests:
    """The exclusive or of all rows of both directions by bucket of pairs: 0 where they agree."""

    def __init__(self) -> None:
        self._buckets = array("q", bytes(8 * BUCKETS))

    def add(self, buckets: Sequence[int], digests: Sequence[int]) -> None:
        """Add the digests of some rows, each of the bucket at the same position."""
        for bucket, bits in zip(buckets, digests, strict=True):
            self._buckets[bucket] ^= bits

    def suspicious(self) -> bytes | None:
        """The bitmap of the buckets in which the directions differ, as `get_bit` reads it; None if
        there is none."""
        bitmap = bytearray(BUCKETS // 8)
        for bucket, bits in enumerate(self._buckets):
            if bits:
                bitmap[bucket >> 3] |= 1 << (bucket & 7)
        return bytes(bitmap) if any(bitmap) else None
