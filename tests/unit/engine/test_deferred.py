"""Deferred columns, which wait for a future that succeeds, fails or is cancelled."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
import strawberry
from strawberry import Info

from engine import Engine, ItemOrError, MaybeAwaitable, Parents, batched, deferred

DEADLINE_S = 5


Column = MaybeAwaitable[list[Any]]


class Shared:
    """The future that the fields of a request wait for. `is_used` is set by the first of them."""

    def __init__(self) -> None:
        self.future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.is_used = asyncio.Event()


def deferred_by_future(info: Info[Shared], column: Callable[[], Column]) -> Column:
    shared = info.context
    shared.is_used.set()
    return deferred(None if shared.future.done() else shared.future, column)


def fail() -> Column:
    raise ValueError("it broke")


async def slowly(column: list[Any]) -> list[Any]:
    await asyncio.sleep(0)
    return column


@strawberry.type
class Leaf:
    @strawberry.field
    def colour(self) -> str:
        return "green"

    @batched
    def veins(leaves: Parents["Leaf"], info: Info) -> MaybeAwaitable[list[int]]:
        return deferred_by_future(info, lambda: [3] * len(leaves))


@strawberry.type
class Query:
    @batched
    def leaf(roots: Parents[None], info: Info) -> MaybeAwaitable[list[Leaf]]:
        return deferred_by_future(info, lambda: [Leaf()])

    @batched
    def size(roots: Parents[None], info: Info) -> MaybeAwaitable[list[int]]:
        return deferred_by_future(info, lambda: [7])

    @batched
    def age(roots: Parents[None], info: Info) -> MaybeAwaitable[list[int | None]]:
        return deferred_by_future(info, lambda: slowly([8]))

    @batched
    def weight(roots: Parents[None], info: Info) -> MaybeAwaitable[list[ItemOrError[int | None]]]:
        return deferred_by_future(info, lambda: [ValueError("too heavy")])

    @batched
    def too_short(roots: Parents[None], info: Info) -> MaybeAwaitable[list[int | None]]:
        return deferred_by_future(info, list)

    @batched
    def broken(roots: Parents[None], info: Info) -> MaybeAwaitable[list[int | None]]:
        return deferred_by_future(info, fail)

    @batched
    async def forever(roots: Parents[None], info: Info) -> list[int]:
        await asyncio.Event().wait()
        return []


SCHEMA = strawberry.Schema(Query)


async def executed(query: str, *, by_core: bool = False) -> Any:
    shared = Shared()
    executing = asyncio.ensure_future(
        SCHEMA.execute(query, context_value=shared)
        if by_core
        else Engine(SCHEMA).execute(query=query, context=shared)
    )
    async with asyncio.timeout(DEADLINE_S):
        await shared.is_used.wait()
        shared.future.set_result(None)
        return await executing


@pytest.mark.parametrize(
    "fields", ["size", "size age leaf { colour veins }", "size weight", "tooShort age", "broken"]
)
async def test_deferred_values_are_the_same_in_both_executors(fields: str) -> None:
    result = await executed(f"{{ {fields} }}")
    expected = await executed(f"{{ {fields} }}", by_core=True)
    assert result.data == expected.data
    assert [error.formatted for error in result.errors] == [
        error.formatted for error in expected.errors or []
    ]


async def test_fields_that_wait_for_the_same_future_create_no_task() -> None:
    shared = Shared()
    executing = Engine(SCHEMA).execute(query="{ size leaf { colour } a: weight }", context=shared)
    task = asyncio.create_task(executing)
    async with asyncio.timeout(DEADLINE_S):
        await shared.is_used.wait()
        assert asyncio.all_tasks() == {task, asyncio.current_task()}
        shared.future.set_result(None)
        assert (await task).data == {"size": 7, "leaf": {"colour": "green"}, "a": None}


async def test_an_error_of_the_future_is_an_error_of_each_field() -> None:
    shared = Shared()
    executing = Engine(SCHEMA).execute(query="{ age weight }", context=shared)
    failing = asyncio.create_task(executing)
    await shared.is_used.wait()
    shared.future.set_exception(ValueError("not there"))
    async with asyncio.timeout(DEADLINE_S):
        result = await failing
    assert result.data == {"age": None, "weight": None}
    assert [(error.path, error.message) for error in result.errors] == [
        (["age"], "not there"),
        (["weight"], "not there"),
    ]


async def test_a_cancelled_operation_ends_its_waiting_tasks() -> None:
    shared = Shared()
    query = "{ size forever leaf { veins } }"
    executing = asyncio.create_task(Engine(SCHEMA).execute(query=query, context=shared))
    await shared.is_used.wait()
    executing.cancel()
    await asyncio.wait([executing], timeout=DEADLINE_S)
    assert executing.cancelled()
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_a_cancelled_waiter_outside_the_engine_does_not_affect_other_waiters() -> None:
    future: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def wait() -> list[int]:
        column = deferred(future, lambda: [1])
        assert not isinstance(column, list)
        return await column

    first, second = (asyncio.create_task(wait()) for _ in range(2))
    await asyncio.sleep(0)
    first.cancel()
    await asyncio.wait([first], timeout=DEADLINE_S)
    future.set_result(None)
    assert await second == [1]


async def test_a_cancelled_request_does_not_affect_another_one_with_the_same_future() -> None:
    shared = Shared()
    first, second = (
        asyncio.create_task(Engine(SCHEMA).execute(query="{ age }", context=shared))
        for _ in range(2)
    )
    await shared.is_used.wait()
    await asyncio.sleep(0)
    first.cancel()
    await asyncio.wait([first], timeout=DEADLINE_S)
    shared.future.set_result(None)
    assert not (await second).errors


async def test_a_cancelled_future_is_a_field_error_and_no_cancellation() -> None:
    shared = Shared()
    executing = asyncio.create_task(Engine(SCHEMA).execute(query="{ age weight }", context=shared))
    await shared.is_used.wait()
    shared.future.cancel()
    async with asyncio.timeout(DEADLINE_S):
        result = await executing
    assert result.data == {"age": None, "weight": None}
    assert len(result.errors) == 2
