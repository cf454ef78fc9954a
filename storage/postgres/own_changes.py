"""Changes of what a user keeps for themselves, each in one transaction with its rate limit and its
receipt."""

from collections.abc import Awaitable, Callable

from graph.edge import UserId
from graph.outcome import Outcome
from graph.own_change import OwnChange
from graph.pace import Pace
from graph.receipt import Request
from storage.postgres.accounts import charge_rate_limit
from storage.postgres.pool import Connection, Postgres
from storage.postgres.receipts import write_receipt


class _TooFast(Exception):
    """Rolls the transaction back; carries the result to return."""

    def __init__(self, change: OwnChange) -> None:
        self.change = change


async def in_transaction(
    postgres: Postgres, change: Callable[[Connection], Awaitable[OwnChange]]
) -> OwnChange:
    """Run a change that ends with `complete`. It is rolled back if the user is too fast."""
    async with postgres.connection() as connection:
        try:
            async with connection.transaction():
                return await change(connection)
        except _TooFast as too_fast:
            return too_fast.change


async def complete(
    connection: Connection,
    user: UserId,
    other: UserId,
    outcome: Outcome,
    now: int,
    request: Request | None,
    pace: Pace | None,
) -> OwnChange:
    """Charge the rate limit of `user` for the change, unless it has changed nothing and has no
    `request`, and write its receipt. `other`: the user whom it concerns; `now`: microseconds.

    Raises:
        ReceiptExists: the receipt exists; the transaction can only be rolled back.
    """
    if pace is not None and (request or outcome is Outcome.UPDATED):
        later = await charge_rate_limit(connection, user, pace, now)
        if later is not None:
            raise _TooFast(OwnChange(Outcome.RATE_LIMITED, later))
    if request is not None:
        await write_receipt(connection, request, other, outcome, now)
    return OwnChange(outcome)
