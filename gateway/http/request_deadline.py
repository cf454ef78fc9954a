"""Deadlines of requests, and cancellation when the client disconnects."""

import asyncio
from time import monotonic
from types import TracebackType
from typing import Self

from starlette.types import Receive

from gateway.http.rejection import BodyLate, ClientGone, DeadlineExceeded

# A timer, and a task that watches the connection, cost as much as a small response. Most requests
# end within this time and never need them: one shared timer finds the others.
SHARED_TIMER_S = 0.02


class RequestDeadlines:
    """The request deadlines of a process: one for receiving the body, one for the work after it."""

    def __init__(self, body_deadline_ms: int, work_deadline_ms: int) -> None:
        self.body_s = body_deadline_ms / 1000
        self.work_s = work_deadline_ms / 1000
        self.shared_timer_s = min(SHARED_TIMER_S, self.body_s, self.work_s)
        self.without_timer: dict[RequestDeadline, bool] = {}
        """Requests younger than `shared_timer_s`, oldest first. Each removes itself at its end."""
        self.is_timer_set = False

    def set_shared_timer(self, seconds: float) -> None:
        """Set the shared timer, for the oldest request."""
        self.is_timer_set = True
        asyncio.get_running_loop().call_later(seconds, self._give_own_timers)

    def _give_own_timers(self) -> None:
        """Give timers of their own to the requests that have reached `shared_timer_s`."""
        self.is_timer_set = False
        now = monotonic()
        while self.without_timer:
            oldest = next(iter(self.without_timer))
            left_s = oldest.begun + self.shared_timer_s - now
            if left_s > 0:
                return self.set_shared_timer(left_s)
            del self.without_timer[oldest]
            oldest.set_timer()
        return None


class RequestDeadline:
    """Cancels its block at the deadline of a request, or when the client disconnects.

    A block that it cancels raises BodyLate, DeadlineExceeded or ClientGone. Call `body_received`
    when the next message can only be the disconnect: until then, only the body has a deadline.
    """

    # Defaults on the class: nearly all requests end without any of these.
    _is_body_received = False
    _failure: Exception | None = None
    _timer: asyncio.TimerHandle | None = None
    """Set after `shared_timer_s`."""
    _watch: asyncio.Task[None] | None = None

    def __init__(self, deadlines: RequestDeadlines, receive: Receive) -> None:
        task = asyncio.current_task()
        assert task is not None, "requests are tasks"
        self._deadlines = deadlines
        self._receive = receive
        self._task = task
        self.begun = monotonic()

    def __enter__(self) -> Self:
        deadlines = self._deadlines
        deadlines.without_timer[self] = True
        if not deadlines.is_timer_set:
            deadlines.set_shared_timer(deadlines.shared_timer_s)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._deadlines.without_timer.pop(self, False):
            return  # the usual case: the request has no timer
        if self._timer is not None:
            self._timer.cancel()
        if self._watch is not None:
            self._watch.cancel()
        # Otherwise a cycle with the task, whose collection costs as much as a small response.
        self._timer = self._watch = None
        failure, self._failure = self._failure, None
        if failure is None:
            return
        # A cancellation from outside passes through, as in `asyncio.timeout`.
        if self._task.uncancel() == 0 and kind is asyncio.CancelledError:
            try:
                raise failure from None
            finally:
                # Otherwise cycles: the traceback refers to this frame and to that of the block.
                del failure, self._task

    def body_received(self) -> None:
        self._is_body_received = True
        if self._timer is not None:
            self._limit_work(self._deadlines.work_s)

    def set_timer(self) -> None:
        """Give this request a timer of its own."""
        deadlines = self._deadlines
        if self._is_body_received:
            self._limit_work(deadlines.work_s - deadlines.shared_timer_s)
        else:
            self._cancel_after(deadlines.body_s - deadlines.shared_timer_s, BodyLate())

    def _limit_work(self, seconds: float) -> None:
        self._cancel_after(seconds, DeadlineExceeded())
        self._watch = asyncio.create_task(self._wait_for_disconnect())

    def _cancel_after(self, seconds: float, failure: Exception) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(seconds, self._cancel, failure)

    async def _wait_for_disconnect(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass
        self._cancel(ClientGone())

    def _cancel(self, failure: Exception) -> None:
        if self._failure is None:
            self._failure = failure
            self._task.cancel()
