"""The advisory locks' numbers: one class a subject, so that their keys never meet."""

from zlib import crc32

from graph.edge import Pair

PAIR = 1
LANE = 2
MIGRATION = 3
LOAD = 4
DEPARTURES = 5

PAIR_SLOTS = 4093
"""Few enough for a bulk load to hold a part of them, and many beside the writes of one moment.

A prime, because the low bits of ids that carry a date are mostly zero. The SQL function
`pair_slot` says the same, and a test holds the two together.
"""


def pair_key(pair: Pair) -> int:
    """The same slot for both orders of two users. Others may share it: they only wait."""
    return (pair.source % PAIR_SLOTS + pair.target % PAIR_SLOTS) % PAIR_SLOTS


def space_key(space: str) -> int:
    """A 32-bit key for what is done in a whole space at once."""
    return crc32(space.encode()) - 2**31
