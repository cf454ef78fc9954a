"""The types of the parts of a graph that are compared, and of the differences found in them."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from graph.edge import Pair, UserId
from graph.follow_group import GroupId


class Direction(Enum):
    """The direction of the rows to read. Each row is compared with that of the other direction."""

    FORWARD = "forward"
    REVERSE = "reverse"


class Key(NamedTuple):
    """A primary key of either direction: `owner` is the source of a forward row, or the target of a
    reverse row."""

    owner: int
    other: int


LOWEST, HIGHEST = -(2**63), 2**63 - 1
FIRST = Key(LOWEST, LOWEST)


@dataclass(frozen=True, slots=True)
class Digest:
    """The digests of `rows` rows: for each of `buckets`, the exclusive or of the hashes of its
    rows. `end`: the last key; None at the end of the table."""

    rows: int
    buckets: Sequence[int]
    digests: Sequence[int]
    end: Key | None


@dataclass(frozen=True, slots=True)
class DifferingPair:
    """Two rows of one edge that differ, each (kind, flags, since, version) or None.

    `pending`: a change of the edge is not applied yet, so the reverse row may only lag. `invalid`:
    the forward row has values that no writer can have written.
    """

    pair: Pair
    forward: tuple[int, ...] | None
    reverse: tuple[int, ...] | None
    invalid: bool
    pending: bool


@dataclass(frozen=True, slots=True)
class Part:
    """A compared part: its number of rows, the pairs that differ, and the last key; None at the end
    of the table."""

    rows: int
    pairs: tuple[DifferingPair, ...]
    end: Key | None


class UserRange(NamedTuple):
    """The users after `after` and up to `last`, of whom `counted` have a count row. `is_end`: no
    user is after it."""

    after: UserId
    last: UserId
    counted: int
    is_end: bool


class LostMember(NamedTuple):
    """A group member whose group does not exist."""

    owner: UserId
    member: UserId
    group: GroupId


class ForwardRow(NamedTuple):
    """The forward row of a pair, (kind, flags, since, version) or None, and whether a change of it
    is pending."""

    edge: tuple[int, ...] | None
    is_pending: bool


NO_ROW = ForwardRow(None, False)
