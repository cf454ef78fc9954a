"""Maintains the absent follower counts.

When an account becomes absent or active again, a worker adjusts the counts of all users whom the
account follows. Their number is bounded, unlike that of its followers. The worker
locks all lanes meanwhile, so that no drain applies an edge that is being counted.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple

from graph.edge import UserId
from storage.postgres import sql
from storage.postgres.connection import locks
from storage.postgres.connection.acquired import Connection
from storage.postgres.connection.pool import Postgres
from storage.postgres.lanes import keep_lane_count
from storage.postgres.profiles import FOLLOWERS_MAX

EDGES_MAX = 2_000
"""Edges of all accounts that one batch counts: about 25 ms, for which every drain waits. An account
with more is a batch of its own."""

COUNT_TIMEOUT_S = 15
"""The statement timeout of a batch: enough for an account that follows over a million users."""


@dataclass(frozen=True, slots=True)
class _Statements:
    try_lock: str
    lock_lanes: str
    raise_timeout: str
    waiting: str
    update_counts: str
    first_on_citus: str
    edges_on_citus: str
    hold_followed_on_citus: str
    update_counts_on_citus: str
    mark_counted_on_citus: str


_SQL = sql.load(_Statements, "absent_follower_counts")


class Counted(NamedTuple):
    """The number of accounts that a batch has counted, and the users with many followers whose
    totals have changed."""

    accounts: int
    users: Sequence[UserId]


class AbsentFollowerCounts:
    def __init__(self, postgres: Postgres, followers_max: int = FOLLOWERS_MAX) -> None:
        self._postgres = postgres
        self._followers_max = followers_max

    async def waiting(self, limit: int) -> int:
        """Number of accounts that were not counted since their state changed, up to `limit`."""
        row = await self._postgres.row(_SQL.waiting, limit)
        assert row is not None
        return int(row["count"])

    async def update(self, limit: int) -> Counted:
        """Count up to `limit` accounts whose state has changed, fewer if they follow many users.
        Counts none if another process is counting, in any space of the database.

        `Counted.users` leaves out users with few followers: while an account is not counted, the
        absent followers of these users are looked up, so their totals were right already.
        """
        if not await self.waiting(1):
            return Counted(0, ())
        async with self._postgres.connection() as connection, connection.transaction():
            lock = await connection.row(_SQL.try_lock, locks.ABSENT_FOLLOWER_COUNTS)
            if not (lock and lock["is_mine"]):
                return Counted(0, ())
            await keep_lane_count(connection)
            await connection.row(_SQL.lock_lanes, locks.LANE)
            await connection.row(_SQL.raise_timeout, f"{COUNT_TIMEOUT_S}s")
            # The next statement is separate, so that its snapshot is newer than the commits of the
            # transactions that held the locks before.
            if connection.is_citus:
                return await _update_on_citus(connection, limit, self._followers_max)
            totals_row, *rows = await connection.fetch(
                _SQL.update_counts, limit, self._followers_max, EDGES_MAX, timeout=COUNT_TIMEOUT_S
            )
        return Counted(totals_row["accounts"], [row["user_id"] for row in rows])


async def _update_on_citus(connection: Connection, limit: int, followers_max: int) -> Counted:
    """Do the same as `update_counts` in several statements, each of which Citus can run on the
    shards that have its rows."""
    waiting = await connection.fetch(_SQL.first_on_citus, limit)
    steps = {row["user_id"]: row["step"] for row in waiting}
    edge_rows = await connection.fetch(_SQL.edges_on_citus, list(steps))
    users = _first_with_few_edges(list(steps), {row["user_id"]: row["edges"] for row in edge_rows})
    await connection.fetch(_SQL.hold_followed_on_citus, users, timeout=COUNT_TIMEOUT_S)
    rows = await connection.fetch(
        _SQL.update_counts_on_citus,
        users,
        [steps[user] for user in users],
        followers_max,
        timeout=COUNT_TIMEOUT_S,
    )
    await connection.fetch(_SQL.mark_counted_on_citus, users)
    return Counted(len(users), [row["user_id"] for row in rows])


def _first_with_few_edges(users: Sequence[UserId], edges: Mapping[UserId, int]) -> Sequence[UserId]:
    """The first of `users`, who together have at most `EDGES_MAX` edges; at least one of them."""
    sums = accumulate(edges.get(user, 0) for user in users)
    fitting = sum(1 for total in sums if total <= EDGES_MAX)
    return users[: max(1, fitting)]
