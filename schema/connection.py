"""Pages of lists as Relay connections, with keyset cursors. Knows nothing of how pages are read."""

import asyncio
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from enum import Enum
from typing import TYPE_CHECKING, Annotated, TypeAlias

import strawberry

from engine import Parents, Soon, Zipped, batched, of_rows, places
from graph.cursor import write_cursor, write_cursors
from graph.edge import UserId
from graph.page import ListKind, OwnListKind, Ranking
from resolvers.access import own_totals, totals
from resolvers.freshness import freshness_of
from resolvers.overlap import Filter, filtered_totals
from resolvers.scope import Scope
from schema.context import Info, scope_of
from schema.freshness import ListFreshness, shown
from schema.rows import LIST, POSITION, ConnectionRow, EntryRow, UserRow

if TYPE_CHECKING:
    from schema.user import User

LazyUser = Annotated["User", strawberry.lazy("schema.user")]

EDGES = "The page's entries with their cursors and dates, in order."


@strawberry.enum(description="Whether the viewer may open a list; if not, why.")
class ListAccess(Enum):
    VISIBLE = strawberry.enum_value("VISIBLE", description="The viewer may.")
    HIDDEN_BY_OWNER = strawberry.enum_value(
        "HIDDEN_BY_OWNER", description="The owner shows it to others, or to nobody."
    )
    PROTECTED = strawberry.enum_value(
        "PROTECTED", description="The owner shows it to those whose follows were approved."
    )
    HIDDEN_BY_BLOCK = strawberry.enum_value(
        "HIDDEN_BY_BLOCK", description="The viewer has blocked the owner."
    )


@strawberry.type(description="Where a page lies in its list.")
class PageInfo:
    @batched(
        description="Whether more comes after this page. Exact with `first`; with `last`, whether "
        "a `before` was given.",
        ready=True,
    )
    def has_next_page(rows: Parents[ConnectionRow]) -> list[bool]:
        return [row.page.more if row.from_start else row.bounds[1] is not None for row in rows]

    @batched(
        description="Whether more comes before this page. Exact with `last`; with `first`, "
        "whether an `after` was given.",
        ready=True,
    )
    def has_previous_page(rows: Parents[ConnectionRow]) -> list[bool]:
        return [row.bounds[0] is not None if row.from_start else row.page.more for row in rows]

    @batched(
        description="The cursor of the first edge of this page. Of an empty page read with `last`: "
        "the given `before`, so that paging continues from there.",
        ready=True,
    )
    def start_cursor(rows: Parents[ConnectionRow]) -> list[str | None]:
        return [
            write_cursor(row.page.entries[0], row.list_of)
            if row.page.entries
            else (None if row.from_start else row.bounds[1])
            for row in rows
        ]

    @batched(
        description="The cursor of the last edge of this page. Of an empty page read with "
        "`first`: the given `after`, so that paging continues from there.",
        ready=True,
    )
    def end_cursor(rows: Parents[ConnectionRow]) -> list[str | None]:
        return [
            write_cursor(row.page.entries[-1], row.list_of)
            if row.page.entries
            else (row.bounds[0] if row.from_start else None)
            for row in rows
        ]


@strawberry.type
class Edge:
    """What the edges of all lists have in common; no type of the API itself."""

    @batched(description="Where this edge is, for `after` and `before`. Opaque.", ready=True)
    def cursor(rows: Parents[EntryRow]) -> list[str]:
        return write_cursors(places(rows, POSITION), places(rows, LIST))


@strawberry.interface(description="A user in a list, whichever list it is.")
class UserEdge(Edge):
    @batched(graphql_type=LazyUser, description="The user at the other end.")
    def node(rows: Parents[EntryRow]) -> list[UserRow]:
        return [user for _, user in places(rows, POSITION)]


@strawberry.type
class FollowEdge(UserEdge):
    """What the edges of follows have in common; no type of the API itself."""

    @batched(description="Since when.", ready=True)
    def followed_at(rows: Parents[EntryRow]) -> list[datetime]:
        return dates(rows)


@strawberry.type(description="A user in a list of whom somebody follows.")
@of_rows(tuple)
class FollowingEdge(FollowEdge):
    pass


@strawberry.type(description="A user in a list of somebody's followers.")
@of_rows(tuple)
class FollowerEdge(FollowEdge):
    pass


@strawberry.type(description="A user in a list of somebody's friends: both follow each other.")
@of_rows(tuple)
class FriendEdge(UserEdge):
    @batched(description="Since when both have followed each other.", ready=True)
    def friends_since(rows: Parents[EntryRow]) -> list[datetime]:
        return dates(rows)


@strawberry.type
class Connection:
    """What the pages of all lists have in common; no type of the API itself."""

    @batched(graphql_type=PageInfo, description="Where this page lies in the list.")
    def page_info(rows: Parents[ConnectionRow]) -> list[ConnectionRow]:
        return list(rows)

    @batched(
        description="How many entries the viewer can page through: 0 where they may not open the "
        "list. Of followers since a date at most 10,000 are counted, and of the viewer's blocks "
        "at most 10,000 a direction are left out."
    )
    def total_count(rows: Parents[ConnectionRow], info: Info) -> Soon[list[int]]:
        known = [row.total for row in rows if isinstance(row.total, int)]
        return known if len(known) == len(rows) else _totals(scope_of(info), rows)

    @batched(
        description="How fresh this page is. Asking for it costs one look for the whole request; "
        "null, with an error, where even that is not possible."
    )
    def freshness(rows: Parents[ConnectionRow], info: Info) -> list[ListFreshness | None]:
        found = freshness_of(scope_of(info), [row.list_of for row in rows])
        return list(map(shown, found))


@strawberry.interface(
    description="A page of a list of users, whichever list it is: write a fragment on it once, and "
    "use it for all lists."
)
class UserConnection(Connection):
    @batched(graphql_type=list[UserEdge], description=EDGES)
    def edges(rows: Parents[ConnectionRow]) -> list[Zipped[EntryRow]]:
        return list(map(entries, rows))

    @batched(
        graphql_type=list[LazyUser],
        description="The page's users, in order: for those who need no cursors or dates.",
    )
    def nodes(rows: Parents[ConnectionRow]) -> list[list[UserRow]]:
        return [[user for _, user in row.page.entries] for row in rows]

    @batched(
        description="Whether the viewer may open this list. If not, it is empty, and so is every "
        "page of it."
    )
    def access(rows: Parents[ConnectionRow]) -> list[ListAccess]:
        return [ListAccess[row.access.name] for row in rows]


@strawberry.type(description="A page of whom a user follows.")
@of_rows(ConnectionRow)
class FollowingConnection(UserConnection):
    @batched(graphql_type=list[FollowingEdge], description=EDGES)
    def edges(rows: Parents[ConnectionRow]) -> list[Zipped[EntryRow]]:
        return list(map(entries, rows))


@strawberry.type(description="A page of a user's followers.")
@of_rows(ConnectionRow)
class FollowerConnection(UserConnection):
    @batched(graphql_type=list[FollowerEdge], description=EDGES)
    def edges(rows: Parents[ConnectionRow]) -> list[Zipped[EntryRow]]:
        return list(map(entries, rows))


@strawberry.type(description="A page of a user's friends.")
@of_rows(ConnectionRow)
class FriendConnection(UserConnection):
    @batched(graphql_type=list[FriendEdge], description=EDGES)
    def edges(rows: Parents[ConnectionRow]) -> list[Zipped[EntryRow]]:
        return list(map(entries, rows))


def entries(row: ConnectionRow) -> Zipped[EntryRow]:
    """The page's entries, each with the list that it is of."""
    found = row.page.entries
    return Zipped(found, [row.list_of] * len(found))


def dates(rows: Iterable[EntryRow]) -> list[datetime]:
    """When what the entries tell of began."""
    at = datetime.fromtimestamp  # `date`, but for the call: a page shows twenty
    return [at(since / 1000, UTC) for since, _ in places(rows, POSITION)]


async def _totals(scope: Scope, rows: Iterable[ConnectionRow]) -> list[int]:
    """The totals of lists; those of one kind, filtered in one way, are read at once."""
    asked: dict[_Counted, dict[UserId, None]] = {}
    for list_of, *_, known in rows:
        if not isinstance(known, int):
            asked.setdefault((list_of.kind, known), {})[list_of.owner] = None
    reads = [_read(scope, of, list(owners)) for of, owners in asked.items()]
    # A task costs as much as a small column.
    columns = [await reads[0]] if len(reads) == 1 else await asyncio.gather(*reads)
    found = dict(zip(asked, columns, strict=True))
    return [
        known if isinstance(known, int) else found[list_of.kind, known][list_of.owner]
        for list_of, *_, known in rows
    ]


_Counted: TypeAlias = tuple[ListKind | OwnListKind | Ranking, Filter | None]


async def _read(scope: Scope, counted: _Counted, owners: list[UserId]) -> dict[UserId, int]:
    kind, chosen = counted
    if isinstance(kind, Ranking):
        kind = ListKind.FRIENDS  # in another order; suggestions have no total
    found: Sequence[int | None]
    if isinstance(kind, OwnListKind):
        found = await own_totals(scope, kind, owners)
    elif chosen is None:
        found = await totals(scope, kind, owners)
    else:
        found = await filtered_totals(scope, owners, chosen)
    return {owner: length or 0 for owner, length in zip(owners, found, strict=True)}
