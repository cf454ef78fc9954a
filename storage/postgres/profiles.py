"""Accounts and totals in one statement, from their tables. Knows nothing of caches."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from graph.account import DEFAULT
from graph.counts import NO_COUNTS, Counts
from graph.edge import UserId
from storage.ports import Profile
from storage.postgres import sql
from storage.postgres.account_rows import account_of
from storage.postgres.pool import Postgres, Record


@dataclass(frozen=True, slots=True)
class _Statements:
    profiles: str
    few_absent: str
    many_absent: str
    any_edge: str


FEW = 200
"""So many absent accounts are looked up in every list; of more, every list among them."""

COUNTED_MAX = 10_000
"""How many entries of a list are looked up, if very many are absent."""

_SQL = sql.load(_Statements, "profiles")
_TOTALS = slice(1, 1 + len(NO_COUNTS.numbers))
_NOTHING = Profile(DEFAULT, NO_COUNTS)


class PostgresProfiles:
    """Keeps `storage.ports.Profiles`."""

    def __init__(self, postgres: Postgres) -> None:
        self._postgres = postgres

    async def of(self, users: Sequence[UserId], viewer: UserId | None) -> Mapping[UserId, Profile]:
        rows = await self._postgres.fetch(_SQL.profiles, list(users), viewer or 0, FEW + 1)
        found = {UserId(row["user_id"]): _profile(row) for row in rows}
        if rows and rows[0]["absent"]:
            found |= await self._without_absent(found, rows[0]["absent"])
        return {user: found.get(user, _NOTHING) for user in users}

    async def _without_absent(
        self, found: Mapping[UserId, Profile], absent: int
    ) -> Mapping[UserId, Profile]:
        """The profiles of those in whose lists there is anybody who is absent."""
        few = absent <= FEW
        statement, most = (_SQL.few_absent, FEW) if few else (_SQL.many_absent, COUNTED_MAX)
        rows = await self._postgres.fetch(statement, list(found), most)
        return {user: _with_absent(found[user], Counts(*counts)) for user, *counts in rows}


async def is_empty(postgres: Postgres) -> bool:
    """Whether nobody has ever followed anybody."""
    return await postgres.row(_SQL.any_edge) is None


def _profile(row: Record) -> Profile:
    """Of a user who has an account, totals, or both."""
    account = DEFAULT if row["protected"] is None else account_of(row)
    counts = NO_COUNTS if row["following"] is None else Counts(*row[_TOTALS])
    return Profile(account, counts)


def _with_absent(profile: Profile, absent: Counts) -> Profile:
    return profile._replace(counts=profile.counts._replace(absent=absent))
