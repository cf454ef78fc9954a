"""Deletes rows that nothing can refer to any more.

A forward tombstone gives the next change of its edge a higher version than any change that is still
pending. Nothing is pending once the outbox has no row of the pair. A follow after the purge takes
its version from the clock, which is ahead of every version older than the retention. So the
retention must be longer than the life of any cache entry, and than the clock is ever set back.
Reverse rows are deleted first, so that no reverse row outlives its forward row. Forward rows may be
kept for longer: they show with whom a user has ended a relation.
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
class _Steps:
    """The statement of a purge. Citus cannot lock rows in several shards, so there one statement
    finds the rows, and another deletes those of one shard."""

    purge: str
    find_on_citus: str
    purge_on_citus: str
    first: tuple[int, int, int | UUID] = (0, 0, 0)
    """The position before all rows: time or version, user, and the rest of the key."""


_NO_RECEIPT = (0, 0, UUID(int=0))
_REVERSE = _Steps(_SQL.purge_reverse, _SQL.find_reverse_on_citus, _SQL.purge_reverse_on_citus)
_FORWARD = _Steps(_SQL.purge_forward, _SQL.find_forward_on_citus, _SQL.purge_forward_on_citus)
_RECEIPTS = _Steps(
    _SQL.purge_receipts, _SQL.find_receipts_on_citus, _SQL.purge_receipts_on_citus, _NO_RECEIPT
)
_MESSAGES = _Steps(
    _SQL.purge_messages, _SQL.find_messages_on_citus, _SQL.purge_messages_on_citus, _NO_RECEIPT
)


@dataclass(frozen=True, slots=True)
class Purged:
    """The number of tombstones deleted."""

    forward: int
    reverse: int


async def purge(
    postgres: Postgres, retention_s: float, limit: int = 100_000, *, forward_s: float = 0
) -> Purged:
    """Delete tombstones older than `retention_s`, about `limit` at most in each direction. Forward
    ones are kept for `forward_s`, if that is longer.

    Raises:
        Unavailable: PostgreSQL cannot be reached.
    """
    reverse = await _purge(postgres, _REVERSE, retention_s, limit)
    forward = await _purge(postgres, _FORWARD, max(retention_s, forward_s), limit)
    return Purged(forward, reverse)


async def _purge(postgres: Postgres, steps: _Steps, retention_s: float, limit: int) -> int:
    if await postgres.is_citus():
        return await _purge_by_shard(postgres, steps, retention_s, limit)
    gone = 0
    while gone < limit:
        row = await postgres.row(steps.purge, retention_s, BATCH)
        assert row is not None
        gone += row["count"]
        if row["count"] < BATCH:
            break
    return gone


async def _purge_by_shard(postgres: Postgres, steps: _Steps, retention_s: float, limit: int) -> int:
    """Purge in batches, with a statement for each shard that has rows of the batch."""
    gone, after = 0, steps.first
    while gone < limit:
        rows = await postgres.fetch(steps.find_on_citus, retention_s, BATCH, *after)
        dead = [row for row in rows if not row["is_pending"]]
        for group in await by_shard(postgres, dead, lambda row: UserId(row["user_id"])):
            users, ids = [row["user_id"] for row in group], [row["id"] for row in group]
            (deleted,) = await postgres.fetch(steps.purge_on_citus, users, ids, retention_s)
            gone += deleted["count"]
        if len(rows) < BATCH:
            break
        after = (rows[-1]["at"], rows[-1]["user_id"], rows[-1]["id"])
    return gone


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
