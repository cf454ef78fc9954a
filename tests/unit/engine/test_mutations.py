"""The root fields of a mutation are executed one after another, each once."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import pytest
import strawberry
from strawberry import Info

from engine import Engine, Parents, batched


@strawberry.type
class Plant:
    number: int

    @strawberry.field
    async def height(self, info: Info) -> int:
        info.context.append(f"measure {self.number}")
        await asyncio.sleep(0)
        info.context.append(f"measured {self.number}")
        return self.number * 10

    @strawberry.field
    def leaves(self) -> list[int]:
        return (async_leaf() for _ in range(2))  # type: ignore[return-value]

    @strawberry.field
    def species(self) -> str:
        raise ValueError("unknown")


async def async_leaf() -> int:
    return 1


@dataclass
class Bed:
    """Its attribute is an asynchronous iterable, which plans do not support."""

    numbers: AsyncIterator[int]


async def numbers() -> AsyncIterator[int]:
    for number in range(3):
        yield number


@strawberry.type(name="Bed")
class BedType:
    numbers: list[int]


@strawberry.type
class Query:
    now: int = 1


@strawberry.type
class Mutation:
    @strawberry.mutation
    async def plant(self, info: Info, number: int) -> Plant:
        info.context.append(f"plant {number}")
        await asyncio.sleep(0)
        info.context.append(f"planted {number}")
        return Plant(number=number)

    @strawberry.mutation
    def dig(self, info: Info, number: int) -> int:
        info.context.append(f"dig {number}")
        if number == 13:
            raise ValueError("rock")
        return number

    @batched
    def water(roots: Parents[Any], info: Info, litres: int) -> list[int]:
        info.context.append(f"water {litres}")
        return [litres for _ in roots]

    @strawberry.mutation(graphql_type=BedType | None)  # type: ignore[untyped-decorator]
    def bed(self, info: Info) -> Any:
        info.context.append("bed")
        return Bed(numbers())

    @strawberry.mutation
    def rake(self, info: Info) -> int | None:
        info.context.append("rake")
        raise ValueError("no rake")


schema = strawberry.Schema(Query, Mutation, types=[BedType])


async def answer(query: str) -> tuple[dict[str, Any], list[str], Engine]:
    engine, calls = Engine(schema), list[str]()
    result = await engine.execute(query="mutation " + query, context=calls)
    return result.response(), calls, engine


async def test_a_root_field_begins_when_everything_below_the_one_before_has_ended() -> None:
    response, calls, engine = await answer(
        "{ a: plant(number: 1) { height } water(litres: 2) b: plant(number: 3) { height } }"
    )
    assert response == {"data": {"a": {"height": 10}, "water": 2, "b": {"height": 30}}}
    assert calls == [
        *("plant 1", "planted 1", "measure 1", "measured 1"),
        "water 2",
        *("plant 3", "planted 3", "measure 3", "measured 3"),
    ]
    assert engine.counters.planned == 1


async def test_an_error_that_makes_the_whole_data_null_ends_the_mutation() -> None:
    response, calls, _ = await answer("{ rake a: dig(number: 13) b: dig(number: 1) }")
    assert response["data"] is None
    assert [error["path"] for error in response["errors"]] == [["rake"], ["a"]]
    assert calls == ["rake", "dig 13"]


async def test_an_error_below_a_root_field_ends_the_mutation_if_it_reaches_the_root() -> None:
    response, calls, _ = await answer("{ plant(number: 1) { species } dig(number: 2) }")
    assert response["data"] is None
    assert [error["path"] for error in response["errors"]] == [["plant", "species"]]
    assert calls == ["plant 1", "planted 1"]


async def test_graphql_core_continues_a_mutation_without_resolving_root_fields_again() -> None:
    query = "{ water(litres: 1) rake a: dig(number: 2) bed { numbers } b: dig(number: 3) }"
    response, calls, engine = await answer(query)
    assert response["data"] == {
        "water": 1,
        "rake": None,
        "a": 2,
        "bed": {"numbers": [0, 1, 2]},
        "b": 3,
    }
    assert [error["message"] for error in response["errors"]] == ["no rake"]
    assert calls == ["water 1", "rake", "dig 2", "bed", "dig 3"]
    assert engine.counters.bailed_out == {"async_iterable": 1}


async def test_awaitables_in_the_value_of_a_root_field_are_awaited_by_graphql_core() -> None:
    response, calls, engine = await answer("{ plant(number: 1) { leaves } dig(number: 2) }")
    assert response == {"data": {"plant": {"leaves": [1, 1]}, "dig": 2}}
    assert calls == ["plant 1", "planted 1", "dig 2"]
    assert engine.counters.bailed_out == {"awaitable_value": 1}


async def test_graphql_core_continues_a_mutation_whose_plan_fails(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    engine, calls = Engine(schema), list[str]()
    compiler = engine._executor._compiler
    compiling = compiler.compiling

    def broken(*given: Any) -> Any:
        plan = yield from compiling(*given)
        broken_step: Any = type("Broken", (), {"execute": lambda *_: 1 / 0})()
        return type(plan)((plan.steps[0], broken_step), plan.is_mutation, plan.fields)

    monkeypatch.setattr(compiler, "compiling", broken)
    result = await engine.execute(
        query="mutation { a: dig(number: 1) b: dig(number: 2) }", context=calls
    )
    assert result.response() == {"data": {"a": 1, "b": 2}}
    assert calls == ["dig 1", "dig 2"]
    assert "division by zero" in caplog.text
