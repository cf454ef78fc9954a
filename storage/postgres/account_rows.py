"""The row of an account, held while it is changed. Knows nothing of what is changed."""

from dataclasses import dataclass

from graph.edge import UserId
from storage.postgres import sql
from storage.postgres.pool import Connection, Record


@dataclass(frozen=True, slots=True)
class _Statements:
    ensure_account: str
    lock_account: str


_SQL = sql.load(_Statements, "account_rows")


async def lock_account(connection: Connection, user: UserId) -> Record:
    """The row of the user, who had none before, perhaps: held until the transaction ends."""
    await connection.fetch(_SQL.ensure_account, user)
    row = await connection.row(_SQL.lock_account, user)
    assert row is not None
    return row
