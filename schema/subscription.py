"""The subscription root. Each event is executed like a separate query."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Annotated

import strawberry

from engine import length_of, weighed
from graph.errors import BadInput
from graph.relation import column_of
from resolvers import live
from resolvers.live import LiveEvent
from schema import arguments
from schema.context import Info, scope_of
from schema.event import EVENT_TYPES, RelationshipEvent, RelationshipEventType
from schema.query import UserIdArgument
from schema.relation import Relation
from schema.rows import RelationRow, UserRow, relation_rows
from schema.user import User
from schema.weights import RELATIONS

Types = Annotated[
    list[RelationshipEventType] | None,
    strawberry.argument(description="Only events of these types. All types if omitted or empty."),
]
After = Annotated[
    str | None,
    strawberry.argument(
        description="Resumes after the event with this cursor. If the events since then are no "
        "longer stored, the first event is RESYNC. If omitted, only new events are sent."
    ),
]
Others = Annotated[
    list[strawberry.ID], strawberry.argument(description="The ids of 1 to 100 users.")
]


@strawberry.type(
    description="The entry points for live updates, over WebSocket (graphql-transport-ws) or "
    "server-sent events."
)
class Subscription:
    @strawberry.subscription(
        graphql_type=RelationshipEvent,
        description="The changes of relationships between the viewer and other users. Events with "
        "the same `to` arrive in the order of the changes. The error is `UNAUTHENTICATED` if "
        "nobody is signed in.",
    )
    async def relationship_events(
        self, info: Info, types: Types = None, after: After = None
    ) -> AsyncGenerator[LiveEvent, None]:
        # RESYNC, which is sent in any case, is left out.
        wanted = {EVENT_TYPES[name] for name in types if name in EVENT_TYPES} if types else None
        async with aclosing(live.relationship_events(scope_of(info), wanted, after)) as events:
            async for event in events:
                yield event

    @strawberry.subscription(
        graphql_type=list[Relation],
        metadata=weighed(call=RELATIONS, item=1.2, size=length_of("ids", maximum=100)),
        description="The relationships between the viewer and these users: first all of them, "
        "then those that changed. The error is `UNAUTHENTICATED` if nobody is signed in.",
    )
    async def relation_changed(
        self, info: Info, ids: Others
    ) -> AsyncGenerator[Sequence[RelationRow], None]:
        scope = scope_of(info)
        if not ids:
            maximum = scope.policy.live_relations_max
            raise BadInput("ids", f"must have 1 to {maximum} entries, got 0.")
        others = arguments.user_ids("ids", ids, scope.policy.live_relations_max)
        viewer = scope.must_have_viewer()
        async with aclosing(live.relation_changed(scope, others)) as changes:
            async for changed in changes:
                users, relations = zip(*changed, strict=True)
                yield relation_rows(viewer, users, column_of(relations))

    @strawberry.subscription(
        graphql_type=User,
        description="The user: first immediately, then each time a count that the viewer can see "
        "has changed, at most once per second and up to a second after the change. An event can "
        "repeat the counts of the previous one.",
    )
    async def counts_changed(
        self, info: Info, user_id: UserIdArgument
    ) -> AsyncGenerator[UserRow, None]:
        user = arguments.user_id("userId", user_id)
        async with aclosing(live.counts_changed(scope_of(info), user)) as changes:
            async for changed in changes:
                yield changed
