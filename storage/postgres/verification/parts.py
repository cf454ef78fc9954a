"""The parts of a graph that are compared, and the differences that are found in them."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from graph.edge import Pair, UserId
from graph.follow_group import GroupId


class Direction(Enum):
    """The rows to read. Each is compared with the row of the other direction."""

    FORWARD = "forward"
    REVERSE = "reverse"


class Key(NamedTuple):
    """A primary key of either direction."""

    owner: int
    other: int


LOWEST, HIGHEST = -(2**63), 2**63 - 1
FIRST = Key(LOWEST, LOWEST)


@dataclass(frozen=True, slots=True)
class Digest:
    """Cells and the exclusive or of their rows' hashes, the number of rows, and the last key, None
    at the end."""

    rows: int
    buckets: Sequence[int]
    digests: Sequence[int]
    end: Key | None


@dataclass(frozen=True, slots=True)
class OddPair:
    """Two different rows of one edge, each (kind, flags, since, version) or None.

    `pending`: the reverse row may only lag. `invalid`: no writer can have produced the row.
    """

    pair: Pair
    forward: tuple[int, ...] | None
    reverse: tuple[int, ...] | None
    invalid: bool
    pending: bool


@dataclass(frozen=True, slots=True)
class Part:
    """A compared part: its number of rows, its differences, and the last key, None at the end."""

    rows: int
    pairs: tuple[OddPair, ...]
    end: Key | None


class UserRange(NamedTuple):
    """The users after `after` and up to `last`, of whom `counted` have a count row."""

    after: UserId
    last: UserId
    counted: int
    is_end: bool


class LostMember(NamedTuple):
    """A member of a group that does not exist."""

    owner: UserId
    member: UserId
    group: GroupId


class ForwardRow(NamedTuple):
    """The forward row of a pair, (kind, flags, since, version) or None, and whether a change of it
    is pending."""

    edge: tuple[int, ...] | None
    is_pending: bool


NO_ROW = ForwardRow(None, False)
