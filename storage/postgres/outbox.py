"""The outbox: changes that are applied to the reverse side in batches, then acknowledged."""

from collections.abc import AsyncIterator, Collection, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

import asyncpg

from graph.edge import Edge, Flags, Kind, Pair, UserId, Version
from graph.lane import (
    ALL_LANES,
    FAILED,
    POSSIBLE_LANES,
    Lane,
    failed_lane,
    group_of,
    lanes_of,
    parked_lane,
)
from storage.ports.edges import EdgeChange
from storage.ports.lanes import Watermarks
from storage.postgres import sql
from storage.postgres.connection import locks
from storage.postgres.connection.pool import Connection, Postgres, Record
from storage.postgres.connection.transactions import repeat_cancelled


@dataclass(frozen=True, slots=True)
class _Statements:
    lock_lane: str
    try_lane: str
    oldest: str
    shares: str
    shares_on_citus: str
    hold_targets_on_citus: str
    apply_lane: str
    traces: str
    acknowledge: str
    acknowledge_parked: str
    fail: str
    park: str
    parked: str
    pending: str
    unacknowledged: str
    dirty_lanes: str
    dirty_lanes_on_citus: str
    watermarks: str
    watermarks_on_citus: str
    failed_on_citus: str
    unapplied: str
    outbox_state: str
    outbox_state_on_citus: str


_SQL = sql.load(_Statements, "outbox")

COUNTED_MAX = 4_000
"""Rows are counted up to here; above it, operators do not need the exact number."""

ERROR_MAX = 500
"""Characters of an error that are kept."""

HEAD = 100
"""How many of a lane's oldest changes are read to find its watermark."""


_REJECTED = (
    asyncpg.DataError,
    asyncpg.IntegrityConstraintViolationError,
    asyncpg.RaiseError,
    ValueError,
)
"""Errors that repeat as long as the row is what it is, in PostgreSQL or when it is decoded."""

NO_USER = UserId(-(2**63))
"""Before all users."""


class LaneTaken(Exception):
    """Another process is draining the lane."""


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
    """The target after which the next shares begin."""


@dataclass(frozen=True, slots=True)
class LaneBacklog:
    """Number of rows in a lane, up to `COUNTED_MAX`, and the age of the oldest."""

    changes: int
    oldest_s: float


@dataclass(frozen=True, slots=True)
class LaneWatermarks(Watermarks):
    """Watermarks of lanes instead of groups."""

    lanes: int
    """The number of lanes of the space."""
    failed: Mapping[Lane, Collection[Version]]
    """The newest failed changes of each lane."""


@dataclass(frozen=True, slots=True)
class GroupWatermarks(Watermarks):
    """Watermarks of groups, and of their lanes."""

    of_lanes: LaneWatermarks


@dataclass(frozen=True, slots=True)
class Backlog:
    """The rows in the outbox, by lane. Parked and failed changes have lanes of their own."""

    lanes: Mapping[Lane, LaneBacklog]

    @property
    def waiting(self) -> int:
        """The number of rows in all lanes."""
        return sum(lane.changes for lane in self.lanes.values())

    @property
    def oldest_s(self) -> float:
        """The age of the oldest row that has not failed."""
        return max(waits.oldest_s for lane, waits in self.lanes.items() if lane < FAILED)


@dataclass(frozen=True, slots=True)
class Unapplied:
    """The changes of a lane that the reverse rows lack: the first outbox id and the oldest
    version."""

    first_id: int
    oldest: Version


class Outbox:
    """The outbox of one space. Each lane has one drain at a time; drains of different lanes share
    no rows. A transaction that PostgreSQL cancels is repeated."""

    def __init__(self, postgres: Postgres) -> None:
        self._postgres = postgres

    @repeat_cancelled
    async def apply(
        self, lane: Lane, most: int, *, after_id: int = 0, waits: bool = True
    ) -> Applied:
        """Apply a lane's oldest changes, at most `most`, with ids above `after_id`, to the reverse
        rows and the counts. With `waits`, wait for the drain that has the lane.

        Returns all of these changes, to be published. A drain that ended before it acknowledged
        them may have applied some already.

        Raises:
            LaneTaken: another process is draining the lane, and `waits` is false.
            ChangesRejected: a change cannot be applied.
        """
        try:
            async with self._locked(lane, waits) as connection:
                applied = await self._applied(connection, lane, most, after_id, None)
        except _REJECTED as error:
            rows = await self._postgres.fetch(_SQL.oldest, lane, most, after_id)
            raise _rejected([row["id"] for row in rows], error) from error
        return replace(applied, is_full=len(applied.ids) == most)

    @repeat_cancelled
    async def apply_shares(
        self, lane: Lane, most: int, share: int, after: UserId, *, waits: bool = True
    ) -> Applied:
        """Like `apply`, but up to half of the changes are the oldest `share` of each target after
        `after` in the order of ids. The others are the oldest of the lane.

        All are the oldest of their targets, so each target's changes keep their order.
        """
        async with self._locked(lane, waits) as connection:
            statement = await self._either(_SQL.shares, _SQL.shares_on_citus)
            rows = await connection.fetch(statement, lane, most, share, after)
            shared = [row for row in rows if row["target"] is not None]
            oldest = [row["id"] for row in rows[len(shared) :]]
            ids = list(dict.fromkeys([*(row["id"] for row in shared), *oldest]))[:most]
            applied = await self._apply_changes(connection, lane, sorted(ids))
        is_cut = len(shared) == (most + 1) // 2
        return replace(
            applied,
            is_full=len(oldest) == most,
            next_target=shared[-1]["target"] if is_cut else NO_USER,
        )

    @repeat_cancelled
    async def apply_changes(self, lane: Lane, ids: Sequence[int], *, waits: bool = True) -> Applied:
        """Apply these changes of a lane, as far as they still wait. Raises the same as `apply`."""
        async with self._locked(lane, waits) as connection:
            return await self._apply_changes(connection, lane, ids)

    async def _apply_changes(
        self, connection: Connection, lane: Lane, ids: Sequence[int]
    ) -> Applied:
        try:
            return await self._applied(connection, lane, len(ids), 0, ids)
        except _REJECTED as error:
            raise _rejected(ids, error) from error

    async def _applied(self, connection: Connection, lane: Lane, *args: object) -> Applied:
        """Apply changes, and decode them before the commit, so that one that cannot be decoded is
        not applied."""
        if await self._postgres.is_citus():
            await connection.fetch(_SQL.hold_targets_on_citus, lane, *args)
        return _decoded(await connection.fetch(_SQL.apply_lane, lane, *args))

    @asynccontextmanager
    async def _locked(self, lane: Lane, waits: bool) -> AsyncIterator[Connection]:
        """A transaction that holds the lane's lock."""
        async with self._postgres.connection() as connection, connection.transaction():
            if waits:
                await connection.row(_SQL.lock_lane, locks.LANE, lane)
            else:
                await _take(connection, lane)
            yield connection

    async def _either(self, plain: str, on_citus: str) -> str:
        return on_citus if await self._postgres.is_citus() else plain

    @repeat_cancelled
    async def fail(self, lane: Lane, change: int, tries: int, reason: str) -> None:
        """Move a change that could not be applied to the failed changes, so that its lane goes on
        without it."""
        await self._postgres.fetch(_SQL.fail, lane, change, failed_lane(lane), tries, reason)

    async def traces(self, lane: Lane, ids: Sequence[int], most: int) -> list[str]:
        """The traces of the requests that made these changes, up to `most`."""
        rows = await self._postgres.fetch(_SQL.traces, lane, list(ids), most)
        return [row["trace"] for row in rows]

    @repeat_cancelled
    async def acknowledge(self, lane: Lane, ids: Sequence[int], parked: Sequence[int] = ()) -> None:
        """Delete changes that were published, and park those of `parked`, because the caches of
        some users are unavailable. Both become deliveries of webhooks, all at once, so that the
        deliveries of a target keep their order."""
        if not parked:
            await self._postgres.fetch(_SQL.acknowledge, lane, list(ids))
            return
        async with self._postgres.connection() as connection, connection.transaction():
            await connection.fetch(_SQL.park, lane, list(parked), parked_lane(lane))
            await connection.fetch(_SQL.acknowledge, lane, list(ids))

    @repeat_cancelled
    async def acknowledge_parked(self, lane: Lane, ids: Sequence[int]) -> None:
        """Delete parked changes of a lane that were published."""
        await self._postgres.fetch(_SQL.acknowledge_parked, parked_lane(lane), list(ids))

    async def lanes_with_parked(self) -> list[Lane]:
        """The lanes that have parked changes."""
        dirty = await self.dirty(map(parked_lane, POSSIBLE_LANES))
        return [lane for lane in POSSIBLE_LANES if parked_lane(lane) in dirty]

    async def parked(self, lane: Lane, most: int, *, after_id: int = 0) -> Applied:
        """The oldest parked changes of a lane, at most `most`, with ids above `after_id`."""
        return _decoded(await self._postgres.fetch(_SQL.parked, parked_lane(lane), most, after_id))

    async def dirty(self, lanes: Iterable[Lane] = POSSIBLE_LANES) -> dict[Lane, float]:
        """Those of `lanes` that have changes to apply or publish, with the oldest one's age in
        seconds."""
        statement = await self._either(_SQL.dirty_lanes, _SQL.dirty_lanes_on_citus)
        rows = await self._postgres.fetch(statement, list(lanes))
        return {Lane(row["lane"]): row["waited"] / 1_000_000 for row in rows}

    async def watermarks(self, groups: Iterable[Lane] = ALL_LANES) -> GroupWatermarks:
        """The watermarks of groups of lanes."""
        groups = list(groups)
        found = await self._lane_watermarks([lane for group in groups for lane in lanes_of(group)])
        return GroupWatermarks(
            _lowest(groups, found.oldest),
            _lowest(groups, found.oldest_unparked),
            found.now,
            found,
        )

    async def lane_watermarks(self, lane: Lane) -> LaneWatermarks:
        """The watermarks of `lane`, if the space has it, with its failed changes."""
        found = await self._lane_watermarks([lane])
        if not await self._postgres.is_citus():
            return found
        # Afterwards, as a change that fails leaves the lane.
        rows = await self._postgres.fetch(_SQL.failed_on_citus, failed_lane(lane), HEAD)
        return replace(found, failed={lane: [row["version"] for row in rows]})

    async def _lane_watermarks(self, lanes: Sequence[Lane]) -> LaneWatermarks:
        """The watermarks of those of `lanes` that the space has; on Citus without the failed
        changes, which would be another scan of the outbox on each machine."""
        parked = list(map(parked_lane, lanes))
        if await self._postgres.is_citus():
            rows = await self._postgres.fetch(_SQL.watermarks_on_citus, lanes, parked)
        else:
            failed = list(map(failed_lane, lanes))
            rows = await self._postgres.fetch(_SQL.watermarks, lanes, HEAD, parked, failed)
        return LaneWatermarks(
            {row["lane"]: row["oldest"] for row in rows if row["lane"] is not None},
            {row["lane"]: row["oldest_unparked"] for row in rows if row["lane"] is not None},
            rows[0]["now"],
            rows[0]["lanes"],
            {row["lane"]: row["failed"] or () for row in rows},
        )

    async def unapplied(self, lane: Lane) -> Unapplied | None:
        """The changes that the reverse rows of a lane lack, or None."""
        row = await self._postgres.row(_SQL.unapplied, lane, HEAD)
        return None if row is None or row["id"] is None else Unapplied(row["id"], row["version"])

    async def unacknowledged(self, users: Iterable[UserId]) -> set[UserId]:
        """Those of `users` with pending changes, whose caches may differ from the rows. Slow; for
        audits."""
        rows = await self._postgres.fetch(_SQL.unacknowledged, list(users))
        return {UserId(row["end_id"]) for row in rows}

    async def backlog(self) -> Backlog:
        lanes = [
            lane for own in POSSIBLE_LANES for lane in (own, parked_lane(own), failed_lane(own))
        ]
        statement = await self._either(_SQL.outbox_state, _SQL.outbox_state_on_citus)
        rows = await self._postgres.fetch(statement, lanes, COUNTED_MAX)
        return Backlog(
            {
                Lane(row["lane"]): LaneBacklog(row["changes"], max(0, row["age"] or 0) / 1_000_000)
                for row in rows
            }
        )


def _lowest(
    groups: Iterable[Lane], lanes: Mapping[Lane, Version | None]
) -> dict[Lane, Version | None]:
    """The lowest version of the lanes of each group."""
    lowest: dict[Lane, Version | None] = dict.fromkeys(groups)
    for lane, version in lanes.items():
        previous = lowest[group_of(lane)]
        if version is not None and (previous is None or version < previous):
            lowest[group_of(lane)] = version
    return lowest


async def _take(connection: Connection, lane: Lane) -> None:
    row = await connection.row(_SQL.try_lane, locks.LANE, lane)
    assert row is not None
    if not row["held"]:
        raise LaneTaken


def _rejected(ids: Sequence[int], error: Exception) -> ChangesRejected:
    return ChangesRejected(ids, f"{type(error).__name__}: {error}"[:ERROR_MAX])


def _decoded(rows: Sequence[Record]) -> Applied:
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


class PostgresPending:
    """Implements `storage.cache.tables.PendingRows`: one index range per user, nearly always
    empty."""

    def __init__(self, postgres: Postgres) -> None:
        self._postgres = postgres

    async def get_many(self, users: Sequence[UserId]) -> Mapping[UserId, Collection[UserId]]:
        towards: dict[UserId, set[UserId]] = {user: set() for user in users}
        for source, target in await self._postgres.fetch(_SQL.pending, list(users)):
            towards[source].add(target)
        return towards
