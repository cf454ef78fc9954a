"""Keys of the advisory locks: one class for each purpose, so that their keys do not collide.

The spaces of one database share the locks: drains of equal lanes of two spaces wait for each other.
Only the keys of LOAD and JOB depend on the space.
"""

from zlib import crc32

from graph.edge import Pair

PAIR = 1
LANE = 2
MIGRATION = 3
LOAD = 4
ABSENT_FOLLOWER_COUNTS = 5
JOB = 6
LANE_COUNT = 7
ISOLATION = 8

PAIR_SLOTS = 4093
"""Number of lock slots, one of which each pair uses: few enough for a bulk load to lock many of
them, enough for concurrent writes to rarely share one.

It is prime, because the low bits of ids that embed a date are mostly zero. The SQL function
`pair_slot` computes the same slot, and a test compares the two.
"""


def pair_key(pair: Pair) -> int:
    """The slot of two users, in either order. Pairs that share a slot only wait for each other."""
    return (pair.source % PAIR_SLOTS + pair.target % PAIR_SLOTS) % PAIR_SLOTS


def space_key(space: str) -> int:
    """A 32-bit key for locks that cover a whole space."""
    return crc32(space.encode()) - 2**31
