"""Admission: limits the total cost of the operations that run at once. The rest wait in fair
queues, or are rejected."""

import asyncio
from collections.abc import Awaitable
from contextlib import suppress
from dataclasses import replace
from random import random

from gateway.graphql.admission_queue import REJECT_S, CallerOf, FairQueue
from gateway.graphql.request import RequestRejected
from gateway.graphql.settings import AdmissionSettings

LARGE_DIVISOR = 20
"""An operation is large if it costs more than 1/20 of the capacity, `cost_max`."""

SMALL_CAPACITY_SHARE = 0.375
"""The capacity for small operations, relative to that for large ones. It is separate, because a
large operation that runs cannot be interrupted for a small one."""

RESERVED_DIVISOR = 4
"""A request whose cost is not known yet occupies 1/4 of the capacity for large operations: with the
default settings, the cost limit of one operation."""

RETRY_PAUSE_MAX_S = 1.0
"""The longest pause between two tries of a reservation while the queue is full. Pauses begin with
`REJECT_S` and double: 500 web sockets that tried again every 10 ms occupied a core."""

EVENT_WAIT_MS = 10_000
"""How long an event waits for admission before its subscription ends."""


class Admission:
    """The operations that run in this process: large ones, small ones and those of events.

    `enter` is called before an operation and `leave` after it, with the same cost. A request that
    is expensive to parse is admitted before, by `reserve`.
    """

    def __init__(self, settings: AdmissionSettings, caller_of: CallerOf = lambda _: None) -> None:
        small = int(settings.cost_max * SMALL_CAPACITY_SHARE)
        self._small_cost_max = settings.cost_max // LARGE_DIVISOR
        self._reserved_cost = max(self._small_cost_max + 1, settings.cost_max // RESERVED_DIVISOR)
        self._small = FairQueue("small", small, settings, caller_of)
        self._large = FairQueue("large", settings.cost_max, settings, caller_of)
        event_settings = replace(settings, wait_ms=EVENT_WAIT_MS)
        self.events = FairQueue("events", small, event_settings, caller_of, is_bounded=False)
        """The queue of the events of subscriptions, with an `enter` and a `leave` of its own. Its
        length has no limit: subscriptions are limited, and each waits with one event at most."""

    def enter(self, cost: int, context: object) -> Awaitable[None] | None:
        """Admit an operation and return None, or return an awaitable that waits for admission.

        The awaitable raises RequestRejected (503) after `wait_ms`, or when the queue is full and
        operations that would finish earlier need the place, even if they arrive later. An operation
        that costs more than the capacity runs alone.
        """
        queue = self._small if cost <= self._small_cost_max else self._large
        # The usual case, inlined: nothing waits, and there is room.
        if not queue.waiting and queue.running_cost + cost <= queue.cost_max:
            queue.running_cost += cost
            return None
        return queue.enter(cost, context)

    async def reserve(self, context: object) -> "Reservation":
        """Admit a request whose cost is not known before it is parsed, as a large operation.

        So a request that would be rejected is not parsed. Raises RequestRejected, as `enter`.
        """
        waiting = self._large.enter(self._reserved_cost, context)
        if waiting is not None:
            await waiting
        return Reservation(self, self._reserved_cost)

    def reject_full(self, context: object) -> Awaitable[None] | None:
        """Reject a request for which `reserve` would raise at once. Returns an awaitable that
        raises RequestRejected, or None, the usual case, in which `reserve` may still raise."""
        return self._large.reject_full(self._reserved_cost, context)

    async def reserve_with_retries(self, context: object) -> "Reservation":
        """The same as `reserve`, but try again after each rejection, without an end."""
        pause_s = REJECT_S
        while True:
            with suppress(RequestRejected):
                waiting = self._large.enter(self._reserved_cost, context, is_retried=True)
                if waiting is not None:
                    await waiting
                return Reservation(self, self._reserved_cost)
            await asyncio.sleep(pause_s * (1 - random() / 2))
            pause_s = min(2 * pause_s, RETRY_PAUSE_MAX_S)

    def enter_reserved(self, cost: int, reserved: int, context: object) -> Awaitable[None] | None:
        """Enter with a reservation of the cost `reserved`, which ends.

        A large operation runs at once if it costs no more than the reservation. Any other enters as
        by `enter`.
        """
        if self._small_cost_max < cost <= reserved:
            self._large.reduce(reserved, cost, context)
            return None
        self.leave(reserved)
        return self.enter(cost, context)

    def leave(self, cost: int) -> None:
        """Release the cost with which an operation was admitted by `enter`."""
        queue = self._small if cost <= self._small_cost_max else self._large
        queue.running_cost -= cost
        if queue.waiting:
            queue.admit_waiting()


class Reservation:
    """A part of the capacity for large operations, for a request that is being parsed.

    It ends when its operation enters in its place, or with `release`, which may be called again.
    """

    __slots__ = ("_admission", "_cost")

    def __init__(self, admission: Admission, cost: int) -> None:
        self._admission = admission
        self._cost = cost

    def enter(self, cost: int, context: object) -> Awaitable[None] | None:
        """The same as `Admission.enter`, in place of the reservation."""
        reserved, self._cost = self._cost, 0
        if not reserved:
            return self._admission.enter(cost, context)
        return self._admission.enter_reserved(cost, reserved, context)

    def release(self) -> None:
        reserved, self._cost = self._cost, 0
        if reserved:
            self._admission.leave(reserved)
