"""Pages of lists as Relay connections, with keyset cursors. Knows nothing of how pages are read."""

from collections.abc import Iterable
from datetime import datetime
from itertools import repeat
from typing import TYPE_CHECKING, Annotated, cast

import strawberry

from engine import Parents, batched
from graph.counts import Counts
from graph.cursor import write_cursors
from graph.page import ListKind
from schema.context import Info, scope_of
from schema.rows import ConnectionRow, EntryRow, date

if TYPE_CHECKING:
    from schema.user import User

LazyUser = Annotated["User", strawberry.lazy("schema.user")]


@strawberry.type(description="Where a page lies in its list.")
class PageInfo:
    @batched(
        description="Whether more comes after this page. Exact with `first`; with `last`, whether "
        "a `before` was given."
    )
    def has_next_page(rows: Parents[ConnectionRow]) -> list[bool]:
        return [row.window.has_before if row.window.backward else row.page.more for row in rows]

    @batched(
        description="Whether more comes before this page. Exact with `last`; with `first`, "
        "whether an `after` was given."
    )
    def has_previous_page(rows: Parents[ConnectionRow]) -> list[bool]:
        return [row.page.more if row.window.backward else row.window.has_after for row in rows]

    @batched(description="The cursor of the first edge here.")
    def start_cursor(rows: Parents[ConnectionRow]) -> list[str | None]:
        return [_cursor(row, 0) for row in rows]

    @batched(description="The cursor of the last edge here.")
    def end_cursor(rows: Parents[ConnectionRow]) -> list[str | None]:
        return [_cursor(row, -1) for row in rows]


@strawberry.type
class Edge:
    """What the edges of all lists have in common; no type of the API itself."""

    @batched(description="Where this edge is, for `after` and `before`. Opaque.")
    def cursor(rows: Parents[EntryRow]) -> list[str]:
        return write_cursors(rows)

    @batched(description="The user at the other end.")
    def node(rows: Parents[EntryRow]) -> list[LazyUser]:
        return cast("list[User]", [position[1] for position, _ in rows])


@strawberry.type
class FollowEdge(Edge):
    """What the edges of follows have in common; no type of the API itself."""

    @batched(description="Since when.")
    def followed_at(rows: Parents[EntryRow]) -> list[datetime]:
        return _dates(rows)


@strawberry.type(description="A user in a list of whom somebody follows.")
class FollowingEdge(FollowEdge):
    pass


@strawberry.type(description="A user in a list of somebody's followers.")
class FollowerEdge(FollowEdge):
    pass


@strawberry.type(description="A user in a list of somebody's friends: both follow each other.")
class FriendEdge(Edge):
    @batched(description="Since when both have followed each other.")
    def friends_since(rows: Parents[EntryRow]) -> list[datetime]:
        return _dates(rows)


@strawberry.type
class Connection:
    """What the pages of all lists have in common; no type of the API itself."""

    @batched(description="The page's users, newest first: for those who need no cursors or dates.")
    def nodes(rows: Parents[ConnectionRow]) -> list[list[LazyUser]]:
        return [cast("list[User]", [user for _, user in row.page.entries]) for row in rows]

    @batched(description="Where this page lies in the list.")
    def page_info(rows: Parents[ConnectionRow]) -> list[PageInfo]:
        return cast("list[PageInfo]", list(rows))

    @batched(description="How many entries the whole list has.")
    async def total_count(rows: Parents[ConnectionRow], info: Info) -> list[int]:
        counts = await scope_of(info).counts.load_many([row.owner for row in rows])
        return [_total(row.kind, count) for row, count in zip(rows, counts, strict=True)]


_EDGES = "The page's entries with their cursors and dates, newest first."


@strawberry.type(description="A page of whom a user follows.")
class FollowingConnection(Connection):
    @batched(description=_EDGES)
    def edges(rows: Parents[ConnectionRow]) -> list[list[FollowingEdge]]:
        return cast("list[list[FollowingEdge]]", list(map(_entries, rows)))


@strawberry.type(description="A page of a user's followers.")
class FollowerConnection(Connection):
    @batched(description=_EDGES)
    def edges(rows: Parents[ConnectionRow]) -> list[list[FollowerEdge]]:
        return cast("list[list[FollowerEdge]]", list(map(_entries, rows)))


@strawberry.type(description="A page of a user's friends.")
class FriendConnection(Connection):
    @batched(description=_EDGES)
    def edges(rows: Parents[ConnectionRow]) -> list[list[FriendEdge]]:
        return cast("list[list[FriendEdge]]", list(map(_entries, rows)))


def _entries(row: ConnectionRow) -> list[EntryRow]:
    return list(zip(row.page.entries, repeat((row.kind, row.owner))))


def _cursor(row: ConnectionRow, end: int) -> str | None:
    """The cursor of the first or last entry of a page, if it has any."""
    entries = row.page.entries
    return write_cursors([(entries[end], (row.kind, row.owner))])[0] if entries else None


def _dates(rows: Iterable[EntryRow]) -> list[datetime]:
    return [date(position[0]) for position, _ in rows]


def _total(kind: ListKind, counts: Counts) -> int:
    match kind:
        case ListKind.FOLLOWING:
            return counts.following
        case ListKind.FOLLOWERS:
            return counts.followers
        case ListKind.FRIENDS:
            return counts.friends
