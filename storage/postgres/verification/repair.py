"""Repairs what a verification finds, from the forward rows, while writes go on.

It compares again while it holds the locks that writers take, in the same order: pairs and then
lanes for reverse rows, lanes and then counts for counts. So rows that only differed because of a
concurrent change stay as they are.
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
from storage.postgres.verification.comparison import PAIRS_AT_ONCE, Comparison
from storage.postgres.verification.parts import LostMember

BATCH = PAIRS_AT_ONCE
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


async def repair_pairs(comparison: Comparison, pairs: Sequence[Pair]) -> int:
    """Copy the forward rows of `pairs` to their reverse rows, and adjust the follower counts.
    Returns the number of pairs."""
    repaired = 0
    for first in range(0, len(pairs), BATCH):
        repaired += await retry(_repair_pairs, comparison, pairs[first : first + BATCH])
    return repaired


async def repair_users(comparison: Comparison, users: Sequence[UserId]) -> int:
    """Recompute the counts of `users` from their rows. Returns the number of users."""
    for first in range(0, len(users), BATCH):
        await retry(_repair_users, comparison, users[first : first + BATCH])
    return len(users)


async def erase_again(connection: Connection, users: Sequence[UserId]) -> int:
    """Mark the accounts of `users` as not erased, so that the workers erase them again. Returns the
    number of accounts."""
    await connection.execute(_SQL.erase_again, users)
    return len(users)


async def delete_lost_members(connection: Connection, members: Sequence[LostMember]) -> int:
    """Delete group members whose group does not exist. Returns the number of members."""
    await connection.executemany(_SQL.delete_lost_member, members)
    return len(members)


async def _repair_pairs(comparison: Comparison, pairs: Sequence[Pair]) -> int:
    connection = comparison.connection
    async with transaction(connection):
        sources, targets = [pair.source for pair in pairs], [pair.target for pair in pairs]
        await connection.execute(_SQL.lock_pairs, sources, targets)
        await _lock_lanes(connection, targets)
        forward, reverse = (
            await comparison.forward_rows(pairs),
            await comparison.reverse_rows(pairs),
        )
        absent = {row["user_id"] for row in await connection.fetch(_SQL.absent, sources)}
        edges = {pair: forward[pair].edge if pair in forward else None for pair in pairs}
        to_delete = [pair for pair, edge in edges.items() if edge is None]
        to_write = [(*pair, *edge) for pair, edge in edges.items() if edge is not None]
        added_counts: defaultdict[UserId, Counter[str]] = defaultdict(Counter)
        for pair, edge in edges.items():
            kinds = (_kind_of(edge), 1), (_kind_of(reverse.get(pair)), -1)
            for kind, step in kinds:
                added_counts[pair.target][_COUNT_OF_KIND.get(kind, "")] += step
                if pair.source in absent:
                    added_counts[pair.target][_ABSENT_COUNT_OF_KIND.get(kind, "")] += step
        if to_delete:
            await connection.execute(_SQL.delete_reverse, *_columns(to_delete, 2))
        if to_write:
            await connection.execute(_SQL.write_reverse, *_columns(to_write, 6))
        counts = [
            (user, *(added_counts[user][name] for name in _COUNTS)) for user in sorted(added_counts)
        ]
        await connection.execute(_SQL.add_counts, *_columns(counts, 1 + len(_COUNTS)))
    return len(edges)


async def _repair_users(comparison: Comparison, users: Sequence[UserId]) -> None:
    connection = comparison.connection
    async with transaction(connection):
        await _lock_lanes(connection, users)
        await connection.execute(_SQL.ensure_counts, sorted(users))
        for user in sorted(users):
            await connection.execute(_SQL.lock_count, user)
        for user, stored, computed in await comparison.compare_counts(users):
            # The number of friends is the sum of two columns: the statement adds to one of them.
            counts = computed._replace(friends=computed.friends - stored.friends)
            await connection.execute(_SQL.repair_counts, user, *counts)


_COUNT_OF_KIND = {1: "follows", 2: "whispers", 3: "requests", 4: "blocks"}
_ABSENT_COUNT_OF_KIND = {1: "absent_follows", 2: "absent_whispers", 3: "absent_requests"}
_COUNTS = (*_COUNT_OF_KIND.values(), *_ABSENT_COUNT_OF_KIND.values())
"""The columns of `add_counts`. Each counts the edges of one kind, of all sources or of absent
ones."""


def _kind_of(edge: Sequence[int] | None) -> int:
    return 0 if edge is None else edge[0]


def _columns(rows: Sequence[Sequence[int]], width: int) -> list[list[int]]:
    return [[row[number] for row in rows] for number in range(width)]


async def _lock_lanes(connection: Connection, users: Sequence[UserId]) -> None:
    await keep_lane_count(connection)
    await connection.execute(_SQL.lock_lanes, locks.LANE, users)
