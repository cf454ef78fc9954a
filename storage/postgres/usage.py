"""Reads how much of their limits users have used, from their count rows and accounts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from graph.edge import UserId
from storage.ports.limits import Usage
from storage.postgres import sql
from storage.postgres.connection.pool import Postgres


@dataclass(frozen=True, slots=True)
class _Statements:
    usage: str


_SQL = sql.load(_Statements, "usage")


class PostgresUsages:
    """Implements `storage.ports.limits.Usages`."""

    def __init__(self, postgres: Postgres) -> None:
        self._postgres = postgres

    async def get_many(self, users: Sequence[UserId]) -> Mapping[UserId, Usage]:
        rows = await self._postgres.fetch(_SQL.usage, list(users))
        (now,) = (row["now"] for row in rows if not row["user_id"])  # the row of the clock
        unused = Usage(following=0, following_limit=None, blocks=0, paced_until=0, now=now)
        used = dict.fromkeys(users, unused)
        for row in rows:
            user = UserId(row["user_id"])
            if row["of_account"]:
                used[user] = used[user]._replace(following_limit=row["following_limit"])
            elif user:
                used[user] = used[user]._replace(
                    following=row["following"], blocks=row["blocks"], paced_until=row["paced_until"]
                )
        return used
