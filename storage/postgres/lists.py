"""Pages of lists from the forward and reverse rows. Knows nothing of caches or cursors."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from graph.edge import UserId
from graph.page import EMPTY_PAGE, ListKind, Page, Position, Window, cut
from storage.postgres import sql
from storage.postgres.pool import Postgres, Record


@dataclass(frozen=True, slots=True)
class _Statements:
    following_older: str
    following_newer: str
    followers_older: str
    followers_newer: str
    friends_older: str
    friends_newer: str


_SQL = sql.load(_Statements, "lists")

_FROM_NEW_END = {
    ListKind.FOLLOWING: _SQL.following_older,
    ListKind.FOLLOWERS: _SQL.followers_older,
    ListKind.FRIENDS: _SQL.friends_older,
}
_FROM_OLD_END = {
    ListKind.FOLLOWING: _SQL.following_newer,
    ListKind.FOLLOWERS: _SQL.followers_newer,
    ListKind.FRIENDS: _SQL.friends_newer,
}


class PostgresLists:
    """Keeps `storage.ports.Lists`: one statement a call, however many users."""

    def __init__(self, postgres: Postgres) -> None:
        self._postgres = postgres

    async def pages(
        self, kind: ListKind, users: Sequence[UserId], window: Window, viewer: UserId | None
    ) -> Mapping[UserId, Page]:
        statement = (_FROM_OLD_END if window.backward else _FROM_NEW_END)[kind]
        asker = () if kind is ListKind.FOLLOWING else (viewer or 0,)
        rows = await self._postgres.fetch(
            statement, list(users), *window.after, *window.before, window.size + 1, *asker
        )
        entries = _by_user(rows)
        return {u: cut(entries[u], window) if u in entries else EMPTY_PAGE for u in users}


def _by_user(rows: Sequence[Record]) -> Mapping[UserId, list[Position]]:
    entries: defaultdict[UserId, list[Position]] = defaultdict(list)
    for user, since, other in rows:
        entries[user].append(Position(since, other))
    return entries
