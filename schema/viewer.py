"""The viewer, with the lists that only they can open."""

from collections.abc import Sequence
from datetime import datetime

import strawberry

from engine import ColumnarRows, MaybeAwaitable, Parents, batched, row_classes, weighed
from graph import follow_group
from graph.edge import Pair
from graph.follow_group import GROUPS_MAX
from graph.lists import OwnListKind
from graph.pinned_following import PINNED_MAX
from resolvers.follow_groups import viewers_groups
from resolvers.new_followers import count_new_followers
from resolvers.pinned_following import pinned_by
from resolvers.remaining_limits import RemainingLimits, limits_of
from resolvers.suggestions import SuggestionPage
from schema import connection_pages, weights
from schema.arguments import Paging
from schema.connection import (
    EDGES,
    Connection,
    Edge,
    FollowingConnection,
    UserConnection,
    UserEdge,
    dates,
    entry_rows,
)
from schema.context import Info, scope_of
from schema.follow_group import FollowGroup
from schema.follow_request import FollowRequest
from schema.limits import RelationshipLimits
from schema.node import VIEWER_PREFIX, Node
from schema.order import Order
from schema.paging import paged
from schema.relationship_settings import RelationshipSettings, SettingsRow, settings_rows
from schema.rows import ConnectionRow, EntryRow, RequestRow, UserRow, ViewerRow, date
from schema.suggestion import FollowSuggestionConnection, suggestion_pages
from schema.user import User


@strawberry.type(description="An entry of the list of users whom the viewer mutes.")
@row_classes(tuple)
class MutedEdge(UserEdge):
    @batched(
        metadata=weighed(call=weights.QUERY, row=5),
        description="When the mute ends. Null if it has no end.",
    )
    async def muted_until(rows: Parents[EntryRow], info: Info) -> list[datetime | None]:
        pairs = [Pair(list_of.owner, user) for (_, user), list_of in rows]
        notes = await scope_of(info).stores.reads.edge_notes.get_many(pairs)
        return [
            date(note.muted_until) if note and note.muted_until is not None else None
            for note in map(notes.get, pairs)
        ]


@strawberry.type(description="A page of the list of users whom the viewer mutes.")
@row_classes(ConnectionRow)
class MutedConnection(UserConnection):
    @batched(graphql_type=list[MutedEdge], metadata=weights.ENTRIES, description=EDGES)
    def edges(rows: Parents[ConnectionRow]) -> list[ColumnarRows[EntryRow]]:
        return entry_rows(rows)


@strawberry.type(description="An entry of the list of users whom the viewer blocks.")
@row_classes(tuple)
class BlockedEdge(UserEdge):
    @batched(description="When the viewer blocked the user.")
    def blocked_at(rows: Parents[EntryRow]) -> list[datetime]:
        return dates(rows)


@strawberry.type(description="A page of the list of users whom the viewer blocks.")
@row_classes(ConnectionRow)
class BlockedConnection(UserConnection):
    @batched(graphql_type=list[BlockedEdge], metadata=weights.ENTRIES, description=EDGES)
    def edges(rows: Parents[ConnectionRow]) -> list[ColumnarRows[EntryRow]]:
        return entry_rows(rows)


@strawberry.type(description="An entry of a list of follow requests.")
class FollowRequestEdge(Edge):
    @batched(graphql_type=FollowRequest, description="The follow request.")
    def node(rows: Parents[EntryRow]) -> list[RequestRow]:
        return list(map(_request, rows))

    @batched(description="When the request was sent.")
    def requested_at(rows: Parents[EntryRow]) -> list[datetime]:
        return dates(rows)


@strawberry.type(description="A page of a list of pending follow requests.")
class FollowRequestConnection(Connection):
    @batched(
        graphql_type=list[FollowRequest],
        metadata=weights.ENTRIES,
        description="The follow requests of this page, in order. Use `edges` for cursors and "
        "dates.",
    )
    def nodes(rows: Parents[ConnectionRow]) -> list[list[RequestRow]]:
        return [list(map(_request, page)) for page in entry_rows(rows)]

    @batched(graphql_type=list[FollowRequestEdge], metadata=weights.ENTRIES, description=EDGES)
    def edges(rows: Parents[ConnectionRow]) -> list[ColumnarRows[EntryRow]]:
        return entry_rows(rows)


@strawberry.type(
    description="The user who makes the request, with the lists and settings that only they can "
    "see."
)
@row_classes(ViewerRow)
class Viewer(Node):
    @batched(
        graphql_type=strawberry.ID,
        description="The id: `viewer:` and the id of `user`.",
        serialized=True,
    )
    def id(viewers: Parents[ViewerRow]) -> list[str]:
        return [f"{VIEWER_PREFIX}:{user}" for (user,) in viewers]

    @batched(graphql_type=User, description="The viewer as a user.")
    def user(viewers: Parents[ViewerRow]) -> list[UserRow]:
        return _users(viewers)

    @batched(
        graphql_type=RelationshipSettings,
        metadata=weighed(call=200),
        description="The settings of the viewer: who can follow them, and who can see their lists.",
    )
    async def relationship_settings(viewers: Parents[ViewerRow], info: Info) -> list[SettingsRow]:
        return await settings_rows(scope_of(info), _users(viewers))

    @batched(
        graphql_type=RelationshipLimits,
        metadata=weighed(call=weights.QUERY),
        description="The limits of the viewer, and how much of them is left. Costs one database "
        "query.",
    )
    async def limits(viewers: Parents[ViewerRow], info: Info) -> list[RemainingLimits]:
        return await limits_of(scope_of(info), _users(viewers))

    @batched(
        graphql_type=list[FollowGroup],
        metadata=weighed(call=weights.QUERY, size=GROUPS_MAX),
        description="The groups of users whom the viewer follows, in the viewer's order: at most "
        "100. Costs one database query.",
    )
    async def follow_groups(
        viewers: Parents[ViewerRow], info: Info
    ) -> list[Sequence[follow_group.FollowGroup]]:
        return [await viewers_groups(scope_of(info))] * len(viewers)

    @batched(
        metadata=weights.NEW_FOLLOWERS,
        description="The number of the viewer's followers who have followed since the viewer "
        "marked their followers as seen, as `followers` lists them. Counting stops at 1,000. Costs "
        "one database query.",
    )
    async def new_followers_count(viewers: Parents[ViewerRow], info: Info) -> list[int]:
        scope, users = scope_of(info), _users(viewers)
        counts = {user: await count_new_followers(scope, user) for user in dict.fromkeys(users)}
        return [counts[user] for user in users]

    @batched(
        graphql_type=FollowingConnection,
        metadata=weights.OWN_LIST,
        description="The close follows of the viewer; the newest follow first by default.",
    )
    @paged
    def close_follows(
        viewers: Parents[ViewerRow], info: Info, paging: Paging, order_by: Order = None
    ) -> MaybeAwaitable[connection_pages.Rows]:
        return connection_pages.own_pages(
            info, OwnListKind.CLOSE_FOLLOWS, viewers, paging, order_by
        )

    @batched(
        graphql_type=list[User],
        metadata=weighed(call=weights.QUERY, size=PINNED_MAX),
        description="The users whom the viewer has pinned among those they follow, up to 10, in "
        "the order of `setPinnedFollowing`. A pin ends with the follow. Costs one database query.",
    )
    async def pinned_following(viewers: Parents[ViewerRow], info: Info) -> list[list[UserRow]]:
        scope, users = scope_of(info), _users(viewers)
        pinned = {user: await pinned_by(scope, user) for user in dict.fromkeys(users)}
        return [pinned[user] for user in users]

    @batched(
        graphql_type=MutedConnection,
        metadata=weights.OWN_LIST,
        description="The users whom the viewer mutes; the newest first by default. They are "
        "ordered by the date of the viewer's follow, or of the mute if the viewer does not follow "
        "the user.",
    )
    @paged
    def muted_users(
        viewers: Parents[ViewerRow], info: Info, paging: Paging, order_by: Order = None
    ) -> MaybeAwaitable[connection_pages.Rows]:
        return connection_pages.own_pages(info, OwnListKind.MUTED, viewers, paging, order_by)

    @batched(
        graphql_type=BlockedConnection,
        metadata=weights.OWN_LIST,
        description="The users whom the viewer blocks; the newest block first by default.",
    )
    @paged
    def blocked_users(
        viewers: Parents[ViewerRow], info: Info, paging: Paging, order_by: Order = None
    ) -> MaybeAwaitable[connection_pages.Rows]:
        return connection_pages.own_pages(info, OwnListKind.BLOCKED, viewers, paging, order_by)

    @batched(
        graphql_type=FollowRequestConnection,
        metadata=weights.OWN_LIST,
        description="The pending requests to follow the viewer; the newest first by default.",
    )
    @paged
    def incoming_follow_requests(
        viewers: Parents[ViewerRow], info: Info, paging: Paging, order_by: Order = None
    ) -> MaybeAwaitable[connection_pages.Rows]:
        return connection_pages.own_pages(
            info, OwnListKind.INCOMING_REQUESTS, viewers, paging, order_by
        )

    @batched(
        graphql_type=FollowRequestConnection,
        metadata=weights.OWN_LIST,
        description="The pending requests of the viewer to follow other users; the newest first "
        "by default.",
    )
    @paged
    def outgoing_follow_requests(
        viewers: Parents[ViewerRow], info: Info, paging: Paging, order_by: Order = None
    ) -> MaybeAwaitable[connection_pages.Rows]:
        return connection_pages.own_pages(
            info, OwnListKind.OUTGOING_REQUESTS, viewers, paging, order_by
        )

    @batched(
        graphql_type=FollowSuggestionConnection,
        metadata=weighed(call=4_000, page=weights.PAGE_SIZE, entry=5),
        description="Users whom the viewer might want to follow, best first: followers whom the "
        "viewer does not follow back, and users followed by those whom the viewer follows. "
        "Computed for each request, so the order can change between pages.",
    )
    @paged
    def suggestions(
        viewers: Parents[ViewerRow], info: Info, paging: Paging
    ) -> MaybeAwaitable[list[SuggestionPage]]:
        return suggestion_pages(scope_of(info), viewers, paging)


def _users(viewers: Parents[ViewerRow]) -> list[UserRow]:
    return [user for (user,) in viewers]


def _request(entry: EntryRow) -> RequestRow:
    (since, other), list_of = entry
    if list_of.kind is OwnListKind.INCOMING_REQUESTS:
        return RequestRow(other, list_of.owner, since)
    return RequestRow(list_of.owner, other, since)
