"""Deadlines of requests, and cancellation when the client disconnects."""

import asyncio
from types import TracebackType
from typing import Self

from starlette.types import Receive

from gateway.http_rejection import BodyLate, ClientGone, DeadlineExceeded

# A timer, and a task that watches the connection, cost as much as a small response. Most requests
# end within this time and never need them: one shared timer finds the others.
PATIENCE_S = 0.02


class RequestDeadline:
    """The request deadlines of a process: one for receiving the body, one for the work."""

    def __init__(self, body_deadline_ms: int, work_deadline_ms: int) -> None:
        self.body_s = body_deadline_ms / 1000
        self.work_s = work_deadline_ms / 1000
        self.patience_s = min(PATIENCE_S, self.body_s, self.work_s)
        self.young: dict[Attended, bool] = {}
        """Requests within their first `patience_s`, oldest first. Each removes itself."""
        self.looks = False
        """Whether a timer is set for the oldest."""

    def look_after(self, seconds: float) -> None:
        self.looks = True
        asyncio.get_running_loop().call_later(seconds, self._look)

    def _look(self) -> None:
        self.looks = False
        now = asyncio.get_running_loop().time()
        while self.young:
            eldest = next(iter(self.young))
            left_s = eldest.begun + self.patience_s - now
            if left_s > 0:
                return self.look_after(left_s)
            del self.young[eldest]
            eldest.lose_patience()
        return None


class Attended:
    """One request. Its block is cancelled at a deadline, or when the client disconnects.

    `received` records that the body is complete, so the next message can only be the disconnect.
    The block then raises BodyLate, DeadlineExceeded or ClientGone.
    """

    # Defaults on the class: nearly all requests end without any of these.
    _received = False
    _failure: Exception | None = None
    _timer: asyncio.TimerHandle | None = None
    """Set after `patience_s`."""
    _watch: asyncio.Task[None] | None = None

    def __init__(self, request_deadline: RequestDeadline, receive: Receive) -> None:
        loop = asyncio.get_running_loop()
        task = asyncio.current_task(loop)
        assert task is not None, "requests are tasks"
        self._attention = request_deadline
        self._receive = receive
        self._task = task
        self.begun = loop.time()

    def __enter__(self) -> Self:
        request_deadline = self._attention
        request_deadline.young[self] = True
        if not request_deadline.looks:
            request_deadline.look_after(request_deadline.patience_s)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._attention.young.pop(self, False):
            return  # the usual case: the request has no timer
        if self._timer is not None:
            self._timer.cancel()
        if self._watch is not None:
            self._watch.cancel()
        if self._failure is None:
            return
        # A cancellation from outside passes through, as in `asyncio.timeout`.
        if self._task.uncancel() == 0 and kind is asyncio.CancelledError:
            raise self._failure from None

    def received(self) -> None:
        self._received = True
        if self._timer is not None:
            self._mind_work(self._attention.work_s)

    def lose_patience(self) -> None:
        """Give this request a timer of its own."""
        request_deadline = self._attention
        if self._received:
            self._mind_work(request_deadline.work_s - request_deadline.patience_s)
        else:
            self._stop_after(request_deadline.body_s - request_deadline.patience_s, BodyLate())

    def _mind_work(self, seconds: float) -> None:
        self._stop_after(seconds, DeadlineExceeded())
        self._watch = asyncio.create_task(self._watch_caller())

    def _stop_after(self, seconds: float, failure: Exception) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(seconds, self._stop, failure)

    async def _watch_caller(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass
        self._stop(ClientGone())

    def _stop(self, failure: Exception) -> None:
        if self._failure is None:
            self._failure = failure
            self._task.cancel()
