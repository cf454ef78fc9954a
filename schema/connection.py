"""Pages of lists as Relay connections with keyset cursors."""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from enum import Enum
from operator import itemgetter
from typing import TypeAlias

import strawberry
from strawberry import enum_value

from engine import (
    ColumnarRows,
    MaybeAwaitable,
    Parents,
    batched,
    column_of,
    row_classes,
    weighed,
)
from graph.cursor import write_cursor, write_cursors
from graph.edge import UserId
from graph.lists import AnyList, Ranking, ranked_list
from graph.new_followers import is_new
from graph.page import Position
from resolvers.access import count_unavailable
from resolvers.follow_groups import GroupFilter, member_total
from resolvers.freshness import freshness_of
from resolvers.new_followers import seen_by
from resolvers.overlap import FollowerCriteria, filtered_totals
from resolvers.scope import Scope
from resolvers.totals import load_totals
from schema.context import Info, scope_of
from schema.freshness import ListFreshness, list_freshness
from schema.node import LazyUser
from schema.rows import LIST, POSITION, ConnectionRow, EntryRow, UserRow
from schema.weights import ENTRIES, QUERY

_USER: Callable[[Position], UserId] = itemgetter(1)

EDGES = "The entries of this page with their cursors and dates, in order."


@strawberry.enum(description="Whether the viewer can open a list, and if not, why.")
class ListAccess(Enum):
    VISIBLE = enum_value("VISIBLE", description="The viewer can open the list.")
    HIDDEN_BY_OWNER = enum_value(
        "HIDDEN_BY_OWNER", description="The owner does not show the list to the viewer."
    )
    PROTECTED = enum_value(
        "PROTECTED", description="The owner is protected, and the viewer does not follow them."
    )
    HIDDEN_BY_BLOCK = enum_value("HIDDEN_BY_BLOCK", description="The viewer has blocked the owner.")


@strawberry.type(description="The position of a page in its list.")
class PageInfo:
    @batched(
        description="Whether there are entries after this page. Exact with `first`, except on a "
        "page that is shorter than requested because thousands of entries in a row are hidden from "
        "the viewer: it is true there. With `last`, true if `before` was given.",
        serialized=True,
    )
    def has_next_page(rows: Parents[ConnectionRow]) -> list[bool]:
        return [row.page.more if row.from_start else row.bounds[1] is not None for row in rows]

    @batched(
        description="Whether there are entries before this page. Exact with `last`, except on a "
        "page that is shorter than requested because thousands of entries in a row are hidden from "
        "the viewer: it is true there. With `first`, true if `after` was given.",
        serialized=True,
    )
    def has_previous_page(rows: Parents[ConnectionRow]) -> list[bool]:
        return [row.bounds[0] is not None if row.from_start else row.page.more for row in rows]

    @batched(
        description="The cursor of the first edge. On an empty page, the argument `before` if the "
        "page was requested with `last`, otherwise null.",
        serialized=True,
    )
    def start_cursor(rows: Parents[ConnectionRow]) -> list[str | None]:
        return [
            write_cursor(row.page.entries[0], row.list_of)
            if row.page.entries
            else (None if row.from_start else row.bounds[1])
            for row in rows
        ]

    @batched(
        description="The cursor of the last edge. On an empty page, the argument `after` if the "
        "page was requested with `first`, otherwise null.",
        serialized=True,
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
    """The fields of the edges of all lists except suggestions; not a type of the API."""

    @batched(
        description="The position of this edge, for `after` and `before`. An opaque string that "
        "is valid only for this list in this order.",
        serialized=True,
    )
    def cursor(rows: Parents[EntryRow]) -> list[str]:
        return write_cursors(column_of(rows, POSITION), column_of(rows, LIST))


@strawberry.interface(
    description="An entry of a list of users. The edges of all lists of users implement it."
)
class UserEdge(Edge):
    @batched(graphql_type=LazyUser, description="The user in the list.")
    def node(rows: Parents[EntryRow]) -> list[UserRow]:
        return list(map(_USER, column_of(rows, POSITION)))


@strawberry.type
class FollowEdge(UserEdge):
    """The fields of the edges of follows; not a type of the API."""

    @batched(description="When the follow began.", serialized=True)
    def followed_at(rows: Parents[EntryRow]) -> list[datetime]:
        return dates(rows)


@strawberry.type(description="An entry of a list of users whom a user follows.")
@row_classes(tuple)
class FollowingEdge(FollowEdge):
    pass


@strawberry.type(description="An entry of a list of a user's followers.")
@row_classes(tuple)
class FollowerEdge(FollowEdge):
    @batched(
        metadata=weighed(call=QUERY),
        description="Whether the viewer has not seen this follower yet: see `markFollowersSeen`. "
        "Null in lists of other users. Costs one database query for all edges.",
    )
    async def is_new(rows: Parents[EntryRow], info: Info) -> list[bool | None]:
        scope = scope_of(info)
        viewer = scope.viewer
        if viewer is None or all(list_of.owner != viewer for _, list_of in rows):
            return [None] * len(rows)
        seen = await seen_by(scope, viewer)
        return [
            is_new(since, seen) if list_of.owner == viewer else None for (since, _), list_of in rows
        ]


@strawberry.type(description="An entry of a list of a user's friends.")
@row_classes(tuple)
class FriendEdge(UserEdge):
    @batched(
        description="When the two users became friends: the date of the later of their two "
        "follows.",
        serialized=True,
    )
    def friends_since(rows: Parents[EntryRow]) -> list[datetime]:
        return dates(rows)


@strawberry.type
class Connection:
    """The fields of the pages of all lists except suggestions; not a type of the API."""

    @batched(graphql_type=PageInfo, description="The position of this page in the list.")
    def page_info(rows: Parents[ConnectionRow]) -> list[ConnectionRow]:
        return list(rows)

    @batched(
        description="The number of entries that the viewer can page through. 0 if the viewer "
        "cannot open the list. With the filter `since` of `followers`, counting stops at 10,000. "
        "Can be too high for a viewer with more than 1,000 blocks in a list with more than "
        "5,000 entries."
    )
    def total_count(rows: Parents[ConnectionRow], info: Info) -> MaybeAwaitable[list[int]]:
        known = [row.total for row in rows if isinstance(row.total, int)]
        return known if len(known) == len(rows) else _totals(scope_of(info), rows)

    @batched(
        metadata=weighed(call=120, row=1.2),
        description="The number of entries that this list leaves out because their accounts are "
        "deactivated or deleted. Null for lists of other users, and for filtered lists and "
        "overlaps. Always 0 for `blockedUsers` and `mutedUsers`, which show these accounts.",
    )
    async def unavailable_count(rows: Parents[ConnectionRow], info: Info) -> list[int | None]:
        scope = scope_of(info)
        viewer = scope.viewer
        kinds = {
            row.list_of.kind: None
            for row in rows
            if row.list_of.owner == viewer and not row.is_part
        }
        if viewer is None or not kinds:
            return [None] * len(rows)
        counts = await count_unavailable(scope, viewer, map(ranked_list, kinds))
        found = dict(zip(kinds, counts, strict=True))
        return [
            None if row.list_of.owner != viewer or row.is_part else found[row.list_of.kind]
            for row in rows
        ]

    @batched(
        metadata=weighed(call=QUERY, row=2),
        description="How fresh this page is. Costs one database query for the whole request, "
        "however many lists ask for it. Null beside an error if the freshness cannot be "
        "determined.",
    )
    def freshness(rows: Parents[ConnectionRow], info: Info) -> list[ListFreshness | None]:
        accesses = [row.access for row in rows]
        found = freshness_of(scope_of(info), [row.list_of for row in rows], accesses)
        return list(map(list_freshness, found))


@strawberry.interface(
    description="A page of a list of users. The connections of all lists of users implement it, "
    "so one fragment serves all lists. Read on while `hasNextPage` is true, also after a page that "
    "is shorter than requested. Stop if a page is empty although `hasNextPage` is true and `first` "
    "is not 0: more than 70,000 entries in a row are hidden from the viewer, and the cursor does "
    "not advance."
)
class UserConnection(Connection):
    @batched(graphql_type=list[UserEdge], metadata=ENTRIES, description=EDGES)
    def edges(rows: Parents[ConnectionRow]) -> list[ColumnarRows[EntryRow]]:
        return entry_rows(rows)

    @batched(
        graphql_type=list[LazyUser],
        metadata=ENTRIES,
        description="The users of this page, in order. Use `edges` for cursors and dates.",
    )
    def nodes(rows: Parents[ConnectionRow]) -> list[list[UserRow]]:
        return [list(map(_USER, row.page.entries)) for row in rows]

    @batched(description="Whether the viewer can open this list. If not, all pages are empty.")
    def access(rows: Parents[ConnectionRow]) -> list[ListAccess]:
        return [ListAccess[row.access.name] for row in rows]


@strawberry.type(description="A page of a list of users whom a user follows.")
@row_classes(ConnectionRow)
class FollowingConnection(UserConnection):
    @batched(graphql_type=list[FollowingEdge], metadata=ENTRIES, description=EDGES)
    def edges(rows: Parents[ConnectionRow]) -> list[ColumnarRows[EntryRow]]:
        return entry_rows(rows)


@strawberry.type(description="A page of a list of a user's followers.")
@row_classes(ConnectionRow)
class FollowerConnection(UserConnection):
    @batched(graphql_type=list[FollowerEdge], metadata=ENTRIES, description=EDGES)
    def edges(rows: Parents[ConnectionRow]) -> list[ColumnarRows[EntryRow]]:
        return entry_rows(rows)


@strawberry.type(description="A page of a list of a user's friends.")
@row_classes(ConnectionRow)
class FriendConnection(UserConnection):
    @batched(graphql_type=list[FriendEdge], metadata=ENTRIES, description=EDGES)
    def edges(rows: Parents[ConnectionRow]) -> list[ColumnarRows[EntryRow]]:
        return entry_rows(rows)


def entry_rows(rows: Iterable[ConnectionRow]) -> list[ColumnarRows[EntryRow]]:
    """Return the entries of each page, each with its list."""
    return [ColumnarRows(page.entries, [list_of] * len(page.entries)) for list_of, page, *_ in rows]


def dates(rows: Iterable[EntryRow]) -> list[datetime]:
    """Return the date of each entry."""
    at = datetime.fromtimestamp  # not `date`, to save one call per entry
    return [at(since / 1000, UTC) for since, _ in column_of(rows, POSITION)]


async def _totals(scope: Scope, rows: Iterable[ConnectionRow]) -> list[int]:
    """Return the total of each row: known, or read. Those of one kind with one filter are read
    together."""
    owners_by_key: dict[_CountKey, dict[UserId, None]] = {}
    for list_of, *_, total_or_filter, _ in rows:
        if not isinstance(total_or_filter, int):
            owners_by_key.setdefault((list_of.kind, total_or_filter), {})[list_of.owner] = None
    reads = [_read_totals(scope, key, list(owners)) for key, owners in owners_by_key.items()]
    # A single read needs no task, which costs as much as a small column.
    columns = [await reads[0]] if len(reads) == 1 else await asyncio.gather(*reads)
    found = dict(zip(owners_by_key, columns, strict=True))
    return [
        total_or_filter
        if isinstance(total_or_filter, int)
        else found[list_of.kind, total_or_filter][list_of.owner]
        for list_of, *_, total_or_filter, _ in rows
    ]


_CountKey: TypeAlias = tuple[AnyList | Ranking, FollowerCriteria | GroupFilter | None]


async def _read_totals(scope: Scope, key: _CountKey, owners: list[UserId]) -> dict[UserId, int]:
    """Return the total of each owner's list; 0 if the viewer cannot open it."""
    kind, list_filter = ranked_list(key[0]), key[1]
    found: Sequence[int | None]
    if list_filter is None:
        found = await load_totals(scope, kind, owners)
    elif isinstance(list_filter, GroupFilter):
        found = [await member_total(scope, list_filter)]  # only the viewer has groups
    else:
        found = await filtered_totals(scope, owners, list_filter)
    return {owner: length or 0 for owner, length in zip(owners, found, strict=True)}
