"""The outbox: changes that are applied to the reverse rows in batches, and later acknowledged."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

import asyncpg

from graph.edge import Edge, Flags, Kind, Pair, UserId
from graph.lane import Lane, failed_lane, parked_lane
from storage.ports.edges import EdgeChange
from storage.postgres import sql
from storage.postgres.connection import locks
from storage.postgres.connection.acquired import Connection, Record
from storage.postgres.connection.pool import Postgres
from storage.postgres.connection.transactions import repeat_cancelled


@dataclass(frozen=True, slots=True)
class _Statements:
    lock_lane: str
    try_lane: str
    oldest: str
    shares: str
    shares_on_citus: str
    traces: str
    acknowledge: str
    acknowledge_on_citus: str
    acknowledge_parked: str
    fail: str
    park: str
    park_on_citus: str
    parked: str


@dataclass(frozen=True, slots=True)
class _ReverseRowsStatements:
    oldest_on_citus: str
    given_on_citus: str
    hold_targets_on_citus: str
    write_reverse_rows: str
    write_reverse_rows_on_citus: str


_SQL = sql.load(_Statements, "outbox")
_REVERSE_ROWS_SQL = sql.load(_ReverseRowsStatements, "write_reverse_rows")

ERROR_MAX = 500
"""Characters of an error that are kept."""

_PERMANENT_ERRORS = (
    asyncpg.DataError,
    asyncpg.IntegrityConstraintViolationError,
    asyncpg.RaiseError,
    ValueError,
)
"""Errors of PostgreSQL, or of decoding a row, that occur again unless the row is corrected."""

NO_USER = UserId(-(2**63))
"""Lower than the ids of all users."""


class LaneTaken(Exception):
    """Another process is draining the lane, or the equal lane of another space of the database."""


class ChangesRejected(Exception):
    """At least one of the changes `ids`, which are ascending, cannot be applied. None was."""

    def __init__(self, ids: Sequence[int], reason: str) -> None:
        super().__init__(reason)
        self.ids = ids
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Applied:
    """Changes that the reverse rows hold and the caches may lack, with their outbox ids."""

    ids: Sequence[int]
    changes: Sequence[EdgeChange]
    is_full: bool = False
    """Whether more changes may be waiting."""
    next_target: UserId = NO_USER
    """The target after which the next call of `apply_shares` begins."""


class Outbox:
    """The outbox of one space. Each lane has one drain at a time; drains of different lanes share
    no rows. A transaction that PostgreSQL cancels is repeated."""

    def __init__(self, postgres: Postgres) -> None:
        self._postgres = postgres

    @repeat_cancelled
    async def apply(
        self, lane: Lane, limit: int, *, after_id: int = 0, waits: bool = True
    ) -> Applied:
        """Apply a lane's oldest changes, at most `limit`, with ids above `after_id`, to the reverse
        rows and the counts. With `waits`, wait for the drain that has the lane.

        Returns all of these changes, to be published. A drain that ended before it acknowledged
        them may have applied some already.

        Raises:
            LaneTaken: another process is draining the lane, and `waits` is false.
            ChangesRejected: a change cannot be applied.
        """
        try:
            async with self._locked(lane, waits) as connection:
                return await self._apply(connection, lane, limit, after_id, None)
        except _PERMANENT_ERRORS as error:
            rows = await self._postgres.fetch(_SQL.oldest, lane, limit, after_id)
            raise _changes_rejected([row["id"] for row in rows], error) from error

    @repeat_cancelled
    async def apply_shares(
        self, lane: Lane, limit: int, share: int, after: UserId, *, waits: bool = True
    ) -> Applied:
        """Like `apply`, but up to half of the changes are shared among targets: the oldest `share`
        changes of each target with an id above `after`, in the order of these ids. The rest are the
        oldest changes of the lane.

        All are the oldest of their targets, so each target's changes keep their order. On Citus, a
        target with more than `share` of the lane's oldest changes gets no share, and the shares of
        the others have no limit.
        """
        async with self._locked(lane, waits) as connection:
            statement = await self._statement_for_server(_SQL.shares, _SQL.shares_on_citus)
            rows = await connection.fetch(statement, lane, limit, share, after)
            shared = [row for row in rows if row["target"] is not None]
            oldest = [row["id"] for row in rows[len(shared) :]]
            ids = list(dict.fromkeys([*(row["id"] for row in shared), *oldest]))[:limit]
            applied = await self._apply_changes(connection, lane, sorted(ids))
        is_half_full = len(shared) == (limit + 1) // 2
        return replace(
            applied,
            is_full=len(oldest) == limit,
            next_target=shared[-1]["target"] if is_half_full else NO_USER,
        )

    @repeat_cancelled
    async def apply_changes(self, lane: Lane, ids: Sequence[int], *, waits: bool = True) -> Applied:
        """Apply those of the changes `ids` that are still in the lane. Raises the same as
        `apply`."""
        async with self._locked(lane, waits) as connection:
            return await self._apply_changes(connection, lane, ids)

    async def _apply_changes(
        self, connection: Connection, lane: Lane, ids: Sequence[int]
    ) -> Applied:
        try:
            return await self._apply(connection, lane, len(ids), 0, ids)
        except _PERMANENT_ERRORS as error:
            raise _changes_rejected(ids, error) from error

    async def _apply(
        self,
        connection: Connection,
        lane: Lane,
        limit: int,
        after_id: int,
        ids: Sequence[int] | None,
    ) -> Applied:
        """Apply changes, and decode them before the commit, so that one that cannot be decoded is
        not applied."""
        if connection.is_citus:
            return await _apply_on_citus(connection, lane, limit, after_id, ids)
        applied = _decode(
            await connection.fetch(_REVERSE_ROWS_SQL.write_reverse_rows, lane, limit, after_id, ids)
        )
        return replace(applied, is_full=len(applied.ids) == limit)

    @asynccontextmanager
    async def _locked(self, lane: Lane, waits: bool) -> AsyncIterator[Connection]:
        """A transaction that holds the lane's lock."""
        async with self._postgres.connection() as connection, connection.transaction():
            if waits:
                await connection.row(_SQL.lock_lane, locks.LANE, lane)
            else:
                await _try_lock(connection, lane)
            yield connection

    async def _statement_for_server(self, plain: str, on_citus: str) -> str:
        return on_citus if await self._postgres.is_citus() else plain

    @repeat_cancelled
    async def fail(self, lane: Lane, change: int, tries: int, reason: str) -> None:
        """Move a change that could not be applied to the failed changes, so that it does not block
        its lane."""
        await self._postgres.fetch(_SQL.fail, lane, change, failed_lane(lane), tries, reason)

    async def traces(self, lane: Lane, ids: Sequence[int], limit: int) -> list[str]:
        """The traces of the requests that made these changes, up to `limit`."""
        rows = await self._postgres.fetch(_SQL.traces, lane, list(ids), limit)
        return [row["trace"] for row in rows]

    @repeat_cancelled
    async def acknowledge(
        self, lane: Lane, published: Applied, parked: Applied | None = None
    ) -> None:
        """Delete the changes `published`, and park the changes `parked`, which some unavailable
        caches lack. In the same transaction, insert the webhook deliveries of all of them, so that
        the deliveries of a target keep their order."""
        async with self._postgres.connection() as connection:
            if not parked or not parked.ids:
                return await _acknowledge(connection, lane, published)
            async with connection.transaction():
                await _park(connection, lane, parked)
                return await _acknowledge(connection, lane, published)

    @repeat_cancelled
    async def acknowledge_parked(self, lane: Lane, ids: Sequence[int]) -> None:
        """Delete parked changes of a lane that were published."""
        await self._postgres.fetch(_SQL.acknowledge_parked, parked_lane(lane), list(ids))

    async def parked(self, lane: Lane, limit: int, *, after_id: int = 0) -> Applied:
        """The oldest parked changes of a lane, at most `limit`, with ids above `after_id`."""
        return _decode(await self._postgres.fetch(_SQL.parked, parked_lane(lane), limit, after_id))


async def _apply_on_citus(
    connection: Connection, lane: Lane, limit: int, after_id: int, ids: Sequence[int] | None
) -> Applied:
    """Find the changes first, on all shards. The next statements then ask only the shards of the
    users of these changes, who may be few."""
    if ids is None:
        change_rows = await connection.fetch(
            _REVERSE_ROWS_SQL.oldest_on_citus, lane, after_id, limit
        )
    else:
        change_rows = await connection.fetch(
            _REVERSE_ROWS_SQL.given_on_citus, lane, list(ids), limit
        )
    if not change_rows:
        return Applied((), ())
    sources = {row["from_user_id"] for row in change_rows}
    targets = {row["to_user_id"] for row in change_rows if row["to_user_id"] > 0}
    await connection.fetch(_REVERSE_ROWS_SQL.hold_targets_on_citus, list(targets))
    rows = await connection.fetch(
        _REVERSE_ROWS_SQL.write_reverse_rows_on_citus,
        lane,
        limit,
        after_id,
        [row["id"] for row in change_rows],
        list(sources),
        list(targets),
    )
    return replace(_decode(rows), is_full=len(change_rows) == limit)


async def _acknowledge(connection: Connection, lane: Lane, published: Applied) -> None:
    ids = list(published.ids)
    if connection.is_citus:
        await connection.fetch(_SQL.acknowledge_on_citus, lane, ids, _sources(published))
    else:
        await connection.fetch(_SQL.acknowledge, lane, ids)


async def _park(connection: Connection, lane: Lane, parked: Applied) -> None:
    ids, into = list(parked.ids), parked_lane(lane)
    if connection.is_citus:
        await connection.fetch(_SQL.park_on_citus, lane, ids, into, _sources(parked))
    else:
        await connection.fetch(_SQL.park, lane, ids, into)


def _sources(applied: Applied) -> list[UserId]:
    return list({change.pair.source for change in applied.changes})


async def _try_lock(connection: Connection, lane: Lane) -> None:
    row = await connection.row(_SQL.try_lane, locks.LANE, lane)
    assert row is not None
    if not row["held"]:
        raise LaneTaken


def _changes_rejected(ids: Sequence[int], error: Exception) -> ChangesRejected:
    return ChangesRejected(ids, f"{type(error).__name__}: {error}"[:ERROR_MAX])


def _decode(rows: Sequence[Record]) -> Applied:
    return Applied(
        [row["id"] for row in rows],
        [
            EdgeChange(
                Pair(row["from_user_id"], row["to_user_id"]),
                Edge(Kind(row["kind"]), Flags(row["flags"]), row["since"], row["version"]),
                *_previous(row["former"]),
                row["by_target"],
            )
            for row in rows
        ],
    )


def _previous(packed: int) -> tuple[Kind, Flags]:
    """The previous kind, in the low four bits, and flags of an edge."""
    return Kind(packed & 15), Flags(packed >> 4)
