"""How many operations run at once, and who waits for how long."""

import asyncio
from typing import Any

import pytest

from gateway.graphql.admission import RETRY_PAUSE_S, Admission
from gateway.graphql.admission_queue import REBUILD
from gateway.graphql.request import RequestRejected
from gateway.graphql.settings import AdmissionSettings
from tests.support.garbage import counting_cycles
from tests.support.waiting import until

BUDGET = 1_000
LARGE = 400
SMALL = 50
SMALL_BUDGET = 375
WAIT_MS = 60_000


def admission(**changes: int) -> Admission:
    settings = AdmissionSettings(**{"cost_max": BUDGET, "wait_ms": WAIT_MS, **changes})
    return Admission(settings, caller_of=lambda context: context)


async def entered(bound: Admission, cost: int, caller: str = "one") -> None:
    waiting = bound.enter(cost, caller)
    if waiting is not None:
        await waiting


async def begun(bound: Admission, *costs: int, caller: str = "one") -> list[asyncio.Task[None]]:
    """Operations that enter in this order."""
    tasks = [asyncio.create_task(entered(bound, cost, caller)) for cost in costs]
    await turns()
    return tasks


async def turns() -> None:
    """Let everything run that can."""
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


async def test_operations_run_up_to_the_budget_and_the_next_waits() -> None:
    bound = admission()
    tasks = await begun(bound, LARGE, LARGE, LARGE)
    assert states(tasks) == ["runs", "runs", "waits"]
    bound.leave(LARGE)
    await turns()
    assert states(tasks) == ["runs", "runs", "runs"]


async def test_a_small_operation_does_not_wait_for_large_ones() -> None:
    bound = admission()
    await begun(bound, LARGE, LARGE)
    (waiting,) = await begun(bound, LARGE)
    assert states(await begun(bound, SMALL)) == ["runs"]
    waiting.cancel()


async def test_an_operation_that_costs_more_than_the_budget_runs_alone() -> None:
    bound = admission()
    await begun(bound, LARGE)
    tasks = await begun(bound, BUDGET * 3, LARGE)
    assert states(tasks) == ["waits", "waits"]
    bound.leave(LARGE)
    await turns()
    assert states(tasks) == ["runs", "waits"]
    bound.leave(BUDGET * 3)
    await turns()
    assert states(tasks) == ["runs", "runs"]


async def test_operations_beyond_the_queue_are_rejected_with_retry_after() -> None:
    bound = admission()
    waiting = (await begun(bound, LARGE, LARGE, LARGE, LARGE))[2:]
    with pytest.raises(RequestRejected) as caught:
        await entered(bound, LARGE)
    assert states(waiting) == ["waits", "waits"]
    assert caught.value.code == "OVERLOADED"
    assert caught.value.status == 503
    assert caught.value.headers == {"retry-after": "1"}
    for task in waiting:
        task.cancel()


async def test_the_number_of_those_that_wait_is_bounded() -> None:
    bound = admission(queue_max=3)
    tasks = await begun(bound, *[SMALL] * 7, *[1] * 30)
    await until_rejected(tasks, len(tasks) - 7 - 25 - 3)
    assert states(tasks).count("waits") == 3
    for task in tasks:
        task.cancel()


async def test_a_greedy_caller_does_not_fill_the_queue_for_others() -> None:
    bound = admission(queue_max=4)
    greedy = await begun(bound, *[SMALL] * 20, caller="greedy")
    await until_rejected(greedy, 20 - 7 - 4)
    assert states(greedy).count("waits") == 4
    polite = await begun(bound, SMALL, caller="polite")
    assert states(polite) == ["waits"]
    await until_rejected(greedy, 20 - 7 - 3)
    assert states(greedy).count("waits") == 3  # the latest of them was rejected
    bound.leave(SMALL)
    bound.leave(SMALL)
    await turns()
    assert states(polite) == ["runs"]  # after one of the greedy caller's four
    for task in greedy:
        task.cancel()


async def test_an_operation_waits_for_a_bounded_time() -> None:
    bound = admission(wait_ms=20)
    *_, last = await begun(bound, LARGE, LARGE, LARGE)
    with pytest.raises(RequestRejected):
        await last
    bound.leave(LARGE)
    assert states(await begun(bound, LARGE)) == ["runs"]


async def test_a_client_that_leaves_makes_room_for_the_next() -> None:
    bound = admission()
    await begun(bound, 600, 400)
    tasks = await begun(bound, 600, 400)
    bound.leave(400)
    await turns()
    assert states(tasks) == ["waits", "waits"]
    tasks[0].cancel()
    await turns()
    assert states(tasks[1:]) == ["runs"]


async def test_a_client_that_leaves_when_it_is_admitted_releases_its_part() -> None:
    bound = admission()
    tasks = await begun(bound, BUDGET, LARGE)
    bound.leave(BUDGET)
    tasks[1].cancel()  # admitted, but not yet resumed
    await turns()
    assert states(await begun(bound, BUDGET)) == ["runs"]


async def test_events_wait_in_any_number_and_cancelled_ones_are_forgotten() -> None:
    bound = admission(queue_max=1)

    async def event() -> None:
        waiting = bound.events.enter(SMALL_BUDGET, "one")
        if waiting is not None:
            await waiting

    tasks: list[asyncio.Task[Any]] = [asyncio.create_task(event()) for _ in range(1_000)]
    await turns()
    assert states(tasks).count("waits") == 999
    for task in tasks[1:-1]:
        task.cancel()
    await turns()
    assert len(bound.events.waiting) <= REBUILD + 2
    bound.events.leave(SMALL_BUDGET)
    await turns()
    assert states(tasks[-1:]) == ["runs"]
    assert not bound.events.waiting


@pytest.mark.parametrize("live", [1, 5])
async def test_a_queue_that_is_rebuilt_while_it_admits_loses_no_operation(live: int) -> None:
    bound = admission()
    await begun(bound, BUDGET)
    tasks = await begun(bound, *[SMALL + 10] * live)
    for _ in range(REBUILD + live - 1):  # as many as may have given up before a rebuild
        (gone,) = await begun(bound, SMALL + 10, caller="two")
        gone.cancel()
        await turns()
    bound.leave(BUDGET)
    await turns()
    assert states(tasks) == ["runs"] * live


async def test_a_request_of_unknown_cost_reserves_a_quarter_until_its_operation_enters() -> None:
    bound = admission()
    reservation = await bound.reserve("one")
    tasks = await begun(bound, LARGE, LARGE)
    assert states(tasks) == ["runs", "waits"]
    assert reservation.enter(60, "one") is None
    await turns()
    assert states(tasks) == ["runs", "runs"]
    bound.leave(60)
    reservation.release()
    assert states(await begun(bound, BUDGET - 2 * LARGE)) == ["runs"]


async def test_an_operation_that_fits_into_its_reservation_runs_before_those_that_wait() -> None:
    bound = admission()
    reservation = await bound.reserve("one")
    tasks = await begun(bound, BUDGET, LARGE, caller="two")
    assert reservation.enter(BUDGET // 4, "one") is None
    assert states(tasks) == ["waits", "waits"]
    bound.leave(BUDGET // 4)
    await turns()
    assert states(tasks) == ["runs", "waits"]
    for task in tasks:
        task.cancel()


@pytest.mark.parametrize("cost", [SMALL, LARGE])
async def test_an_operation_that_its_reservation_is_not_for_enters_as_any_other(cost: int) -> None:
    """A small one, or one that costs more than was reserved."""
    bound = admission()
    reservation = await bound.reserve("one")
    assert states(await begun(bound, BUDGET - BUDGET // 4)) == ["runs"]
    waiting = reservation.enter(cost, "one")
    assert (waiting is None) == (cost == SMALL)
    entering = None if waiting is None else asyncio.ensure_future(waiting)
    bound.leave(BUDGET - BUDGET // 4)
    if entering is not None:
        await entering
    bound.leave(cost)
    assert states(await begun(bound, BUDGET)) == ["runs"]


async def test_a_request_of_unknown_cost_is_rejected_if_it_would_run_last() -> None:
    bound = admission()
    greedy = await begun(bound, *[LARGE] * 4, caller="greedy")
    with pytest.raises(RequestRejected):
        await bound.reserve("greedy")
    polite = asyncio.create_task(bound.reserve("polite"))
    await until_rejected(greedy, 1)
    bound.leave(LARGE)
    bound.leave(LARGE)
    await polite
    for task in greedy:
        task.cancel()


async def test_a_message_that_cannot_be_rejected_enters_again() -> None:
    bound = admission(queue_max=0)
    await begun(bound, BUDGET)
    patient = asyncio.create_task(bound.reserve_with_retries("one"))
    with pytest.raises(RequestRejected):  # after the first rejection of the other one
        await bound.reserve("two")
    await turns()
    assert not patient.done()
    bound.leave(BUDGET)
    (await patient).release()
    assert states(await begun(bound, BUDGET)) == ["runs"]


async def test_those_that_wait_outside_of_a_full_queue_try_again_ever_more_rarely(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bound = admission(queue_max=0)
    await begun(bound, BUDGET)
    pauses: list[float] = []
    sleep = asyncio.sleep

    async def recorded(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 40:
            bound.leave(BUDGET)
        await sleep(0)

    monkeypatch.setattr(asyncio, "sleep", recorded)
    (await bound.reserve_with_retries("one")).release()
    assert sum(pauses) > 5
    assert max(pauses) <= RETRY_PAUSE_S


async def test_rejected_operations_leave_no_cycles() -> None:
    bound = admission(wait_ms=1)
    await begun(bound, LARGE, LARGE)

    async def rejected(cost: int) -> None:
        with pytest.raises(RequestRejected):
            await entered(bound, cost)

    await rejected(LARGE)
    with counting_cycles() as cycles:
        for _ in range(20):
            await rejected(LARGE)
    assert cycles.objects < 20
