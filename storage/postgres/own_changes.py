"""Changes of what a user keeps for themselves, each in one transaction with its rate limit and its
receipt."""

from graph.edge import UserId
from graph.outcome import Outcome
from graph.own_change import OwnChange
from graph.pace import Pace
from graph.receipt import Request
from storage.postgres.accounts import charge_rate_limit
from storage.postgres.pool import Connection
from storage.postgres.receipts import write_receipt
from storage.postgres.transactions import RolledBack


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
        RolledBack: the user is too fast.
        ReceiptExists: the receipt exists; the transaction can only be rolled back.
    """
    if pace is not None and (request or outcome is Outcome.UPDATED):
        later = await charge_rate_limit(connection, user, pace, now)
        if later is not None:
            raise RolledBack(OwnChange(Outcome.RATE_LIMITED, later))
    if request is not None:
        await write_receipt(connection, request, other, outcome, now)
    return OwnChange(outcome)
