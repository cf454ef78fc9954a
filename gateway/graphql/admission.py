"""Admission: how many operations run at once, by their cost, and in which order others wait.

Operations wait by self-clocked fair queueing (Golestani 1994): each gets a virtual finish time,
which grows with what its caller has in the queue. The earliest runs next. If the queue is full,
the latest is rejected. So the operations of a caller who sends more than a fair share wait
behind those of all others, and are rejected before them.
"""

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from contextlib import suppress
from dataclasses import replace
from heapq import heapify, heappop, heappush
from random import random
from typing import Any

from graphql import GraphQLError
from prometheus_client import Counter, Gauge, Histogram

from gateway.graphql.request import RequestRejected
from gateway.graphql.settings import AdmissionSettings

_in_flight = Gauge(
    "kith_admission_cost", "Cost of the operations that run now, by class.", ["class"]
)
_queued = Gauge("kith_admission_queue", "Operations that wait for admission, by class.", ["class"])
_waited = Histogram(
    "kith_admission_wait_seconds",
    "How long operations waited for admission that did not run at once.",
    ["class"],
    buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10),
)
_rejected = Counter(
    "kith_admission_rejected_total", "Operations rejected because of overload, by class.", ["class"]
)

LARGE_SHARE = 20
"""An operation is large if it costs more than 1/20 of the budget."""

SMALL_BUDGET = 0.375
"""The budget of small operations, as a share of that of large ones. It is their own, because a
large operation that runs cannot be interrupted for a small one that arrives."""

RESERVED_SHARE = 4
"""A request whose cost is not known yet occupies 1/4 of the budget: by default, the greatest cost
that an operation may have."""

REJECT_S = 0.01
"""How long a rejection is held back. A client that repeats its request at once, in spite of
`Retry-After`, would otherwise have the server spend most of its time on rejections."""

RETRY_PAUSE_S = 1.0
"""The longest pause between two tries of a reservation while the queue is full. Pauses begin with
`REJECT_S` and double: 500 web sockets that tried again every 10 ms occupied a core."""

EVENT_WAIT_MS = 10_000
"""How long an event waits before its subscription ends."""

REBUILD = 64
"""A queue is rebuilt when more than half of its entries, and this many more, have given up."""

CallerOf = Callable[[Any], Hashable]
"""Returns the caller whose share an operation uses, from its context."""


class Admission:
    """The operations that run in this process: large ones, small ones and those of events.

    `enter` is called before an operation and `leave` after it, with the same cost. A request that
    is expensive to parse is admitted before, by `reserve`.
    """

    def __init__(self, settings: AdmissionSettings, caller_of: CallerOf = lambda _: None) -> None:
        small = int(settings.cost_max * SMALL_BUDGET)
        self._small_max = settings.cost_max // LARGE_SHARE
        self._reserved = max(self._small_max + 1, settings.cost_max // RESERVED_SHARE)
        self._small = _Queue("small", small, settings, caller_of)
        self._large = _Queue("large", settings.cost_max, settings, caller_of)
        event_settings = replace(settings, wait_ms=EVENT_WAIT_MS)
        self.events = _Queue("events", small, event_settings, caller_of, is_bounded=False)
        """Results for events. Subscriptions are limited, and each waits with one event at most."""

    def enter(self, cost: int, context: object) -> Awaitable[None] | None:
        """Admit an operation and return None, or return an awaitable that waits for its turn.

        The awaitable raises RequestRejected (503) after `wait_ms`, or if the queue is full and this
        operation would finish last. One that costs more than the budget runs alone.
        """
        queue = self._small if cost <= self._small_max else self._large
        # The usual case, inlined: nothing waits, and there is room.
        if not queue.waiting and queue.in_flight + cost <= queue.cost_max:
            queue.in_flight += cost
            return None
        return queue.enter(cost, context)

    async def reserve(self, context: object) -> "Reservation":
        """Admit a request whose cost is not known before it is parsed, as a large operation.

        So a request that would be rejected is not parsed. Raises RequestRejected, as `enter`.
        """
        waiting = self._large.enter(self._reserved, context)
        if waiting is not None:
            await waiting
        return Reservation(self, self._reserved)

    def reject_full(self, context: object) -> Awaitable[None] | None:
        """Reject a request for which `reserve` would raise at once. Returns an awaitable that
        raises RequestRejected, or None, the usual case."""
        return self._large.reject_full(self._reserved, context)

    async def reserve_with_retries(self, context: object) -> "Reservation":
        """As `reserve`, but wait until there is room instead of a rejection."""
        pause_s = REJECT_S
        while True:
            with suppress(RequestRejected):
                waiting = self._large.enter(self._reserved, context, is_retried=True)
                if waiting is not None:
                    await waiting
                return Reservation(self, self._reserved)
            await asyncio.sleep(pause_s * (1 - random() / 2))
            pause_s = min(2 * pause_s, RETRY_PAUSE_S)

    def enter_reserved(self, cost: int, reserved: int, context: object) -> Awaitable[None] | None:
        """As `enter`, in place of a reservation. An operation that fits into it runs at once."""
        if self._small_max < cost <= reserved:
            self._large.reduce(reserved, cost, context)
            return None
        self.leave(reserved)
        return self.enter(cost, context)

    def leave(self, cost: int) -> None:
        """Release what an admitted operation used."""
        queue = self._small if cost <= self._small_max else self._large
        queue.in_flight -= cost
        if queue.waiting:
            queue.admit_waiting()


class Reservation:
    """A place among the operations that run, for a request that is being parsed.

    It ends when its operation enters in its place, or with `release`, which may be called again.
    """

    __slots__ = ("_admission", "_cost")

    def __init__(self, admission: Admission, cost: int) -> None:
        self._admission = admission
        self._cost = cost

    def enter(self, cost: int, context: object) -> Awaitable[None] | None:
        """As `Admission.enter`, in place of the reservation."""
        reserved, self._cost = self._cost, 0
        if not reserved:
            return self._admission.enter(cost, context)
        return self._admission.enter_reserved(cost, reserved, context)

    def release(self) -> None:
        reserved, self._cost = self._cost, 0
        if reserved:
            self._admission.leave(reserved)


class _Waiting:
    """An operation that waits. Ordered by `finish`, its virtual finish time."""

    __slots__ = ("cost", "finish", "future")

    def __init__(self, cost: int, finish: int) -> None:
        self.cost = cost
        self.finish = finish
        self.future: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        """Whether it is admitted. Not an exception: its traceback would refer to the future, so the
        whole request would wait for the garbage collector."""

    def __lt__(self, other: "_Waiting") -> bool:
        return self.finish < other.finish


class _Queue:
    """A budget of cost, and the operations that wait for a part of it."""

    def __init__(
        self,
        name: str,
        cost_max: int,
        settings: AdmissionSettings,
        caller_of: CallerOf,
        *,
        is_bounded: bool = True,
    ) -> None:
        self.cost_max = cost_max
        self.in_flight = 0
        self.waiting: list[_Waiting] = []
        """A heap. Those that have given up stay in it until their turn, or until it is rebuilt."""
        self._length = 0
        """The number of those that have not given up."""
        self._waiting_cost = 0
        self._name = name
        self._settings = settings
        self._caller_of = caller_of
        self._is_bounded = is_bounded
        self._virtual_time = 0
        """The virtual time: the finish time of what was admitted last."""
        self._last_finish: dict[Hashable, int] = {}
        """The virtual finish time of each caller's last operation in the queue."""
        _in_flight.labels(name).set_function(lambda: self.in_flight)
        _queued.labels(name).set_function(lambda: self._length)

    def enter(
        self, cost: int, context: object, *, is_retried: bool = False
    ) -> Awaitable[None] | None:
        """As `Admission.enter`. `is_retried`: it enters again after a rejection, so the metrics do
        not count it as rejected."""
        if not self.waiting and self._fits(cost):
            self.in_flight += cost
            return None
        caller = self._caller_of(context)
        finish = self._finish_of(caller, cost)
        if self._is_bounded and not self._evict_later_finishers(cost, finish):
            return self._reject_soon(is_retried)
        self._last_finish[caller] = finish
        waiting = _Waiting(cost, finish)
        heappush(self.waiting, waiting)
        self._length += 1
        self._waiting_cost += self._size(cost)
        return self._wait(waiting, is_retried)

    def reduce(self, reserved: int, cost: int, context: object) -> None:
        """Lower the cost of an operation that runs, for which too much was reserved."""
        caller = self._caller_of(context)
        if caller in self._last_finish:
            self._last_finish[caller] -= reserved - cost
        self.leave(reserved - cost)

    def leave(self, cost: int) -> None:
        """As `Admission.leave`."""
        self.in_flight -= cost
        if self.waiting:
            self.admit_waiting()

    def admit_waiting(self) -> None:
        """Admit those whose turn it is, in strict order: a large one is not passed for ever."""
        while self.waiting:
            first = self.waiting[0]
            if first.future.done():
                heappop(self.waiting)
                continue
            if not self._fits(first.cost):
                return
            heappop(self.waiting)  # before `_forget`, which may rebuild the queue
            self._virtual_time = first.finish
            self.in_flight += first.cost
            first.future.set_result(True)
            self._forget(first)
        self._virtual_time = 0
        self._last_finish.clear()

    def _fits(self, cost: int) -> bool:
        return self.in_flight + cost <= self.cost_max or not self.in_flight

    def reject_full(self, cost: int, context: object) -> Awaitable[None] | None:
        """Reject an operation that would be rejected at once, by an awaitable as of `enter`."""
        if (not self.waiting and self._fits(cost)) or not self._is_full(cost):
            return None
        finish = self._finish_of(self._caller_of(context), cost)
        if self._length and self._last().finish > finish:
            return None
        return self._reject_soon()

    def _finish_of(self, caller: Hashable, cost: int) -> int:
        """The virtual finish time of a caller's next operation."""
        return max(self._virtual_time, self._last_finish.get(caller, 0)) + cost

    def _evict_later_finishers(self, cost: int, finish: int) -> bool:
        """Reject those who would finish last. False if this is the new one."""
        if not self._settings.queue_max:
            return False
        while self._length and self._is_full(cost):
            last = self._last()
            if last.finish <= finish:
                return False
            self._reject(last)
        return True

    def _is_full(self, cost: int) -> bool:
        return (
            self._length >= self._settings.queue_max
            or self._waiting_cost + self._size(cost) > self.cost_max
        )

    def _last(self) -> _Waiting:
        """The waiting operation that would finish last."""
        return max(one for one in self.waiting if not one.future.done())

    def _size(self, cost: int) -> int:
        """The cost that an operation occupies in the queue: half of the queue at most."""
        return min(cost, self.cost_max // 2)

    async def _reject_soon(self, is_retried: bool = False) -> None:
        await asyncio.sleep(REJECT_S)
        raise self._overloaded(is_retried)

    async def _wait(self, waiting: _Waiting, is_retried: bool) -> None:
        loop = asyncio.get_running_loop()
        since = loop.time()
        timer = loop.call_later(self._settings.wait_ms / 1000, self._give_up, waiting)
        try:
            is_admitted = await waiting.future
        except asyncio.CancelledError:
            self._abandon(waiting)
            raise
        finally:
            timer.cancel()
        if not is_admitted:
            raise self._overloaded(is_retried)
        _waited.labels(self._name).observe(loop.time() - since)

    def _give_up(self, waiting: _Waiting) -> None:
        if not waiting.future.done():
            self._reject(waiting)
            self.admit_waiting()

    def _reject(self, waiting: _Waiting) -> None:
        waiting.future.set_result(False)
        self._forget(waiting)

    def _abandon(self, waiting: _Waiting) -> None:
        """Handle a client that left while its operation waited, or when it was just admitted."""
        if waiting.future.cancelled():
            self._forget(waiting)
            self.admit_waiting()
        elif waiting.future.result():
            self.leave(waiting.cost)

    def _forget(self, waiting: _Waiting) -> None:
        self._length -= 1
        self._waiting_cost -= self._size(waiting.cost)
        if len(self.waiting) > 2 * self._length + REBUILD:
            self.waiting = [one for one in self.waiting if not one.future.done()]
            heapify(self.waiting)

    def _overloaded(self, is_retried: bool) -> RequestRejected:
        if not is_retried:
            _rejected.labels(self._name).inc()
        seconds = self._settings.retry_after_s
        error = GraphQLError(f"This server is overloaded. Try again after {seconds} s.")
        headers = {"retry-after": str(seconds)}
        return RequestRejected("OVERLOADED", [error], 503, headers)
