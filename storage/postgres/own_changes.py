"""Changes of a user's own data and settings, each in one transaction with its rate limit and its
receipt."""

from dataclasses import dataclass, replace
from typing import TypeVar

from graph.account import Saved
from graph.edge import Millis, UserId
from graph.follow_group import SavedGroups
from graph.outcome import Outcome
from graph.own_change import OwnChange
from graph.pace import Pace, latest, retry_at
from graph.receipt import IdempotentRequest
from storage.postgres import sql
from storage.postgres.connection.acquired import Connection
from storage.postgres.connection.transactions import RolledBack
from storage.postgres.receipts import write_receipt


@dataclass(frozen=True, slots=True)
class _Statements:
    charge_change: str


R = TypeVar("R", OwnChange, Saved, SavedGroups)

_SQL = sql.load(_Statements, "own_changes")


async def complete(
    connection: Connection,
    user: UserId,
    other: UserId,
    result: R,
    now: int,
    request: IdempotentRequest | None,
    pace: Pace | None,
    *,
    rolled_back: R | None = None,
) -> R:
    """Complete a change of `user` that the transaction has made: charge the rate limiter, if there
    is a `pace` and the change has changed something or has a `request`; write the receipt of the
    `request`; return `result`.

    `other`: the user whom the change concerns. `now`: the database's clock in microseconds.
    `rolled_back`: the result to return with RATE_LIMITED, if not `result`.

    Raises:
        RolledBack: the user exceeds `pace`.
        ReceiptExists: the receipt exists; the transaction can only be rolled back.
    """
    if pace is not None and (request or result.outcome is not Outcome.UNCHANGED):
        retry_time = await charge_rate_limit(connection, user, pace, now)
        if retry_time is not None:
            raise RolledBack(
                replace(rolled_back or result, outcome=Outcome.RATE_LIMITED, retry_at=retry_time)
            )
    if request is not None:
        await write_receipt(connection, request, other, result.outcome, now)
    return result


async def charge_rate_limit(
    connection: Connection, user: UserId, pace: Pace, now: int
) -> Millis | None:
    """Charge the rate limiter. Returns None, or when to retry: then the caller must roll back."""
    row = await connection.row(_SQL.charge_change, user, now, pace.interval_us, latest(pace, now))
    assert row is not None
    return retry_at(pace, now, row["paced_until"] - pace.interval_us)
