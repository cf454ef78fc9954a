"""What users have used of their limits, read from their count rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from graph.edge import UserId
from storage.ports import Usage
from storage.postgres import sql
from storage.postgres.pool import Postgres


@dataclass(frozen=True, slots=True)
class _Statements:
    usage: str


_SQL = sql.load(_Statements, "usage")


class PostgresUsages:
    """Implements `storage.ports.Usages`."""

    def __init__(self, postgres: Postgres) -> None:
        self._postgres = postgres

    async def get_many(self, users: Sequence[UserId]) -> Mapping[UserId, Usage]:
        rows = await self._postgres.fetch(_SQL.usage, list(users))
        return {
            UserId(row["user_id"]): Usage(
                following=row["following"],
                following_limit=row["following_limit"],
                blocks=row["blocks"],
                paced_until=row["paced_until"],
                now=row["now"],
            )
            for row in rows
        }
