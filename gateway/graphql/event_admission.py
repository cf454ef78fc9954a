"""Charges, admits and traces the events of one subscription."""

from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager, ExitStack

from engine import ADMITTED, Caller
from gateway.graphql.admission import Admission
from gateway.graphql.charges import Charges
from gateway.graphql.request import RequestRejected
from graph.errors import Overloaded


class EventAdmission:
    """Charges, admits and traces each event of one subscription, from its context to its result.

    `take_turn` waits until the execution of an event may begin, in a turn of the given caller, or
    for None of the caller for whom the task takes turns.
    """

    def __init__(
        self,
        admission: Admission,
        cost: int,
        charges: Charges,
        span: Callable[[], AbstractContextManager[None]],
        take_turn: Callable[[Caller | None], Awaitable[None]],
    ) -> None:
        self._span = span
        self._take_turn = take_turn
        self._open_span = ExitStack()
        self._charges = charges
        self._events = admission.events
        self._cost = cost
        self._admitted = 0
        self._is_first = True

    async def begin(self, context: object) -> None:
        """Charge an event, and wait until it is admitted and may begin. Raises Overloaded.

        The first call does nothing: its context is that of the source, which waits for events.
        """
        if self._is_first:
            self._is_first = False
            return
        self._open_span.enter_context(self._span())
        self._charges.debit(self._cost, context)
        # Before it is admitted, as for requests: otherwise the events of one caller could
        # occupy the whole capacity for events while they wait.
        await self._take_turn(None)
        try:
            waiting = self._events.enter(self._cost, context)
            if waiting is not None:
                await waiting
        except RequestRejected as rejected:
            raise Overloaded("gateway", rejected.errors[0].message) from None
        self._admitted = self._cost
        if waiting is not None:  # several can be admitted in one iteration
            await self._take_turn(ADMITTED)

    def end(self) -> None:
        """End the event that has begun, if any."""
        self._open_span.close()
        if self._admitted:
            self._events.leave(self._admitted)
            self._admitted = 0
