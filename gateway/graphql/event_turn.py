"""The turns of one subscription's events: their charges, their admission and their spans."""

from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack

from gateway.graphql.admission import Admission
from gateway.graphql.charges import Costs
from gateway.graphql.request import RequestRejected
from graph.errors import Overloaded


class EventTurn:
    """The charges, the admission and the span of one subscription: for each event from its context
    to its result."""

    def __init__(
        self,
        admission: Admission,
        cost: int,
        costs: Costs,
        span: Callable[[], AbstractContextManager[None]],
    ) -> None:
        self._span = span
        self._entered = ExitStack()
        self._costs = costs
        self._events = admission.events
        self._cost = cost
        self._admitted = 0
        self._is_source = True

    async def begin(self, context: object) -> None:
        """Wait for a turn. Raises Overloaded."""
        if self._is_source:  # the first context is that of the source, which waits for events
            self._is_source = False
            return
        self._entered.enter_context(self._span())
        self._costs.debit(self._cost, context)
        try:
            waiting = self._events.enter(self._cost, context)
            if waiting is not None:
                await waiting
        except RequestRejected as rejected:
            raise Overloaded("gateway", rejected.errors[0].message) from None
        self._admitted = self._cost

    def end(self) -> None:
        self._entered.close()
        if self._admitted:
            self._events.leave(self._admitted)
            self._admitted = 0
