"""Whom the viewer might want to follow, as a connection. Knows nothing of how it is found out."""

from enum import Enum
from typing import TYPE_CHECKING, Annotated, cast

import strawberry

from engine import Parents, batched, of_rows
from graph.cursor import list_seed, read_cursor, write_cursor
from graph.edge import Millis, UserId
from graph.errors import BadInput
from graph.page import Ranking
from graph.suggestion import Suggestion as SuggestionRow
from resolvers.scope import Scope
from resolvers.suggestions import SuggestionPage, suggested
from schema import arguments
from schema.connection import PageInfo

if TYPE_CHECKING:
    from schema.user import User

LazyUser = Annotated["User", strawberry.lazy("schema.user")]

KNOWN_MAX = 50
"""No more of those whom the viewer follows are looked at."""

KnownFirst = Annotated[
    int, strawberry.argument(description="How many at most: 3 by default, at most 50.")
]


@strawberry.enum(description="Why a user is suggested.")
class SuggestionReason(Enum):
    FOLLOWS_YOU = strawberry.enum_value(
        "FOLLOWS_YOU", description="The user follows the viewer, who does not follow back."
    )
    FRIENDS_OF_FRIENDS = strawberry.enum_value(
        "FRIENDS_OF_FRIENDS", description="Users whom the viewer follows follow this user."
    )


@strawberry.type(description="A user whom the viewer might want to follow, and why.")
@of_rows(SuggestionRow)
class Suggestion:
    @batched(description="The user.")
    def user(rows: Parents[SuggestionRow]) -> list[LazyUser]:
        return cast("list[User]", [row.user for row in rows])

    @batched(description="Why the user is suggested; the first reason that holds.")
    def reason(rows: Parents[SuggestionRow]) -> list[SuggestionReason]:
        return [SuggestionReason[row.reason.name] for row in rows]

    @batched(
        description="Those of whom the viewer follows who follow this user, as far as was looked; "
        "whom the viewer followed last comes first."
    )
    def known_followers(
        rows: Parents[SuggestionRow], first: KnownFirst = 3
    ) -> list[list[LazyUser]]:
        if not 0 <= first <= KNOWN_MAX:
            raise BadInput("first", f"{first} is out of range: use 0 to {KNOWN_MAX}.")
        return cast("list[list[User]]", [list(row.known[:first]) for row in rows])

    @batched(
        description="How many of whom the viewer follows are known to follow this user. There may "
        "be more: only the newest 100 follows of at most 50 users are looked at."
    )
    def known_follower_count(rows: Parents[SuggestionRow]) -> list[int]:
        return [len(row.known) for row in rows]


@strawberry.type(description="A suggestion in its list.")
class SuggestionEdge:
    cursor: str = strawberry.field(description="Where this edge is, for `after`. Opaque.")
    node: Suggestion = strawberry.field(description="The suggestion.")


@strawberry.type(description="A page of suggestions for the viewer, best first.")
@of_rows(SuggestionPage)
class SuggestionConnection:
    @batched(description="The page's suggestions: for those who need no cursors.")
    def nodes(rows: Parents[SuggestionPage]) -> list[list[Suggestion]]:
        return cast("list[list[Suggestion]]", [list(row.entries) for row in rows])

    @batched(description="The page's suggestions with their cursors.")
    def edges(rows: Parents[SuggestionPage]) -> list[list[SuggestionEdge]]:
        return [
            [
                SuggestionEdge(cursor=_cursor(row, entry), node=cast("Suggestion", entry))
                for entry in row.entries
            ]
            for row in rows
        ]

    @batched(description="Where this page lies in the list.")
    def page_info(rows: Parents[SuggestionPage]) -> list[PageInfo]:
        return [
            PageInfo(
                has_next_page=row.more,
                has_previous_page=not row.first,
                start_cursor=_cursor(row, row.entries[0]) if row.entries else None,
                end_cursor=_cursor(row, row.entries[-1]) if row.entries else None,
            )
            for row in rows
        ]


async def suggestion_page(
    scope: Scope, viewer: UserId, first: int | None, after: str | None
) -> SuggestionPage:
    """The page of the viewer's suggestions that Relay's arguments mean."""
    size = arguments.page_size("first", first, scope.limits)
    last = None if after is None else read_cursor("after", after, Ranking.SUGGESTIONS, viewer).id
    return await suggested(scope, size, last)


def _cursor(page: SuggestionPage, entry: SuggestionRow) -> str:
    """Names the user and the list, and nothing of what the list is ordered by."""
    seed = list_seed(Ranking.SUGGESTIONS, page.viewer)
    return write_cursor(seed, Millis(0), entry.user)
