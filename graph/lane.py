"""Which lane carries the changes towards a user. Knows nothing of queues."""

from typing import NewType

from graph.edge import UserId

Lane = NewType("Lane", int)

LANES = 8
"""How many lanes a space has, and so how many drains run at once: one a connection of a worker.

Few, because every job costs; and enough, because a drain takes a thousand changes at a time.

Rows of the outbox carry their lane, so a migration must move them where this is changed.
"""

ALL_LANES = tuple(map(Lane, range(LANES)))


def aside_of(lane: Lane) -> Lane:
    """Where changes of `lane` wait which are done but for caches that were away: they hold up
    nobody there.
    """
    return Lane(lane + LANES)


ALL_ASIDE = tuple(map(aside_of, ALL_LANES))


def lane_of(target: UserId) -> Lane:
    """The lane of all changes towards `target`.

    The ids of neighbours in time are consecutive on most platforms, so they are mixed first
    (the 64-bit finaliser of MurmurHash3, by Austin Appleby).
    """
    mixed = int(target)
    mixed = (mixed ^ (mixed >> 33)) * 0xFF51AFD7ED558CCD & 0xFFFFFFFFFFFFFFFF
    mixed = (mixed ^ (mixed >> 33)) * 0xC4CEB9FE1A85EC53 & 0xFFFFFFFFFFFFFFFF
    return Lane((mixed ^ (mixed >> 33)) % LANES)
