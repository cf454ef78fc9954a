"""Where live answers begin: each event of a subscription is answered like a query of its own."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Annotated, cast

import strawberry

from graph.errors import BadInput
from graph.relation import column_of
from resolvers import live
from schema import arguments
from schema.context import Info, scope_of
from schema.event import TYPES, RelationshipEvent, RelationshipEventType
from schema.query import UserIdArgument
from schema.relation import Relation
from schema.rows import relation_rows
from schema.user import User

Types = Annotated[
    list[RelationshipEventType] | None,
    strawberry.argument(description="Only these; all, if none are named."),
]
After = Annotated[
    str | None,
    strawberry.argument(
        description="Resume behind the event with this cursor, if it is still kept; else a RESYNC "
        "comes first. Without it, only what happens from now on is heard."
    ),
]
Others = Annotated[
    list[strawberry.ID], strawberry.argument(description="The ids of 1 to 100 users.")
]


@strawberry.type(
    description="Everything that can be listened to, over graphql-transport-ws or server-sent "
    "events."
)
class Subscription:
    @strawberry.subscription(
        description="What happens between the viewer and anybody else, in the order in which each "
        "user's followers change."
    )
    async def relationship_events(
        self, info: Info, types: Types = None, after: After = None
    ) -> AsyncGenerator[RelationshipEvent, None]:
        wanted = {TYPES[kind] for kind in types if kind in TYPES} if types else None
        async with aclosing(live.relationship_events(scope_of(info), wanted, after)) as events:
            async for heard in events:
                yield cast("RelationshipEvent", heard)

    @strawberry.subscription(
        description="How the viewer stands to these users: at first to all of them, then whenever "
        "it changes to those for whom it did."
    )
    async def relation_changed(
        self, info: Info, ids: Others
    ) -> AsyncGenerator[list[Relation], None]:
        scope = scope_of(info)
        if not ids:
            raise BadInput("ids", "name at least one user: of nobody there is nothing to tell.")
        others = arguments.user_ids("ids", ids, scope.limits.live_relations_max)
        viewer = scope.must_have_viewer()
        async with aclosing(live.relation_changed(scope, others)) as changes:
            async for changed in changes:
                users, relations = zip(*changed, strict=True)
                yield cast("list[Relation]", relation_rows(viewer, users, column_of(relations)))

    @strawberry.subscription(
        description="This user: at first, and then whenever a count that the viewer may see has "
        "changed, at most once a second. What is told is read then, so it may be told twice."
    )
    async def counts_changed(
        self, info: Info, user_id: UserIdArgument
    ) -> AsyncGenerator[User, None]:
        user = arguments.user_id("userId", user_id)
        async with aclosing(live.counts_changed(scope_of(info), user)) as changes:
            async for changed in changes:
                yield cast("User", changed)
