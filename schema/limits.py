"""The viewer's limits and what is left of them, as types."""

from datetime import datetime

import strawberry

from engine import Parents, batched, of_rows
from graph.pace import Budget
from resolvers.limits import Quota, RemainingLimits
from schema.rows import date


@strawberry.type(description="A number of users that the viewer may follow or block.")
@of_rows(Quota)
class RelationshipQuota:
    @batched(description="How many the viewer may have.")
    def limit(quotas: Parents[Quota]) -> list[int]:
        return [quota.limit for quota in quotas]

    @batched(description="How many the viewer has.")
    def used(quotas: Parents[Quota]) -> list[int]:
        return [quota.used for quota in quotas]

    @batched(description="How many more the viewer may have: 0 if the limit is reached.")
    def remaining(quotas: Parents[Quota]) -> list[int]:
        return [quota.remaining for quota in quotas]


@strawberry.type(
    description="How many changes the viewer may make in a short time. A change that was made uses "
    "one; unused ones come back at a constant rate."
)
@of_rows(Budget)
class ChangeQuota:
    @batched(description="How many changes the viewer may make at once when none are used.")
    def limit(budgets: Parents[Budget]) -> list[int]:
        return [budget.limit for budget in budgets]

    @batched(description="How many changes the viewer may make now.")
    def remaining(budgets: Parents[Budget]) -> list[int]:
        return [budget.remaining for budget in budgets]

    @batched(description="When `remaining` is equal to `limit` again. Null if it is now.")
    def reset_at(budgets: Parents[Budget]) -> list[datetime | None]:
        return [None if budget.reset_at is None else date(budget.reset_at) for budget in budgets]


@strawberry.type(description="The limits on what the viewer may change, and what is left of them.")
@of_rows(RemainingLimits)
class RelationshipLimits:
    @batched(
        graphql_type=RelationshipQuota,
        description="How many users the viewer may follow. Requests to follow count as well.",
    )
    def following(rows: Parents[RemainingLimits]) -> list[Quota]:
        return [row.following for row in rows]

    @batched(graphql_type=RelationshipQuota, description="How many users the viewer may block.")
    def blocks(rows: Parents[RemainingLimits]) -> list[Quota]:
        return [row.blocks for row in rows]

    @batched(
        graphql_type=ChangeQuota,
        description="How many changes of relationships and settings the viewer may make.",
    )
    def changes(rows: Parents[RemainingLimits]) -> list[Budget]:
        return [row.changes for row in rows]
