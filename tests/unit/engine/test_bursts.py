"""Many short computations do not begin in one iteration of the event loop."""

import asyncio

from engine.bursts import Bursts
from tests.support.loop_ticks import loop_ticks

WORK_MAX = 10


async def test_computations_begin_in_order_and_in_bounded_parts() -> None:
    bursts, begun = Bursts(WORK_MAX), list[int]()

    async def begin(number: int) -> None:
        waiting = bursts.enter(1)
        if waiting is not None:
            await waiting
        begun.append(number)
        ticks.add("work", 1)

    async with loop_ticks() as ticks:
        await asyncio.gather(*map(begin, range(100)))
    assert begun == list(range(100))
    assert ticks.most["work"] <= 2 * WORK_MAX + 1


async def test_a_later_computation_does_not_overtake_waiting_ones() -> None:
    bursts = Bursts(WORK_MAX)
    waiting = [future for future in (bursts.enter(1) for _ in range(50)) if future is not None]
    while not waiting[-1].done():
        later = bursts.enter(1)
        assert later is not None
        assert not later.done()
        await asyncio.sleep(0)


async def test_computations_of_many_iterations_do_not_wait() -> None:
    bursts = Bursts(WORK_MAX)
    for _ in range(20):
        assert [bursts.enter(1) for _ in range(WORK_MAX // 2)] == [None] * (WORK_MAX // 2)
        for _ in range(2):
            await asyncio.sleep(0)


async def test_computations_whose_callers_have_left_do_not_delay_others() -> None:
    bursts = Bursts(WORK_MAX)
    for waiting in [bursts.enter(WORK_MAX) for _ in range(50)]:
        if waiting is not None:
            waiting.cancel()
    for _ in range(3):
        await asyncio.sleep(0)
    assert bursts.enter(1) is None
