"""Where reads begin: the query root, and the viewer. Knows nothing of stores."""

from collections.abc import Sequence
from typing import Annotated, cast

import strawberry

from engine import Outcome, Parents, batched
from graph.errors import BadInput
from resolvers import relations
from resolvers.accounts import statuses
from resolvers.scope import Scope
from schema import arguments
from schema.account import AccountRow, UserAccount
from schema.context import Info, scope_of
from schema.federation import Entity, Representations, Service, subgraph, users_of
from schema.freshness import AtLeastAsFresh
from schema.node import Node
from schema.relation import Relation
from schema.request import pair_of, requests_of
from schema.rows import RequestRow, UserRow
from schema.user import User
from schema.viewer import Viewer

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


_NEVER = "Null only beside an error: every id is a user's."


@strawberry.input(description="Two users, in order.")
class UserPair:
    from_: strawberry.ID = strawberry.field(name="from", description="The id of the first.")
    to: strawberry.ID = strawberry.field(description="The id of the second.")


UserPairs = Annotated[
    list[UserPair],
    strawberry.argument(description="Up to 500 pairs of users. Repeats are allowed."),
]


@strawberry.type(description="Everything that can be asked.")
class Query:
    @batched(
        description="The object with this id: a user, or a request to follow that the viewer sent "
        "or was sent; null if there is no such request."
    )
    async def node(
        roots: Parents[None],
        info: Info,
        id: NodeId,  # noqa: A002
        at_least_as_fresh: AtLeastAsFresh = None,
    ) -> list[Node | None]:
        found = await _nodes(scope_of(info), "id", [id])
        return cast("list[Node | None]", found * len(roots))

    @batched(
        description="The objects with these ids, in their order; null where there is no such "
        "request."
    )
    async def nodes(
        roots: Parents[None],
        info: Info,
        ids: NodeIds,
        at_least_as_fresh: AtLeastAsFresh = None,
    ) -> list[list[Node | None]]:
        scope = scope_of(info)
        most = scope.limits.users_max
        found = await _nodes(scope, "ids", arguments.at_most("ids", ids, most))
        return cast("list[list[Node | None]]", [found] * len(roots))

    @batched(graphql_type=User | None, description=f"The user with this id. {_NEVER}")
    def user(
        roots: Parents[None],
        id: UserIdArgument,  # noqa: A002
        at_least_as_fresh: AtLeastAsFresh = None,
    ) -> list[UserRow]:
        return [arguments.user_id("id", id)] * len(roots)

    @batched(
        graphql_type=list[User | None],
        description=f"The users with these ids, in their order. {_NEVER}",
    )
    def users(
        roots: Parents[None],
        info: Info,
        ids: UserIds,
        at_least_as_fresh: AtLeastAsFresh = None,
    ) -> list[list[UserRow]]:
        most = scope_of(info).limits.users_max
        return [arguments.user_ids("ids", ids, most)] * len(roots)

    @batched(description="Who is asking; null when nobody is signed in.")
    def viewer(
        roots: Parents[None], info: Info, at_least_as_fresh: AtLeastAsFresh = None
    ) -> list[Viewer | None]:
        return cast("list[Viewer | None]", [scope_of(info).viewer] * len(roots))

    @batched(
        description="For services: how each first user stands to each second, in the order of "
        "`pairs`. Others get `FORBIDDEN`."
    )
    async def relations_between(
        roots: Parents[None],
        info: Info,
        pairs: UserPairs,
        at_least_as_fresh: AtLeastAsFresh = None,
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

    @batched(description="For services: where the account of this user is. Others get `FORBIDDEN`.")
    async def account(
        roots: Parents[None],
        info: Info,
        id: UserIdArgument,  # noqa: A002
        at_least_as_fresh: AtLeastAsFresh = None,
    ) -> list[UserAccount]:
        rows = await _accounts(scope_of(info), [arguments.user_id("id", id)])
        return cast("list[UserAccount]", rows * len(roots))

    @batched(
        description="For services: where the accounts of these users are, in their order. Others "
        "get `FORBIDDEN`."
    )
    async def accounts(
        roots: Parents[None],
        info: Info,
        ids: UserIds,
        at_least_as_fresh: AtLeastAsFresh = None,
    ) -> list[list[UserAccount]]:
        scope = scope_of(info)
        rows = await _accounts(scope, arguments.user_ids("ids", ids, scope.limits.users_max))
        return cast("list[list[UserAccount]]", [rows] * len(roots))

    @batched(
        name="_service", description="For a router of federated subgraphs: what this subgraph is."
    )
    def service(roots: Parents[None], info: Info) -> list[Service]:
        return [Service(sdl=subgraph(info.schema))] * len(roots)

    @batched(
        name="_entities",
        graphql_type=list[Entity | None],
        description="For a router of federated subgraphs: the users whom other subgraphs mean, in "
        "their order; null beside an error where one is no user.",
    )
    def entities(
        roots: Parents[None], info: Info, representations: Representations
    ) -> list[list[Outcome[UserRow]]]:
        most = scope_of(info).limits.entities_max
        return [users_of(representations, most)] * len(roots)


async def _accounts(scope: Scope, users: Sequence[UserRow]) -> list[AccountRow]:
    return list(map(AccountRow, users, await statuses(scope, users)))


async def _nodes(
    scope: Scope, argument: str, texts: list[strawberry.ID]
) -> list[UserRow | RequestRow | None]:
    pairs = {text: pair for text in texts if (pair := pair_of(text))}
    requests = dict(zip(pairs, await requests_of(scope, list(pairs.values())), strict=True))
    return [requests[text] if text in requests else _user_of_node(argument, text) for text in texts]


def _user_of_node(argument: str, text: str) -> UserRow:
    if ":" in text:
        raise BadInput(
            argument,
            f'"{arguments.shown(text)}" is no id: a user has a decimal number, and a request has '
            "`request:` and both users' ids, with a colon between them.",
        )
    return arguments.user_id(argument, text)
