"""Counts among users' followers who has gone, and who is back. Knows no cache and no list.

Whose state has changed is counted anew by the workers, in the lists of all whom they follow: these
are bounded, as their own followers are not. Nothing of a lane moves meanwhile, so that what is
counted and what is applied never meet.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from graph.edge import UserId
from graph.lane import LANES
from storage.postgres import locks, sql
from storage.postgres.pool import Postgres
from storage.postgres.profiles import FOLLOWERS_MAX

COUNT_S = 60
"""Nobody may stay at the head of the queue for ever, however many users they follow."""


@dataclass(frozen=True, slots=True)
class _Statements:
    lock_lanes: str
    be_patient: str
    waiting: str
    count_anew: str


_SQL = sql.load(_Statements, "departures")


class Counted(NamedTuple):
    """How many accounts were counted anew, and those whose totals changed by it."""

    accounts: int
    users: Sequence[UserId]


class Departures:
    def __init__(self, postgres: Postgres, followers_max: int = FOLLOWERS_MAX) -> None:
        self._postgres = postgres
        self._followers_max = followers_max

    async def waiting(self, most: int) -> int:
        """How many have gone or are back, and are not counted yet; `most` at most."""
        row = await self._postgres.row(_SQL.waiting, most)
        assert row is not None
        return int(row["count"])

    async def count_anew(self, most: int) -> Counted:
        """Counts `most` of those who have gone or are back, and who were not yet.

        Of users with few followers nobody need be told: these are not counted but looked up.
        """
        if not await self.waiting(1):
            return Counted(0, ())
        async with self._postgres.connection() as connection, connection.transaction():
            await connection.row(_SQL.lock_lanes, locks.LANE, LANES)
            await connection.row(_SQL.be_patient, f"{COUNT_S}s")
            # A statement of its own, so that its snapshot is newer than whoever held a lane before.
            nobody, *rows = await connection.fetch(
                _SQL.count_anew, most, self._followers_max, timeout=COUNT_S
            )
        return Counted(nobody["accounts"], [row["user_id"] for row in rows])
