"""The pending changes of users: those that wait in the outbox."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from graph.edge import UserId
from storage.postgres import sql
from storage.postgres.connection.pool import Postgres


@dataclass(frozen=True, slots=True)
class _Statements:
    pending: str


_SQL = sql.load(_Statements, "pending_edges")


class PostgresPending:
    """Implements `storage.cache.tables.PendingRows`: one index range per user, nearly always
    empty."""

    def __init__(self, postgres: Postgres) -> None:
        self._postgres = postgres

    async def get_many(self, users: Sequence[UserId]) -> Mapping[UserId, Collection[UserId]]:
        targets: dict[UserId, set[UserId]] = {user: set() for user in users}
        for source, target in await self._postgres.fetch(_SQL.pending, list(users)):
            targets[source].add(target)
        return targets
