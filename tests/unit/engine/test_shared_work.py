"""Work that concurrent callers share is done in the turns of all of them."""

import asyncio
import gc
from collections.abc import Generator

import pytest

from engine.shared_work import SharedWork
from engine.turns import Turns, take_turns_for


class Slices:
    """Begins work of four slices, and counts."""

    def __init__(self) -> None:
        self.begun = 0
        self.done = 0

    def __call__(self) -> Generator[None, None, str]:
        self.begun += 1
        for _ in range(3):
            self.done += 1
            yield
        self.done += 1
        return "result"


async def run_for(caller: str, work: SharedWork[str, str], turns: Turns, slices: Slices) -> str:
    take_turns_for(("all", caller))
    return await work.run("key", turns, slices)


async def test_shared_work_does_not_wait_behind_all_that_its_first_caller_requested() -> None:
    turns, slices = Turns(), Slices()
    work: SharedWork[str, str] = SharedWork()
    read = 0

    async def read_many() -> None:
        nonlocal read
        await turns.wait(("all", "busy"))
        read += 1

    reading = [asyncio.create_task(read_many()) for _ in range(50)]
    await asyncio.sleep(0)
    first = asyncio.create_task(run_for("busy", work, turns, slices))
    await asyncio.sleep(0)
    assert await run_for("other", work, turns, slices) == "result"
    assert read <= 6
    assert await first == "result"
    assert slices.begun == 1
    await asyncio.gather(*reading)


async def test_all_callers_continue_as_soon_as_shared_work_is_done() -> None:
    turns, slices = Turns(), Slices()
    work: SharedWork[str, str] = SharedWork()
    callers = [run_for(f"caller {number}", work, turns, slices) for number in range(20)]
    assert await asyncio.gather(*callers) == ["result"] * 20
    assert turns.taken == slices.done == 4


async def test_shared_work_continues_if_its_callers_are_cancelled() -> None:
    turns, slices = Turns(), Slices()
    work: SharedWork[str, str] = SharedWork()
    tasks = [
        asyncio.create_task(run_for(name, work, turns, slices)) for name in ("first", "second")
    ]
    await asyncio.sleep(0)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert await run_for("third", work, turns, slices) == "result"
    assert (slices.begun, slices.done) == (1, 4)


async def test_an_error_of_shared_work_goes_to_all_callers_and_is_in_no_cycle() -> None:
    class Failure(Exception):
        pass

    def failing() -> Generator[None, None, str]:
        yield
        raise Failure

    turns = Turns()
    work: SharedWork[str, str] = SharedWork()

    async def fail() -> None:
        with pytest.raises(Failure):
            await work.run("key", turns, failing)

    gc.collect()
    gc.disable()
    try:
        await asyncio.gather(*(asyncio.create_task(fail()) for _ in range(3)))
        await asyncio.sleep(0)
        assert not any(isinstance(one, Failure) for one in gc.get_objects())
    finally:
        gc.enable()


def test_shared_work_of_a_loop_that_has_ended_begins_again_in_the_next() -> None:
    turns, slices = Turns(), Slices()
    work: SharedWork[str, str] = SharedWork()

    async def abandon() -> None:
        task = asyncio.create_task(work.run("key", turns, slices))
        for _ in range(5):
            await asyncio.sleep(0)
        assert slices.done, "it has begun"
        task.cancel()

    asyncio.run(abandon())
    assert asyncio.run(work.run("key", turns, slices)) == "result"
    assert slices.begun == 2
