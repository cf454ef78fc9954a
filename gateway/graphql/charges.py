"""The charge for an operation before it runs."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, NamedTuple, Protocol

from engine import Operation, Values
from graph.rate_limit import RateLimit
from schema import rate_limit

COST_HEADER = rate_limit.COST_HEADER.lower().encode()
"""A request with this header gets a response that says what its operation cost."""


class Charges(Protocol):
    """Checks and charges the costs of operations: see `gateway.graphql.cost_limits`."""

    def charge(self, cost: int, context: Any) -> Awaitable[None] | None:
        """Charge an operation before it runs. Returns an awaitable to complete first, or None, the
        usual case.

        The call and the awaitable may raise RequestRejected.
        """

    def require_below_limit(self, cost: int, context: Any) -> None:
        """Raise RequestRejected for an operation that exceeds the limit of one operation."""

    def charge_document(self, cost: int, context: Any) -> Awaitable[None] | None:
        """Charge the preparation of a document, as `charge`, but without a limit of the cost."""

    def debit(self, cost: int, context: Any) -> None:
        """Charge work without rejecting it: events of subscriptions, field errors, and requests
        that were rejected because of their operation name or variables."""

    def rate_limit(self, cost: int, context: Any) -> RateLimit:
        """The cost of an operation, and what is left of the caller's budget."""


class NoCharges:
    """Charges nothing."""

    def charge(self, cost: int, context: Any) -> None:
        return None

    def require_below_limit(self, cost: int, context: Any) -> None:
        return None

    def charge_document(self, cost: int, context: Any) -> None:
        return None

    def debit(self, cost: int, context: Any) -> None:
        return None

    def rate_limit(self, cost: int, context: Any) -> RateLimit:
        return RateLimit(cost)


class ChargedOperation(NamedTuple):
    """A prepared operation with its variables and its cost."""

    operation: Operation
    values: Values
    cost: int
    waiting: Awaitable[None] | None
    """To be awaited before it runs, if not None: for the charge, which raises RequestRejected if
    the caller's budget is used up, and for a turn of the event loop."""


# A named tuple's own constructor is a Python function, which takes twice as long.
new_charged_operation: Callable[
    [tuple[Operation, Values, int, Awaitable[None] | None]], ChargedOperation
] = partial(tuple.__new__, ChargedOperation)
