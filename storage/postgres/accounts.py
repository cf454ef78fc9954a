"""Account settings, each account a row of the account table."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from graph.account import DEFAULT, Account, PrivacyChange, Saved
from graph.account_state import AccountState
from graph.edge import UserId
from graph.outcome import Outcome
from graph.pace import Pace
from graph.receipt import IdempotentRequest
from storage.postgres import sql
from storage.postgres.account_rows import account_of, lock_account
from storage.postgres.connection.acquired import Connection
from storage.postgres.connection.pool import Postgres
from storage.postgres.connection.transactions import in_transaction
from storage.postgres.own_changes import complete


@dataclass(frozen=True, slots=True)
class _Statements:
    accounts: str
    write_account: str


_SQL = sql.load(_Statements, "accounts")


class PostgresAccounts:
    """Implements `storage.ports.accounts.Accounts`."""

    def __init__(self, postgres: Postgres) -> None:
        self._postgres = postgres

    async def get_many(self, users: Sequence[UserId]) -> Mapping[UserId, Account]:
        rows = await self._postgres.fetch(_SQL.accounts, list(users))
        accounts = {UserId(row["user_id"]): account_of(row) for row in rows}
        return {user: accounts.get(user, DEFAULT) for user in users}

    async def set_privacy(
        self,
        user: UserId,
        change: PrivacyChange,
        request: IdempotentRequest | None = None,
        pace: Pace | None = None,
    ) -> Saved:
        return await self._change(
            user, change.applied_to, Outcome.ACCOUNT_NOT_ACTIVE, request, pace
        )

    async def set_following_limit(
        self, user: UserId, limit: int | None, request: IdempotentRequest | None = None
    ) -> Saved:
        limited = partial(replace, following_limit=limit)
        return await self._change(user, limited, Outcome.ACCOUNT_DELETED, request)

    async def _change(
        self,
        user: UserId,
        rule: Callable[[Account], Account],
        outcome_if_deleted: Outcome,
        request: IdempotentRequest | None,
        pace: Pace | None = None,
    ) -> Saved:
        async def save(connection: Connection) -> Saved:
            return await _save(connection, user, rule, outcome_if_deleted, request, pace)

        return await in_transaction(self._postgres, user, save)


async def _save(
    connection: Connection,
    user: UserId,
    rule: Callable[[Account], Account],
    outcome_if_deleted: Outcome,
    request: IdempotentRequest | None,
    pace: Pace | None,
) -> Saved:
    """Apply `rule` to the stored account, in the connection's transaction. For a deleted account,
    write nothing, not even a receipt, and return `outcome_if_deleted`. Raises as `complete`."""
    row = await lock_account(connection, user)
    previous, now = account_of(row), row["now"]
    if row["state"] == AccountState.DELETED:
        return Saved(outcome_if_deleted, previous)
    result = _result(previous, rule(previous))
    if result.outcome is Outcome.UPDATED:
        await connection.fetch(_SQL.write_account, user, *_columns(result.account))
    unsaved = replace(result, account=previous)
    return await complete(connection, user, user, result, now, request, pace, rolled_back=unsaved)


def _result(previous: Account, changed: Account) -> Saved:
    return Saved(Outcome.UNCHANGED if changed == previous else Outcome.UPDATED, changed)


def _columns(account: Account) -> tuple[bool, int, int, int | None]:
    """An account as arguments of `write_account`."""
    privacy = account.privacy
    return privacy.protected, privacy.following, privacy.followers, account.following_limit
