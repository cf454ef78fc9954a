"""Lanes: the partition of the outbox that carries all changes towards a user."""

from typing import NewType

from graph.edge import UserId

Lane = NewType("Lane", int)

LANES = 8
"""The number of lanes of a space, and so of drains that run at once: one per worker connection.

Few, because each job has a fixed cost; enough, because one drain takes a thousand changes.

Outbox rows store their lane, so a change of this number requires a migration that moves them.
"""

LANES_MAX = 256

FAILED = 512
"""The first lane of failed changes."""

ALL_LANES = tuple(map(Lane, range(LANES)))


def parked_lane(lane: Lane) -> Lane:
    """The parked lane of `lane`: for changes that are applied except in caches that were
    unavailable. There they delay no other change.
    """
    return Lane(lane + LANES)


def failed_lane(lane: Lane) -> Lane:
    """The lane of the failed changes of `lane`: those that could not be applied. They wait for an
    operator."""
    return Lane(lane + FAILED)


PARKED_LANES = tuple(map(parked_lane, ALL_LANES))


def lane_of(target: UserId) -> Lane:
    """The lane of all changes towards `target`.

    Most platforms assign consecutive ids to users who joined at the same time, so the id is mixed
    first (the 64-bit finaliser of MurmurHash3, by Austin Appleby).
    """
    mixed = int(target)
    mixed = (mixed ^ (mixed >> 33)) * 0xFF51AFD7ED558CCD & 0xFFFFFFFFFFFFFFFF
    mixed = (mixed ^ (mixed >> 33)) * 0xC4CEB9FE1A85EC53 & 0xFFFFFFFFFFFFFFFF
    return Lane((mixed ^ (mixed >> 33)) % LANES)
