"""Decode `User.relationMask`: sixteen flags for each user of a screen."""

from base64 import b64decode
from enum import KEEP, IntFlag
from struct import unpack


class RelationBits(IntFlag, boundary=KEEP):
    """The relation of one user to another. Bits that a newer Kith adds have no name here."""

    FOLLOWING = 1
    FOLLOWED_BY = 2
    FRIENDS = 4
    WHISPERING = 8
    REQUESTED = 16
    REQUESTED_BY = 32
    BLOCKING = 64
    MUTED = 128
    CLOSE_FOLLOW = 256
    SELF = 512
    NOTIFY = 1024

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the bits that are set, lowest first."""
        return tuple(bit.name for bit in RelationBits if bit in self and bit.name)


Masks = tuple[RelationBits, ...]
"""One entry for each id that was asked for, in the order of the ids."""


def decoded(mask: str) -> Masks:
    """Return the entries of a mask: base64 of little-endian unsigned 16-bit numbers."""
    raw = b64decode(mask, validate=True)
    return tuple(map(RelationBits, unpack(f"<{len(raw) // 2}H", raw)))
