"""Requests that are late or whose client disconnects, and the cost of deadlines."""

import asyncio
import gc
from typing import Any

import pytest
from starlette.types import Message

from gateway.http.rejection import BodyLate, ClientGone, DeadlineExceeded
from gateway.http.request_deadline import RequestDeadline, RequestDeadlines
from tests.support.garbage import counting_cycles

LONG_MS = 60_000
DEADLINE_S = 10


async def receive_nothing() -> Message:
    """The `receive` of a client that sends nothing and stays connected."""
    await asyncio.Event().wait()
    raise AssertionError


async def run_request(
    deadlines: RequestDeadlines, receive: Any = receive_nothing, body_s: float = 0
) -> None:
    with RequestDeadline(deadlines, receive) as deadline:
        await asyncio.sleep(body_s)
        deadline.body_received()
        await asyncio.Event().wait()


async def test_short_requests_share_one_timer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    loop, timers = asyncio.get_running_loop(), []
    call_later = loop.call_later

    def counted(seconds: float, *arguments: Any) -> asyncio.TimerHandle:
        timers.append(seconds)
        return call_later(seconds, *arguments)

    monkeypatch.setattr(loop, "call_later", counted)
    deadlines = RequestDeadlines(LONG_MS, LONG_MS)
    for _ in range(10):
        with RequestDeadline(deadlines, receive_nothing) as deadline:
            deadline.body_received()
    assert len(timers) == 1


async def test_every_late_request_is_stopped_and_not_only_the_oldest() -> None:
    deadlines = RequestDeadlines(LONG_MS, 5)
    async with asyncio.timeout(DEADLINE_S):
        failed = await asyncio.gather(
            *(run_request(deadlines) for _ in range(3)), return_exceptions=True
        )
    assert [type(one) for one in failed] == [DeadlineExceeded] * 3


async def test_a_body_that_does_not_arrive_raises_body_late() -> None:
    async with asyncio.timeout(DEADLINE_S):
        with pytest.raises(BodyLate):
            await run_request(RequestDeadlines(50, LONG_MS), body_s=DEADLINE_S)


async def test_the_work_after_a_slow_body_has_its_own_deadline() -> None:
    async with asyncio.timeout(DEADLINE_S):
        with pytest.raises(DeadlineExceeded):
            await run_request(RequestDeadlines(LONG_MS, 50), body_s=0.1)


async def test_a_client_that_disconnects_after_a_slow_body_ends_the_work() -> None:
    async def disconnect() -> Message:
        return {"type": "http.disconnect"}

    async with asyncio.timeout(DEADLINE_S):
        with pytest.raises(ClientGone):
            await run_request(RequestDeadlines(LONG_MS, LONG_MS), disconnect, body_s=0.1)


async def test_a_cancellation_from_outside_is_raised_as_one() -> None:
    deadlines = RequestDeadlines(LONG_MS, 5)

    async def slow_to_stop() -> None:
        with RequestDeadline(deadlines, receive_nothing) as deadline:
            deadline.body_received()
            try:
                await asyncio.Event().wait()
            finally:
                asyncio.current_task().cancel()  # type: ignore[union-attr]
                await asyncio.sleep(0)

    task = asyncio.create_task(slow_to_stop())
    async with asyncio.timeout(DEADLINE_S):
        await asyncio.wait([task])
    assert task.cancelled()


async def test_a_timeout_error_of_the_work_is_raised_unchanged() -> None:
    async def failing() -> None:
        with RequestDeadline(RequestDeadlines(LONG_MS, LONG_MS), receive_nothing) as deadline:
            deadline.body_received()
            raise TimeoutError

    with pytest.raises(TimeoutError):
        await failing()


async def test_a_request_with_a_timer_leaves_nothing_to_the_garbage_collector() -> None:
    deadlines = RequestDeadlines(LONG_MS, LONG_MS)

    async def slow() -> None:
        with RequestDeadline(deadlines, receive_nothing) as deadline:
            deadline.body_received()
            while deadline in deadlines.without_timer:  # noqa: ASYNC110
                await asyncio.sleep(0.005)

    async def requests() -> None:
        await asyncio.gather(*(asyncio.create_task(slow()) for _ in range(50)))
        for _ in range(3):
            await asyncio.sleep(0)  # the cancelled tasks end

    await requests()
    gc.collect()
    gc.disable()
    try:
        await requests()
        assert gc.collect() < 50
    finally:
        gc.enable()


async def test_stopped_requests_leave_no_cycles() -> None:
    deadlines = RequestDeadlines(LONG_MS, 1)

    async def stopped() -> None:
        # In another task, like a request to a server.
        try:
            await asyncio.create_task(run_request(deadlines))
        except DeadlineExceeded:
            pass
        else:
            raise AssertionError

    await stopped()
    with counting_cycles() as cycles:
        for _ in range(20):
            await stopped()
    assert cycles.objects < 20
