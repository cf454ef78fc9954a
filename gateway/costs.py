"""The limits on the static cost of one operation."""

from dataclasses import dataclass

from graphql import GraphQLError

from gateway.graphql_request import RequestRejected
from schema.context import Context


@dataclass(frozen=True, slots=True)
class CostSettings:
    """The greatest cost of one operation, for users and for services."""

    limit: int = 200_000
    service_limit: int = 2_000_000


class CostLimit:
    """Implements `gateway.graphql_execution.Charge`: rejects operations that cost too much."""

    def __init__(self, settings: CostSettings) -> None:
        self._limit = settings.limit
        self._service_limit = settings.service_limit

    def __call__(self, cost: int, context: Context) -> None:
        limit = self._service_limit if context.scope.is_service else self._limit
        if cost > limit:
            raise RequestRejected("COST_LIMIT_EXCEEDED", [_too_costly(cost, limit)])


def _too_costly(cost: int, limit: int) -> GraphQLError:
    message = (
        f"The operation costs {cost:,}; at most {limit:,} is allowed. Request smaller pages, fewer"
        " ids, or less nesting, in several requests."
    )
    return GraphQLError(message, extensions={"cost": cost, "limit": limit})
