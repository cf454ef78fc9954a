"""Compares parts of the graph, each in one snapshot.

Every statement reads a bounded number of rows through a primary key, so a graph of any size needs
little memory and does not hold back vacuum.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from graph.edge import Pair, UserId
from storage.postgres import sql
from storage.postgres.connections import Connection

ROWS = 20_000
"""Rows in a part, which takes some tens of milliseconds."""
USERS = 500
"""Users in a part, with one range of rows for each."""


@dataclass(frozen=True, slots=True)
class _Statements:
    compare_forward: str
    compare_reverse: str
    compare_counts: str
    next_users: str
    find_unerased: str


_SQL = sql.load(_Statements, "verify")


class Direction(Enum):
    """The rows to read. Each is compared with the row of the other direction."""

    FORWARD = _SQL.compare_forward
    REVERSE = _SQL.compare_reverse


class Key(NamedTuple):
    """A primary key of either direction."""

    owner: int
    other: int


FIRST = Key(-(2**63), -(2**63))


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
    """A compared part: its number of rows, differences, users without a count row, and last key."""

    rows: int
    pairs: tuple[OddPair, ...]
    uncounted: tuple[UserId, ...]
    end: Key | None


class Numbers(NamedTuple):
    """All counts of a user: each column of the two count tables once."""

    following: int
    followers: int
    friends: int
    whispers: int
    whispered: int
    outgoing_requests: int
    incoming_requests: int
    blocks: int
    blocked: int
    close_follows: int
    mutes: int
    absent_followers: int
    absent_whispered: int
    absent_requests: int


class Tally(NamedTuple):
    """A user's counts as stored, and as computed from the rows."""

    user: UserId
    stored: Numbers
    true: Numbers

    @property
    def differs(self) -> bool:
        return self.stored != self.true


async def compare_rows(connection: Connection, direction: Direction, after: Key) -> Part:
    """Compare the next rows after `after`. The last part has no `end`."""
    rows = await connection.fetch(direction.value, *after, ROWS)
    forward = direction is Direction.FORWARD
    edges, uncounted, compared, end = [], [], 0, None
    for what, source, target, edge, mirror, invalid, pending, count in rows:
        if what == "edge":
            edges.append(OddPair(Pair(source, target), _row(edge), _row(mirror), invalid, pending))
        elif what == "user":
            uncounted.append(UserId(source if forward else target))
        else:
            compared, end = count, Key(source, target) if forward else Key(target, source)
    return Part(compared, tuple(edges), tuple(uncounted), end if compared == ROWS else None)


async def compare_counts(connection: Connection, users: Sequence[UserId]) -> list[Tally]:
    """The stored and computed counts of `users`, in one snapshot."""
    rows = await connection.fetch(_SQL.compare_counts, users)
    return [Tally(user, Numbers(*both[::2]), Numbers(*both[1::2])) for user, *both in rows]


async def next_users(connection: Connection, after: UserId) -> list[UserId]:
    """The next users after `after` with a count row; empty at the end."""
    return [row["user_id"] for row in await connection.fetch(_SQL.next_users, after, USERS)]


async def find_unerased(
    connection: Connection, after: UserId
) -> tuple[list[UserId], UserId | None]:
    """Of the next erased accounts after `after`, those that have data left; and the last account
    that was checked, None at the end."""
    rows = await connection.fetch(_SQL.find_unerased, after, USERS)
    wrong = [UserId(row["user_id"]) for row in rows if row["has_rows"]]
    return wrong, UserId(rows[-1]["user_id"]) if rows else None


def _row(columns: Sequence[int] | None) -> tuple[int, ...] | None:
    return None if columns is None else tuple(columns)
