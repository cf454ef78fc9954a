"""Repairs what `storage.postgres.verify` finds, from the forward rows, while writes go on.

It compares again under the locks of the writers, taken in their order: pairs, lanes, then counts.
So rows that only differed because of a concurrent change are left alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from graph.edge import Pair, UserId
from storage.postgres import locks, sql
from storage.postgres.comparison import compare_counts
from storage.postgres.connections import Connection
from storage.postgres.lanes import keep_lane_count
from storage.postgres.session import retry

BATCH = 500
"""Pairs or users locked at once."""


@dataclass(frozen=True, slots=True)
class _Statements:
    lock_pairs: str
    lock_lanes: str
    repair_reverse: str
    ensure_counts: str
    lock_count: str
    repair_counts: str
    erase_again: str


_SQL = sql.load(_Statements, "repair")


async def repair_pairs(connection: Connection, pairs: Sequence[Pair]) -> int:
    """Copy the forward rows of `pairs` to their reverse rows. Returns how many pairs it
    compared."""
    repaired = 0
    for first in range(0, len(pairs), BATCH):
        repaired += await retry(_repair_pairs, connection, pairs[first : first + BATCH])
    return repaired


async def repair_users(connection: Connection, users: Sequence[UserId]) -> int:
    """Recompute the counts of `users` from their rows. Returns how many users it compared."""
    for first in range(0, len(users), BATCH):
        await retry(_repair_users, connection, users[first : first + BATCH])
    return len(users)


async def erase_again(connection: Connection, users: Sequence[UserId]) -> int:
    """Mark erased accounts as unfinished, so that the workers erase them again. Returns how
    many."""
    await connection.execute(_SQL.erase_again, users)
    return len(users)


async def _repair_pairs(connection: Connection, pairs: Sequence[Pair]) -> int:
    async with connection.transaction():
        sources, targets = [pair.source for pair in pairs], [pair.target for pair in pairs]
        await connection.execute(_SQL.lock_pairs, sources, targets)
        await _lock_lanes(connection, targets)
        return int(await connection.fetchval(_SQL.repair_reverse, sources, targets))


async def _repair_users(connection: Connection, users: Sequence[UserId]) -> None:
    async with connection.transaction():
        await _lock_lanes(connection, users)
        await connection.execute(_SQL.ensure_counts, sorted(users))
        for user in sorted(users):
            await connection.execute(_SQL.lock_count, user)
        tallies = [tally for tally in await compare_counts(connection, users) if tally.differs]
        for user, stored, true in tallies:
            counts = true._replace(friends=true.friends - stored.friends)
            await connection.execute(_SQL.repair_counts, user, *counts)


async def _lock_lanes(connection: Connection, users: Sequence[UserId]) -> None:
    await keep_lane_count(connection)
    await connection.execute(_SQL.lock_lanes, locks.LANE, users)
