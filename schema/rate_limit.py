"""The cost of an operation and the budget of its caller, as a GraphQL type."""

from datetime import datetime

import strawberry

from engine import Parents, batched, row_classes
from graph.rate_limit import RateLimit as RateLimitRow
from schema.rows import date

FIELD, DRY_RUN = "rateLimit", "dryRun"
COST_HEADER = "Kith-Cost"

INT_MAX = 2**31 - 1


@strawberry.type(
    description="The cost of an operation, and the budget of its caller: the viewer, the service, "
    "or the client's address if nobody is signed in. A cost of 1 is in the order of 1 µs of CPU "
    "time."
)
@row_classes(RateLimitRow)
class RateLimit:
    @batched(description="The cost of this operation; 2,147,483,647 if it is higher.")
    def cost(rows: Parents[RateLimitRow]) -> list[int]:
        return [min(row.cost, INT_MAX) for row in rows]

    @batched(
        description="The cost that the caller can use at once. It is also what they can use in a "
        "minute, because an empty budget is full again after a minute. Null if there is no budget."
    )
    def limit(rows: Parents[RateLimitRow]) -> list[int | None]:
        return [row.limit for row in rows]

    @batched(
        description="The remaining budget, after this operation. Approximate: other servers "
        "report what they charge a little later. Null if there is no budget."
    )
    def remaining(rows: Parents[RateLimitRow]) -> list[int | None]:
        return [row.remaining for row in rows]

    @batched(
        description="When `remaining` equals `limit` again. Null if it does now, or if there is "
        "no budget."
    )
    def reset_at(rows: Parents[RateLimitRow]) -> list[datetime | None]:
        return [None if row.reset_at is None else date(row.reset_at) for row in rows]
