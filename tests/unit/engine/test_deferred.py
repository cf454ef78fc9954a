"""Columns that are known once something else is: waited for once, failing and cancelled."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
import strawberry
from strawberry import Info

from engine import Engine, ItemOrError, MaybeAwaitable, Parents, batched, deferred

DEADLINE_S = 5


Column = MaybeAwaitable[list[Any]]


class Known:
    """The futures and values that the fields of one request wait for."""

    def __init__(self) -> None:
        self.future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.asked = asyncio.Event()


def soon(info: Info[Known], column: Callable[[], Column]) -> Column:
    known = info.context
    known.asked.set()
    return deferred(None if known.future.done() else known.future, column)


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
        return soon(info, lambda: [3] * len(leaves))


@strawberry.type
class Query:
    @batched
    def leaf(roots: Parents[None], info: Info) -> MaybeAwaitable[list[Leaf]]:
        return soon(info, lambda: [Leaf()])

    @batched
    def size(roots: Parents[None], info: Info) -> MaybeAwaitable[list[int]]:
        return soon(info, lambda: [7])

    @batched
    def age(roots: Parents[None], info: Info) -> MaybeAwaitable[list[int | None]]:
        return soon(info, lambda: slowly([8]))

    @batched
    def weight(roots: Parents[None], info: Info) -> MaybeAwaitable[list[ItemOrError[int | None]]]:
        return soon(info, lambda: [ValueError("too heavy")])

    @batched
    def too_short(roots: Parents[None], info: Info) -> MaybeAwaitable[list[int | None]]:
        return soon(info, list)

    @batched
    def broken(roots: Parents[None], info: Info) -> MaybeAwaitable[list[int | None]]:
        return soon(info, fail)

    @batched
    async def forever(roots: Parents[None], info: Info) -> list[int]:
        await asyncio.Event().wait()
        return []


SCHEMA = strawberry.Schema(Query)


async def answered(query: str, *, by_core: bool = False) -> Any:
    known = Known()
    asking = asyncio.ensure_future(
        SCHEMA.execute(query, context_value=known)
        if by_core
        else Engine(SCHEMA).execute(query=query, context=known)
    )
    async with asyncio.timeout(DEADLINE_S):
        await known.asked.wait()
        known.future.set_result(None)
        return await asking


@pytest.mark.parametrize(
    "fields", ["size", "size age leaf { colour veins }", "size weight", "tooShort age", "broken"]
)
async def test_deferred_values_are_the_same_in_both_executors(fields: str) -> None:
    result = await answered(f"{{ {fields} }}")
    expected = await answered(f"{{ {fields} }}", by_core=True)
    assert result.data == expected.data
    assert [error.formatted for error in result.errors] == [
        error.formatted for error in expected.errors or []
    ]


async def test_those_that_wait_for_the_same_take_no_task() -> None:
    known = Known()
    asking = Engine(SCHEMA).execute(query="{ size leaf { colour } a: weight }", context=known)
    task = asyncio.create_task(asking)
    async with asyncio.timeout(DEADLINE_S):
        await known.asked.wait()
        assert asyncio.all_tasks() == {task, asyncio.current_task()}
        known.future.set_result(None)
        assert (await task).data == {"size": 7, "leaf": {"colour": "green"}, "a": None}


async def test_if_that_fails_it_is_the_fault_of_each() -> None:
    known = Known()
    asking = Engine(SCHEMA).execute(query="{ age weight }", context=known)
    failing = asyncio.create_task(asking)
    await known.asked.wait()
    known.future.set_exception(ValueError("not there"))
    async with asyncio.timeout(DEADLINE_S):
        result = await failing
    assert result.data == {"age": None, "weight": None}
    assert [(error.path, error.message) for error in result.errors] == [
        (["age"], "not there"),
        (["weight"], "not there"),
    ]


async def test_a_cancelled_operation_ends_its_waiting_tasks() -> None:
    known = Known()
    query = "{ size forever leaf { veins } }"
    asking = asyncio.create_task(Engine(SCHEMA).execute(query=query, context=known))
    await known.asked.wait()
    asking.cancel()
    await asyncio.wait([asking], timeout=DEADLINE_S)
    assert asking.cancelled()
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_a_cancelled_waiter_outside_the_engine_cancels_nobody_else() -> None:
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


async def test_a_request_that_ends_takes_no_other_along() -> None:
    known = Known()
    first, second = (
        asyncio.create_task(Engine(SCHEMA).execute(query="{ age }", context=known))
        for _ in range(2)
    )
    await known.asked.wait()
    await asyncio.sleep(0)
    first.cancel()
    await asyncio.wait([first], timeout=DEADLINE_S)
    known.future.set_result(None)
    assert not (await second).errors


async def test_a_cancelled_future_is_a_field_error_and_no_cancellation() -> None:
    known = Known()
    asking = asyncio.create_task(Engine(SCHEMA).execute(query="{ age weight }", context=known))
    await known.asked.wait()
    known.future.cancel()
    async with asyncio.timeout(DEADLINE_S):
        result = await asking
    assert result.data == {"age": None, "weight": None}
    assert len(result.errors) == 2
