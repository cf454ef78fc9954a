"""The batches of a loader: cancelled waiters, failed and stuck batches, repeated keys."""

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

caller_name: ContextVar[str] = ContextVar("who", default="nobody")


class Batches:
    """A batch function that records its keys and, if it is `held`, waits for `released`."""

    def __init__(self, *, held: bool = False) -> None:
        self.calls: list[list[int]] = []
        self.started = asyncio.Event()
        self.released = asyncio.Event()
        self.error: Exception | None = None
        self.task: asyncio.Task[Any] | None = None
        if not held:
            self.released.set()

    async def __call__(self, keys: Sequence[int]) -> dict[int, str]:
        self.calls.append(list(keys))
        self.task = asyncio.current_task()
        self.started.set()
        await self.released.wait()
        if self.error is not None:
            raise self.error
        return {key: f"value {key}" for key in keys}


async def value(loader: ColumnLoader[int, T], key: int) -> T:
    (found,) = await loader.get_many([key])
    return found


async def within_deadline(awaited: Awaitable[T]) -> T:
    async with asyncio.timeout(DEADLINE_S):
        return await awaited


async def test_keys_of_one_iteration_are_one_batch_with_each_key_once() -> None:
    batches = Batches()
    loader = ColumnLoader(batches)
    columns: tuple[list[int], ...] = ([1, 2, 1], [2], [3, 1], [])
    found = await asyncio.gather(*map(loader.get_many, columns))
    assert found == [[f"value {key}" for key in column] for column in columns]
    assert batches.calls == [[1, 2, 3]]


async def test_a_loaded_value_is_not_loaded_again() -> None:
    batches = Batches()
    loader = ColumnLoader(batches)
    await loader.get_many([1, 2])
    assert await loader.get_many([2, 1]) == ["value 2", "value 1"]
    assert await loader.get_many([2, 3]) == ["value 2", "value 3"]
    assert batches.calls == [[1, 2], [3]]


async def test_a_value_of_none_is_not_loaded_again() -> None:
    calls: list[Sequence[int]] = []

    async def nothing(keys: Sequence[int]) -> dict[int, int | None]:
        calls.append(keys)
        return dict.fromkeys(keys)

    loader: ColumnLoader[int, int | None] = ColumnLoader(nothing)
    assert await loader.get_many([1, 2]) == [None, None]
    assert await loader.get_many([1]) == [None]
    assert len(calls) == 1


async def test_a_cancelled_waiter_does_not_affect_other_waiters() -> None:
    batches = Batches(held=True)
    loader = ColumnLoader(batches)
    first, second = (asyncio.create_task(value(loader, 1)) for _ in range(2))
    await within_deadline(batches.started.wait())
    first.cancel()
    await asyncio.wait([first], timeout=DEADLINE_S)
    assert first.cancelled()
    batches.released.set()
    assert await within_deadline(second) == "value 1"
    assert await within_deadline(value(loader, 1)) == "value 1"
    assert batches.calls == [[1]]


async def test_a_waiter_cancelled_before_the_batch_begins_does_not_affect_other_waiters() -> None:
    batches = Batches()
    loader = ColumnLoader(batches)
    first, second = (asyncio.create_task(value(loader, 1)) for _ in range(2))
    await asyncio.sleep(0)  # both have asked, and nothing runs yet
    assert not batches.calls
    first.cancel()
    assert await within_deadline(second) == "value 1"
    assert first.cancelled()


async def test_a_failed_batch_fails_for_all_its_waiters_and_is_read_again_later() -> None:
    batches = Batches()
    batches.error = Unavailable("PostgreSQL")
    loader = ColumnLoader(batches)
    failed = await asyncio.gather(value(loader, 1), loader.get_many([1, 2]), return_exceptions=True)
    assert [str(error) for error in failed] == [str(batches.error)] * 2
    batches.error = None
    assert await loader.get_many([1, 2]) == ["value 1", "value 2"]
    assert batches.calls == [[1, 2], [1, 2]]


async def test_a_failed_batch_does_not_affect_values_that_were_read_before() -> None:
    batches = Batches()
    loader = ColumnLoader(batches)
    await value(loader, 1)
    batches.error = Unavailable("PostgreSQL")
    with pytest.raises(Unavailable):
        await loader.get_many([1, 2])
    assert await value(loader, 1) == "value 1"


async def test_a_cancelled_batch_raises_unavailable_for_its_waiters() -> None:
    batches = Batches(held=True)
    loader = ColumnLoader(batches)
    waiting = [asyncio.create_task(value(loader, key)) for key in (1, 2)]
    await within_deadline(batches.started.wait())
    assert batches.task is not None
    batches.task.cancel()
    for waiter in waiting:
        with pytest.raises(Unavailable):
            await within_deadline(waiter)
    batches.released.set()
    assert await within_deadline(value(loader, 1)) == "value 1"


async def test_a_stuck_batch_raises_unavailable_after_its_time_limit() -> None:
    batches = Batches(held=True)
    loader = ColumnLoader(batches, batch_s_max=0.01)
    waiting = [asyncio.create_task(value(loader, key)) for key in (1, 2)]
    for waiter in waiting:
        with pytest.raises(Unavailable):
            await within_deadline(waiter)


async def test_a_batch_without_a_value_for_each_key_fails_and_is_read_again_later() -> None:
    incomplete: list[dict[int, str]] = [{1: "only one"}]

    async def batch(keys: Sequence[int]) -> dict[int, str]:
        return incomplete.pop() if incomplete else {key: str(key) for key in keys}

    loader = ColumnLoader(batch)
    with pytest.raises(ValueError, match="one value for each"):
        await loader.get_many([1, 2])
    assert await loader.get_many([1, 2]) == ["1", "2"]


async def test_a_batch_runs_in_the_context_of_the_first_caller() -> None:
    """So a batch must not read any context variable."""
    seen: list[str] = []

    async def batch(keys: Sequence[int]) -> dict[int, int]:
        seen.append(caller_name.get())
        return {key: key for key in keys}

    async def ask(name: str) -> int:
        caller_name.set(name)
        return await value(loader, 1)

    loader = ColumnLoader(batch)
    await asyncio.gather(ask("first"), ask("second"))
    assert seen == ["first"]
    assert caller_name.get() == "nobody"


async def test_a_batch_runs_in_the_iteration_after_its_first_key() -> None:
    """So it shares a round trip with the read of a page that starts at the same time."""
    batches = Batches()
    loading = ColumnLoader(batches).load([1])
    await asyncio.sleep(0)
    assert batches.calls == [[1]]
    await within_deadline(loading)


async def test_loading_a_thousand_keys_creates_one_future(monkeypatch: pytest.MonkeyPatch) -> None:
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
    await within_deadline(loaded)


async def test_a_key_that_is_being_read_is_not_read_again() -> None:
    batches = Batches(held=True)
    loader = ColumnLoader(batches)
    first = asyncio.create_task(value(loader, 1))
    await within_deadline(batches.started.wait())
    batches.started.clear()
    second = asyncio.create_task(loader.get_many([2, 1]))
    await within_deadline(batches.started.wait())
    batches.released.set()
    assert await within_deadline(second) == ["value 2", "value 1"]
    assert await within_deadline(first) == "value 1"
    assert batches.calls == [[1], [2]]


async def test_an_error_that_nobody_waits_for_is_not_reported() -> None:
    reported: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: reported.append(context))
    batches = Batches()
    batches.error = Unavailable("PostgreSQL")
    loader = ColumnLoader(batches)
    assert loader.request([1]) is not None
    await within_deadline(batches.started.wait())
    assert batches.task is not None
    await asyncio.wait([batches.task], timeout=DEADLINE_S)
    batches.error = batches.task = None  # the error's frames hold the future
    gc.collect()
    assert not reported


async def test_keys_requested_while_a_batch_runs_are_another_batch() -> None:
    batches = Batches(held=True)
    loader = ColumnLoader(batches)
    first = asyncio.create_task(value(loader, 1))
    await within_deadline(batches.started.wait())
    batches.started.clear()
    second = asyncio.create_task(value(loader, 2))
    await within_deadline(batches.started.wait())
    batches.released.set()
    assert await within_deadline(second) == "value 2"
    assert await within_deadline(first) == "value 1"
    assert batches.calls == [[1], [2]]


async def test_concurrent_callers_get_the_values_that_were_loaded_with_a_page() -> None:
    batches = Batches()
    loader = ColumnLoader(batches)
    await value(loader, 1)
    page_was_read = asyncio.Event()

    async def read() -> tuple[str, dict[int, str]]:
        await page_was_read.wait()
        return "a page", {1: "page 1", 2: "page 2"}

    assert loader.may_load_with([1, 2])
    loading_page = asyncio.create_task(loader.load_with([1, 2], read()))
    await asyncio.sleep(0)
    assert not loader.may_load_with([2])
    waiting = [asyncio.create_task(value(loader, key)) for key in (2, 2, 3)]
    await asyncio.sleep(0)
    waiting[0].cancel()
    page_was_read.set()
    assert await within_deadline(loading_page) == "a page"
    assert await within_deadline(asyncio.gather(*waiting[1:])) == ["page 2", "value 3"]
    assert await loader.get_many([1, 2]) == ["value 1", "page 2"]
    assert not loader.may_load_with([1, 2])
    assert batches.calls == [[1], [3]]


@pytest.mark.parametrize("cancelled", [False, True])
async def test_a_failed_page_does_not_fail_other_callers(*, cancelled: bool) -> None:
    batches = Batches()
    loader = ColumnLoader(batches)
    page_was_read = asyncio.Event()

    async def read() -> tuple[str, dict[int, str]]:
        await page_was_read.wait()
        raise Unavailable("PostgreSQL")

    loading_page = asyncio.create_task(loader.load_with([1, 2], read()))
    await asyncio.sleep(0)
    waiting = asyncio.create_task(value(loader, 1))
    await asyncio.sleep(0)
    if cancelled:
        loading_page.cancel()
    page_was_read.set()
    with pytest.raises((Unavailable, asyncio.CancelledError)):
        await within_deadline(loading_page)
    assert await within_deadline(waiting) == "value 1"
    assert loader.may_load_with([2])
    assert batches.calls == [[1]]
