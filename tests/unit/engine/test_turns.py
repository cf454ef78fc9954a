"""Turns: each iteration of the event loop runs one slice of one computation."""

import asyncio
from collections.abc import Generator

import pytest

from engine.turns import Turns, take_turns_for


def slices(name: str, done: list[str], count: int = 3) -> Generator[None, None, str]:
    for number in range(count):
        done.append(f"{name}{number}")
        if number < count - 1:
            yield
    return name


async def test_computations_take_turns() -> None:
    turns = Turns()
    done: list[str] = []
    a, b = await asyncio.gather(turns.run(slices("a", done)), turns.run(slices("b", done)))
    assert (a, b) == ("a", "b")
    assert done == ["a0", "b0", "a1", "b1", "a2", "b2"]


async def test_an_iteration_of_the_loop_has_at_most_one_turn() -> None:
    turns = Turns()
    done: list[str] = []
    tasks = [asyncio.create_task(turns.run(slices(name, done))) for name in "abcdef"]
    before = 0
    while not all(task.done() for task in tasks):
        await asyncio.sleep(0)
        assert len(done) - before <= 1
        before = len(done)
    assert len(done) == 18


async def test_a_caller_with_many_computations_delays_another_by_one_slice_at_a_time() -> None:
    turns = Turns()
    done: list[str] = []

    async def take(caller: str) -> None:
        await turns.wait(("all", caller))
        done.append(caller)

    await asyncio.gather(*map(take, ["a"] * 5 + ["b"] * 2 + ["c"]))
    assert done == ["a", "b", "c", "a", "b", "a", "a", "a"]


async def test_many_callers_of_a_group_delay_another_group_by_one_slice_at_a_time() -> None:
    turns = Turns()
    done: list[str] = []

    async def take(group: str, caller: int) -> None:
        take_turns_for((group, caller))
        await turns.wait()
        done.append(group)

    many = [take("many", number) for number in range(6)]
    await asyncio.gather(*many, take("few", 1), take("few", 2))
    assert done == ["many", "few", "many", "few", "many", "many", "many", "many"]


async def test_a_task_takes_turns_for_the_caller_of_the_task_that_started_it() -> None:
    turns = Turns()
    done: list[str] = []

    async def take(caller: str) -> None:
        take_turns_for(("all", caller))
        await asyncio.gather(*(asyncio.create_task(part(caller)) for _ in range(3)))

    async def part(caller: str) -> None:
        await turns.wait()
        done.append(caller)

    await asyncio.gather(take("a"), take("b"))
    assert done == ["a", "b"] * 3


async def test_a_computation_that_is_cancelled_takes_no_turn() -> None:
    turns = Turns()
    done: list[str] = []
    first = asyncio.create_task(turns.run(slices("a", done)))
    second = asyncio.create_task(turns.run(slices("b", done)))
    await asyncio.sleep(0)
    first.cancel()
    assert await second == "b"
    assert done == ["b0", "b1", "b2"]
    assert first.cancelled()


def test_turns_of_a_loop_that_has_ended_do_not_block_the_next_loop() -> None:
    turns = Turns()

    async def abandoned() -> None:
        task = asyncio.create_task(turns.wait())
        await asyncio.sleep(0)
        task.cancel()

    asyncio.run(abandoned())
    done: list[str] = []
    assert asyncio.run(turns.run(slices("a", done))) == "a"


async def test_an_error_ends_a_computation() -> None:
    def failing() -> Generator[None, None, None]:
        yield
        raise LookupError("no")

    with pytest.raises(LookupError):
        await Turns().run(failing())


async def test_short_computations_begin_at_once_until_they_add_up_to_a_slice() -> None:
    turns = Turns()
    assert [turns.fits(0.4) for _ in range(4)] == [True, True, False, False]
    await asyncio.sleep(0)
    assert turns.fits(0.4)


async def test_a_computation_that_is_alone_begins_at_once_whatever_its_length() -> None:
    turns = Turns()
    assert turns.fits(3)
    assert not turns.fits(0.1)


async def test_no_computation_begins_before_those_that_wait_for_a_turn() -> None:
    turns = Turns()
    waiting = [asyncio.create_task(turns.wait()) for _ in range(3)]
    await asyncio.sleep(0)
    assert not turns.fits(0.1)
    await asyncio.gather(*waiting)
    assert turns.fits(0.1)


def test_computations_begun_in_a_loop_that_has_ended_do_not_count_in_the_next() -> None:
    turns = Turns()

    async def fits() -> bool:
        return turns.fits(0.8)

    assert asyncio.run(fits())
    assert asyncio.run(fits())
