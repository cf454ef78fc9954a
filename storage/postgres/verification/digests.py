"""Digests of the rows of both directions, which show the buckets of pairs to compare row by row."""

from array import array
from collections.abc import Sequence

BUCKETS = 65_536
"""The number of buckets in `digest_forward`. Among a million edges, a change makes 15 others
suspicious."""
ALL_BUCKETS = b"\xff" * (BUCKETS // 8)
"""A bitmap in which all buckets are set."""


class Digests:
    """For each bucket of pairs, the exclusive or of the hashes of its rows in both directions: 0 if
    they agree."""

    def __init__(self) -> None:
        self._buckets = array("q", bytes(8 * BUCKETS))

    def add(self, buckets: Sequence[int], digests: Sequence[int]) -> None:
        """Add digests of some rows: each of the bucket at the same position."""
        for bucket, bits in zip(buckets, digests, strict=True):
            self._buckets[bucket] ^= bits

    def suspicious(self) -> bytes | None:
        """A bitmap of the buckets in which the directions differ, as PostgreSQL's `get_bit` reads
        it; None if there is no such bucket."""
        bitmap = bytearray(BUCKETS // 8)
        for bucket, bits in enumerate(self._buckets):
            if bits:
                bitmap[bucket >> 3] |= 1 << (bucket & 7)
        return bytes(bitmap) if any(bitmap) else None
