"""The query root."""

from collections.abc import Sequence
from typing import Annotated

import strawberry

from engine import ItemOrError, Parents, batched, length_of, weighed, without_errors
from graph.bulk import BulkOperation as BulkRow
from graph.rate_limit import RateLimit as RateLimitRow
from resolvers import bulk, relations
from resolvers.accounts import statuses
from resolvers.audit import require_service
from resolvers.scope import Scope
from schema import arguments
from schema.account import AccountRow, UserAccount
from schema.bulk_operation import BulkOperation
from schema.context import Info, scope_of
from schema.federation import Entity, Representations, Service, subgraph, users_of
from schema.freshness import AtLeastAsFresh
from schema.node import Node
from schema.nodes import NodeRow, nodes_of
from schema.rate_limit import RateLimit
from schema.relation import Relation
from schema.rows import RelationRow, UserRow, ViewerRow, relation_row
from schema.user import User
from schema.viewer import Viewer
from schema.weights import AWAITED_ROOT, QUERY, RELATIONS

UserIdArgument = Annotated[
    strawberry.ID, strawberry.argument(description="The id of a user: a decimal number.")
]
NodeId = Annotated[
    strawberry.ID, strawberry.argument(description="The id of an object of any type.")
]
UserIds = Annotated[
    list[strawberry.ID],
    strawberry.argument(description="The ids of up to 100 users. Duplicates are allowed."),
]
BulkId = Annotated[
    strawberry.ID,
    strawberry.argument(description="The id that the service has chosen for the operation."),
]
NodeIds = Annotated[
    list[strawberry.ID],
    strawberry.argument(
        description="The ids of up to 100 objects of any type. Duplicates are allowed."
    ),
]

IDS = length_of("ids", maximum=100)
DryRun = Annotated[
    bool,
    strawberry.argument(
        description="Whether to compute the cost of this operation without running it."
    ),
]

_NEVER_NULL = "Null only beside an error, because every valid id is a user."


@strawberry.input(description="An ordered pair of users.")
class UserPair:
    from_: strawberry.ID = strawberry.field(name="from", description="The id of the first user.")
    to: strawberry.ID = strawberry.field(description="The id of the second user.")


UserPairs = Annotated[
    list[UserPair],
    strawberry.argument(description="Up to 500 pairs of users. Duplicates are allowed."),
]


@strawberry.type(
    description="The entry points for reading. Each field fails independently: if a field is "
    "forbidden or has invalid arguments, it is null beside an error, and the other fields are "
    "answered."
)
class Query:
    @batched(
        graphql_type=Node | None,
        metadata=weighed(call=200),
        description="The object with this id. Null if there is no such object, or the viewer may "
        "not see it.",
    )
    async def node(
        roots: Parents[None], info: Info, id: NodeId
    ) -> list[ItemOrError[NodeRow | None]]:
        return await nodes_of(scope_of(info), "id", [id]) * len(roots)

    @batched(
        graphql_type=list[Node | None] | None,
        metadata=weighed(call=200, item=10, size=IDS),
        description="The objects with these ids, in the order of `ids`. An entry is null if there "
        "is no such object or the viewer may not see it, and null beside an error if the id is "
        "invalid.",
    )
    async def nodes(
        roots: Parents[None], info: Info, ids: NodeIds
    ) -> list[list[ItemOrError[NodeRow | None]]]:
        scope = scope_of(info)
        found = await nodes_of(scope, "ids", arguments.at_most("ids", ids, scope.policy.users_max))
        return [found] * len(roots)

    @batched(graphql_type=User | None, description=f"The user with this id. {_NEVER_NULL}")
    def user(
        roots: Parents[None], id: UserIdArgument, at_least_as_fresh: AtLeastAsFresh = None
    ) -> list[UserRow]:
        return [arguments.user_id("id", id)] * len(roots)

    @batched(
        graphql_type=list[User | None] | None,
        metadata=weighed(size=IDS),
        description="The users with these ids, in the order of `ids`. An entry is null beside an "
        "error if its id is invalid.",
    )
    def users(
        roots: Parents[None], info: Info, ids: UserIds, at_least_as_fresh: AtLeastAsFresh = None
    ) -> list[list[ItemOrError[UserRow]]]:
        maximum = scope_of(info).policy.users_max
        return [arguments.each_user_id("ids", ids, maximum)] * len(roots)

    @batched(
        graphql_type=Viewer | None,
        description="The user who makes the request. Null if nobody is signed in.",
    )
    def viewer(roots: Parents[None], info: Info) -> list[ViewerRow | None]:
        viewer = scope_of(info).viewer
        return [None if viewer is None else ViewerRow(viewer)] * len(roots)

    @batched(
        graphql_type=list[Relation | None] | None,
        metadata=weighed(call=RELATIONS, item=15, size=length_of("pairs", maximum=500)),
        description="The relationship of each pair of users, in the order of `pairs`. An entry is "
        "null beside an error if one of its ids is invalid. Only for services: other callers get "
        "the error `FORBIDDEN`.",
    )
    async def relations_between(
        roots: Parents[None], info: Info, pairs: UserPairs, at_least_as_fresh: AtLeastAsFresh = None
    ) -> list[list[ItemOrError[RelationRow]]]:
        scope = scope_of(info)
        require_service(scope, "readRelations", pairs=len(pairs))
        given = arguments.each_user_pair("pairs", pairs, scope.policy.pairs_max)
        found = iter(await relations.of_pairs(scope, without_errors(given)))
        rows: list[ItemOrError[RelationRow]] = [
            pair if isinstance(pair, Exception) else relation_row(pair, next(found))
            for pair in given
        ]
        return [rows] * len(roots)

    @batched(
        graphql_type=UserAccount | None,
        metadata=weighed(call=QUERY),
        description="The account of the user with this id. Only for services: other callers get "
        "the error `FORBIDDEN`.",
    )
    async def account(
        roots: Parents[None],
        info: Info,
        id: UserIdArgument,
        at_least_as_fresh: AtLeastAsFresh = None,
    ) -> list[ItemOrError[AccountRow]]:
        return await _accounts(scope_of(info), [arguments.user_id("id", id)]) * len(roots)

    @batched(
        graphql_type=list[UserAccount | None] | None,
        metadata=weighed(call=QUERY, size=IDS),
        description="The accounts of the users with these ids, in the order of `ids`. An entry is "
        "null beside an error if its id is invalid. Only for services: other callers get the "
        "error `FORBIDDEN`.",
    )
    async def accounts(
        roots: Parents[None], info: Info, ids: UserIds, at_least_as_fresh: AtLeastAsFresh = None
    ) -> list[list[ItemOrError[AccountRow]]]:
        scope = scope_of(info)
        users = arguments.each_user_id("ids", ids, scope.policy.users_max)
        return [await _accounts(scope, users)] * len(roots)

    @batched(
        graphql_type=BulkOperation | None,
        metadata=weighed(call=QUERY),
        description="The bulk operation of the calling service with this id. Null if it has none. "
        "Only for services that do not act for a user: other callers get the error `FORBIDDEN`.",
    )
    async def bulk_operation(roots: Parents[None], info: Info, id: BulkId) -> list[BulkRow | None]:
        scope = scope_of(info)
        require_service(scope, "readBulkOperation")
        return [await bulk.find(scope, bulk.key_of(scope, "id", id))] * len(roots)

    @batched(
        graphql_type=RateLimit | None,
        description="The cost of this operation and the budget that it is charged to. With "
        "`dryRun`, nothing else is run: the response holds only this field, also if the operation "
        "costs more than the limit of one operation.",
    )
    def rate_limit(
        roots: Parents[None], info: Info, dry_run: DryRun = False
    ) -> list[RateLimitRow | None]:
        return [scope_of(info).rate_limit()] * len(roots)

    @batched(
        name="_service",
        metadata=weighed(call=150),
        description="The schema of this subgraph, for a federation router.",
    )
    def service(roots: Parents[None], info: Info) -> list[Service]:
        return [Service(sdl=subgraph(info.schema))] * len(roots)

    @batched(
        name="_entities",
        graphql_type=list[Entity | None],
        metadata=weighed(
            row=AWAITED_ROOT, item=2, size=length_of("representations", maximum=10_000)
        ),
        description="The referenced users, in the order of `representations`, for a federation "
        "router. An entry is null beside an error if its reference is invalid.",
    )
    async def entities(
        roots: Parents[None], info: Info, representations: Representations
    ) -> list[list[ItemOrError[UserRow]]]:
        maximum = scope_of(info).policy.entities_max
        return [await users_of(representations, maximum)] * len(roots)


async def _accounts(
    scope: Scope, users: Sequence[ItemOrError[UserRow]]
) -> list[ItemOrError[AccountRow]]:
    valid = without_errors(users)
    found = map(AccountRow, valid, await statuses(scope, valid))
    return [user if isinstance(user, Exception) else next(found) for user in users]
