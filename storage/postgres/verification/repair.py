"""Repairs what a verification finds, from the forward rows, while writes go on.

It compares again under the locks of the writers, taken in their order: pairs, lanes, then counts.
So rows that only differed because of a concurrent change are left alone.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from graph.edge import Pair, UserId
from storage.postgres import sql
from storage.postgres.connection import locks
from storage.postgres.connection.connector import Connection
from storage.postgres.connection.session import retry, transaction
from storage.postgres.lanes import keep_lane_count
from storage.postgres.verification.comparison import PAIRS, Comparison
from storage.postgres.verification.parts import LostMember

BATCH = PAIRS
"""Pairs or users locked at once."""


@dataclass(frozen=True, slots=True)
class _Statements:
    lock_pairs: str
    lock_lanes: str
    absent: str
    delete_reverse: str
    write_reverse: str
    add_counts: str
    ensure_counts: str
    lock_count: str
    repair_counts: str
    erase_again: str
    delete_lost_member: str


_SQL = sql.load(_Statements, "repair")


async def repair_pairs(rows: Comparison, pairs: Sequence[Pair]) -> int:
    """Copy the forward rows of `pairs` to their reverse rows. Returns how many pairs it
    compared."""
    repaired = 0
    for first in range(0, len(pairs), BATCH):
        repaired += await retry(_repair_pairs, rows, pairs[first : first + BATCH])
    return repaired


async def repair_users(rows: Comparison, users: Sequence[UserId]) -> int:
    """Recompute the counts of `users` from their rows. Returns how many users it compared."""
    for first in range(0, len(users), BATCH):
        await retry(_repair_users, rows, users[first : first + BATCH])
    return len(users)


async def erase_again(connection: Connection, users: Sequence[UserId]) -> int:
    """Mark erased accounts as unfinished, so that the workers erase them again. Returns how
    many."""
    await connection.execute(_SQL.erase_again, users)
    return len(users)


async def delete_lost_members(connection: Connection, members: Sequence[LostMember]) -> int:
    """Delete group members whose group does not exist. Returns how many."""
    await connection.executemany(_SQL.delete_lost_member, members)
    return len(members)


async def _repair_pairs(rows: Comparison, pairs: Sequence[Pair]) -> int:
    connection = rows.connection
    async with transaction(connection):
        sources, targets = [pair.source for pair in pairs], [pair.target for pair in pairs]
        await connection.execute(_SQL.lock_pairs, sources, targets)
        await _lock_lanes(connection, targets)
        forward, reverse = await rows.forward_rows(pairs), await rows.reverse_rows(pairs)
        absent = {row["user_id"] for row in await connection.fetch(_SQL.absent, sources)}
        true = {pair: forward[pair].edge if pair in forward else None for pair in pairs}
        lost = [pair for pair, edge in true.items() if edge is None]
        kept = [(*pair, *edge) for pair, edge in true.items() if edge is not None]
        steps: defaultdict[UserId, Counter[str]] = defaultdict(Counter)
        for pair, edge in true.items():
            kinds = (_kind(edge), 1), (_kind(reverse.get(pair)), -1)
            for kind, step in kinds:
                steps[pair.target][_COUNTED.get(kind, "")] += step
                if pair.source in absent:
                    steps[pair.target][_ABSENT.get(kind, "")] += step
        if lost:
            await connection.execute(_SQL.delete_reverse, *_columns(lost, 2))
        if kept:
            await connection.execute(_SQL.write_reverse, *_columns(kept, 6))
        counts = [(user, *(steps[user][name] for name in _COUNTS)) for user in sorted(steps)]
        await connection.execute(_SQL.add_counts, *_columns(counts, 1 + len(_COUNTS)))
    return len(true)


async def _repair_users(rows: Comparison, users: Sequence[UserId]) -> None:
    connection = rows.connection
    async with transaction(connection):
        await _lock_lanes(connection, users)
        await connection.execute(_SQL.ensure_counts, sorted(users))
        for user in sorted(users):
            await connection.execute(_SQL.lock_count, user)
        for user, stored, true in await rows.compare_counts(users):
            counts = true._replace(friends=true.friends - stored.friends)
            await connection.execute(_SQL.repair_counts, user, *counts)


_COUNTED = {1: "follows", 2: "whispers", 3: "requests", 4: "blocks"}
_ABSENT = {1: "absent_follows", 2: "absent_whispers", 3: "absent_requests"}
_COUNTS = (*_COUNTED.values(), *_ABSENT.values())
"""The columns of `add_counts`, and which kinds of edges count in them."""


def _kind(edge: Sequence[int] | None) -> int:
    return 0 if edge is None else edge[0]


def _columns(rows: Sequence[Sequence[int]], width: int) -> list[list[int]]:
    return [[row[place] for row in rows] for place in range(width)]


async def _lock_lanes(connection: Connection, users: Sequence[UserId]) -> None:
    await keep_lane_count(connection)
    await connection.execute(_SQL.lock_lanes, locks.LANE, users)
