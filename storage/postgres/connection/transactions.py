"""Transactions that are run again after a deadlock, and that end with a result when they are rolled
back."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Coroutine
from functools import wraps
from typing import ParamSpec, TypeVar, cast

from graph.edge import UserId
from storage.postgres.connection.acquired import Connection
from storage.postgres.connection.domain_errors import TransactionRolledBack
from storage.postgres.connection.pool import Postgres

TRIES = 5
"""How often a transaction is run if PostgreSQL cancels it each time."""

PAUSE_S = 0.01
"""The shortest first pause before a transaction is run again; the longest is twice as long. Each
further pause is twice as long as the one before."""

P = ParamSpec("P")
T = TypeVar("T")


def repeat_cancelled(
    transaction: Callable[P, Awaitable[T]],
) -> Callable[P, Coroutine[object, object, T]]:
    """Run a whole transaction, and again if PostgreSQL cancels it because of a deadlock or a
    conflict with another one: it has changed nothing then.

    Raises:
        TransactionRolledBack: it was cancelled `TRIES` times.
    """

    @wraps(transaction)
    async def run(*args: P.args, **kwargs: P.kwargs) -> T:
        pause_s = PAUSE_S
        for _ in range(TRIES - 1):
            try:
                return await transaction(*args, **kwargs)
            except TransactionRolledBack:
                await asyncio.sleep(pause_s * (1 + random.random()))
                pause_s *= 2
        return await transaction(*args, **kwargs)

    return run


class RolledBack(Exception):
    """Rolls the transaction of `in_transaction` back; carries the result to return."""

    def __init__(self, result: object) -> None:
        self.result = result


@repeat_cancelled
async def in_transaction(
    postgres: Postgres, user: UserId, change: Callable[[Connection], Awaitable[T]]
) -> T:
    """Run `change` for a user in a transaction. It occupies one of the user's slots
    (`UserConcurrency`). If `change` raises RolledBack, which must carry a result of the same type,
    the transaction is rolled back and this result is returned. If PostgreSQL cancels the
    transaction, `change` runs again.
    """
    async with postgres.user_concurrency.slot(user), postgres.connection() as connection:
        try:
            async with connection.transaction():
                return await change(connection)
        except RolledBack as rolled_back:
            return cast(T, rolled_back.result)
