"""Limits of cost: the limit of one operation, and the budgets of callers."""

from collections.abc import Awaitable, Callable
from math import ceil
from typing import NamedTuple

from graphql import GraphQLError
from prometheus_client import Counter

from gateway.graphql.budgets import Budgets, Exhausted
from gateway.graphql.request import RequestRejected
from gateway.graphql.settings import CostSettings
from graph.rate_limit import Bucket, RateLimit
from schema.context import Context
from storage.ports.limits import Budgets as BudgetStore

_rejected = Counter(
    "kith_rate_limited_total", "Operations rejected because a budget was used up.", ["sender"]
)

SERVICES = "services"
OPERATION = "The operation"
DOCUMENT = "Preparing the document"


def service_caller(client: str | None) -> str:
    """The name of a service's budget: of its client, or of all services whose tokens name no
    client."""
    return SERVICES if client is None else f"{SERVICES}:{client}"


class CostLimits:
    """Implements `gateway.graphql.charges.Charges`."""

    def __init__(self, settings: CostSettings, store: BudgetStore) -> None:
        self._settings = settings

        def budgets(size: int) -> Budgets | None:
            return Budgets(store, Bucket(size)) if size else None

        self._viewers = budgets(settings.budget)
        self._addresses = budgets(settings.anonymous_budget)
        self._services = budgets(settings.service_budget)

    def charge(self, cost: int, context: Context) -> Awaitable[None] | None:
        """Charge an operation before it runs. Returns an awaitable to complete first, or None, the
        usual case.

        The call and the awaitable may raise RequestRejected.
        """
        scope = context.scope
        if scope.is_service:
            budgets, limit = self._services, self._settings.service_limit
        else:
            budgets = self._addresses if scope.viewer is None else self._viewers
            limit = self._settings.limit
        if cost > limit:
            raise RequestRejected("COST_LIMIT_EXCEEDED", [_too_costly(cost, limit)])
        waiting = None if budgets is None else budgets.charge(scope.caller, cost)
        return None if waiting is None else _await_charge(waiting, OPERATION, cost, context)

    def require_below_limit(self, cost: int, context: Context) -> None:
        """Raise RequestRejected for an operation that exceeds the limit of one operation."""
        settings = self._settings
        limit = settings.service_limit if context.scope.is_service else settings.limit
        if cost > limit:
            raise RequestRejected("COST_LIMIT_EXCEEDED", [_too_costly(cost, limit)])

    def charge_document(self, cost: int, context: Context) -> Awaitable[None] | None:
        """Charge the preparation of a document, as `charge`, but without a limit."""
        budgets = self._budgets_of(context)
        waiting = None if budgets is None else budgets.charge(context.scope.caller, cost)
        return None if waiting is None else _await_charge(waiting, DOCUMENT, cost, context)

    def debit(self, cost: int, context: Context) -> None:
        """Charge work that is never rejected for its cost: events, field errors, rejections."""
        if (budgets := self._budgets_of(context)) is not None:
            budgets.debit(context.scope.caller, cost)

    @property
    def debits(self) -> "Debits":
        """For each kind of caller, the function that charges work of which only execution shows how
        much it is."""
        kinds = self._viewers, self._addresses, self._services
        return Debits(*(_free if budgets is None else budgets.debit for budgets in kinds))

    def rate_limit(self, cost: int, context: Context) -> RateLimit:
        """The cost of an operation, and what is left of the caller's budget."""
        budgets = self._budgets_of(context)
        return (
            RateLimit(cost) if budgets is None else budgets.rate_limit(context.scope.caller, cost)
        )

    def _budgets_of(self, context: Context) -> Budgets | None:
        if context.scope.is_service:
            return self._services
        return self._addresses if context.scope.viewer is None else self._viewers


Debit = Callable[[str | int, int], None]
"""Charges a caller a cost, as `Budgets.debit` does."""


class Debits(NamedTuple):
    """The `Debit` of each kind of caller."""

    viewers: Debit
    addresses: Debit
    services: Debit


def _free(_: str | int, __: int) -> None:
    """Charge nothing."""


async def _await_charge(waiting: Awaitable[None], what: str, cost: int, context: Context) -> None:
    """Wait for the charge of `what`. Raises RequestRejected 429 if the budget is used up."""
    try:
        await waiting
    except Exhausted as exhausted:
        _rejected.labels(_caller_kind(context)).inc()
        retry_after = {"retry-after": str(ceil(exhausted.wait_ms / 1000))}
        error = _over_budget(what, cost, exhausted.wait_ms)
        raise RequestRejected("RATE_LIMITED", [error], 429, retry_after) from None


def _caller_kind(context: Context) -> str:
    """The kind of a caller, for metrics."""
    if context.scope.is_service:
        return SERVICES
    return "addresses" if context.scope.viewer is None else "viewers"


def _too_costly(cost: int, limit: int) -> GraphQLError:
    message = (
        f"The operation costs {cost:,}; at most {limit:,} is allowed. Request smaller pages, fewer"
        " ids, or less nesting, in several requests."
    )
    return GraphQLError(message, extensions={"cost": cost, "limit": limit})


def _over_budget(what: str, cost: int, wait_ms: int) -> GraphQLError:
    message = f"{what} costs {cost:,}, and the budget is used up. Repeat it after {wait_ms} ms."
    return GraphQLError(message, extensions={"cost": cost, "retryAfterMs": wait_ms})
