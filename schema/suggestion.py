"""The viewer's suggestions as a connection."""

from collections.abc import Sequence
from enum import Enum
from typing import Annotated, TypeAlias

import strawberry
from strawberry import enum_value

from engine import ListSize, Parents, batched, row_classes, weighed
from graph.cursor import write_cursor
from graph.edge import Millis, UserId
from graph.errors import BadInput
from graph.lists import ListKind, ListOf, Ranking
from graph.page import Page, Position
from graph.suggestion import Suggestion as SuggestionRow
from graph.visibility import Access
from resolvers.freshness import freshness_of
from resolvers.scope import Scope
from resolvers.suggestions import SuggestionPage, suggested, suggestion_total
from schema import arguments
from schema.arguments import Paging
from schema.connection import PageInfo, entry_rows
from schema.context import Info, scope_of
from schema.freshness import ListFreshness, list_freshness
from schema.node import SUGGESTION_PREFIX, LazyUser, Node
from schema.rows import ConnectionRow, EntryRow, UserRow, ViewerRow
from schema.weights import ENTRIES, QUERY

KNOWN_MAX = 50
"""The maximum of `first`. A suggestion can have more known followers: up to
`resolvers.suggestions.MIDDLES_MAX`."""

KnownFirst = Annotated[
    int,
    strawberry.argument(
        description="The maximum number to return: between 0 and 50, by default 3."
    ),
]


@strawberry.enum(description="Why a user is suggested.")
class FollowSuggestionReason(Enum):
    FOLLOWS_YOU = enum_value(
        "FOLLOWS_YOU",
        description="The user follows the viewer, and the viewer does not follow them back.",
    )
    FRIENDS_OF_FRIENDS = enum_value(
        "FRIENDS_OF_FRIENDS", description="Users whom the viewer follows also follow this user."
    )
    FOLLOWED_BY_PEERS = enum_value(
        "FOLLOWED_BY_PEERS",
        description="Users who follow the same users as the viewer also follow this user. Only for "
        "viewers who follow only users who follow nobody, or who hide whom they follow.",
    )
    POPULAR = enum_value(
        "POPULAR",
        description="Several users of a sample follow this user. Only for viewers to whom nobody "
        "else can be suggested, such as those without follows and followers.",
    )


@strawberry.type(description="A user whom the viewer might want to follow, and the reason.")
@row_classes(SuggestionRow)
class FollowSuggestion(Node):
    @batched(
        graphql_type=strawberry.ID,
        description="The id: `suggestion:` and the ids of the viewer and the suggested user, "
        "separated by a colon.",
        serialized=True,
    )
    def id(rows: Parents[SuggestionRow], info: Info) -> list[str]:
        viewer = scope_of(info).viewer
        return [f"{SUGGESTION_PREFIX}:{viewer}:{row.user}" for row in rows]

    @batched(graphql_type=LazyUser, description="The suggested user.")
    def user(rows: Parents[SuggestionRow]) -> list[UserRow]:
        return [row.user for row in rows]

    @batched(description="Why the user is suggested. The first reason of the enum that applies.")
    def reason(rows: Parents[SuggestionRow]) -> list[FollowSuggestionReason]:
        return [FollowSuggestionReason[row.reason.name] for row in rows]

    @batched(
        graphql_type=list[LazyUser],
        metadata=weighed(size=ListSize(("first",), default=3, maximum=KNOWN_MAX)),
        description="Users whom the viewer follows and who follow this user; the one whom the "
        "viewer followed last comes first. Can be incomplete, like `knownFollowerCount`.",
    )
    def known_followers(
        rows: Parents[SuggestionRow], first: KnownFirst = 3
    ) -> list[Sequence[UserRow]]:
        if not 0 <= first <= KNOWN_MAX:
            raise BadInput("first", f"must be between 0 and {KNOWN_MAX}, got {first}.")
        return [row.known[:first] for row in rows]

    @batched(
        description="How many users whom the viewer follows are known to follow this user. There "
        "can be more, because only the newest 200 follows of at most 75 users are examined."
    )
    def known_follower_count(rows: Parents[SuggestionRow]) -> list[int]:
        return [len(row.known) for row in rows]


SuggestionEntry: TypeAlias = tuple[EntryRow, SuggestionRow]
"""The data of a suggestion's cursor, and the suggestion."""


@strawberry.type(description="An entry of the list of suggestions.")
class FollowSuggestionEdge:
    @batched(
        description="The position of this edge, for `after` and `before`. An opaque string that "
        "is valid only for this list in this order."
    )
    def cursor(rows: Parents[SuggestionEntry]) -> list[str]:
        return [write_cursor(*entry) for entry, _ in rows]

    @batched(graphql_type=FollowSuggestion, description="The suggestion.")
    def node(rows: Parents[SuggestionEntry]) -> list[SuggestionRow]:
        return [suggestion for _, suggestion in rows]


@strawberry.type(description="A page of suggestions for the viewer, best first.")
@row_classes(SuggestionPage)
class FollowSuggestionConnection:
    @batched(
        graphql_type=list[FollowSuggestion],
        metadata=ENTRIES,
        description="The suggestions of this page, in order. Use `edges` for cursors.",
    )
    def nodes(rows: Parents[SuggestionPage]) -> list[Sequence[SuggestionRow]]:
        return [row.entries for row in rows]

    @batched(
        graphql_type=list[FollowSuggestionEdge],
        metadata=ENTRIES,
        description="The suggestions of this page with their cursors, in order.",
    )
    def edges(rows: Parents[SuggestionPage]) -> list[list[SuggestionEntry]]:
        pages = zip(entry_rows(map(_connection_row, rows)), rows, strict=True)
        return [list(zip(page, row.entries, strict=True)) for page, row in pages]

    @batched(graphql_type=PageInfo, description="The position of this page in the list.")
    def page_info(rows: Parents[SuggestionPage]) -> list[ConnectionRow]:
        return list(map(_connection_row, rows))

    @batched(
        metadata=weighed(call=4_000),
        description="The number of all suggestions, at most 1,000, the same for every page. Checks "
        "all of them: request it once, not with every page.",
    )
    async def total_count(rows: Parents[SuggestionPage], info: Info) -> list[int]:
        return [await suggestion_total(scope_of(info))] * len(rows)

    @batched(
        metadata=weighed(call=QUERY),
        description="How fresh this page is: as fresh as the viewer's list of followers. Costs "
        "one database query for the whole request. Null beside an error if the freshness cannot "
        "be determined.",
    )
    def freshness(rows: Parents[SuggestionPage], info: Info) -> list[ListFreshness | None]:
        followers = [ListOf(ListKind.FOLLOWERS, row.viewer) for row in rows]
        visible = [Access.VISIBLE] * len(followers)
        return list(map(list_freshness, freshness_of(scope_of(info), followers, visible)))


async def suggestion_pages(
    scope: Scope, viewers: Parents[ViewerRow], paging: Paging
) -> list[SuggestionPage]:
    """Return the page of the viewer's suggestions, once for each row of that viewer."""
    own = _list_of(scope.must_have_viewer())
    page = await suggested(scope, arguments.window(own, scope.policy, paging))
    return [page] * len(viewers)


def _list_of(viewer: UserId) -> ListOf:
    return ListOf(Ranking.SUGGESTIONS, viewer)


def _connection_row(page: SuggestionPage) -> ConnectionRow:
    """The page as a connection. Its cursors hold the user and no date, score or place."""
    positions = tuple(Position(Millis(0), suggestion.user) for suggestion in page.entries)
    list_of, window = _list_of(page.viewer), page.window
    after = write_cursor(window.after, list_of) if window.has_after else None
    before = write_cursor(window.before, list_of) if window.has_before else None
    return ConnectionRow(list_of, Page(positions, page.more), not window.backward, (after, before))
