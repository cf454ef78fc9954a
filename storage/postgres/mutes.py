"""Finds the mutes whose end has passed."""

from collections.abc import Sequence
from dataclasses import dataclass

from graph.edge import Pair
from storage.postgres import sql
from storage.postgres.connection.pool import Postgres


@dataclass(frozen=True, slots=True)
class _Statements:
    expired_mutes: str


_SQL = sql.load(_Statements, "mutes")


class PostgresMutes:
    """Implements `storage.ports.edges.Mutes`."""

    def __init__(self, postgres: Postgres) -> None:
        self._postgres = postgres

    async def expired(self, limit: int) -> Sequence[Pair]:
        return [Pair(*row) for row in await self._postgres.fetch(_SQL.expired_mutes, limit)]
