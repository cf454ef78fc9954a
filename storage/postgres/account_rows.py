"""The row of an account: what it says, and how it is held while that changes."""

from dataclasses import dataclass

from graph.account import Account
from graph.edge import UserId
from graph.visibility import Audience, Privacy
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


def account_of(row: Record) -> Account:
    """What any row with the columns of an account says."""
    privacy = Privacy(
        protected=row["protected"],
        following=Audience(row["following_audience"]),
        followers=Audience(row["followers_audience"]),
        present=row["present"],
    )
    return Account(privacy, row["following_limit"])
