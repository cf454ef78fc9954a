"""A user, and what hangs below: counts and lists, and `Related`. Knows nothing of stores."""

from collections.abc import Sequence
from functools import partial
from typing import Annotated

import strawberry

from engine import Outcome, Parents, Soon, batched, later, of_rows
from graph.page import ListKind
from resolvers import access
from schema import arguments, lists
from schema.arguments import Paging
from schema.connection import FollowerConnection, FollowingConnection, FriendConnection
from schema.context import Info, scope_of
from schema.node import Node
from schema.order import FollowerFilter, FriendOrder, FriendOrderField, Order
from schema.paging import paged
from schema.rows import ConnectionRow, UserRow
from schema.user_relations import Related

With = Annotated[strawberry.ID, strawberry.argument(name="with", description="Another user's id.")]
FriendsOrder = Annotated[
    FriendOrder | None,
    strawberry.argument(description="The newest friendship first, if nothing is said."),
]
Chosen = Annotated[
    FollowerFilter | None, strawberry.argument(description="Only some of the followers.")
]


@strawberry.type(
    description="A user of the platform. Every id is a user here: who exists is the platform's "
    "business, and a user without edges has zeros and empty lists."
)
@of_rows(int)
class User(Related, Node):
    @batched(
        description="How many users this user follows; null if the viewer may not open that list."
    )
    def following_count(users: Parents[UserRow], info: Info) -> Soon[list[int | None]]:
        return _totals(users, info, ListKind.FOLLOWING)

    @batched(
        description="How many users follow this user; null if the viewer may not open that list."
    )
    def follower_count(users: Parents[UserRow], info: Info) -> Soon[list[int | None]]:
        return _totals(users, info, ListKind.FOLLOWERS)

    @batched(
        description="How many users this user follows and is followed by; null if the viewer may "
        "not open that list."
    )
    def friend_count(users: Parents[UserRow], info: Info) -> Soon[list[int | None]]:
        return _totals(users, info, ListKind.FRIENDS)

    @batched(
        graphql_type=FollowingConnection,
        description="Whom this user follows, newest first.",
    )
    @paged
    def following(
        users: Parents[UserRow], info: Info, paging: Paging, order_by: Order = None
    ) -> Soon[lists.Rows]:
        return lists.pages(info, ListKind.FOLLOWING, users, paging, order_by)

    @batched(
        graphql_type=FollowerConnection,
        description="Who follows this user, newest first.",
    )
    @paged
    def followers(
        users: Parents[UserRow],
        info: Info,
        paging: Paging,
        order_by: Order = None,
        filter: Chosen = None,  # noqa: A002
    ) -> Soon[lists.Rows]:
        if filter:
            return lists.filtered(info, users, paging, order_by, filter.chosen)
        return lists.pages(info, ListKind.FOLLOWERS, users, paging, order_by)

    @batched(
        graphql_type=FriendConnection,
        description="Who this user follows and is followed by, newest friendship first. The "
        "viewer's own friends can be read closest first.",
    )
    @paged
    def friends(
        users: Parents[UserRow], info: Info, paging: Paging, order_by: FriendsOrder = None
    ) -> Soon[lists.Rows]:
        if order_by and order_by.field is FriendOrderField.AFFINITY:
            return lists.closest_friends(info, users, paging, order_by)
        return lists.pages(info, ListKind.FRIENDS, users, paging, order_by)

    @batched(
        graphql_type=FollowerConnection | None,
        description="Whom the viewer follows among this user's followers, newest follower first; "
        "null when nobody is signed in.",
    )
    @paged
    def followers_you_know(
        users: Parents[UserRow], info: Info, paging: Paging, order_by: Order = None
    ) -> Soon[Sequence[Outcome[ConnectionRow | None]]]:
        if scope_of(info).viewer is None:
            return [None] * len(users)
        return lists.known_followers(info, users, paging, order_by)

    @batched(
        graphql_type=FollowingConnection,
        description="Whom this user and another one follow, as far as the viewer may open both "
        "lists: what this user followed last comes first.",
    )
    @paged
    def common_following(
        users: Parents[UserRow],
        info: Info,
        with_: With,
        paging: Paging,
        order_by: Order = None,
    ) -> Soon[lists.Rows]:
        other = arguments.user_id("with", with_)
        return lists.common_following(info, users, other, paging, order_by)


def _totals(users: Parents[UserRow], info: Info, kind: ListKind) -> Soon[list[int | None]]:
    scope, owners = scope_of(info), list(users)
    return later(access.ask(scope, owners), partial(access.told_totals, scope, kind, owners))
