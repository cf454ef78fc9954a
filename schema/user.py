"""A user, and what hangs below: counts and lists, and `Related`. Knows nothing of stores."""

from typing import Annotated, cast

import strawberry
from strawberry import UNSET

from engine import Outcome, Parents, batched, of_rows
from graph.edge import UserId
from graph.errors import BadCursor
from graph.page import ListKind, Window
from resolvers.pages import pages_of
from resolvers.scope import Scope
from schema import arguments
from schema.connection import FollowerConnection, FollowingConnection, FriendConnection
from schema.context import Info, scope_of
from schema.node import Node
from schema.rows import ConnectionRow, UserRow
from schema.user_relations import Related

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


@strawberry.type(
    description="A user of the platform. Every id is a user here: who exists is the platform's "
    "business, and a user without edges has zeros and empty lists."
)
@of_rows(int)
class User(Related, Node):
    @batched(description="How many users this user follows.")
    async def following_count(users: Parents[UserRow], info: Info) -> list[int]:
        counts = await scope_of(info).counts.load_many(list(users))
        return [count.following for count in counts]

    @batched(description="How many users follow this user.")
    async def follower_count(users: Parents[UserRow], info: Info) -> list[int]:
        counts = await scope_of(info).counts.load_many(list(users))
        return [count.followers for count in counts]

    @batched(description="How many users this user follows and is followed by.")
    async def friend_count(users: Parents[UserRow], info: Info) -> list[int]:
        counts = await scope_of(info).counts.load_many(list(users))
        return [count.friends for count in counts]

    @batched(description="Whom this user follows, newest first.")
    async def following(
        users: Parents[UserRow],
        info: Info,
        first: First = UNSET,
        after: After = UNSET,
        last: Last = UNSET,
        before: Before = UNSET,
    ) -> list[Outcome[FollowingConnection]]:
        rows = await _pages(
            info, ListKind.FOLLOWING, users, arguments.paging(first, after, last, before)
        )
        return cast("list[Outcome[FollowingConnection]]", rows)

    @batched(description="Who follows this user, newest first.")
    async def followers(
        users: Parents[UserRow],
        info: Info,
        first: First = UNSET,
        after: After = UNSET,
        last: Last = UNSET,
        before: Before = UNSET,
    ) -> list[Outcome[FollowerConnection]]:
        rows = await _pages(
            info, ListKind.FOLLOWERS, users, arguments.paging(first, after, last, before)
        )
        return cast("list[Outcome[FollowerConnection]]", rows)

    @batched(description="Who this user follows and is followed by, newest friendship first.")
    async def friends(
        users: Parents[UserRow],
        info: Info,
        first: First = UNSET,
        after: After = UNSET,
        last: Last = UNSET,
        before: Before = UNSET,
    ) -> list[Outcome[FriendConnection]]:
        rows = await _pages(
            info, ListKind.FRIENDS, users, arguments.paging(first, after, last, before)
        )
        return cast("list[Outcome[FriendConnection]]", rows)


async def _pages(
    info: Info, kind: ListKind, users: Parents[UserRow], paging: arguments.Paging
) -> list[Outcome[ConnectionRow]]:
    """A page a user. A cursor is of one user's list: for the others it is an error."""
    scope = scope_of(info)
    windows = _windows(kind, users, scope, paging)
    good = [(u, w) for u, w in zip(users, windows, strict=True) if isinstance(w, Window)]
    owners = [owner for owner, _ in good]
    pages = iter(await pages_of(scope, kind, owners, good[0][1]) if good else ())
    return [
        ConnectionRow(kind, user, window, next(pages)) if isinstance(window, Window) else window
        for user, window in zip(users, windows, strict=True)
    ]


def _windows(
    kind: ListKind, owners: Parents[UserRow], scope: Scope, paging: arguments.Paging
) -> list[Window | BadCursor]:
    if paging.after is None and paging.before is None:
        return [_window(kind, owners[0], scope, paging)] * len(owners)
    return [_window(kind, owner, scope, paging) for owner in owners]


def _window(
    kind: ListKind, owner: UserId, scope: Scope, paging: arguments.Paging
) -> Window | BadCursor:
    try:
        return arguments.window(kind, owner, scope.limits, paging)
    except BadCursor as error:
        return error
