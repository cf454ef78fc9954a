"""Known problems of batching with aiodataloader 0.4.3, each avoided."""

import asyncio
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from engine.awaiting import AwaitableCancelled
from engine.batch_loader import BatchLoader, checked_column, hashable

INFO: Any = SimpleNamespace(_raw_info=SimpleNamespace(variable_values={}))


class Doubling:
    """A resolver that doubles its parents, once `may_go` is set."""

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
    loader: BatchLoader, resolver: Doubling, parents: list[Any], **arguments: Any
) -> "asyncio.Task[list[Any]]":
    return asyncio.ensure_future(loader.load(resolver, parents, arguments, INFO))


async def test_loads_in_one_iteration_of_the_event_loop_are_one_call() -> None:
    loader, resolver = BatchLoader(), Doubling()
    resolver.may_go.set()
    tasks = [waiter(loader, resolver, [1, 2]), waiter(loader, resolver, [3])]
    assert await asyncio.gather(*tasks) == [[2, 4], [6]]
    assert resolver.calls == [[1, 2, 3]]


async def test_loads_with_other_arguments_are_another_call() -> None:
    loader, resolver = BatchLoader(), Doubling()
    resolver.may_go.set()
    tasks = [waiter(loader, resolver, [n], first=n, ids=["1"]) for n in (1, 2, 1)]
    assert await asyncio.gather(*tasks) == [[2], [4], [2]]
    assert sorted(resolver.calls) == [[1, 1], [2]]


async def test_loads_of_another_execution_are_another_call() -> None:
    loader, resolver = BatchLoader(), Doubling()
    resolver.may_go.set()
    other: Any = SimpleNamespace(_raw_info=SimpleNamespace(variable_values={}))
    await asyncio.gather(
        loader.load(resolver, [1], {}, INFO), loader.load(resolver, [1], {}, other)
    )
    assert resolver.calls == [[1], [1]]


async def test_a_cancelled_waiter_does_not_affect_other_waiters() -> None:
    loader, resolver = BatchLoader(), Doubling()
    cancelled, remaining = waiter(loader, resolver, [1]), waiter(loader, resolver, [2])
    await resolver.started.wait()
    cancelled.cancel()
    resolver.may_go.set()
    assert await remaining == [4]
    with pytest.raises(asyncio.CancelledError):
        await cancelled


async def test_a_batch_is_cancelled_when_all_its_waiters_are_cancelled() -> None:
    loader, resolver = BatchLoader(), Doubling()
    tasks = [waiter(loader, resolver, [1]), waiter(loader, resolver, [2])]
    await resolver.started.wait()
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await asyncio.sleep(0)
    assert resolver.cancelled


async def test_a_cancelled_batch_is_an_error_for_its_waiters() -> None:
    loader, resolver = BatchLoader(), Doubling()
    resolver.error = asyncio.CancelledError()
    resolver.may_go.set()
    with pytest.raises(AwaitableCancelled):
        await asyncio.wait_for(waiter(loader, resolver, [1]), 5)


async def test_a_failed_load_can_be_repeated() -> None:
    loader, resolver = BatchLoader(), Doubling()
    resolver.may_go.set()
    resolver.error = ValueError("once")
    with pytest.raises(ValueError, match="once"):
        await waiter(loader, resolver, [1])
    resolver.error = None
    assert await waiter(loader, resolver, [1]) == [2]


async def test_a_finished_batch_is_removed() -> None:
    loader, resolver = BatchLoader(), Doubling()
    resolver.may_go.set()
    await waiter(loader, resolver, [1])
    assert not loader._open


def test_a_batch_must_return_one_item_for_each_parent() -> None:
    assert checked_column([1, 2], ("a", "b"), "f") == ["a", "b"]
    with pytest.raises(TypeError, match=r"f\(\) did not return one item for each parent"):
        checked_column([1, 2], ["a"], "f")


def test_equal_arguments_have_equal_keys() -> None:
    assert hashable({"a": [1, {"b": 2}]}) == hashable({"a": [1, {"b": 2}]})
    assert hashable({"a": 1}) != hashable({"a": True})
    assert hashable([1, 2]) != hashable([2, 1])


async def test_loads_in_successive_iterations_of_the_event_loop_are_all_answered() -> None:
    loader, resolver = BatchLoader(), Doubling()
    resolver.may_go.set()
    tasks = []
    for parent in range(8):
        tasks.append(waiter(loader, resolver, [parent]))
        await asyncio.sleep(0)
    assert await asyncio.gather(*tasks) == [[parent * 2] for parent in range(8)]
    assert not loader._open
