"""Reads pages of lists from the forward and reverse rows."""

from collections import defaultdict
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import partial
from struct import Struct
from typing import Any, NamedTuple, cast

from graph.edge import Kind, UserId
from graph.lists import ListKind, OwnListKind
from graph.page import (
    EMPTY_PAGE,
    Page,
    Position,
    Window,
    cut,
)
from storage.postgres import sql
from storage.postgres.connection.acquired import Connection, Record
from storage.postgres.connection.pool import Postgres
from storage.slices import ROWS_PER_SLICE, Slices


@dataclass(frozen=True, slots=True)
class _Statements:
    following_of_one_older: str
    following_of_one_newer: str
    followers_of_one_older: str
    followers_of_one_newer: str
    following_older: str
    following_newer: str
    following_and_whispers_older: str
    following_and_whispers_newer: str
    followers_older: str
    followers_newer: str
    followers_and_whispers_older: str
    followers_and_whispers_newer: str
    close_follows_older: str
    close_follows_newer: str
    muted_older: str
    muted_newer: str
    friends_older: str
    friends_newer: str
    follows_among: str
    followers_among: str
    pending_targets: str


_SQL = sql.load(_Statements, "lists")

_FOLLOWING = _SQL.following_older, _SQL.following_newer
_FOLLOWERS = _SQL.followers_older, _SQL.followers_newer
_FRIENDS = _SQL.friends_older, _SQL.friends_newer
_OF_ONE = {
    ListKind.FOLLOWING: (_SQL.following_of_one_older, _SQL.following_of_one_newer),
    ListKind.FOLLOWERS: (_SQL.followers_of_one_older, _SQL.followers_of_one_newer),
}
_NOBODY = 0

FRIENDS_OWNERS = 25
"""The maximum number of owners in one statement of friends: each probe searches their ids."""

_decode_entries = cast("Callable[[bytes], Iterator[Position]]", Struct(">qq").iter_unpack)
_EntriesOfUsers = defaultdict[UserId, list[Position]]


ROWS_AT_ONCE = 100_020
"""The most entries that one statement returns, about 30 MB: 20 lists of 5,000 entries and one more
each, as many as are cached together by default."""

_position: Callable[[Any], Position] = partial(tuple.__new__, Position)
"""Makes a `Position` of a sequence. The constructor takes three times as long."""


class _Reading(NamedTuple):
    """A connection, and the slices in which its rows are read."""

    connection: Connection
    slices: Slices


class PostgresLists:
    """Implements `storage.cache.tables.ListRows`.

    The reverse rows may lag behind a viewer's own follows. So the viewer's entry among the
    followers of another user is read from the forward rows, which never lag. The same applies to
    friendships between the viewer and the targets of the viewer's pending changes: the transaction
    of such a change has seen both forward rows.
    """

    def __init__(self, postgres: Postgres) -> None:
        self._postgres = postgres
        self._slices = Slices()

    async def pages(
        self, kind: ListKind, users: Sequence[UserId], window: Window, viewer: UserId | None
    ) -> Mapping[UserId, Page]:
        if viewer is None and len(users) == 1 and kind in _OF_ONE:
            return {
                users[0]: await _read_page_of_one(self._postgres, _OF_ONE[kind], users[0], window)
            }
        async with self._postgres.connection() as connection:
            reading = _Reading(connection, self._slices)
            match kind:
                case ListKind.FOLLOWING:
                    entries = await _read_entries(reading, _FOLLOWING, users, window, Kind.FOLLOW)
                case ListKind.FOLLOWERS:
                    entries = await _read_followers(reading, users, window, viewer)
                case ListKind.FRIENDS:
                    entries = await _read_friends(reading, users, window, viewer)
        return await self._slices.run(_cut_pages(entries, users, window))


class PostgresOwnLists:
    """Implements `storage.ports.lists.OwnLists` with one statement for as many users as
    `ROWS_AT_ONCE` allows."""

    def __init__(self, postgres: Postgres) -> None:
        self._postgres = postgres
        self._slices = Slices()

    async def pages(
        self, kind: OwnListKind, users: Sequence[UserId], window: Window
    ) -> Mapping[UserId, Page]:
        statements, arguments = _OWN[kind]
        async with self._postgres.connection() as connection:
            reading = _Reading(connection, self._slices)
            entries = await _read_entries(reading, statements, users, window, *arguments)
        return await self._slices.run(_cut_pages(entries, users, window))


_OWN: Mapping[OwnListKind, tuple[tuple[str, str], tuple[int, ...]]] = {
    OwnListKind.FOLLOWING: (
        (_SQL.following_and_whispers_older, _SQL.following_and_whispers_newer),
        (),
    ),
    OwnListKind.FOLLOWERS: (
        (_SQL.followers_and_whispers_older, _SQL.followers_and_whispers_newer),
        (),
    ),
    OwnListKind.CLOSE_FOLLOWS: ((_SQL.close_follows_older, _SQL.close_follows_newer), ()),
    OwnListKind.MUTED: ((_SQL.muted_older, _SQL.muted_newer), ()),
    OwnListKind.BLOCKED: (_FOLLOWING, (Kind.BLOCK,)),
    OwnListKind.OUTGOING_REQUESTS: (_FOLLOWING, (Kind.REQUEST,)),
    OwnListKind.INCOMING_REQUESTS: (_FOLLOWERS, (Kind.REQUEST, _NOBODY)),
}
"""For each list: the statements that read it from the newest and from the oldest entry, and their
arguments after the window. They take no viewer: an owner's change of reverse rows in their own list
is drained before the response, so these lists are exact for the owner."""


async def _read_page_of_one(
    postgres: Postgres, statements: tuple[str, str], user: UserId, window: Window
) -> Page:
    """A page of one user's list, for no viewer. The statement applies the window's bounds and
    order."""
    ((packed,),) = await postgres.fetch(
        statements[window.backward], user, *window.after, *window.before, window.size + 1
    )
    entries = tuple(_decode_entries(packed or b""))
    kept = entries[: window.size]
    return Page(kept[::-1] if window.backward else kept, len(entries) > window.size)


async def _read_followers(
    reading: _Reading, users: Sequence[UserId], window: Window, viewer: UserId | None
) -> _EntriesOfUsers:
    """Entries of lists of followers. The viewer's own entries come from the forward rows: see
    `PostgresLists`."""
    entries = await _read_entries(
        reading, _FOLLOWERS, users, window, Kind.FOLLOW, viewer or _NOBODY
    )
    if viewer is not None:
        follows_of_viewer = await reading.connection.fetch(
            _SQL.follows_among, viewer, list(users), Kind.FOLLOW
        )
        for user, since in follows_of_viewer:
            entries[user].append(Position(since, viewer))
    return entries


async def _read_friends(
    reading: _Reading, users: Sequence[UserId], window: Window, viewer: UserId | None
) -> _EntriesOfUsers:
    """Entries of lists of friends. The viewer's friendships with the targets of the viewer's
    pending changes come from the forward rows: see `PostgresLists`."""
    # Read before the lists. If they were read after them, a change that is applied between the two
    # reads would be in neither.
    pending_rows = viewer and await reading.connection.fetch(_SQL.pending_targets, viewer)
    targets = [UserId(target) for (target,) in pending_rows or ()]
    entries: _EntriesOfUsers = defaultdict(list)
    for first in range(0, len(users), FRIENDS_OWNERS):
        batch = users[first : first + FRIENDS_OWNERS]
        arguments = viewer or _NOBODY, targets
        entries.update(await _read_entries(reading, _FRIENDS, batch, window, *arguments))
    if viewer is not None and targets:
        await _add_friendships(reading.connection, entries, set(users), viewer, targets)
    return entries


async def _add_friendships(
    connection: Connection,
    entries: _EntriesOfUsers,
    users: Set[UserId],
    viewer: UserId,
    targets: Sequence[UserId],
) -> None:
    """Add the viewer's friendships with `targets` to the lists of both, from the forward rows. The
    entries must have been read without these friendships."""
    relevant = targets if viewer in users else [target for target in targets if target in users]
    if not relevant:
        return
    follows = await connection.fetch(_SQL.follows_among, viewer, relevant, Kind.FOLLOW)
    followers = dict(map(tuple, await connection.fetch(_SQL.followers_among, viewer, relevant)))
    for other, since in follows:
        if other in followers:
            friends_since = max(since, followers[other])
            entries[other].append(Position(friends_since, viewer))
            entries[viewer].append(Position(friends_since, other))


async def _read_entries(
    reading: _Reading,
    statements: tuple[str, str],
    users: Sequence[UserId],
    window: Window,
    *arguments: object,
) -> _EntriesOfUsers:
    """The entries of each user's list in the window, and one more, which shows whether there is a
    next page. `statements`: for the window's two directions. `arguments`: those after the
    window."""
    entries: _EntriesOfUsers = defaultdict(list)
    arguments = (*window.after, *window.before, window.size + 1, *arguments)
    at_once = max(1, ROWS_AT_ONCE // (window.size + 1))
    for first in range(0, len(users), at_once):
        batch = list(users[first : first + at_once])
        rows = await reading.connection.fetch(statements[window.backward], batch, *arguments)
        await reading.slices.run(_add_rows(entries, rows))
    return entries


def _add_rows(entries: _EntriesOfUsers, rows: Sequence[Record]) -> Generator[None, None, None]:
    for first in range(0, len(rows), ROWS_PER_SLICE):
        for user, *position in rows[first : first + ROWS_PER_SLICE]:
            entries[user].append(_position(position))
        yield


def _cut_pages(
    entries: _EntriesOfUsers, users: Sequence[UserId], window: Window
) -> Generator[None, None, dict[UserId, Page]]:
    pages: dict[UserId, Page] = {}
    entries_since_yield = 0
    for user in users:
        pages[user] = cut(entries[user], window) if user in entries else EMPTY_PAGE
        entries_since_yield += len(pages[user].entries)
        if entries_since_yield >= ROWS_PER_SLICE:
            entries_since_yield = 0
            yield
    return pages
