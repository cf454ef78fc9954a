"""Charges, admits and traces the events of one subscription."""

from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack

from gateway.graphql.admission import Admission
from gateway.graphql.charges import Charges
from gateway.graphql.request import RequestRejected
from graph.errors import Overloaded


class EventAdmission:
    """Charges, admits and traces each event of one subscription, from its context to its result."""

    def __init__(
        self,
        admission: Admission,
        cost: int,
        charges: Charges,
        span: Callable[[], AbstractContextManager[None]],
    ) -> None:
        self._span = span
        self._open_span = ExitStack()
        self._charges = charges
        self._events = admission.events
        self._cost = cost
        self._admitted = 0
        self._is_first = True

    async def begin(self, context: object) -> bool:
        """Charge an event, and wait until it is admitted. Raises Overloaded.

        Returns whether there is an event: the first context is that of the source, which waits for
        events.
        """
        if self._is_first:
            self._is_first = False
            return False
        self._open_span.enter_context(self._span())
        self._charges.debit(self._cost, context)
        try:
            waiting = self._events.enter(self._cost, context)
            if waiting is not None:
                await waiting
        except RequestRejected as rejected:
            raise Overloaded("gateway", rejected.errors[0].message) from None
        self._admitted = self._cost
        return True

    def end(self) -> None:
        self._open_span.close()
        if self._admitted:
            self._events.leave(self._admitted)
            self._admitted = 0
