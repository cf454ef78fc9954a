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
    few_absent: str
    many_absent: str
    any_edge: str


FEW = 200
"""So many absent accounts are looked up in every list; of more, every list among them."""

COUNTED_MAX = 10_000
"""How many entries of a list are looked up, if very many are absent."""

_SQL = sql.load(_Statements, "counts")


class PostgresCounts:
    """Keeps `storage.ports.CountsOf`."""

    def __init__(self, postgres: Postgres) -> None:
        self._postgres = postgres

    async def of(self, users: Sequence[UserId], viewer: UserId | None) -> Mapping[UserId, Counts]:
        rows = await self._postgres.fetch(_SQL.counts, list(users), viewer or 0, FEW + 1)
        found = {UserId(user): Counts(*totals) for user, *totals, _ in rows}
        if rows and rows[0]["absent"]:
            found |= await self._without_absent(found, rows[0]["absent"])
        return {user: found.get(user, NO_COUNTS) for user in users}

    async def _without_absent(
        self, found: Mapping[UserId, Counts], absent: int
    ) -> Mapping[UserId, Counts]:
        """The counts of those in whose lists there is anybody who is absent."""
        few = absent <= FEW
        statement, most = (_SQL.few_absent, FEW) if few else (_SQL.many_absent, COUNTED_MAX)
        rows = await self._postgres.fetch(statement, list(found), most)
        return {user: found[user]._replace(absent=Counts(*counts)) for user, *counts in rows}


async def is_empty(postgres: Postgres) -> bool:
    """Whether nobody has ever followed anybody."""
    return await postgres.row(_SQL.any_edge) is None
