"""The number of list items and object keys that graphql-core coerces is limited."""

from collections.abc import AsyncGenerator
from typing import Any
from unittest.mock import AsyncMock

import pytest
import strawberry
from graphql.execution.values import get_variable_values
from strawberry import ID

from engine import Engine, EngineSettings, InvalidVariables, Result, Stage
from engine.variables import OBJECTS_MAX, exceeds, is_longer

LIMIT = 1_000


@strawberry.input
class Pair:
    a: ID
    b: ID


@strawberry.input
class Changes:
    pairs: list[Pair]
    note: str | None = None


@strawberry.type
class Query:
    @strawberry.field
    def users(self, ids: list[ID]) -> int:
        return len(ids)

    @strawberry.field
    def change(self, input: Changes, ids: list[ID] | None = None) -> int:  # noqa: A002
        return len(input.pairs) + len(ids or [])


@strawberry.type
class Subscription:
    @strawberry.subscription
    async def changed(self, ids: list[ID]) -> AsyncGenerator[int, None]:
        yield len(ids)


SCHEMA = strawberry.Schema(Query, subscription=Subscription)
USERS = "query ($ids: [ID!]!) { users(ids: $ids) }"
CHANGE = "query ($ids: [ID!], $input: Changes!) { change(ids: $ids, input: $input) }"
PAIR = {"a": 1, "b": 2}


async def execute(query: str, **variables: Any) -> Result:
    engine = Engine(SCHEMA, EngineSettings(max_coerced_values=LIMIT))
    return await engine.execute(query=query, variables=variables)


@pytest.fixture
def coerced(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The arguments of each call of graphql-core's coercion."""
    calls: list[object] = []

    def record(*arguments: Any, **options: Any) -> Any:
        calls.append(arguments)
        return get_variable_values(*arguments, **options)

    monkeypatch.setattr("engine.variables.get_variable_values", record)
    return calls


@pytest.mark.parametrize(
    ("query", "given"),
    [
        (USERS, {"ids": [1] * (LIMIT + 1)}),
        (USERS, {"ids": {str(key): 1 for key in range(LIMIT + 1)}}),
        (CHANGE, {"input": {"pairs": [PAIR] * (LIMIT // 3 + 1)}}),
        (CHANGE, {"input": {"pairs": [{}] * LIMIT}}),
        (CHANGE, {"input": {"pairs": [], **{f"k{key}": 1 for key in range(LIMIT)}}}),
        (CHANGE, {"input": {"pairs": [PAIR] * (LIMIT // 6)}, "ids": [1] * (LIMIT // 2 + 2)}),
    ],
)
async def test_too_many_values_are_rejected_before_they_are_coerced(
    query: str, given: dict[str, Any], coerced: list[object]
) -> None:
    result = await execute(query, **given)
    (error,) = result.errors
    assert result.stage is Stage.VARIABLES
    assert "at most 1,000 list items and object keys" in error.message
    assert "several requests" in error.message
    assert coerced == []


async def test_coercion_stops_after_a_few_errors() -> None:
    settings = EngineSettings()
    result = await execute(USERS, ids=[{}] * LIMIT)
    assert result.stage is Stage.VARIABLES
    assert len(result.errors) == settings.max_errors + 1
    assert "Too many errors" in result.errors[-1].message
    assert "[0]" in result.errors[0].message


async def test_as_many_values_as_allowed_are_coerced() -> None:
    assert (await execute(USERS, ids=[1] * LIMIT)).data == {"users": LIMIT}
    pairs = [PAIR] * ((LIMIT - 1) // 3)
    result = await execute(CHANGE, input={"pairs": pairs}, ids=["1"] * 5)
    assert result.data == {"change": len(pairs) + 5}


async def test_strings_for_ids_need_no_coercion_and_do_not_count() -> None:
    assert (await execute(USERS, ids=["1"] * 5 * LIMIT)).data == {"users": 5 * LIMIT}


async def test_variables_in_literals_are_not_coerced_again(coerced: list[object]) -> None:
    """A document may use a variable in many literals, beside one that is a long list."""
    uses = " ".join(f"a{number}: users(ids: [$id])" for number in range(50))
    query = f"query ($id: ID!, $ids: [ID!]!) {{ users(ids: $ids) {uses} }}"
    data = (await execute(query, id="1", ids=["1"] * 5 * LIMIT)).data
    assert data is not None
    assert len(data) == 51
    assert coerced == []


async def test_variables_in_literals_have_their_defaults_and_nulls() -> None:
    query = """query ($a: ID = "7", $b: ID!, $note: String, $none: String) {
        first: change(input: {pairs: [{a: $b, b: $a}], note: $note})
        second: change(input: {pairs: [{a: "1", b: $b}, {a: $b, b: $b}], note: $none})
    }"""
    result = await execute(query, b=3, note=None)
    assert result.data == {"first": 1, "second": 2}
    result = await execute(query, a=None, b=3)
    (error,) = result.errors
    assert "null" in error.message, error.message


async def test_a_long_list_of_objects_is_rejected_before_they_are_made() -> None:
    pair = {"a": "1", "b": "2"}
    given = {"pairs": [pair] * OBJECTS_MAX, "note": None}
    assert (await execute(CHANGE, input=given)).data == {"change": OBJECTS_MAX}
    result = await execute(CHANGE, input={**given, "pairs": [pair] * (OBJECTS_MAX + 1)})
    (error,) = result.errors
    assert "at most 1,000 list items and object keys" in error.message


async def test_graphql_core_coerces_the_variables_of_a_subscription_again() -> None:
    settings = EngineSettings(max_coerced_values=LIMIT, max_subscription_characters=20 * LIMIT)
    engine = Engine(SCHEMA, settings)
    operation = engine.prepare("subscription ($ids: [ID!]!) { changed(ids: $ids) }")

    async def context_of() -> None:
        return None

    async def results(count: int) -> list[Result]:
        given = {"ids": ["1"] * count}
        answers = engine.subscribe(
            operation, variables=given, context_of=context_of, event_s_max=10
        )
        return [answer async for answer in answers]

    assert [answer.data for answer in await results(LIMIT)] == [{"changed": LIMIT}]
    (rejected,) = await results(LIMIT + 1)
    assert rejected.stage is Stage.VARIABLES


@pytest.mark.parametrize(
    ("given", "size"),
    [
        ({"ids": ["1"] * 10}, 10 * 17),
        ({"ids": ["1" * 50]}, 16 + 50),
        ({"ids": []}, 0),
        ({"ids": ["1"], "undeclared": "x" * 500}, 17),
    ],
)
async def test_the_variables_of_a_subscription_have_a_limit(
    given: dict[str, Any], size: int
) -> None:
    for limit in (size, size - 1):
        engine = Engine(SCHEMA, EngineSettings(max_subscription_characters=limit))
        operation = engine.prepare("subscription ($ids: [ID!]!) { changed(ids: $ids) }")
        answers = engine.subscribe(
            operation, variables=given, context_of=AsyncMock(), event_s_max=10
        )
        stages = [answer.stage async for answer in answers]
        assert stages == [Stage.EXECUTION if limit >= size else Stage.VARIABLES]


def test_the_length_of_nested_values_counts_keys_and_texts() -> None:
    nested = {"key": [{"a": "text"}, 7, None, ["x"]]}
    length = 16 + 3 + 4 * 16 + 16 + 1 + 4 + 16 + 1
    assert not is_longer([nested], length)
    assert is_longer([nested], length - 1)


def test_counting_stops_at_the_limit() -> None:
    read: list[int] = []

    class Items(list[Any]):
        def __iter__(self) -> Any:
            read.append(len(self))
            return super().__iter__()

    many = Items([Items([1]) for _ in range(10)])
    assert exceeds([many, Items([1] * 100)], 50)
    assert sum(read) == 0, "the items of a list that is too long are not read"
    assert not exceeds([many], 21)
    assert exceeds([many], 20)


def test_the_default_allows_the_largest_requests() -> None:
    operation = Engine(SCHEMA).prepare(CHANGE)
    given = {"pairs": [PAIR] * 500}
    assert operation.variables.coerce({"input": given})
    with pytest.raises(InvalidVariables, match="4,000"):
        operation.variables.coerce({"input": {"pairs": [{}] * 330_000}})
