"""Accounts, each a row of its own table. Knows nothing of caches."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from graph.account import DEFAULT, Account, PrivacyChange
from graph.edge import UserId
from graph.visibility import Audience, Privacy
from storage.postgres import sql
from storage.postgres.pool import Postgres, Record


@dataclass(frozen=True, slots=True)
class _Statements:
    accounts: str
    set_privacy: str
    set_following_limit: str


_SQL = sql.load(_Statements, "accounts")


class PostgresAccounts:
    """Keeps `storage.ports.Accounts`."""

    def __init__(self, postgres: Postgres) -> None:
        self._postgres = postgres

    async def of(self, users: Sequence[UserId]) -> Mapping[UserId, Account]:
        rows = await self._postgres.fetch(_SQL.accounts, list(users))
        found = {UserId(row["user_id"]): _account(row) for row in rows}
        return {user: found.get(user, DEFAULT) for user in users}

    async def set_privacy(self, user: UserId, change: PrivacyChange) -> Account:
        said = (change.protected, change.following, change.followers)
        return await self._written(_SQL.set_privacy, user, *said)

    async def set_following_limit(self, user: UserId, limit: int | None) -> Account:
        return await self._written(_SQL.set_following_limit, user, limit)

    async def _written(self, statement: str, user: UserId, *said: int | None) -> Account:
        row = await self._postgres.row(statement, user, *said)
        assert row is not None
        return _account(row)


def _account(row: Record) -> Account:
    privacy = Privacy(
        protected=row["protected"],
        following=Audience(row["following_audience"]),
        followers=Audience(row["followers_audience"]),
        present=row["present"],
    )
    return Account(privacy, row["following_limit"])
