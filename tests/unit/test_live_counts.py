"""The times at which `countsChanged` sends messages, by a simulated clock."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from types import SimpleNamespace
from typing import Any, cast

import pytest

from graph.edge import UserId
from resolvers import live
from resolvers.policy import Policy
from storage.subscriptions import (
    READS_AT_ONCE,
    READS_OF_ANONYMOUS,
    READS_OF_CALLER,
    Notification,
    Subscriptions,
)

USER = UserId(1)
EVERY_S = 1.0


class PausedBy(Subscriptions):
    """Subscriptions whose pauses are those of a simulation."""

    def __init__(self, sleep: Callable[[float], Awaitable[None]], *arguments: Any) -> None:
        super().__init__(*arguments)
        self._sleep = sleep

    async def pause(self, seconds: float) -> None:
        await self._sleep(seconds)


class Simulation:
    """A subscription to the counts of USER, and changes at given times. Those in `hidden` wake the
    subscription, and change no count that it may show."""

    def __init__(self, hidden: Sequence[float], visible: Sequence[float]) -> None:
        self.now = 0.0
        self.messages: list[float] = []
        self._counts = 0
        self._changes = sorted([(at, 0) for at in hidden] + [(at, 1) for at in visible])
        self._subscriptions = PausedBy(self.sleep, self._listen, 200)
        self.scope: Any = SimpleNamespace(
            policy=Policy(counts_every_s=EVERY_S),
            stores=SimpleNamespace(changes=SimpleNamespace(subscriptions=self._subscriptions)),
            viewer=None,
            is_service=False,
            sees_everything=False,
            caller="192.0.2.1",
            require_notified_absences=lambda: None,
        )

    async def _listen(self, _: Subscriptions) -> None:
        await asyncio.Event().wait()

    def _make_change(self) -> None:
        self.now, difference = self._changes.pop(0)
        self._counts += difference
        self._subscriptions.wake(Notification(public=[USER]))

    async def sleep(self, seconds: float) -> None:
        end = self.now + seconds
        while self._changes and self._changes[0][0] <= end:
            self._make_change()
        self.now = end

    async def visible_counts(self, *_: object) -> list[int | None]:
        return [self._counts]

    async def run(self) -> list[float]:
        """The times of all messages after the first."""

        async def read() -> None:
            async for _ in live.counts_changed(self.scope, USER):
                self.messages.append(self.now)

        reading = asyncio.create_task(read())
        for iteration in range(200):
            await asyncio.sleep(0)
            if self._changes and iteration % 20 == 19:  # the reader waits for a change by now
                self._make_change()
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)
        await self.close()
        return self.messages[1:]

    async def close(self) -> None:
        await self._subscriptions.close()


@pytest.mark.parametrize("visible", [[0.5], [1.25], [2.75]])
@pytest.mark.parametrize("hidden", [[0.25], [0.25, 0.75, 1.125], [1.0]])
async def test_a_hidden_change_does_not_move_the_time_of_a_message(
    monkeypatch: pytest.MonkeyPatch, hidden: list[float], visible: list[float]
) -> None:
    times = []
    for hidden_changes in (hidden, []):
        simulation = Simulation(hidden_changes, visible)
        monkeypatch.setattr(live, "monotonic", lambda one=simulation: one.now)
        monkeypatch.setattr(live, "_visible_counts", simulation.visible_counts)
        times.append(await simulation.run())
    assert times[0] == times[1]
    assert len(times[1]) == 1


async def test_few_of_many_subscriptions_read_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A change of a user whom thousands watch wakes all of them."""
    running, most, answered = 0, 0, 0

    async def visible_counts(*_: object) -> list[int | None]:
        nonlocal running, most, answered
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.001)
        running -= 1
        answered += 1
        return [answered]

    monkeypatch.setattr(live, "_visible_counts", visible_counts)
    simulation = Simulation([], [])
    of_callers = [{"viewer": number % 10, "caller": number % 10} for number in range(50)]
    scopes = [SimpleNamespace(**(vars(simulation.scope) | one)) for one in of_callers]
    subscriptions = [live.counts_changed(cast("Any", scope), USER) for scope in scopes]
    await asyncio.gather(*(anext(one) for one in subscriptions))
    assert (answered, most) == (50, READS_AT_ONCE)
    for one in subscriptions:
        await one.aclose()
    await simulation.close()


@pytest.mark.parametrize(
    ("many", "position_max"),
    [
        (["192.0.2.1"] * 100, 2 + READS_OF_CALLER),
        ([f"192.0.2.{number}" for number in range(100)], 2 + READS_OF_ANONYMOUS),
    ],
    ids=["of one address", "of many addresses"],
)
async def test_many_anonymous_subscriptions_delay_those_of_others_by_few(
    many: list[str], position_max: int
) -> None:
    """`position_max`: how many of the others may read before the last one."""
    simulation = Simulation([], [])
    subscriptions = simulation.scope.stores.changes.subscriptions
    order: list[str | int] = []

    async def read(caller: str | int) -> None:
        async with subscriptions.reading(caller, is_anonymous=isinstance(caller, str)):
            await asyncio.sleep(0.001)
            order.append(caller)

    late: list[str | int] = [7] if len(set(many)) > 1 else [7, "198.51.100.1"]
    await asyncio.gather(*map(read, [*many, *late]))
    assert all(order.index(one) <= position_max for one in late)
    await simulation.close()
