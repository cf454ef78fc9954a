"""Deletes old tombstones and receipts, and clears old request messages.

Because of a forward tombstone, the next change of its edge has a higher version than any change
that is still pending. No change is pending once the outbox has no row of the pair. A follow after
the purge takes its version from the clock, which is ahead of every version older than the
retention. So the retention must be longer than the life of any cache entry, and longer than any
step by which the clock is set back. Reverse rows are deleted first, so that no reverse row outlives
its forward row. Forward rows may be kept for longer: they show with whom a user has ended a
relation.
"""

from dataclasses import dataclass
from uuid import UUID

from graph.edge import UserId
from storage.postgres import sql
from storage.postgres.citus.shard_groups import by_shard
from storage.postgres.connection.pool import Postgres

BATCH = 1000
"""Rows per statement: some milliseconds, much less than the statement timeout."""


@dataclass(frozen=True, slots=True)
class _Statements:
    purge_reverse: str
    purge_forward: str
    purge_receipts: str
    purge_messages: str
    find_reverse_on_citus: str
    purge_reverse_on_citus: str
    find_forward_on_citus: str
    purge_forward_on_citus: str
    find_receipts_on_citus: str
    purge_receipts_on_citus: str
    find_messages_on_citus: str
    purge_messages_on_citus: str


_SQL = sql.load(_Statements, "purge")


@dataclass(frozen=True, slots=True)
class _PurgeStatements:
    """The statements of a purge. Citus cannot lock rows in several shards, so there one statement
    finds the rows, and another purges those of one shard."""

    purge: str
    find_on_citus: str
    purge_on_citus: str
    first: tuple[int, int, int | UUID] = (0, 0, 0)
    """The position before all rows: version or time, user, and the rest of the key."""


_BEFORE_RECEIPTS = (0, 0, UUID(int=0))
_REVERSE = _PurgeStatements(
    _SQL.purge_reverse, _SQL.find_reverse_on_citus, _SQL.purge_reverse_on_citus
)
_FORWARD = _PurgeStatements(
    _SQL.purge_forward, _SQL.find_forward_on_citus, _SQL.purge_forward_on_citus
)
_RECEIPTS = _PurgeStatements(
    _SQL.purge_receipts, _SQL.find_receipts_on_citus, _SQL.purge_receipts_on_citus, _BEFORE_RECEIPTS
)
_MESSAGES = _PurgeStatements(
    _SQL.purge_messages, _SQL.find_messages_on_citus, _SQL.purge_messages_on_citus, _BEFORE_RECEIPTS
)


@dataclass(frozen=True, slots=True)
class Purged:
    """The number of deleted tombstones in each direction."""

    forward: int
    reverse: int


async def purge(
    postgres: Postgres, retention_s: float, limit: int = 100_000, *, forward_s: float = 0
) -> Purged:
    """Delete tombstones older than `retention_s`, about `limit` at most in each direction. Forward
    ones are kept for `forward_s`, if that is longer.

    Keeps forward tombstones with flags, and tombstones with a pending change. With a forward
    tombstone, its target is deleted from the owner's groups.

    Raises:
        Unavailable: PostgreSQL cannot be reached.
    """
    reverse = await _purge(postgres, _REVERSE, retention_s, limit)
    forward = await _purge(postgres, _FORWARD, max(retention_s, forward_s), limit)
    return Purged(forward, reverse)


async def _purge(
    postgres: Postgres, statements: _PurgeStatements, retention_s: float, limit: int
) -> int:
    """Purge in batches. Return the number of rows deleted or cleared."""
    if await postgres.is_citus():
        return await _purge_by_shard(postgres, statements, retention_s, limit)
    purged = 0
    while purged < limit:
        row = await postgres.row(statements.purge, retention_s, BATCH)
        assert row is not None
        purged += row["count"]
        if row["count"] < BATCH:
            break
    return purged


async def _purge_by_shard(
    postgres: Postgres, statements: _PurgeStatements, retention_s: float, limit: int
) -> int:
    """Purge in batches, with a statement for each shard that has rows of the batch."""
    purged, after = 0, statements.first
    while purged < limit:
        rows = await postgres.fetch(statements.find_on_citus, retention_s, BATCH, *after)
        purgeable = [row for row in rows if not row["is_pending"]]
        for group in await by_shard(postgres, purgeable, lambda row: UserId(row["user_id"])):
            users, ids = [row["user_id"] for row in group], [row["id"] for row in group]
            (counted,) = await postgres.fetch(statements.purge_on_citus, users, ids, retention_s)
            purged += counted["count"]
        if len(rows) < BATCH:
            break
        after = (rows[-1]["at"], rows[-1]["user_id"], rows[-1]["id"])
    return purged


async def purge_receipts(postgres: Postgres, retention_s: float, limit: int = 5_000_000) -> int:
    """Delete receipts older than `retention_s`, about `limit` at most. Returns how many.

    Raises:
        Unavailable: PostgreSQL cannot be reached.
    """
    return await _purge(postgres, _RECEIPTS, retention_s, limit)


async def purge_messages(postgres: Postgres, retention_s: float, limit: int = 5_000_000) -> int:
    """Delete request messages from receipts older than `retention_s`, about `limit` at most.

    Returns how many.

    Raises:
        Unavailable: PostgreSQL cannot be reached.
    """
    return await _purge(postgres, _MESSAGES, retention_s, limit)
