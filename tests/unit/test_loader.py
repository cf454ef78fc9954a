"""Batches of a loader: cancelled waiters, failed and stuck batches, repeats."""

import asyncio
import gc
from collections.abc import Awaitable, Sequence
from contextvars import ContextVar
from typing import Any, TypeVar

import pytest

from graph.errors import Unavailable
from resolvers.loader import ColumnLoader

DEADLINE_S = 5

T = TypeVar("T")

who: ContextVar[str] = ContextVar("who", default="nobody")


class Batches:
    """A batch function that remembers what it was asked, and waits until it is let go."""

    def __init__(self, *, held: bool = False) -> None:
        self.asked: list[list[int]] = []
        self.started = asyncio.Event()
        self.let_go = asyncio.Event()
        self.fails_with: Exception | None = None
        self.task: asyncio.Task[Any] | None = None
        if not held:
            self.let_go.set()

    async def __call__(self, keys: Sequence[int]) -> dict[int, str]:
        self.asked.append(list(keys))
        self.task = asyncio.current_task()
        self.started.set()
        await self.let_go.wait()
        if self.fails_with is not None:
            raise self.fails_with
        return {key: f"value {key}" for key in keys}


async def value(loader: ColumnLoader[int, T], key: int) -> T:
    (found,) = await loader.get_many([key])
    return found


async def soon(awaited: Awaitable[T]) -> T:
    async with asyncio.timeout(DEADLINE_S):
        return await awaited


async def test_one_turn_is_one_batch_with_each_key_once() -> None:
    batches = Batches()
    loader = ColumnLoader(batches)
    columns: tuple[list[int], ...] = ([1, 2, 1], [2], [3, 1], [])
    found = await asyncio.gather(*map(loader.get_many, columns))
    assert found == [[f"value {key}" for key in column] for column in columns]
    assert batches.asked == [[1, 2, 3]]


async def test_a_loaded_value_is_not_loaded_again() -> None:
    batches = Batches()
    loader = ColumnLoader(batches)
    await loader.get_many([1, 2])
    assert await loader.get_many([2, 1]) == ["value 2", "value 1"]
    assert await loader.get_many([2, 3]) == ["value 2", "value 3"]
    assert batches.asked == [[1, 2], [3]]


async def test_a_value_of_none_is_a_value() -> None:
    calls: list[Sequence[int]] = []

    async def nothing(keys: Sequence[int]) -> dict[int, int | None]:
        calls.append(keys)
        return dict.fromkeys(keys)

    loader: ColumnLoader[int, int | None] = ColumnLoader(nothing)
    assert await loader.get_many([1, 2]) == [None, None]
    assert await loader.get_many([1]) == [None]
    assert len(calls) == 1


async def test_a_cancelled_waiter_leaves_the_others_alone() -> None:
    batches = Batches(held=True)
    loader = ColumnLoader(batches)
    first, second = (asyncio.create_task(value(loader, 1)) for _ in range(2))
    await soon(batches.started.wait())
    first.cancel()
    await asyncio.wait([first], timeout=DEADLINE_S)
    assert first.cancelled()
    batches.let_go.set()
    assert await soon(second) == "value 1"
    assert await soon(value(loader, 1)) == "value 1"
    assert batches.asked == [[1]]


async def test_a_waiter_who_is_cancelled_before_the_batch_begins_leaves_the_others_alone() -> None:
    batches = Batches()
    loader = ColumnLoader(batches)
    first, second = (asyncio.create_task(value(loader, 1)) for _ in range(2))
    await asyncio.sleep(0)  # both have asked, and nothing runs yet
    assert not batches.asked
    first.cancel()
    assert await soon(second) == "value 1"
    assert first.cancelled()


async def test_a_failed_batch_fails_for_all_its_waiters_and_is_not_remembered() -> None:
    batches = Batches()
    batches.fails_with = Unavailable("PostgreSQL")
    loader = ColumnLoader(batches)
    failed = await asyncio.gather(value(loader, 1), loader.get_many([1, 2]), return_exceptions=True)
    assert [str(error) for error in failed] == [str(batches.fails_with)] * 2
    batches.fails_with = None
    assert await loader.get_many([1, 2]) == ["value 1", "value 2"]
    assert batches.asked == [[1, 2], [1, 2]]


async def test_a_failed_batch_leaves_alone_what_was_read_before() -> None:
    batches = Batches()
    loader = ColumnLoader(batches)
    await value(loader, 1)
    batches.fails_with = Unavailable("PostgreSQL")
    with pytest.raises(Unavailable):
        await loader.get_many([1, 2])
    assert await value(loader, 1) == "value 1"


async def test_a_cancelled_batch_hangs_nobody() -> None:
    batches = Batches(held=True)
    loader = ColumnLoader(batches)
    waiting = [asyncio.create_task(value(loader, key)) for key in (1, 2)]
    await soon(batches.started.wait())
    assert batches.task is not None
    batches.task.cancel()
    for waiter in waiting:
        with pytest.raises(Unavailable):
            await soon(waiter)
    batches.let_go.set()
    assert await soon(value(loader, 1)) == "value 1"


async def test_a_stuck_batch_ends_for_all_its_waiters() -> None:
    batches = Batches(held=True)
    loader = ColumnLoader(batches, batch_s_max=0.01)
    waiting = [asyncio.create_task(value(loader, key)) for key in (1, 2)]
    for waiter in waiting:
        with pytest.raises(Unavailable):
            await soon(waiter)


async def test_a_batch_that_answers_too_little_fails_and_is_not_remembered() -> None:
    short: list[dict[int, str]] = [{1: "only one"}]

    async def batch(keys: Sequence[int]) -> dict[int, str]:
        return short.pop() if short else {key: str(key) for key in keys}

    loader = ColumnLoader(batch)
    with pytest.raises(ValueError, match="one value for each"):
        await loader.get_many([1, 2])
    assert await loader.get_many([1, 2]) == ["1", "2"]


async def test_a_batch_runs_in_the_context_of_the_first_caller() -> None:
    """A trap that stays open: a batch must read no context variable."""
    seen: list[str] = []

    async def batch(keys: Sequence[int]) -> dict[int, int]:
        seen.append(who.get())
        return {key: key for key in keys}

    async def ask(name: str) -> int:
        who.set(name)
        return await value(loader, 1)

    loader = ColumnLoader(batch)
    await asyncio.gather(ask("first"), ask("second"))
    assert seen == ["first"]
    assert who.get() == "nobody"


async def test_a_batch_runs_in_the_turn_after_its_first_key() -> None:
    """A page's read, which starts at the same time, shares its round trip."""
    batches = Batches()
    loading = ColumnLoader(batches).load([1])
    await asyncio.sleep(0)
    assert batches.asked == [[1]]
    await soon(loading)


async def test_a_thousand_keys_cost_one_future(monkeypatch: pytest.MonkeyPatch) -> None:
    created: list[asyncio.Future[None]] = []
    loop = asyncio.get_running_loop()
    create_future = loop.create_future

    def counted() -> asyncio.Future[None]:
        created.append(create_future())
        return created[-1]

    loader = ColumnLoader(Batches())
    monkeypatch.setattr(loop, "create_future", counted)
    loaded = loader.load(range(1_000))
    assert created == [loaded]
    await soon(loaded)


async def test_a_key_that_is_being_read_is_not_read_again() -> None:
    batches = Batches(held=True)
    loader = ColumnLoader(batches)
    first = asyncio.create_task(value(loader, 1))
    await soon(batches.started.wait())
    batches.started.clear()
    second = asyncio.create_task(loader.get_many([2, 1]))
    await soon(batches.started.wait())
    batches.let_go.set()
    assert await soon(second) == ["value 2", "value 1"]
    assert await soon(first) == "value 1"
    assert batches.asked == [[1], [2]]


async def test_an_error_that_nobody_waits_for_is_not_reported() -> None:
    reported: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: reported.append(context))
    batches = Batches()
    batches.fails_with = Unavailable("PostgreSQL")
    loader = ColumnLoader(batches)
    assert loader.request([1]) is not None
    await soon(batches.started.wait())
    assert batches.task is not None
    await asyncio.wait([batches.task], timeout=DEADLINE_S)
    batches.fails_with = batches.task = None  # the error's frames hold the future
    gc.collect()
    assert not reported


async def test_keys_that_come_while_a_batch_runs_are_a_batch_of_their_own() -> None:
    batches = Batches(held=True)
    loader = ColumnLoader(batches)
    first = asyncio.create_task(value(loader, 1))
    await soon(batches.started.wait())
    batches.started.clear()
    second = asyncio.create_task(value(loader, 2))
    await soon(batches.started.wait())
    batches.let_go.set()
    assert await soon(second) == "value 2"
    assert await soon(first) == "value 1"
    assert batches.asked == [[1], [2]]


async def test_values_loaded_with_a_page_serve_concurrent_callers() -> None:
    batches = Batches()
    loader = ColumnLoader(batches)
    await value(loader, 1)
    arrived = asyncio.Event()

    async def read() -> tuple[str, dict[int, str]]:
        await arrived.wait()
        return "a page", {1: "another", 2: "brought"}

    assert loader.may_load_with([1, 2])
    bringing = asyncio.create_task(loader.load_with([1, 2], read()))
    await asyncio.sleep(0)
    assert not loader.may_load_with([2])
    waiting = [asyncio.create_task(value(loader, key)) for key in (2, 2, 3)]
    await asyncio.sleep(0)
    waiting[0].cancel()
    arrived.set()
    assert await soon(bringing) == "a page"
    assert await soon(asyncio.gather(*waiting[1:])) == ["brought", "value 3"]
    assert await loader.get_many([1, 2]) == ["value 1", "brought"]
    assert not loader.may_load_with([1, 2])
    assert batches.asked == [[1], [3]]


@pytest.mark.parametrize("cancelled", [False, True])
async def test_a_failed_page_does_not_fail_other_callers(*, cancelled: bool) -> None:
    batches = Batches()
    loader = ColumnLoader(batches)
    arrived = asyncio.Event()

    async def read() -> tuple[str, dict[int, str]]:
        await arrived.wait()
        raise Unavailable("PostgreSQL")

    bringing = asyncio.create_task(loader.load_with([1, 2], read()))
    await asyncio.sleep(0)
    waiting = asyncio.create_task(value(loader, 1))
    await asyncio.sleep(0)
    if cancelled:
        bringing.cancel()
    arrived.set()
    with pytest.raises((Unavailable, asyncio.CancelledError)):
        await soon(bringing)
    assert await soon(waiting) == "value 1"
    assert loader.may_load_with([2])
    assert batches.asked == [[1]]
