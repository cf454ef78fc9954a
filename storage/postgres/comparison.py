"""Compares a part of the graph with itself, in one snapshot a part. Mends nothing.

Every statement reads a bounded number of rows through a primary key, so a graph of any size is
walked in little memory and without holding back the vacuum.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from graph.edge import Pair, UserId
from storage.postgres import sql
from storage.postgres.connections import Connection

ROWS = 20_000
"""Rows a part: some tens of milliseconds."""
USERS = 500
"""Users a part, with one range of rows each."""


@dataclass(frozen=True, slots=True)
class _Statements:
    compare_forward: str
    compare_reverse: str
    compare_counts: str
    next_users: str
    compare_erased: str


_SQL = sql.load(_Statements, "verify")


class Direction(Enum):
    """Which rows are walked: each is compared with the row on the other side."""

    FORWARD = _SQL.compare_forward
    REVERSE = _SQL.compare_reverse


class Key(NamedTuple):
    """A primary key of either direction."""

    owner: int
    other: int


FIRST = Key(-(2**63), -(2**63))


@dataclass(frozen=True, slots=True)
class OddPair:
    """Two rows that should be one edge; each is (kind, flags, since, version), or is missing.

    A `pending` one may only lag. An `invalid` one is no edge that anybody could have written.
    """

    pair: Pair
    forward: tuple[int, ...] | None
    reverse: tuple[int, ...] | None
    invalid: bool
    pending: bool


@dataclass(frozen=True, slots=True)
class Part:
    """Some rows compared: how many, what was odd, who has no count row, and where to go on."""

    rows: int
    pairs: tuple[OddPair, ...]
    uncounted: tuple[UserId, ...]
    end: Key | None


class Numbers(NamedTuple):
    """All that is counted of a user, each of the two count tables' columns once."""

    following: int
    followers: int
    friends: int
    whispers: int
    whispered: int
    outgoing_requests: int
    incoming_requests: int
    blocks: int
    blocked: int
    specials: int
    mutes: int
    absent_followers: int
    absent_whispered: int
    absent_requests: int


class Tally(NamedTuple):
    """A user's counts as they are stored, and as the rows say."""

    user: UserId
    stored: Numbers
    true: Numbers

    @property
    def differs(self) -> bool:
        return self.stored != self.true


async def compare_rows(connection: Connection, direction: Direction, after: Key) -> Part:
    """The next rows behind `after`. The last part of a walk has no `end`."""
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
    """What `users` have and should have, in one snapshot."""
    rows = await connection.fetch(_SQL.compare_counts, users)
    return [Tally(user, Numbers(*both[::2]), Numbers(*both[1::2])) for user, *both in rows]


async def next_users(connection: Connection, after: UserId) -> list[UserId]:
    """The next users behind `after` who have a count; none at the end."""
    return [row["user_id"] for row in await connection.fetch(_SQL.next_users, after, USERS)]


async def compare_erased(
    connection: Connection, after: UserId
) -> tuple[list[UserId], UserId | None]:
    """Those of the next erased accounts behind `after` of whom anything is there, and where to go
    on; None at the end.
    """
    rows = await connection.fetch(_SQL.compare_erased, after, USERS)
    wrong = [UserId(row["user_id"]) for row in rows if row["has_rows"]]
    return wrong, UserId(rows[-1]["user_id"]) if rows else None


def _row(columns: Sequence[int] | None) -> tuple[int, ...] | None:
    return None if columns is None else tuple(columns)
