"""A user: counts, lists and the fields of `UserRelationFields`."""

from collections.abc import Sequence
from functools import partial
from typing import Annotated

import strawberry

from engine import ItemOrError, MaybeAwaitable, Parents, batched, deferred, row_classes, weighed
from graph.lists import ListKind
from resolvers import access
from resolvers.follow_groups import GroupFilter
from resolvers.new_followers import count_new_followers
from schema import arguments, connection_pages, weights
from schema.arguments import Paging
from schema.connection import FollowerConnection, FollowingConnection, FriendConnection
from schema.context import Info, scope_of
from schema.follow_group import group_id
from schema.node import Node
from schema.order import FollowerFilter, FollowingFilter, FriendOrder, FriendOrderField, Order
from schema.paging import paged
from schema.relation_fields import UserRelationFields
from schema.rows import ConnectionRow, UserRow

With = Annotated[
    strawberry.ID, strawberry.argument(name="with", description="The id of the other user.")
]
FriendsOrder = Annotated[
    FriendOrder | None,
    strawberry.argument(description="The order of the list: newest friendship first by default."),
]
FollowingFilterArgument = Annotated[
    FollowingFilter | None,
    strawberry.argument(description="Returns only users that match the filter."),
]
FilterArgument = Annotated[
    FollowerFilter | None,
    strawberry.argument(description="Returns only followers that match the filter."),
]


@strawberry.type(
    description="A user of the platform. Kith does not store which users exist: every valid id is "
    "a user, and a user without relationships has zero counts and empty lists."
)
@row_classes(int)
class User(UserRelationFields, Node):
    @batched(
        metadata=weighed(call=120, row=1.2),
        description="The number of users whom this user follows. Users with a block between them "
        "and the viewer are counted; whispers only for the user themselves and for services. Null "
        "if the viewer cannot open the list.",
    )
    def following_count(users: Parents[UserRow], info: Info) -> MaybeAwaitable[list[int | None]]:
        return _counts(users, info, ListKind.FOLLOWING)

    @batched(
        metadata=weighed(call=120, row=1.2),
        description="The number of followers of this user. Users with a block between them and the "
        "viewer are counted; whispers only for the user themselves and for services. Null if the "
        "viewer cannot open the list.",
    )
    def follower_count(users: Parents[UserRow], info: Info) -> MaybeAwaitable[list[int | None]]:
        return _counts(users, info, ListKind.FOLLOWERS)

    @batched(
        metadata=weighed(call=120, row=1.2),
        description="The number of friends of this user, the same for all viewers who can open the "
        "list: users with a block between them and the viewer are counted. Null if the viewer "
        "cannot open it.",
    )
    def friend_count(users: Parents[UserRow], info: Info) -> MaybeAwaitable[list[int | None]]:
        return _counts(users, info, ListKind.FRIENDS)

    @batched(
        metadata=weights.NEW_FOLLOWERS,
        description="`Viewer.newFollowersCount`, for queries and subscriptions that return the "
        "viewer as a user. Null for other users.",
    )
    async def new_followers_count(users: Parents[UserRow], info: Info) -> list[int | None]:
        scope = scope_of(info)
        viewer = scope.viewer
        if viewer is None or viewer not in users:
            return [None] * len(users)
        count = await count_new_followers(scope, viewer)
        return [count if user == viewer else None for user in users]

    @batched(
        graphql_type=FollowingConnection,
        metadata=weights.LIST,
        description="The users whom this user follows; the newest follow first by default.",
    )
    @paged
    def following(
        users: Parents[UserRow],
        info: Info,
        paging: Paging,
        order_by: Order = None,
        filter: FollowingFilterArgument = None,
    ) -> MaybeAwaitable[connection_pages.Rows]:
        if filter and filter.group_id is not None:
            viewer = scope_of(info).must_have_viewer()
            group = group_id("filter.groupId", filter.group_id, viewer)
            return connection_pages.group_pages(info, users, paging, order_by, GroupFilter(group))
        return connection_pages.pages(info, ListKind.FOLLOWING, users, paging, order_by)

    @batched(
        graphql_type=FollowerConnection,
        metadata=weights.LIST,
        description="The followers of this user; the newest follow first by default.",
    )
    @paged
    def followers(
        users: Parents[UserRow],
        info: Info,
        paging: Paging,
        order_by: Order = None,
        filter: FilterArgument = None,
    ) -> MaybeAwaitable[connection_pages.Rows]:
        if filter:
            return connection_pages.filtered(info, users, paging, order_by, filter.criteria)
        return connection_pages.pages(info, ListKind.FOLLOWERS, users, paging, order_by)

    @batched(
        graphql_type=FriendConnection,
        metadata=weights.LIST,
        description="The friends of this user: users who follow each other, neither by a whisper. "
        "The newest friendship first by default; the viewer's own friends can also be ordered by "
        "closeness.",
    )
    @paged
    def friends(
        users: Parents[UserRow], info: Info, paging: Paging, order_by: FriendsOrder = None
    ) -> MaybeAwaitable[connection_pages.Rows]:
        if order_by and order_by.field is FriendOrderField.AFFINITY:
            return connection_pages.closest_friends(info, users, paging, order_by)
        return connection_pages.pages(info, ListKind.FRIENDS, users, paging, order_by)

    @batched(
        graphql_type=FollowerConnection | None,
        metadata=weights.OVERLAP,
        description="The followers of this user whom the viewer follows; the newest follower "
        "first by default. Null if nobody is signed in. If both lists have more than 10,000 "
        "entries, only the newest 10,000 of the shorter one are examined.",
    )
    @paged
    def followers_you_know(
        users: Parents[UserRow], info: Info, paging: Paging, order_by: Order = None
    ) -> MaybeAwaitable[Sequence[ItemOrError[ConnectionRow | None]]]:
        if scope_of(info).viewer is None:
            return [None] * len(users)
        return connection_pages.known_followers(info, users, paging, order_by)

    @batched(
        graphql_type=FollowingConnection,
        metadata=weights.OVERLAP,
        description="The users whom both this user and another user follow; this user's newest "
        "follow first by default. Empty if the viewer cannot open both lists. If both lists have "
        "more than 10,000 entries, only the newest 10,000 of the shorter one are examined.",
    )
    @paged
    def common_following(
        users: Parents[UserRow], info: Info, with_: With, paging: Paging, order_by: Order = None
    ) -> MaybeAwaitable[connection_pages.Rows]:
        other = arguments.user_id("with", with_)
        return connection_pages.common_following(info, users, other, paging, order_by)


def _counts(
    users: Parents[UserRow], info: Info, kind: ListKind
) -> MaybeAwaitable[list[int | None]]:
    scope, owners = scope_of(info), list(users)
    return deferred(
        access.request_access_facts(scope, owners),
        partial(access.loaded_totals, scope, kind, owners),
    )
