"""Waiting for changes: woken once for all of them, and only for changes of the user."""

import asyncio
from contextlib import ExitStack

import pytest

from graph.edge import Pair, UserId
from graph.errors import Overloaded
from storage.ports.events import Woken
from storage.subscriptions import (
    RESUMED_AT_ONCE,
    WOKEN_AT_ONCE,
    Notification,
    Subscription,
    Subscriptions,
)
from tests.support.loop_ticks import LoopTicks, loop_ticks

ONE, TWO = UserId(1), UserId(2)


class Listener:
    """Counts how often listening began and ended."""

    def __init__(self) -> None:
        self.began = 0
        self.ended = 0

    async def listen(self, _: Subscriptions) -> None:
        self.began += 1
        try:
            await asyncio.Event().wait()
        finally:
            self.ended += 1


async def is_woken(subscription: Subscription) -> bool:
    waiting = asyncio.ensure_future(subscription.wait_for_change())
    for _ in range(3):
        await asyncio.sleep(0)
    if not waiting.done():
        waiting.cancel()
    return not waiting.cancelled() and waiting.done()


async def test_a_subscription_starts_woken_and_is_then_woken_by_its_users_only() -> None:
    subscriptions = Subscriptions(Listener().listen, 10)
    with (
        subscriptions.open(ONE) as one,
        subscriptions.open(TWO) as two,
        subscriptions.open(ONE) as another_one,
    ):
        assert [await is_woken(waiter) for waiter in (one, two, another_one)] == [True] * 3
        subscriptions.wake(Notification(public=[ONE, ONE]))
        assert [await is_woken(waiter) for waiter in (one, two, another_one)] == [True, False, True]
        assert not await is_woken(one)
        subscriptions.wake_all()
        assert [await is_woken(waiter) for waiter in (one, two)] == [True, True]
    assert len(subscriptions) == 0
    subscriptions.wake(Notification(public=[ONE]))
    await subscriptions.close()


async def test_a_notification_wakes_only_the_subscriptions_that_it_concerns() -> None:
    subscriptions = Subscriptions(Listener().listen, 10)
    with (
        subscriptions.open(viewer=ONE) as own,
        subscriptions.open(TWO, viewer=ONE) as of_two,
        subscriptions.open(TWO) as anonymous,
        subscriptions.open(TWO, sees_everything=True) as service,
    ):
        everything = (own, of_two, anonymous, service)
        quiet, others, by_own = Woken.NOT, Woken.BY_OTHERS, Woken.BY_OWN

        async def woken_by(notification: Notification) -> list[Woken]:
            subscriptions.wake(notification)
            return [await subscription.wait_for_change(0) for subscription in everything]

        assert await woken_by(Notification()) == [others] * 4, "they start woken"
        assert await woken_by(Notification()) == [quiet] * 4
        assert await woken_by(Notification(public=[TWO])) == [quiet, others, others, others]
        assert await woken_by(Notification(own=[ONE])) == [by_own, by_own, quiet, quiet]
        assert await woken_by(Notification([TWO], own=[ONE])) == [by_own, by_own, others, others]
        assert await woken_by(Notification(hidden=[ONE, TWO])) == [quiet, quiet, quiet, others]
        blocks = [Pair(TWO, ONE), Pair(ONE, TWO)]
        assert await woken_by(Notification(blocks=blocks)) == [quiet, others, quiet, quiet]
        assert await woken_by(Notification(absences=[ONE])) == [others, others, quiet, quiet]
        assert await woken_by(Notification(absences=[TWO])) == [quiet, others, others, others]
    await subscriptions.close()


async def test_the_number_of_subscriptions_is_bounded() -> None:
    subscriptions = Subscriptions(Listener().listen, 2)
    with subscriptions.open(ONE, viewer=ONE):
        with (
            subscriptions.open(ONE, viewer=ONE),
            pytest.raises(Overloaded),
            subscriptions.open(TWO, viewer=TWO),
        ):
            raise AssertionError
        with subscriptions.open(TWO, viewer=TWO):
            assert len(subscriptions) == 2
    await subscriptions.close()


async def test_subscriptions_without_a_token_are_at_most_half() -> None:
    subscriptions = Subscriptions(Listener().listen, 4)
    with ExitStack() as opened:
        for _ in range(2):
            opened.enter_context(subscriptions.open(ONE))
        with pytest.raises(Overloaded), subscriptions.open(ONE):
            raise AssertionError
        with (
            subscriptions.open(ONE, viewer=ONE),
            subscriptions.open(ONE, sees_everything=True),
        ):
            assert len(subscriptions) == 4
    with subscriptions.open(ONE):
        assert len(subscriptions) == 1
    await subscriptions.close()


async def test_a_viewer_may_have_at_most_one_percent_of_the_subscriptions() -> None:
    subscriptions = Subscriptions(Listener().listen, 20_000)
    with ExitStack() as opened:
        for _ in range(200):
            opened.enter_context(subscriptions.open(ONE, viewer=ONE))
        with pytest.raises(Overloaded), subscriptions.open(TWO, viewer=ONE):
            raise AssertionError
        with subscriptions.open(ONE, viewer=TWO), subscriptions.open(ONE):
            assert len(subscriptions) == 202
    with subscriptions.open(ONE, viewer=ONE):
        assert len(subscriptions) == 1
    await subscriptions.close()


async def test_many_waiters_are_woken_over_several_iterations_of_the_event_loop() -> None:
    subscriptions = Subscriptions(Listener().listen, 1_000)
    woken = 0

    async def wait(ticks: LoopTicks) -> None:
        nonlocal woken
        with subscriptions.open(ONE) as subscription:
            await subscription.wait_for_change()  # it starts woken
            await subscription.wait_for_change()
            ticks.add("woken", 1)
            woken += 1

    async with loop_ticks() as ticks, asyncio.TaskGroup() as waiters:
        for _ in range(500):
            waiters.create_task(wait(ticks))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        subscriptions.wake(Notification(public=[ONE]))
        subscriptions.wake(Notification(public=[ONE]))
    assert woken == 500
    assert ticks.most["woken"] <= WOKEN_AT_ONCE
    await subscriptions.close()


async def test_pauses_that_end_together_end_over_several_iterations_of_the_event_loop() -> None:
    subscriptions = Subscriptions(Listener().listen, 1_000)

    async def pause(ticks: LoopTicks) -> None:
        await subscriptions.pause(0)
        ticks.add("resumed", 1)

    async with loop_ticks() as ticks, asyncio.TaskGroup() as pausing:
        ended = [pausing.create_task(pause(ticks)) for _ in range(500)]
        await asyncio.sleep(0)
        ended[7].cancel()
    assert ticks.total["resumed"] == 499
    assert ticks.most["resumed"] <= RESUMED_AT_ONCE


async def test_one_listener_begins_with_the_first_subscription_and_ends_at_close() -> None:
    listener = Listener()
    subscriptions = Subscriptions(listener.listen, 10)
    await asyncio.sleep(0)
    assert listener.began == 0
    for _ in range(3):
        with subscriptions.open(ONE), subscriptions.open(TWO):
            await asyncio.sleep(0)
    assert (listener.began, listener.ended) == (1, 0)
    await subscriptions.close()
    assert (listener.began, listener.ended) == (1, 1)
