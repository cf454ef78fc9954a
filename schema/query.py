"""Where reads begin: the query root, and the viewer. Knows nothing of stores."""

from typing import Annotated, cast

import strawberry
from strawberry import UNSET

from engine import Parents, batched, of_rows
from schema import arguments
from schema.context import Info, scope_of
from schema.node import Node
from schema.rows import UserRow
from schema.suggestion import SuggestionConnection, suggestion_page
from schema.user import After, User

UserIdArgument = Annotated[
    strawberry.ID, strawberry.argument(description="A user id: a decimal number.")
]
NodeId = Annotated[strawberry.ID, strawberry.argument(description="The id of any object.")]
UserIds = Annotated[
    list[strawberry.ID], strawberry.argument(description="Up to 100 user ids, repeats allowed.")
]
NodeIds = Annotated[
    list[strawberry.ID], strawberry.argument(description="Up to 100 ids of any objects.")
]
SuggestionsFirst = Annotated[
    int | None, strawberry.argument(description="How many: 20 by default, at most 100.")
]


@strawberry.type(description="Who is asking.")
@of_rows(int)
class Viewer:
    @batched(description="The viewer as a user.")
    def user(viewers: Parents[UserRow]) -> list[User]:
        return cast("list[User]", list(viewers))

    @batched(
        description="Whom the viewer might want to follow: who follows them, and who is followed "
        "by those whom they follow. Found anew for every page, which goes on after the user of the "
        "cursor: while the graph changes, the order may change between two pages."
    )
    async def suggestions(
        viewers: Parents[UserRow], info: Info, first: SuggestionsFirst = UNSET, after: After = UNSET
    ) -> list[SuggestionConnection]:
        paging = arguments.paging(first, after, None, None)
        pages = [
            await suggestion_page(scope_of(info), viewer, paging.first, paging.after)
            for viewer in viewers
        ]
        return cast("list[SuggestionConnection]", pages)


@strawberry.type(description="Everything that can be asked.")
class Query:
    @batched(description="The object with this id; today all of them are users.")
    def node(roots: Parents[None], info: Info, id: NodeId) -> list[Node | None]:  # noqa: A002
        return cast("list[Node | None]", [_user(id)] * len(roots))

    @batched(description="The objects with these ids, in their order.")
    def nodes(roots: Parents[None], info: Info, ids: NodeIds) -> list[list[Node | None]]:
        return cast("list[list[Node | None]]", [_users(info, ids)] * len(roots))

    @batched(description="The user with this id.")
    def user(roots: Parents[None], info: Info, id: UserIdArgument) -> list[User | None]:  # noqa: A002
        return cast("list[User | None]", [_user(id)] * len(roots))

    @batched(description="The users with these ids, in their order.")
    def users(roots: Parents[None], info: Info, ids: UserIds) -> list[list[User | None]]:
        return cast("list[list[User | None]]", [_users(info, ids)] * len(roots))

    @batched(description="Who is asking; null when nobody is signed in.")
    def viewer(roots: Parents[None], info: Info) -> list[Viewer | None]:
        return cast("list[Viewer | None]", [scope_of(info).viewer] * len(roots))


def _user(text: strawberry.ID) -> UserRow:
    return arguments.user_id("id", text)


def _users(info: Info, ids: list[strawberry.ID]) -> list[UserRow]:
    most = scope_of(info).limits.users_max
    return arguments.user_ids("ids", ids, most)
