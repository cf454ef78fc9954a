"""Accounts and totals from their tables, in one statement."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from graph.account import DEFAULT
from graph.counts import NO_COUNTS, Counts
from graph.edge import UserId
from graph.profile import Profile
from storage.postgres import sql
from storage.postgres.account_rows import account_of
from storage.postgres.pool import Postgres, Record


@dataclass(frozen=True, slots=True)
class _Statements:
    profiles: str
    absent: str
    any_edge: str


AHEAD_MAX = 10_000
"""How many users that a user follows are looked up among all absent accounts."""

FOLLOWERS_MAX = 1_000
"""While some account is not counted yet, absent users are looked up in lists of up to so many
followers."""

_SQL = sql.load(_Statements, "profiles")
_TOTALS = slice(1, 1 + len(NO_COUNTS.numbers))
_NOTHING = Profile(DEFAULT, NO_COUNTS)


class PostgresProfiles:
    """Implements `storage.cache.tables.ProfileRows`."""

    def __init__(self, postgres: Postgres, followers_max: int = FOLLOWERS_MAX) -> None:
        self._postgres = postgres
        self._followers_max = followers_max

    async def get_many(
        self, users: Sequence[UserId], viewer: UserId | None
    ) -> Mapping[UserId, Profile]:
        rows = await self._postgres.fetch(_SQL.profiles, list(users), viewer or 0)
        found = {UserId(row["user_id"]): _profile(row) for row in rows}
        if rows and rows[0]["any_absent"]:
            most = AHEAD_MAX, self._followers_max
            for user, *counts in await self._postgres.fetch(_SQL.absent, list(found), *most):
                found[user] = _with_absent(found[user], Counts(*counts))
        return {user: found.get(user, _NOTHING) for user in users}


async def is_empty(postgres: Postgres) -> bool:
    """Whether the space has never had an edge."""
    return await postgres.row(_SQL.any_edge) is None


def _profile(row: Record) -> Profile:
    """The profile of a user who has an account row, a count row, or both."""
    account = DEFAULT if row["protected"] is None else account_of(row)
    counts = NO_COUNTS if row["following"] is None else Counts(*row[_TOTALS])
    return Profile(account, counts)


def _with_absent(profile: Profile, absent: Counts) -> Profile:
    return profile._replace(counts=profile.counts._replace(absent=absent))
