"""The advisory locks' numbers: one class a subject, so that their keys never meet."""

from zlib import crc32

from graph.edge import Pair

PAIR = 1
LANE = 2
MIGRATION = 3


def pair_key(pair: Pair) -> int:
    """The same 32-bit key for both orders of two users. Others may share it: they only wait."""
    low, high = sorted(pair)
    return crc32(b"%d:%d" % (low, high)) - 2**31
