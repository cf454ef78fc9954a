"""Pages of lists from the forward and reverse rows."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from struct import Struct
from typing import cast

from graph.edge import Kind, UserId
from graph.page import EMPTY_PAGE, ListKind, OwnListKind, Page, Position, Window, cut
from storage.postgres import sql
from storage.postgres.pool import Postgres, Record


@dataclass(frozen=True, slots=True)
class _Statements:
    following_older: str
    following_newer: str
    following_of_one_older: str
    following_of_one_newer: str
    followers_older: str
    followers_newer: str
    followers_of_one_older: str
    followers_of_one_newer: str
    close_follows_older: str
    close_follows_newer: str
    muted_older: str
    muted_newer: str
    friends_older: str
    friends_newer: str


_SQL = sql.load(_Statements, "lists")

_FOLLOWING = _SQL.following_older, _SQL.following_newer
_FOLLOWERS = _SQL.followers_older, _SQL.followers_newer
_OF_ONE = {
    ListKind.FOLLOWING: (_SQL.following_of_one_older, _SQL.following_of_one_newer),
    ListKind.FOLLOWERS: (_SQL.followers_of_one_older, _SQL.followers_of_one_newer),
}
_OPEN, _OPEN_AND_WHISPERS = [Kind.FOLLOW], [Kind.FOLLOW, Kind.WHISPER]
_NOBODY = 0

_entries = cast("Callable[[bytes], Iterator[Position]]", Struct(">qq").iter_unpack)


class PostgresLists:
    """Implements `storage.cache.tables.ListRows` with one statement per call."""

    def __init__(self, postgres: Postgres) -> None:
        self._postgres = postgres

    async def pages(
        self, kind: ListKind, users: Sequence[UserId], window: Window, viewer: UserId | None
    ) -> Mapping[UserId, Page]:
        if viewer is None and len(users) == 1 and kind in _OF_ONE:
            return {users[0]: await _page(self._postgres, _OF_ONE[kind], users[0], window)}
        asker = viewer or _NOBODY
        match kind:
            case ListKind.FOLLOWING:
                return await _pages(self._postgres, _FOLLOWING, users, window, _OPEN)
            case ListKind.FOLLOWERS:
                return await _pages(self._postgres, _FOLLOWERS, users, window, _OPEN, asker)
            case ListKind.FRIENDS:
                friends = _SQL.friends_older, _SQL.friends_newer
                return await _pages(self._postgres, friends, users, window, asker)


class PostgresOwnLists:
    """Implements `storage.ports.OwnLists` with one statement per call, for any number of users."""

    def __init__(self, postgres: Postgres) -> None:
        self._postgres = postgres

    async def pages(
        self, kind: OwnListKind, users: Sequence[UserId], window: Window
    ) -> Mapping[UserId, Page]:
        return await _pages(self._postgres, _ENDS[kind], users, window, *_OF_KINDS[kind])


_ENDS = {
    OwnListKind.FOLLOWING: _FOLLOWING,
    OwnListKind.FOLLOWERS: _FOLLOWERS,
    OwnListKind.CLOSE_FOLLOWS: (_SQL.close_follows_older, _SQL.close_follows_newer),
    OwnListKind.MUTED: (_SQL.muted_older, _SQL.muted_newer),
    OwnListKind.BLOCKED: _FOLLOWING,
    OwnListKind.OUTGOING_REQUESTS: _FOLLOWING,
    OwnListKind.INCOMING_REQUESTS: _FOLLOWERS,
}
"""The two statements of each list: from its newest entry, and from its oldest."""

_OF_KINDS: Mapping[OwnListKind, tuple[object, ...]] = {
    OwnListKind.FOLLOWING: (_OPEN_AND_WHISPERS,),
    OwnListKind.FOLLOWERS: (_OPEN_AND_WHISPERS, _NOBODY),
    OwnListKind.CLOSE_FOLLOWS: (),
    OwnListKind.MUTED: (),
    OwnListKind.BLOCKED: ([Kind.BLOCK],),
    OwnListKind.OUTGOING_REQUESTS: ([Kind.REQUEST],),
    OwnListKind.INCOMING_REQUESTS: ([Kind.REQUEST], _NOBODY),
}
"""The arguments of each list's statements, after the window. They pass no viewer: an owner's change
to the reverse side of their list is applied before it is acknowledged."""


async def _page(postgres: Postgres, ends: tuple[str, str], user: UserId, window: Window) -> Page:
    """One user's page for any viewer. The statement applies the window's bounds and order."""
    ((packed,),) = await postgres.fetch(
        ends[window.backward], user, *window.after, *window.before, window.size + 1
    )
    entries = tuple(_entries(packed or b""))
    kept = entries[: window.size]
    return Page(kept[::-1] if window.backward else kept, len(entries) > window.size)


async def _pages(
    postgres: Postgres,
    ends: tuple[str, str],
    users: Sequence[UserId],
    window: Window,
    *more: object,
) -> Mapping[UserId, Page]:
    rows = await postgres.fetch(
        ends[window.backward], list(users), *window.after, *window.before, window.size + 1, *more
    )
    entries = _by_user(rows)
    return {u: cut(entries[u], window) if u in entries else EMPTY_PAGE for u in users}


def _by_user(rows: Sequence[Record]) -> Mapping[UserId, list[Position]]:
    entries: defaultdict[UserId, list[Position]] = defaultdict(list)
    for user, since, other in rows:
        entries[user].append(Position(since, other))
    return entries
