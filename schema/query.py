"""Where reads begin: the query root, and the viewer. Knows nothing of stores."""

from typing import Annotated, cast

import strawberry

from engine import Parents, batched, of_rows
from resolvers import relations
from schema import arguments
from schema.context import Info, scope_of
from schema.node import Node
from schema.relation import Relation
from schema.rows import UserRow
from schema.settings import RelationshipSettings
from schema.user import User

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


@strawberry.input(description="Two users, in order.")
class UserPair:
    from_: strawberry.ID = strawberry.field(name="from", description="The id of the first.")
    to: strawberry.ID = strawberry.field(description="The id of the second.")


UserPairs = Annotated[
    list[UserPair],
    strawberry.argument(description="Up to 500 pairs of users. Repeats are allowed."),
]


@strawberry.type(description="Who is asking.")
@of_rows(int)
class Viewer:
    @batched(description="The viewer as a user.")
    def user(viewers: Parents[UserRow]) -> list[User]:
        return cast("list[User]", list(viewers))

    @batched(description="What the viewer says about who may see them.")
    async def relationship_settings(
        viewers: Parents[UserRow], info: Info
    ) -> list[RelationshipSettings]:
        accounts = await scope_of(info).accounts.load_many(list(viewers))
        return cast("list[RelationshipSettings]", accounts)


@strawberry.type(description="Everything that can be asked.")
class Query:
    @batched(description="The object with this id; today all of them are users.")
    def node(roots: Parents[None], id: NodeId) -> list[Node | None]:  # noqa: A002
        return cast("list[Node | None]", [_user(id)] * len(roots))

    @batched(description="The objects with these ids, in their order.")
    def nodes(roots: Parents[None], info: Info, ids: NodeIds) -> list[list[Node | None]]:
        return cast("list[list[Node | None]]", [_users(info, ids)] * len(roots))

    @batched(description="The user with this id.")
    def user(roots: Parents[None], id: UserIdArgument) -> list[User | None]:  # noqa: A002
        return cast("list[User | None]", [_user(id)] * len(roots))

    @batched(description="The users with these ids, in their order.")
    def users(roots: Parents[None], info: Info, ids: UserIds) -> list[list[User | None]]:
        return cast("list[list[User | None]]", [_users(info, ids)] * len(roots))

    @batched(description="Who is asking; null when nobody is signed in.")
    def viewer(roots: Parents[None], info: Info) -> list[Viewer | None]:
        return cast("list[Viewer | None]", [scope_of(info).viewer] * len(roots))

    @batched(
        description="For services: how each first user stands to each second, in the order of "
        "`pairs`. Others get `FORBIDDEN`."
    )
    async def relations_between(
        roots: Parents[None], info: Info, pairs: UserPairs
    ) -> list[list[Relation]]:
        scope = scope_of(info)
        scope.must_be_service()
        between = arguments.user_pairs("pairs", pairs, scope.limits.pairs_max)
        found = await relations.of_pairs(scope, between)
        rows = [
            (pair.source, pair.target, relation.kinds, relation)
            for pair, relation in zip(between, found, strict=True)
        ]
        return cast("list[list[Relation]]", [rows] * len(roots))


def _user(text: strawberry.ID) -> UserRow:
    return arguments.user_id("id", text)


def _users(info: Info, ids: list[strawberry.ID]) -> list[UserRow]:
    most = scope_of(info).limits.users_max
    return arguments.user_ids("ids", ids, most)
