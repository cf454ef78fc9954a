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

EDGES_MAX = 2_000
"""Of all accounts that are counted in one turn: some 25 ms, for which every drain waits."""

COUNT_S = 15
"""As long as a worker's job may take: who follows more than a million users is counted, too."""


@dataclass(frozen=True, slots=True)
class _Statements:
    try_turn: str
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
        """Counts at most `most` of those who have gone or are back, and who were not yet: fewer
        where they follow many. Nobody, while somebody else does so.

        Of users with few followers nobody need be told: these are not counted but looked up.
        """
        if not await self.waiting(1):
            return Counted(0, ())
        async with self._postgres.connection() as connection, connection.transaction():
            turn = await connection.row(_SQL.try_turn, locks.DEPARTURES)
            if not (turn and turn["is_mine"]):
                return Counted(0, ())
            await connection.row(_SQL.lock_lanes, locks.LANE, LANES)
            await connection.row(_SQL.be_patient, f"{COUNT_S}s")
            # A statement of its own, so that its snapshot is newer than whoever held a lane before.
            nobody, *rows = await connection.fetch(
                _SQL.count_anew, most, self._followers_max, EDGES_MAX, timeout=COUNT_S
            )
        return Counted(nobody["accounts"], [row["user_id"] for row in rows])
