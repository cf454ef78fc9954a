"""The progress of lanes: which changes wait in the outbox, and how far each lane is drained."""

from collections.abc import Collection, Iterable, Mapping, Set
from dataclasses import dataclass, replace
from typing import TypeVar

from graph.edge import UserId, Version
from graph.lane import (
    FAILED,
    LANE_GROUPS,
    POSSIBLE_LANES,
    Lane,
    failed_lane,
    lane_group_of,
    lanes_of,
    parked_lane,
)
from storage.ports.lanes import Watermarks
from storage.postgres import sql
from storage.postgres.connection.pool import Postgres
from storage.shared_reads import SharedReads


@dataclass(frozen=True, slots=True)
class _Statements:
    dirty_lanes: str
    dirty_lanes_on_citus: str
    watermarks: str
    watermarks_on_citus: str
    failed_on_citus: str
    unapplied: str
    outbox_state: str
    outbox_state_on_citus: str
    unacknowledged: str


_SQL = sql.load(_Statements, "lane_progress")

V = TypeVar("V")

COUNTED_MAX = 4_000
"""Rows are counted up to here; above it, operators do not need the exact number."""

HEAD = 100
"""How many of a lane's oldest changes are read to find its watermark, and how many of its newest
failed changes."""


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
    """The versions of the newest failed changes of each lane. On Citus, only `lane_watermarks`
    reads them."""


@dataclass(frozen=True, slots=True)
class GroupWatermarks(Watermarks):
    """Watermarks of groups, and of their lanes."""

    of_lanes: LaneWatermarks


@dataclass(frozen=True, slots=True)
class Backlog:
    """The rows in the outbox, by lane. Parked and failed changes have lanes of their own."""

    lanes: Mapping[Lane, LaneBacklog]

    @property
    def rows(self) -> int:
        """The number of rows in all lanes."""
        return sum(lane.changes for lane in self.lanes.values())

    @property
    def oldest_s(self) -> float:
        """The age of the oldest row that has not failed."""
        return max(backlog.oldest_s for lane, backlog in self.lanes.items() if lane < FAILED)


@dataclass(frozen=True, slots=True)
class Unapplied:
    """The lowest outbox id and the lowest version of the changes of a lane that the reverse rows
    lack."""

    first_id: int
    oldest: Version


class PostgresLaneProgress:
    """Implements `storage.ports.lanes.LaneProgress` for one space, and tells workers which lanes
    have changes."""

    def __init__(self, postgres: Postgres) -> None:
        self._postgres = postgres
        self._watermarks = SharedReads(self._watermarks_without_failed_on_citus)

    async def has_one_commit(self) -> bool:
        """Whether a transaction becomes visible at one moment. On Citus, each machine commits its
        part at a moment of its own."""
        return not await self._postgres.is_citus()

    async def lanes_with_changes(self, lanes: Iterable[Lane] = POSSIBLE_LANES) -> dict[Lane, float]:
        """Those of `lanes` that have changes to apply or publish, with the oldest one's age in
        seconds."""
        statement = await self._statement_for_server(_SQL.dirty_lanes, _SQL.dirty_lanes_on_citus)
        rows = await self._postgres.fetch(statement, list(lanes))
        return {Lane(row["lane"]): row["waited"] / 1_000_000 for row in rows}

    async def lanes_with_parked(self) -> list[Lane]:
        """The lanes that have parked changes."""
        found = await self.lanes_with_changes(map(parked_lane, POSSIBLE_LANES))
        return [lane for lane in POSSIBLE_LANES if parked_lane(lane) in found]

    async def watermarks(self, groups: Iterable[Lane] = LANE_GROUPS) -> GroupWatermarks:
        """The watermarks of lane groups. Concurrent calls share statements: requests with tokens
        would otherwise take all connections."""
        groups = list(groups)
        lanes = {lane for group in groups for lane in lanes_of(group)}
        found = await self._watermarks.read(lanes)
        of_lanes = replace(
            found,
            oldest=_of_lanes(found.oldest, lanes),
            oldest_unparked=_of_lanes(found.oldest_unparked, lanes),
            failed=_of_lanes(found.failed, lanes),
        )
        return GroupWatermarks(
            _lowest(groups, of_lanes.oldest),
            _lowest(groups, of_lanes.oldest_unparked),
            of_lanes.now,
            of_lanes,
        )

    async def lane_watermarks(self, lane: Lane) -> LaneWatermarks:
        """The watermarks of `lane`, if the space has it, with its failed changes."""
        watermarks = await self._watermarks_without_failed_on_citus([lane])
        if not await self._postgres.is_citus():
            return watermarks
        # Read last: a change that has left the lane because it has failed is then found here.
        rows = await self._postgres.fetch(_SQL.failed_on_citus, failed_lane(lane), HEAD)
        return replace(watermarks, failed={lane: [row["version"] for row in rows]})

    async def _watermarks_without_failed_on_citus(self, lanes: Collection[Lane]) -> LaneWatermarks:
        """The watermarks of those of `lanes` that the space has; on Citus without the failed
        changes, which would be another scan of the outbox on each machine."""
        parked = list(map(parked_lane, lanes))
        if await self._postgres.is_citus():
            rows = await self._postgres.fetch(_SQL.watermarks_on_citus, list(lanes), parked)
        else:
            failed = list(map(failed_lane, lanes))
            rows = await self._postgres.fetch(_SQL.watermarks, list(lanes), HEAD, parked, failed)
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
        """Those of `users` who are the source or target of a change in the outbox, so that their
        caches may differ from the rows. Reads the whole outbox; for audits."""
        rows = await self._postgres.fetch(_SQL.unacknowledged, list(users))
        return {UserId(row["end_id"]) for row in rows}

    async def backlog(self) -> Backlog:
        lanes = [
            lane
            for unparked in POSSIBLE_LANES
            for lane in (unparked, parked_lane(unparked), failed_lane(unparked))
        ]
        statement = await self._statement_for_server(_SQL.outbox_state, _SQL.outbox_state_on_citus)
        rows = await self._postgres.fetch(statement, lanes, COUNTED_MAX)
        return Backlog(
            {
                Lane(row["lane"]): LaneBacklog(row["changes"], max(0, row["age"] or 0) / 1_000_000)
                for row in rows
            }
        )

    async def _statement_for_server(self, plain: str, on_citus: str) -> str:
        return on_citus if await self._postgres.is_citus() else plain


def _lowest(
    groups: Iterable[Lane], lanes: Mapping[Lane, Version | None]
) -> dict[Lane, Version | None]:
    """The lowest version of the lanes of each group."""
    lowest: dict[Lane, Version | None] = dict.fromkeys(groups)
    for lane, version in lanes.items():
        previous = lowest[lane_group_of(lane)]
        if version is not None and (previous is None or version < previous):
            lowest[lane_group_of(lane)] = version
    return lowest


def _of_lanes(values: Mapping[Lane, V], lanes: Set[Lane]) -> Mapping[Lane, V]:
    return {lane: value for lane, value in values.items() if lane in lanes}
