"""Forgets what nothing can refer to any more. Knows nothing of when it is called.

A forward tombstone only exists to give the next change of its edge a higher version than any that
is still on its way to the reverse side or the caches. Nothing is on its way once the outbox holds
no row of the pair; and a follow after the purge takes its version from the clock, which is ahead
of every version that is older than the retention. So the retention has to be longer than any
cache keeps an entry, and than the clock may ever be set back. Reverse rows go first: a forward
row never leaves behind a reverse row that is newer than nothing.
"""

from dataclasses import dataclass

from storage.postgres import sql
from storage.postgres.pool import Postgres

BATCH = 1000
"""Rows a statement: some milliseconds, far below the statement time-out."""


@dataclass(frozen=True, slots=True)
class _Statements:
    purge_reverse: str
    purge_forward: str
    purge_receipts: str
    purge_messages: str


_SQL = sql.load(_Statements, "purge")


@dataclass(frozen=True, slots=True)
class Purged:
    """How many tombstones are gone."""

    forward: int
    reverse: int


async def purge(postgres: Postgres, retention_s: float, most: int = 100_000) -> Purged:
    """Deletes tombstones older than `retention_s`, at most about `most` of each direction.

    Raises:
        Unavailable: PostgreSQL is away.
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
    """Deletes receipts older than `retention_s`, at most about `most`, and says how many.

    Raises:
        Unavailable: PostgreSQL is away.
    """
    return await _purge(postgres, _SQL.purge_receipts, retention_s, most)


async def purge_messages(postgres: Postgres, retention_s: float, most: int = 5_000_000) -> int:
    """Forgets what requests said in receipts older than `retention_s`, at most about `most`.

    Raises:
        Unavailable: PostgreSQL is away.
    """
    return await _purge(postgres, _SQL.purge_messages, retention_s, most)
