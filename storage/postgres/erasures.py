"""Finds the remaining data of deleted accounts, and deletes the last of it.

The progress of an erasure is only in the tables, so any worker can continue it.
"""

from collections.abc import Sequence, Set
from dataclasses import dataclass

from graph.edge import UserId
from graph.lane import Lane, failed_lane, parked_lane
from storage.postgres import sql
from storage.postgres.connection.pool import Postgres

BATCH_ROWS = 1000
"""Rows that one statement deletes."""


@dataclass(frozen=True, slots=True)
class _Statements:
    unfinished: str
    is_unfinished: str
    targets: str
    sources: str
    muted_or_dismissed_by: str
    lane: str
    has_pending_change: str
    clear_receipts: str
    clear_messages: str
    clear_tombstones: str
    clear_notes: str
    clear_notes_about: str
    clear_members: str
    clear_groups: str
    clear_memberships: str
    clear_pins: str
    clear_pins_of: str
    finish: str


_SQL = sql.load(_Statements, "erasures")


class Erasures:
    """The erasures of one space. Implements `storage.ports.accounts.Neighbours`."""

    def __init__(self, postgres: Postgres) -> None:
        self._postgres = postgres

    async def unfinished(self, limit: int) -> Sequence[UserId]:
        """Deleted accounts that may have data left, at most `limit`."""
        return [row["user_id"] for row in await self._postgres.fetch(_SQL.unfinished, limit)]

    async def is_unfinished(self, user: UserId) -> bool:
        """Whether the user's account is deleted and not erased."""
        return await self._postgres.row(_SQL.is_unfinished, user) is not None

    async def targets(self, user: UserId, limit: int) -> Sequence[UserId]:
        """At most `limit` users to whom the user has an edge, and as many whom the user has only
        muted or dismissed."""
        return [row["id"] for row in await self._postgres.fetch(_SQL.targets, user, limit)]

    async def sources(self, user: UserId, limit: int) -> Sequence[UserId]:
        """At most `limit` users who have an edge to the user, as far as the user's lane is
        drained."""
        return [row["id"] for row in await self._postgres.fetch(_SQL.sources, user, limit)]

    async def muted_or_dismissed_by(self, user: UserId, limit: int) -> Sequence[UserId]:
        """At most `limit` users who have no edge to the user, but have muted or dismissed the
        user."""
        return [
            row["id"] for row in await self._postgres.fetch(_SQL.muted_or_dismissed_by, user, limit)
        ]

    async def neighbours(self, user: UserId, limit: int) -> Set[UserId]:
        targets, sources = await self.targets(user, limit), await self.sources(user, limit)
        return {*targets, *sources, *await self.muted_or_dismissed_by(user, limit)}

    async def has_pending_change(self, user: UserId) -> bool:
        """Whether a change from or to the user is in the outbox: not applied, parked or failed."""
        lane = await self.lane(user)
        lanes = [lane, parked_lane(lane), failed_lane(lane)]
        return await self._postgres.row(_SQL.has_pending_change, user, lanes) is not None

    async def lane(self, user: UserId) -> Lane:
        """The lane of changes towards the user."""
        row = await self._postgres.row(_SQL.lane, user)
        assert row is not None
        return Lane(row["lane"])

    async def finish(self, user: UserId, age_s: float) -> bool:
        """Finish the erasure of a user without edges who was deleted more than `age_s` seconds ago.

        This deletes the user's receipts, the request messages in other users' receipts, the private
        notes by and about the user, pins by and of the user, the user's groups, their membership in
        those of others, the tombstones of the user's own edges, counts and settings. Returns
        whether the erasure is finished.
        """
        for statement in (
            _SQL.clear_receipts,
            _SQL.clear_messages,
            _SQL.clear_tombstones,
            _SQL.clear_notes,
            _SQL.clear_notes_about,
            _SQL.clear_members,
            _SQL.clear_groups,
            _SQL.clear_memberships,
            _SQL.clear_pins,
            _SQL.clear_pins_of,
        ):
            while await self._delete_batch(statement, user) == BATCH_ROWS:
                pass
        row = await self._postgres.row(_SQL.finish, user, age_s)
        assert row is not None
        return bool(row["finished"])

    async def _delete_batch(self, statement: str, user: UserId) -> int:
        """Returns how many rows were deleted."""
        row = await self._postgres.row(statement, user, BATCH_ROWS)
        assert row is not None
        return int(row["count"])
