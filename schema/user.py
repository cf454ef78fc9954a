"""A user and everything that hangs below: counts, lists, relations. Knows nothing of stores."""

from typing import Annotated, cast

import strawberry
from strawberry import UNSET

from engine import Parents, batched, of_rows
from graph.edge import UserId
from graph.page import ListKind
from resolvers.pages import PageKey
from resolvers.scope import Scope
from schema import arguments
from schema.connection import FollowerConnection, FollowingConnection, FriendConnection
from schema.context import Info, scope_of
from schema.node import Node
from schema.relation import Relation
from schema.rows import ConnectionRow, RelationRow, UserRow
from storage.ports import Check

First = Annotated[
    int | None,
    strawberry.argument(description="How many from the newest end: 20 by default, at most 100."),
]
After = Annotated[
    str | None,
    strawberry.argument(description="Only what comes after the edge with this cursor."),
]
Last = Annotated[
    int | None,
    strawberry.argument(description="How many from the oldest end, instead of `first`."),
]
Before = Annotated[
    str | None,
    strawberry.argument(description="Only what comes before the edge with this cursor."),
]
Others = Annotated[
    list[strawberry.ID],
    strawberry.argument(description="The ids of up to 1,000 users. Repeats are allowed."),
]


@strawberry.type(
    description="A user of the platform. Every id is a user here: who exists is the platform's "
    "business, and a user without edges has zeros and empty lists."
)
@of_rows(UserRow)
class User(Node):
    @batched(description="How many users this user follows.")
    async def following_count(users: Parents[UserRow], info: Info) -> list[int]:
        counts = await scope_of(info).counts.load_many(_ids(users))
        return [count.following for count in counts]

    @batched(description="How many users follow this user.")
    async def follower_count(users: Parents[UserRow], info: Info) -> list[int]:
        counts = await scope_of(info).counts.load_many(_ids(users))
        return [count.followers for count in counts]

    @batched(description="How many users this user follows and is followed by.")
    async def friend_count(users: Parents[UserRow], info: Info) -> list[int]:
        counts = await scope_of(info).counts.load_many(_ids(users))
        return [count.friends for count in counts]

    @batched(description="Whom this user follows, newest first.")
    async def following(
        users: Parents[UserRow],
        info: Info,
        first: First = UNSET,
        after: After = UNSET,
        last: Last = UNSET,
        before: Before = UNSET,
    ) -> list[FollowingConnection]:
        rows = await _pages(
            info, ListKind.FOLLOWING, users, arguments.paging(first, after, last, before)
        )
        return cast("list[FollowingConnection]", rows)

    @batched(description="Who follows this user, newest first.")
    async def followers(
        users: Parents[UserRow],
        info: Info,
        first: First = UNSET,
        after: After = UNSET,
        last: Last = UNSET,
        before: Before = UNSET,
    ) -> list[FollowerConnection]:
        rows = await _pages(
            info, ListKind.FOLLOWERS, users, arguments.paging(first, after, last, before)
        )
        return cast("list[FollowerConnection]", rows)

    @batched(description="Who this user follows and is followed by, newest friendship first.")
    async def friends(
        users: Parents[UserRow],
        info: Info,
        first: First = UNSET,
        after: After = UNSET,
        last: Last = UNSET,
        before: Before = UNSET,
    ) -> list[FriendConnection]:
        rows = await _pages(
            info, ListKind.FRIENDS, users, arguments.paging(first, after, last, before)
        )
        return cast("list[FriendConnection]", rows)

    @batched(description="How this user stands to each of these, in the order of `ids`.")
    async def relation_with(
        users: Parents[UserRow], info: Info, ids: Others
    ) -> list[list[Relation]]:
        scope = scope_of(info)
        others = tuple(arguments.user_ids("ids", ids, scope.limits.relations_max))
        found = await scope.relations.load_many([Check(user.id, others) for user in users])
        rows = [
            [RelationRow(user.id, other, both) for other, both in zip(others, column, strict=True)]
            for user, column in zip(users, found, strict=True)
        ]
        return cast("list[list[Relation]]", rows)

    @batched(description="How the viewer stands to this user; null when nobody is signed in.")
    async def viewer_relation(users: Parents[UserRow], info: Info) -> list[Relation | None]:
        rows = await _viewer_relations(scope_of(info), _ids(users))
        return cast("list[Relation | None]", rows)


def _ids(users: Parents[UserRow]) -> list[UserId]:
    return [user.id for user in users]


async def _viewer_relations(scope: Scope, users: list[UserId]) -> list[RelationRow] | list[None]:
    if scope.viewer is None:
        return [None] * len(users)
    viewer = scope.viewer
    (relations,) = await scope.relations.load_many([Check(viewer, tuple(users))])
    return [RelationRow(viewer, user, both) for user, both in zip(users, relations, strict=True)]


async def _pages(
    info: Info,
    kind: ListKind,
    users: Parents[UserRow],
    paging: arguments.Paging,
) -> list[ConnectionRow]:
    scope = scope_of(info)
    keys = [
        PageKey(
            kind,
            user.id,
            arguments.window(kind, user.id, scope.limits, paging),
        )
        for user in users
    ]
    pages = await scope.pages.load_many(keys)
    return [ConnectionRow(*key, page) for key, page in zip(keys, pages, strict=True)]
