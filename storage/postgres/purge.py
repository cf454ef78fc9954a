"""Deletes rows that nothing can refer to any more.

A forward tombstone gives the next change of its edge a higher version than any change that is still
pending. Nothing is pending once the outbox has no row of the pair. A follow after the purge takes
its version from the clock, which is ahead of every version older than the retention. So the
retention must be longer than the life of any cache entry, and than the clock is ever set back.
Reverse rows are deleted first, so that no reverse row outlives its forward row.
"""

from dataclasses import dataclass

from storage.postgres import sql
from storage.postgres.pool import Postgres

BATCH = 1000
"""Rows per statement: some milliseconds, much less than the statement timeout."""


@dataclass(frozen=True, slots=True)
class _Statements:
    purge_reverse: str
    purge_forward: str
    purge_receipts: str
    purge_messages: str


_SQL = sql.load(_Statements, "purge")


@dataclass(frozen=True, slots=True)
class Purged:
    """The number of tombstones deleted."""

    forward: int
    reverse: int


async def purge(postgres: Postgres, retention_s: float, most: int = 100_000) -> Purged:
    """Delete tombstones older than `retention_s`, about `most` at most in each direction.

    Raises:
        Unavailable: PostgreSQL cannot be reached.
    """
    reverse = await _purge(postgres, _SQL.purge_reverse, retention_s, most)
    forward = await _purge(postgres, _SQL.purge_forward, retention_s, most)
    return Purged(forward, reverse)


async def _purge(postgres: Postgres, statement: str, retention_s: float, most: int) -> int:
    gone = 0
    while gone < most:
        row = await postgres.row(statement, retention_s, BATCH)
        assert row is not None
        gone += row["count"]
        if row["count"] < BATCH:
            break
    return gone


async def purge_receipts(postgres: Postgres, retention_s: float, most: int = 5_000_000) -> int:
    """Delete receipts older than `retention_s`, about `most` at most. Returns how many.

    Raises:
        Unavailable: PostgreSQL cannot be reached.
    """
    return await _purge(postgres, _SQL.purge_receipts, retention_s, most)


async def purge_messages(postgres: Postgres, retention_s: float, most: int = 5_000_000) -> int:
    """Delete request messages from receipts older than `retention_s`, about `most` at most. Returns
    how many.

    Raises:
        Unavailable: PostgreSQL cannot be reached.
    """
    return await _purge(postgres, _SQL.purge_messages, retention_s, most)
