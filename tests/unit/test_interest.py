"""Waiting for news: woken once however much there is, and never for nothing."""

import asyncio

import pytest

from graph.edge import UserId
from graph.errors import Overloaded
from storage.interest import Interest, Interests

ONE, TWO = UserId(1), UserId(2)


class Ear:
    """Counts how often listening began."""

    def __init__(self) -> None:
        self.began = 0
        self.ended = 0

    async def listen(self, _: Interests) -> None:
        self.began += 1
        try:
            await asyncio.Event().wait()
        finally:
            self.ended += 1


async def has_news(interest: Interest) -> bool:
    waiting = asyncio.ensure_future(interest.news())
    for _ in range(3):
        await asyncio.sleep(0)
    if not waiting.done():
        waiting.cancel()
    return not waiting.cancelled() and waiting.done()


async def test_a_waiter_begins_with_news_and_is_woken_by_its_own_alone() -> None:
    interests = Interests(Ear().listen, 10)
    with interests.of(ONE) as one, interests.of(TWO) as two, interests.of(ONE) as also_one:
        assert [await has_news(waiter) for waiter in (one, two, also_one)] == [True] * 3
        interests.wake([ONE, ONE])
        assert [await has_news(waiter) for waiter in (one, two, also_one)] == [True, False, True]
        assert not await has_news(one)
        interests.wake_all()
        assert [await has_news(waiter) for waiter in (one, two)] == [True, True]
    assert len(interests) == 0
    interests.wake([ONE])
    await interests.close()


async def test_there_are_never_more_waiters_than_allowed() -> None:
    interests = Interests(Ear().listen, 2)
    with interests.of(ONE):
        with interests.of(ONE), pytest.raises(Overloaded), interests.of(TWO):
            raise AssertionError
        with interests.of(TWO):
            assert len(interests) == 2
    await interests.close()


async def test_one_listener_begins_with_the_first_waiter_and_ends_with_the_process() -> None:
    ear = Ear()
    interests = Interests(ear.listen, 10)
    await asyncio.sleep(0)
    assert ear.began == 0
    for _ in range(3):
        with interests.of(ONE), interests.of(TWO):
            await asyncio.sleep(0)
    assert (ear.began, ear.ended) == (1, 0)
    await interests.close()
    assert (ear.began, ear.ended) == (1, 1)
