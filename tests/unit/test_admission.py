"""How many operations run at once, and how long others wait."""

import asyncio
from typing import Any

import pytest

from gateway.graphql.admission import RETRY_PAUSE_MAX_S, Admission
from gateway.graphql.admission_queue import HEAP_EXCESS_MAX
from gateway.graphql.request import RequestRejected
from gateway.graphql.settings import AdmissionSettings
from tests.support.garbage import counting_cycles
from tests.support.waiting import until

# Costs.
CAPACITY = 1_000
LARGE = 400
SMALL = 50
SMALL_CAPACITY = 375
"""The capacity of small operations, and that of events: 3/8 of `CAPACITY`."""
WAIT_MS = 60_000


def new_admission(**changes: int) -> Admission:
    settings = AdmissionSettings(**{"cost_max": CAPACITY, "wait_ms": WAIT_MS, **changes})
    return Admission(settings, caller_of=lambda context: context)


async def enter(admission: Admission, cost: int, caller: str = "one") -> None:
    waiting = admission.enter(cost, caller)
    if waiting is not None:
        await waiting


async def begin(admission: Admission, *costs: int, caller: str = "one") -> list[asyncio.Task[None]]:
    """Start operations with these costs, which enter in this order."""
    tasks = [asyncio.create_task(enter(admission, cost, caller)) for cost in costs]
    await run_ready_tasks()
    return tasks


async def run_ready_tasks() -> None:
    """Let every task run that has nothing to wait for."""
    for _ in range(5):
        await asyncio.sleep(0)


async def until_rejected(tasks: list[asyncio.Task[None]], count: int) -> None:
    async def reached() -> bool:
        return states(tasks).count("rejected") == count

    await until(reached, f"{count} operations are rejected")


def states(tasks: list[asyncio.Task[None]]) -> list[str]:
    return [
        "waits" if not task.done() else "rejected" if task.exception() else "runs" for task in tasks
    ]


async def test_operations_run_up_to_the_capacity_and_the_next_waits() -> None:
    admission = new_admission()
    tasks = await begin(admission, LARGE, LARGE, LARGE)
    assert states(tasks) == ["runs", "runs", "waits"]
    admission.leave(LARGE)
    await run_ready_tasks()
    assert states(tasks) == ["runs", "runs", "runs"]


async def test_a_small_operation_does_not_wait_for_large_ones() -> None:
    admission = new_admission()
    await begin(admission, LARGE, LARGE)
    (waiting,) = await begin(admission, LARGE)
    assert states(await begin(admission, SMALL)) == ["runs"]
    waiting.cancel()


async def test_an_operation_that_costs_more_than_the_capacity_runs_alone() -> None:
    admission = new_admission()
    await begin(admission, LARGE)
    tasks = await begin(admission, CAPACITY * 3, LARGE)
    assert states(tasks) == ["waits", "waits"]
    admission.leave(LARGE)
    await run_ready_tasks()
    assert states(tasks) == ["runs", "waits"]
    admission.leave(CAPACITY * 3)
    await run_ready_tasks()
    assert states(tasks) == ["runs", "runs"]


async def test_operations_that_do_not_fit_into_the_queue_are_rejected_with_retry_after() -> None:
    admission = new_admission()
    waiting = (await begin(admission, LARGE, LARGE, LARGE, LARGE))[2:]
    with pytest.raises(RequestRejected) as caught:
        await enter(admission, LARGE)
    assert states(waiting) == ["waits", "waits"]
    assert caught.value.code == "OVERLOADED"
    assert caught.value.status == 503
    assert caught.value.headers == {"retry-after": "1"}
    for task in waiting:
        task.cancel()


async def test_the_number_of_waiting_operations_is_bounded() -> None:
    admission = new_admission(queue_max=3)
    tasks = await begin(admission, *[SMALL] * 7, *[1] * 30)
    await until_rejected(tasks, len(tasks) - 7 - 25 - 3)
    assert states(tasks).count("waits") == 3
    for task in tasks:
        task.cancel()


async def test_a_greedy_caller_does_not_fill_the_queue_for_others() -> None:
    admission = new_admission(queue_max=4)
    greedy = await begin(admission, *[SMALL] * 20, caller="greedy")
    await until_rejected(greedy, 20 - 7 - 4)
    assert states(greedy).count("waits") == 4
    polite = await begin(admission, SMALL, caller="polite")
    assert states(polite) == ["waits"]
    await until_rejected(greedy, 20 - 7 - 3)
    assert states(greedy).count("waits") == 3  # the latest of them was rejected
    admission.leave(SMALL)
    admission.leave(SMALL)
    await run_ready_tasks()
    assert states(polite) == ["runs"]  # after one of the greedy caller's four
    for task in greedy:
        task.cancel()


async def test_a_rejected_operation_does_not_evict_others() -> None:
    admission = new_admission()
    await begin(admission, LARGE, LARGE)
    waiting = [
        *await begin(admission, 400, 201, caller="late"),  # the second one finishes at 601
        *await begin(admission, 390, caller="early"),
    ]
    (rejected,) = await begin(admission, 600, caller="new")  # without the second, it does not fit
    await until_rejected([rejected], 1)
    assert states(waiting) == ["waits", "waits", "waits"]
    for task in waiting:
        task.cancel()


async def test_an_operation_that_waits_for_too_long_is_rejected() -> None:
    admission = new_admission(wait_ms=20)
    *_, last = await begin(admission, LARGE, LARGE, LARGE)
    with pytest.raises(RequestRejected):
        await last
    admission.leave(LARGE)
    assert states(await begin(admission, LARGE)) == ["runs"]


async def test_if_the_first_waiting_operation_is_cancelled_the_next_one_runs() -> None:
    admission = new_admission()
    await begin(admission, 600, 400)
    tasks = await begin(admission, 600, 400)
    admission.leave(400)
    await run_ready_tasks()
    assert states(tasks) == ["waits", "waits"]
    tasks[0].cancel()
    await run_ready_tasks()
    assert states(tasks[1:]) == ["runs"]


async def test_an_operation_that_is_cancelled_just_after_its_admission_releases_its_cost() -> None:
    admission = new_admission()
    tasks = await begin(admission, CAPACITY, LARGE)
    admission.leave(CAPACITY)
    tasks[1].cancel()  # admitted, but not yet resumed
    await run_ready_tasks()
    assert states(await begin(admission, CAPACITY)) == ["runs"]


async def test_any_number_of_events_can_wait_and_cancelled_ones_leave_the_queue() -> None:
    admission = new_admission(queue_max=1)

    async def event() -> None:
        waiting = admission.events.enter(SMALL_CAPACITY, "one")
        if waiting is not None:
            await waiting

    tasks: list[asyncio.Task[Any]] = [asyncio.create_task(event()) for _ in range(1_000)]
    await run_ready_tasks()
    assert states(tasks).count("waits") == 999
    for task in tasks[1:-1]:
        task.cancel()
    await run_ready_tasks()
    assert len(admission.events.waiting) <= HEAP_EXCESS_MAX + 2
    admission.events.leave(SMALL_CAPACITY)
    await run_ready_tasks()
    assert states(tasks[-1:]) == ["runs"]
    assert not admission.events.waiting


@pytest.mark.parametrize("live", [1, 5])
async def test_a_queue_that_is_rebuilt_while_it_admits_loses_no_operation(live: int) -> None:
    admission = new_admission()
    await begin(admission, CAPACITY)
    tasks = await begin(admission, *[SMALL + 10] * live)
    for _ in range(HEAP_EXCESS_MAX + live - 1):  # as many as may have given up before a rebuild
        (cancelled,) = await begin(admission, SMALL + 10, caller="two")
        cancelled.cancel()
        await run_ready_tasks()
    admission.leave(CAPACITY)
    await run_ready_tasks()
    assert states(tasks) == ["runs"] * live


async def test_a_request_of_unknown_cost_reserves_a_quarter_until_its_operation_enters() -> None:
    admission = new_admission()
    reservation = await admission.reserve("one")
    tasks = await begin(admission, LARGE, LARGE)
    assert states(tasks) == ["runs", "waits"]
    assert reservation.enter(60, "one") is None
    await run_ready_tasks()
    assert states(tasks) == ["runs", "runs"]
    admission.leave(60)
    reservation.release()
    assert states(await begin(admission, CAPACITY - 2 * LARGE)) == ["runs"]


async def test_an_operation_that_fits_into_its_reservation_runs_before_those_that_wait() -> None:
    admission = new_admission()
    reservation = await admission.reserve("one")
    tasks = await begin(admission, CAPACITY, LARGE, caller="two")
    assert reservation.enter(CAPACITY // 4, "one") is None
    assert states(tasks) == ["waits", "waits"]
    admission.leave(CAPACITY // 4)
    await run_ready_tasks()
    assert states(tasks) == ["runs", "waits"]
    for task in tasks:
        task.cancel()


@pytest.mark.parametrize("cost", [SMALL, LARGE])
async def test_an_operation_that_cannot_use_its_reservation_enters_without_it(cost: int) -> None:
    """Because it is small, or costs more than was reserved."""
    admission = new_admission()
    reservation = await admission.reserve("one")
    assert states(await begin(admission, CAPACITY - CAPACITY // 4)) == ["runs"]
    waiting = reservation.enter(cost, "one")
    assert (waiting is None) == (cost == SMALL)
    entering = None if waiting is None else asyncio.ensure_future(waiting)
    admission.leave(CAPACITY - CAPACITY // 4)
    if entering is not None:
        await entering
    admission.leave(cost)
    assert states(await begin(admission, CAPACITY)) == ["runs"]


async def test_a_request_of_unknown_cost_is_rejected_if_it_would_run_last() -> None:
    admission = new_admission()
    greedy = await begin(admission, *[LARGE] * 4, caller="greedy")
    with pytest.raises(RequestRejected):
        await admission.reserve("greedy")
    polite = asyncio.create_task(admission.reserve("polite"))
    await until_rejected(greedy, 1)
    admission.leave(LARGE)
    admission.leave(LARGE)
    await polite
    for task in greedy:
        task.cancel()


async def test_a_reservation_with_retries_waits_while_the_queue_is_full() -> None:
    admission = new_admission(queue_max=0)
    await begin(admission, CAPACITY)
    retrying = asyncio.create_task(admission.reserve_with_retries("one"))
    with pytest.raises(RequestRejected):  # after the first try of the other request
        await admission.reserve("two")
    await run_ready_tasks()
    assert not retrying.done()
    admission.leave(CAPACITY)
    (await retrying).release()
    assert states(await begin(admission, CAPACITY)) == ["runs"]


async def test_the_pauses_between_retries_at_a_full_queue_grow_up_to_a_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    admission = new_admission(queue_max=0)
    await begin(admission, CAPACITY)
    pauses: list[float] = []
    sleep = asyncio.sleep

    async def recorded(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 40:
            admission.leave(CAPACITY)
        await sleep(0)

    monkeypatch.setattr(asyncio, "sleep", recorded)
    (await admission.reserve_with_retries("one")).release()
    assert sum(pauses) > 5
    assert max(pauses) <= RETRY_PAUSE_MAX_S


async def test_rejected_operations_leave_no_cycles() -> None:
    admission = new_admission(wait_ms=1)
    await begin(admission, LARGE, LARGE)

    async def rejected(cost: int) -> None:
        with pytest.raises(RequestRejected):
            await enter(admission, cost)

    await rejected(LARGE)
    with counting_cycles() as cycles:
        for _ in range(20):
            await rejected(LARGE)
    assert cycles.objects < 20
