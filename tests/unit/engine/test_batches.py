"""The traps of batching (aiodataloader 0.4.3), each closed."""

import asyncio
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from engine.batches import Gatherings, frozen, one_for_each
from engine.waiting import WaitedInVain

INFO: Any = SimpleNamespace(_raw_info=SimpleNamespace(variable_values={}))


class Doubling:
    """A resolver that doubles, once it is let to."""

    def __init__(self) -> None:
        self.calls: list[list[Any]] = []
        self.may_go = asyncio.Event()
        self.started = asyncio.Event()
        self.cancelled = False
        self.error: BaseException | None = None

    async def batch(self, parents: Sequence[Any], arguments: Mapping[str, Any]) -> list[Any]:
        self.calls.append(list(parents))
        self.started.set()
        try:
            await self.may_go.wait()
        except asyncio.CancelledError:
            self.cancelled = True
            raise
        if self.error is not None:
            raise self.error
        return [parent * 2 for parent in parents]


def waiter(
    gatherings: Gatherings, resolver: Doubling, parents: list[Any], **arguments: Any
) -> "asyncio.Task[list[Any]]":
    return asyncio.ensure_future(gatherings.load(resolver, parents, arguments, INFO))


async def test_all_who_ask_in_one_tick_are_one_call() -> None:
    gatherings, resolver = Gatherings(), Doubling()
    resolver.may_go.set()
    tasks = [waiter(gatherings, resolver, [1, 2]), waiter(gatherings, resolver, [3])]
    assert await asyncio.gather(*tasks) == [[2, 4], [6]]
    assert resolver.calls == [[1, 2, 3]]


async def test_other_arguments_are_another_call() -> None:
    gatherings, resolver = Gatherings(), Doubling()
    resolver.may_go.set()
    tasks = [waiter(gatherings, resolver, [n], first=n, ids=["1"]) for n in (1, 2, 1)]
    assert await asyncio.gather(*tasks) == [[2], [4], [2]]
    assert sorted(resolver.calls) == [[1, 1], [2]]


async def test_another_execution_is_another_call() -> None:
    gatherings, resolver = Gatherings(), Doubling()
    resolver.may_go.set()
    other: Any = SimpleNamespace(_raw_info=SimpleNamespace(variable_values={}))
    await asyncio.gather(
        gatherings.load(resolver, [1], {}, INFO), gatherings.load(resolver, [1], {}, other)
    )
    assert resolver.calls == [[1], [1]]


async def test_a_cancelled_waiter_takes_nobody_along() -> None:
    gatherings, resolver = Gatherings(), Doubling()
    leaving, staying = waiter(gatherings, resolver, [1]), waiter(gatherings, resolver, [2])
    await resolver.started.wait()
    leaving.cancel()
    resolver.may_go.set()
    assert await staying == [4]
    with pytest.raises(asyncio.CancelledError):
        await leaving


async def test_when_the_last_waiter_leaves_the_batch_is_cancelled() -> None:
    gatherings, resolver = Gatherings(), Doubling()
    tasks = [waiter(gatherings, resolver, [1]), waiter(gatherings, resolver, [2])]
    await resolver.started.wait()
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await asyncio.sleep(0)
    assert resolver.cancelled


async def test_a_cancelled_batch_is_an_error_for_its_waiters() -> None:
    gatherings, resolver = Gatherings(), Doubling()
    resolver.error = asyncio.CancelledError()
    resolver.may_go.set()
    with pytest.raises(WaitedInVain):
        await asyncio.wait_for(waiter(gatherings, resolver, [1]), 5)


async def test_an_error_is_not_remembered() -> None:
    gatherings, resolver = Gatherings(), Doubling()
    resolver.may_go.set()
    resolver.error = ValueError("once")
    with pytest.raises(ValueError, match="once"):
        await waiter(gatherings, resolver, [1])
    resolver.error = None
    assert await waiter(gatherings, resolver, [1]) == [2]


async def test_nothing_stays_behind() -> None:
    gatherings, resolver = Gatherings(), Doubling()
    resolver.may_go.set()
    await waiter(gatherings, resolver, [1])
    assert not gatherings._open


def test_a_batch_gives_one_item_for_each_parent() -> None:
    assert one_for_each([1, 2], ("a", "b"), "f") == ["a", "b"]
    with pytest.raises(TypeError, match=r"f\(\) did not return one item for each parent"):
        one_for_each([1, 2], ["a"], "f")


def test_arguments_that_mean_the_same_are_equal() -> None:
    assert frozen({"a": [1, {"b": 2}]}) == frozen({"a": [1, {"b": 2}]})
    assert frozen({"a": 1}) != frozen({"a": True})
    assert frozen([1, 2]) != frozen([2, 1])


async def test_a_load_between_two_ticks_of_the_loader_is_answered_too() -> None:
    gatherings, resolver = Gatherings(), Doubling()
    resolver.may_go.set()
    tasks = []
    for parent in range(8):
        tasks.append(waiter(gatherings, resolver, [parent]))
        await asyncio.sleep(0)
    assert await asyncio.gather(*tasks) == [[parent * 2] for parent in range(8)]
    assert not gatherings._open
