"""Reads accounts and totals from their tables."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from graph.account import DEFAULT
from graph.counts import NO_COUNTS, Counts
from graph.edge import UserId
from graph.profile import Profile
from storage.postgres import sql
from storage.postgres.account_rows import account_of
from storage.postgres.connection.acquired import Connection, Record
from storage.postgres.connection.pool import Postgres
from storage.postgres.pending_counts import NO_CHANGES, PendingChange, PendingChanges


@dataclass(frozen=True, slots=True)
class _Statements:
    profiles: str
    pending_from: str
    pending_between: str
    reverse_rows_from: str
    reverse_rows_to: str
    absent: str
    any_edge: str


FOLLOWED_MAX = 10_000
"""How many of the users whom a user follows are looked up among the absent accounts."""

ATTEMPTS = 3
"""How often totals are read if, each time, a drain applies one of the viewer's changes
meanwhile."""

FOLLOWERS_MAX = 1_000
"""While the absent follower counts lack some account, absent users are looked up in the lists of
users with at most this number of followers."""

_SQL = sql.load(_Statements, "profiles")
_TOTALS = slice(1, 1 + len(NO_COUNTS.numbers))


class PostgresProfiles:
    """Implements `storage.cache.tables.ProfileRows`, in one statement, and one more if there is a
    viewer. It takes further ones if the viewer has pending changes, or an account is absent."""

    def __init__(self, postgres: Postgres, followers_max: int = FOLLOWERS_MAX) -> None:
        self._postgres = postgres
        self._followers_max = followers_max

    async def get_many(
        self, users: Sequence[UserId], viewer: UserId | None
    ) -> Mapping[UserId, Profile]:
        async with self._postgres.connection() as connection:
            rows, pending = await _read_totals(connection, list(users), viewer)
            row_of_user = {UserId(row["user_id"]): row for row in rows}
            profiles = {user: _profile(user, row_of_user.get(user), pending) for user in users}
            if rows and rows[0]["any_absent"]:
                limit = FOLLOWED_MAX, self._followers_max
                for user, *counts in await connection.fetch_by_user(
                    _SQL.absent, [*row_of_user], *limit
                ):
                    profiles[user] = _with_absent(profiles[user], Counts(*counts))
        return profiles


async def _read_totals(
    connection: Connection, users: Sequence[UserId], viewer: UserId | None
) -> tuple[list[Record], PendingChanges]:
    """The rows of `profiles`, and the viewer's pending changes that these rows lack.

    If a drain applies a change during each of `ATTEMPTS` reads, the last read is returned: its
    totals may count that change twice.
    """
    for _ in range(ATTEMPTS):
        pending = await _read_pending(connection, users, viewer) if viewer else NO_CHANGES
        rows = await connection.fetch(_SQL.profiles, users)
        if not pending or await _read_reverse_kinds(connection, pending):
            break
    return rows, pending


async def _read_pending(
    connection: Connection, users: Sequence[UserId], viewer: UserId
) -> PendingChanges:
    """The viewer's pending changes to `users` and, if the viewer's own totals are asked for, the
    pending changes to the viewer from all targets of the viewer's changes. Call it before
    reading the totals: they then include every change that is not returned."""
    changes = await connection.fetch(_SQL.pending_from, viewer)
    own_changes = [PendingChange(*change) for change in changes]
    reverse: list[PendingChange] = []
    if own_changes and viewer in users:
        targets = list({change.other for change in own_changes})
        reverse_rows = await connection.fetch(_SQL.pending_between, targets, viewer)
        reverse = [PendingChange(*change) for change in reverse_rows]
    return PendingChanges(
        viewer, [change for change in own_changes if change.other in users], reverse
    )


async def _read_reverse_kinds(connection: Connection, pending: PendingChanges) -> bool:
    """Read the kinds of the reverse rows into `pending`. Returns whether all of its changes are
    still pending, so that totals read before lack all of them."""
    for statement, changes in (
        (_SQL.reverse_rows_from, pending.own),
        (_SQL.reverse_rows_to, pending.reverse),
    ):
        if changes:
            others = list({change.other for change in changes})
            rows = await connection.fetch(statement, pending.viewer, others)
            if changes is pending.own:
                pending.reverse_kinds.update((other, kind) for other, _, kind in rows)
            versions = {other: version for other, version, _ in rows}
            if any(versions.get(change.other, 0) >= change.version for change in changes):
                return False
    return True


async def is_empty(postgres: Postgres) -> bool:
    """Whether the space has neither an edge nor a tombstone."""
    return await postgres.row(_SQL.any_edge) is None


def _profile(user: UserId, row: Record | None, pending: PendingChanges) -> Profile:
    """The profile of a user who has an account row, a count row, both, or none."""
    account = DEFAULT if row is None or row["protected"] is None else account_of(row)
    counts = NO_COUNTS if row is None or row["following"] is None else Counts(*row[_TOTALS])
    if pending:
        counts = pending.add_to(user, counts)
    return Profile(account, counts._replace(friends=max(0, counts.friends)))


def _with_absent(profile: Profile, absent: Counts) -> Profile:
    return profile._replace(counts=profile.counts._replace(absent=absent))
