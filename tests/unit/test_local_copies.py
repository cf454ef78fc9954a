"""Local copies of hot values while reads and changes of a value overlap."""

import asyncio
from collections.abc import Mapping, Sequence

from graph.edge import UserId
from storage.cache.local_copies import Bounds, LocalCopies, Sized

BOUNDS = Bounds(ttl_s=60, requests_to_copy=1, entries_max=10, bytes_max=10_000)


async def test_a_value_that_changes_while_it_is_read_is_not_copied() -> None:
    answer = asyncio.Event()
    reads = 0

    async def read(users: Sequence[UserId]) -> Mapping[UserId, Sized[int]]:
        nonlocal reads
        reads += 1
        await answer.wait()
        return {user: Sized(reads, 1) for user in users}

    values = LocalCopies(read, BOUNDS)
    one, two = UserId(1), UserId(2)
    values.count_misses([one, two])
    await asyncio.sleep(0)
    values.count_misses([one, two])
    values.forget(one)
    answer.set()
    await values.wait()
    assert (reads, values.held([one, two])) == (1, {two: 1})


async def test_a_read_from_before_a_change_does_not_replace_a_newer_copy() -> None:
    answers: list[asyncio.Future[int]] = []

    async def read(users: Sequence[UserId]) -> Mapping[UserId, Sized[int]]:
        answers.append(asyncio.get_running_loop().create_future())
        number = await answers[-1]
        return {user: Sized(number, 1) for user in users}

    values = LocalCopies(read, BOUNDS)
    one = UserId(1)
    for _ in range(2):
        values.count_misses([one])
        await asyncio.sleep(0)
        if len(answers) == 1:
            values.forget(one)
    answers[1].set_result(2)
    for _ in range(5):
        await asyncio.sleep(0)
    assert values.held([one]) == {one: 2}
    answers[0].set_result(1)
    await values.wait()
    assert values.held([one]) == {one: 2}


async def test_closing_ends_the_copies_in_progress() -> None:
    async def read(users: Sequence[UserId]) -> Mapping[UserId, Sized[int]]:
        await asyncio.Event().wait()
        return {}

    values = LocalCopies(read, BOUNDS)
    values.count_misses([UserId(1)])
    await asyncio.sleep(0)
    await values.close()
    await values.wait()
    assert len(values) == 0
