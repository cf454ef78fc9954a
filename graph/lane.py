"""Lanes: the partition of the outbox that carries all changes towards a user."""

from typing import NewType

from graph.edge import UserId

Lane = NewType("Lane", int)

LANES = 8
"""The number of lanes of a new space, and so of drains that run at once: one per worker connection.

Few, because each job has a fixed cost. They suffice, because one drain takes a thousand changes.

A space may have more lanes, always a power of two. Lanes with equal numbers modulo 8 are a lane
group, which is named by the lowest of them: group `g` has the lanes `g`, `g + 8`, `g + 16`, …. So a
user is in the same group whatever the number of lanes is. Consistency tokens and event streams name
lane groups.
"""

LANES_MAX = 256
"""The most lanes that a space can have."""

ALL_LANES = tuple(map(Lane, range(LANES)))
"""The lanes of a new space."""

LANE_GROUPS = ALL_LANES
"""The lane groups of every space."""

POSSIBLE_LANES = tuple(map(Lane, range(LANES_MAX)))
"""The lanes that a space can have."""

FAILED = 512
"""The first lane of failed changes."""


def parked_lane(lane: Lane) -> Lane:
    """The lane of the parked changes of `lane`: those in the tables, but not in caches that were
    unavailable. In a lane of their own, they delay no other change.
    """
    return Lane(lane + LANES_MAX)


def failed_lane(lane: Lane) -> Lane:
    """The lane of the failed changes of `lane`: those that could not be applied. They wait for an
    operator."""
    return Lane(lane + FAILED)


PARKED_LANES = tuple(map(parked_lane, ALL_LANES))
"""The lanes of parked changes of a new space."""


def lane_of(target: UserId, lanes: int = LANES) -> Lane:
    """The lane of all changes towards `target` in a space with this number of lanes. With the
    default, the result is the user's lane group in every space."""
    return Lane(hash_user(target) % lanes)


def lane_group_of(lane: Lane) -> Lane:
    """The group of a lane."""
    return Lane(lane % LANES)


def lanes_of(group: Lane) -> tuple[Lane, ...]:
    """The lanes of a group in a space with `LANES_MAX` lanes. Other spaces have some of them."""
    return POSSIBLE_LANES[group::LANES]


def hash_user(user: UserId) -> int:
    """The 64-bit finaliser of MurmurHash3, by Austin Appleby, of a user's id.

    Most platforms assign consecutive ids to users who joined at the same time, so the id is mixed.
    The SQL function of this name returns the same bits as a signed number.
    """
    mixed = int(user)
    mixed = (mixed ^ (mixed >> 33)) * 0xFF51AFD7ED558CCD & 0xFFFFFFFFFFFFFFFF
    mixed = (mixed ^ (mixed >> 33)) * 0xC4CEB9FE1A85EC53 & 0xFFFFFFFFFFFFFFFF
    return mixed ^ (mixed >> 33)
