"""Transactions that end with a result, also when they are rolled back."""

from collections.abc import Awaitable, Callable
from typing import TypeVar, cast

from graph.edge import UserId
from storage.postgres.pool import Connection, Postgres

T = TypeVar("T")


class RolledBack(Exception):
    """Rolls the transaction of `in_transaction` back; carries the result to return."""

    def __init__(self, result: object) -> None:
        self.result = result


async def in_transaction(
    postgres: Postgres, user: UserId, change: Callable[[Connection], Awaitable[T]]
) -> T:
    """Run a change of a user in a transaction. If it raises RolledBack, which must carry a result
    of the same type, the transaction is rolled back and this result is returned.
    """
    async with postgres.turns.of(user), postgres.connection() as connection:
        try:
            async with connection.transaction():
                return await change(connection)
        except RolledBack as rolled_back:
            return cast(T, rolled_back.result)
