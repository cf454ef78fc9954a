"""A fair queue of operations that wait for admission."""

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from heapq import heapify, heappop, heappush
from typing import Any

from graphql import GraphQLError
from prometheus_client import Counter, Gauge, Histogram

from gateway.graphql.request import RequestRejected
from gateway.graphql.settings import AdmissionSettings

_running_cost = Gauge(
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

REJECT_S = 0.01
"""How long a rejection is held back. A client that repeats its request at once, in spite of
`Retry-After`, would otherwise have the server spend most of its time on rejections."""

HEAP_EXCESS_MAX = 64
"""The heap is rebuilt when it has more than twice as many entries as operations still wait, and
this many beyond."""

CallerOf = Callable[[Any], Hashable]
"""Returns the caller whose share an operation uses, from its context."""


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


class FairQueue:
    """A capacity for cost, and the operations that wait for a part of it.

    Operations wait by self-clocked fair queueing (Golestani 1994): each gets a virtual finish time,
    which grows with what its caller has in the queue. The earliest runs next. If the queue is full,
    the latest are rejected: waiting ones, or the new one. So the operations of a caller who sends
    more than a fair share wait behind those of all others, and are rejected before them.
    """

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
        self.running_cost = 0
        """The total cost of the operations that run."""
        self.waiting: list[_Waiting] = []
        """A heap. Rejected and cancelled operations stay until they come first or it is rebuilt."""
        self._length = 0
        """The number of operations that still wait."""
        self._waiting_cost = 0
        self._name = name
        self._settings = settings
        self._caller_of = caller_of
        self._is_bounded = is_bounded
        self._virtual_time = 0
        """The virtual finish time of the operation that was admitted last."""
        self._last_finish: dict[Hashable, int] = {}
        """The virtual finish time of each caller's last operation, since the queue was empty."""
        _running_cost.labels(name).set_function(lambda: self.running_cost)
        _queued.labels(name).set_function(lambda: self._length)

    def enter(
        self, cost: int, context: object, *, is_retried: bool = False
    ) -> Awaitable[None] | None:
        """The same as `Admission.enter`. `is_retried`: the request is tried again after a
        rejection, so the metrics do not count that."""
        if not self.waiting and self._fits(cost):
            self.running_cost += cost
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
        """Lower the cost of a running operation from `reserved` to `cost`."""
        caller = self._caller_of(context)
        if caller in self._last_finish:
            self._last_finish[caller] -= reserved - cost
        self.leave(reserved - cost)

    def leave(self, cost: int) -> None:
        """The same as `Admission.leave`."""
        self.running_cost -= cost
        if self.waiting:
            self.admit_waiting()

    def admit_waiting(self) -> None:
        """Admit waiting operations in the order of their finish times, until one does not fit.

        Later ones do not overtake it: otherwise a large operation could wait for ever.
        """
        while self.waiting:
            first = self.waiting[0]
            if first.future.done():
                heappop(self.waiting)
                continue
            if not self._fits(first.cost):
                return
            heappop(self.waiting)  # before `_count_out`, which may rebuild the queue
            self._virtual_time = first.finish
            self.running_cost += first.cost
            first.future.set_result(True)
            self._count_out(first)
        self._virtual_time = 0
        self._last_finish.clear()

    def _fits(self, cost: int) -> bool:
        return self.running_cost + cost <= self.cost_max or not self.running_cost

    def reject_full(self, cost: int, context: object) -> Awaitable[None] | None:
        """The same as `Admission.reject_full`, for an operation of this cost."""
        if (not self.waiting and self._fits(cost)) or not self._is_full(cost):
            return None
        finish = self._finish_of(self._caller_of(context), cost)
        if self._length and self._latest().finish > finish:
            return None
        return self._reject_soon()

    def _finish_of(self, caller: Hashable, cost: int) -> int:
        """The virtual finish time of a caller's next operation."""
        return max(self._virtual_time, self._last_finish.get(caller, 0)) + cost

    def _evict_later_finishers(self, cost: int, finish: int) -> bool:
        """Reject waiting operations that would finish after the new one, from the last, until it
        has a place. Returns False, and rejects none, if that makes too little room for it."""
        if not self._is_full(cost):
            return True
        later = [one for one in self.waiting if not one.future.done() and one.finish > finish]
        evicted: list[_Waiting] = []
        excess = self._length + 1 - self._settings.queue_max
        excess_cost = self._waiting_cost + self._size(cost) - self.cost_max
        for one in sorted(later, reverse=True):
            if excess <= 0 and excess_cost <= 0:
                break
            evicted.append(one)
            excess -= 1
            excess_cost -= self._size(one.cost)
        if excess > 0 or excess_cost > 0:
            return False
        for one in evicted:
            self._reject(one)
        return True

    def _is_full(self, cost: int) -> bool:
        return (
            self._length >= self._settings.queue_max
            or self._waiting_cost + self._size(cost) > self.cost_max
        )

    def _latest(self) -> _Waiting:
        """The waiting operation that would finish last."""
        return max(one for one in self.waiting if not one.future.done())

    def _size(self, cost: int) -> int:
        """The part of the queue that an operation occupies: at most half of `cost_max`, which is
        the size of the queue."""
        return min(cost, self.cost_max // 2)

    async def _reject_soon(self, is_retried: bool = False) -> None:
        await asyncio.sleep(REJECT_S)
        raise self._overloaded(is_retried)

    async def _wait(self, waiting: _Waiting, is_retried: bool) -> None:
        """Wait for admission. Raises RequestRejected after `wait_ms`, or when another evicts this
        one."""
        loop = asyncio.get_running_loop()
        since = loop.time()
        timer = loop.call_later(self._settings.wait_ms / 1000, self._time_out, waiting)
        try:
            is_admitted = await waiting.future
        except asyncio.CancelledError:
            self._after_cancellation(waiting)
            raise
        finally:
            timer.cancel()
        if not is_admitted:
            raise self._overloaded(is_retried)
        _waited.labels(self._name).observe(loop.time() - since)

    def _time_out(self, waiting: _Waiting) -> None:
        if not waiting.future.done():
            self._reject(waiting)
            self.admit_waiting()

    def _reject(self, waiting: _Waiting) -> None:
        waiting.future.set_result(False)
        self._count_out(waiting)

    def _after_cancellation(self, waiting: _Waiting) -> None:
        """Handle a request that was cancelled while it waited, or just after it was admitted."""
        if waiting.future.cancelled():
            self._count_out(waiting)
            self.admit_waiting()
        elif waiting.future.result():
            self.leave(waiting.cost)

    def _count_out(self, waiting: _Waiting) -> None:
        self._length -= 1
        self._waiting_cost -= self._size(waiting.cost)
        if len(self.waiting) > 2 * self._length + HEAP_EXCESS_MAX:
            self.waiting = [one for one in self.waiting if not one.future.done()]
            heapify(self.waiting)

    def _overloaded(self, is_retried: bool) -> RequestRejected:
        if not is_retried:
            _rejected.labels(self._name).inc()
        seconds = self._settings.retry_after_s
        error = GraphQLError(f"This server is overloaded. Try again after {seconds} s.")
        headers = {"retry-after": str(seconds)}
        return RequestRejected("OVERLOADED", [error], 503, headers)
