"""Totals from the two count tables. Knows nothing of caches."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from graph.counts import NO_COUNTS, Counts
from graph.edge import UserId
from storage.postgres import sql
from storage.postgres.pool import Postgres


@dataclass(frozen=True, slots=True)
class _Statements:
    counts: str
    any_edge: str


_SQL = sql.load(_Statements, "counts")


class PostgresCounts:
    """Keeps `storage.ports.CountsOf`."""

    def __init__(self, postgres: Postgres) -> None:
        self._postgres = postgres

    async def of(self, users: Sequence[UserId], viewer: UserId | None) -> Mapping[UserId, Counts]:
        rows = await self._postgres.fetch(_SQL.counts, list(users), viewer or 0)
        found = {UserId(user): Counts(*totals) for user, *totals in rows}
        return {user: found.get(user, NO_COUNTS) for user in users}


async def is_empty(postgres: Postgres) -> bool:
    """Whether nobody has ever followed anybody."""
    return await postgres.row(_SQL.any_edge) is None
