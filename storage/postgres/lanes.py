"""Changes the number of lanes of a space while it is in use."""

from dataclasses import dataclass

from storage.postgres import sql
from storage.postgres.connection import locks
from storage.postgres.connection.acquired import Connection as PooledConnection
from storage.postgres.connection.connections import Connection
from storage.postgres.connection.session import retry, session
from storage.settings import StorageSettings

MOVED_MAX = 50_000
"""The most changes that a new number of lanes may move. It takes about a second, for which all
writes wait."""


@dataclass(frozen=True, slots=True)
class _Statements:
    count_lanes: str
    lock_lane_count: str
    share_lane_count: str
    lock_outbox: str
    set_lanes: str
    drop_canaries: str
    move_changes: str
    forget_canaries: str


_SQL = sql.load(_Statements, "lanes")


class TooManyWaiting(ValueError):
    """More changes wait in the outbox than may be moved at once."""


async def count_lanes(settings: StorageSettings) -> int:
    """The number of lanes of a space.

    Raises:
        Unavailable: PostgreSQL cannot be reached.
    """
    async with session(settings, "lanes") as connection:
        return int(await connection.fetchval(_SQL.count_lanes, 0))


async def set_lanes(settings: StorageSettings, lanes: int) -> None:
    """Set the number of lanes, and move the waiting changes to their new lanes, in one transaction.

    So every change is in the lane of its target at any time: the changes towards a user keep their
    order, and the lock of a lane covers all of its changes. Writes and drains wait meanwhile.

    Raises:
        TooManyWaiting: the move would take too long.
        Unavailable: PostgreSQL cannot be reached, or others held their locks for too long.
    """
    async with session(settings, "lanes") as connection:
        await retry(_set_lanes, connection, lanes)


async def keep_lane_count(connection: "Connection | PooledConnection") -> None:
    """Prevent a change of the number of lanes until the transaction ends. A transaction that locks
    lanes and does not write to the outbox must call this before it locks a lane."""
    await connection.fetch(_SQL.share_lane_count, locks.LANE_COUNT)


async def _set_lanes(connection: Connection, lanes: int) -> None:
    async with connection.transaction():
        await connection.execute(_SQL.lock_lane_count, locks.LANE_COUNT)
        await connection.execute(_SQL.lock_outbox)
        row = await connection.fetchrow(_SQL.count_lanes, MOVED_MAX + 1)
        assert row is not None
        if row["waiting"] > MOVED_MAX:
            raise TooManyWaiting(
                f"More than {MOVED_MAX:,} changes are waiting in the outbox. Set the number of "
                "lanes when the workers have drained them."
            )
        await connection.execute(_SQL.set_lanes, lanes)
        await connection.execute(_SQL.drop_canaries)
        await connection.execute(_SQL.move_changes, lanes)
        await connection.execute(_SQL.forget_canaries, lanes)
