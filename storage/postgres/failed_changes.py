"""The failed changes: those that could not be applied, and wait for an operator."""

from collections.abc import Sequence
from dataclasses import dataclass

from graph.edge import Kind, Pair, UserId, Version
from graph.lane import FAILED, LANES_MAX, Lane
from storage.postgres import sql
from storage.postgres.connection.acquired import Record
from storage.postgres.connection.pool import Postgres

COUNTED_MAX = 10_000
"""Failed changes are counted up to here."""

_FAILED_LANES = (FAILED, FAILED + LANES_MAX - 1)
"""The first and the last lane of failed changes."""


@dataclass(frozen=True, slots=True)
class _Statements:
    list_failed: str
    count_failed: str
    retry_failed: str
    drop_failed: str


_SQL = sql.load(_Statements, "failed_changes")


@dataclass(frozen=True, slots=True)
class FailedChange:
    """A change that was tried `tries` times. `error`: the last error's type and text."""

    id: int
    pair: Pair
    kind: int
    """Usually of `Kind`; any number if that is what is wrong."""
    version: Version
    tries: int
    error: str

    @property
    def kind_name(self) -> str:
        return Kind(self.kind).name if self.kind in list(Kind) else str(self.kind)


class FailedChanges:
    """The failed changes of one space.

    They stay in the outbox, so the users who made them still read their edges from the forward
    rows, and `verify` does not report these edges. No watermark waits for them.
    """

    def __init__(self, postgres: Postgres) -> None:
        self._postgres = postgres

    async def first(self, limit: int) -> Sequence[FailedChange]:
        """At most `limit` failed changes, lane by lane, the oldest of a lane first."""
        rows = await self._postgres.fetch(_SQL.list_failed, *_FAILED_LANES, limit)
        return list(map(_failed_change, rows))

    async def count(self) -> int:
        """Number of failed changes, up to `COUNTED_MAX`."""
        row = await self._postgres.row(_SQL.count_failed, *_FAILED_LANES, COUNTED_MAX)
        assert row is not None
        return int(row["count"])

    async def retry(self, ids: Sequence[int] | None) -> dict[int, Lane]:
        """Return the changes `ids`, or all if it is None, to their lanes. Returns those found, with
        their lanes."""
        ids_or_all = None if ids is None else list(ids)
        rows = await self._postgres.fetch(_SQL.retry_failed, *_FAILED_LANES, ids_or_all)
        return {row["id"]: Lane(row["lane"]) for row in rows}

    async def drop(self, ids: Sequence[int]) -> Sequence[int]:
        """Delete the changes `ids`. Returns those found. They are then never applied to the reverse
        rows or the caches; `kith verify --repair` copies the forward rows to the reverse rows."""
        rows = await self._postgres.fetch(_SQL.drop_failed, *_FAILED_LANES, list(ids))
        return [row["id"] for row in rows]


def _failed_change(row: Record) -> FailedChange:
    return FailedChange(
        row["id"],
        Pair(UserId(row["from_user_id"]), UserId(row["to_user_id"])),
        row["kind"],
        row["version"],
        row["tries"],
        row["error"] or "",
    )
