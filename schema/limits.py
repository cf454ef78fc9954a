"""The viewer's limits and what is left of them, as GraphQL types."""

from datetime import datetime

import strawberry

from engine import Parents, batched, row_classes
from graph.counts import Limit
from graph.pace import ChangeAllowance
from resolvers.remaining_limits import RemainingLimits
from schema.node import LIMITS_PREFIX, Node
from schema.rows import date


@strawberry.type(description="A limit on the number of users that the viewer follows or blocks.")
@row_classes(Limit)
class RelationshipQuota:
    @batched(description="The maximum number of users.")
    def limit(limits: Parents[Limit]) -> list[int]:
        return [limit.limit for limit in limits]

    @batched(description="The current number of users.")
    def used(limits: Parents[Limit]) -> list[int]:
        return [limit.current for limit in limits]

    @batched(description="How many more users are allowed. 0 if the limit is reached.")
    def remaining(limits: Parents[Limit]) -> list[int]:
        return [limit.remaining for limit in limits]


@strawberry.type(
    description="A limit on how fast the viewer can make changes. Each change that takes effect "
    "uses one of `remaining`, which grows back at a constant rate."
)
@row_classes(ChangeAllowance)
class ChangeQuota:
    @batched(description="The maximum number of changes that the viewer can make at once.")
    def limit(allowances: Parents[ChangeAllowance]) -> list[int]:
        return [allowance.limit for allowance in allowances]

    @batched(description="The number of changes that the viewer can make now.")
    def remaining(allowances: Parents[ChangeAllowance]) -> list[int]:
        return [allowance.remaining for allowance in allowances]

    @batched(description="When `remaining` equals `limit` again. Null if it does now.")
    def reset_at(allowances: Parents[ChangeAllowance]) -> list[datetime | None]:
        return [
            None if allowance.reset_at is None else date(allowance.reset_at)
            for allowance in allowances
        ]


@strawberry.type(description="The limits of the viewer, and how much of them is left.")
@row_classes(RemainingLimits)
class RelationshipLimits(Node):
    @batched(
        graphql_type=strawberry.ID,
        description="The id: `limits:` and the viewer's user id.",
        serialized=True,
    )
    def id(rows: Parents[RemainingLimits]) -> list[str]:
        return [f"{LIMITS_PREFIX}:{row.user}" for row in rows]

    @batched(
        graphql_type=RelationshipQuota,
        description="The limit on users that the viewer follows. Pending requests count too.",
    )
    def following(rows: Parents[RemainingLimits]) -> list[Limit]:
        return [row.following for row in rows]

    @batched(
        graphql_type=RelationshipQuota, description="The limit on users that the viewer blocks."
    )
    def blocks(rows: Parents[RemainingLimits]) -> list[Limit]:
        return [row.blocks for row in rows]

    @batched(
        graphql_type=ChangeQuota, description="The limit on changes of relationships and settings."
    )
    def changes(rows: Parents[RemainingLimits]) -> list[ChangeAllowance]:
        return [row.changes for row in rows]
