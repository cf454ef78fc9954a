"""Locks and decodes rows of the account table."""

from dataclasses import dataclass

from graph.account import Account
from graph.account_state import AccountState
from graph.edge import UserId
from graph.privacy import Audience, Privacy
from storage.postgres import sql
from storage.postgres.connection.acquired import Connection, Record


@dataclass(frozen=True, slots=True)
class _Statements:
    ensure_account: str
    lock_account: str
    account_state: str


_SQL = sql.load(_Statements, "account_rows")


async def lock_account(connection: Connection, user: UserId) -> Record:
    """Lock the user's row until the transaction ends, creating it if it does not exist. Returns it
    with the database's clock in microseconds, as `now`."""
    await connection.fetch(_SQL.ensure_account, user)
    row = await connection.row(_SQL.lock_account, user)
    assert row is not None
    return row


async def state_and_clock(connection: Connection, user: UserId) -> tuple[AccountState, int]:
    """The state of the user's account, ACTIVE if it has no row, and the database's clock in
    microseconds."""
    row = await connection.row(_SQL.account_state, user)
    assert row is not None
    return AccountState(row["state"]), row["now"]


def account_of(row: Record) -> Account:
    """The account in any row that has the columns of an account."""
    privacy = Privacy(
        protected=row["protected"],
        following=Audience(row["following_audience"]),
        followers=Audience(row["followers_audience"]),
        present=row["present"],
    )
    return Account(privacy, row["following_limit"])
