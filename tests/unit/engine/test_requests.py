"""The stages of a request: where it ends, what runs it, and what is cached."""

from datetime import datetime

import orjson
import pytest
import strawberry
from graphql import OperationType
from strawberry.extensions import QueryDepthLimiter

from engine import Engine, EngineSettings, RequestError, Stage
from tests.support.tree_schema import Query, answer, schema


async def test_an_operation_that_a_plan_cannot_run_is_delegated_from_then_on() -> None:
    engine = Engine(schema)
    for _ in range(3):
        result = await engine.execute(query="{ tree { hiddenWait } }")
        assert result.data == {"tree": {"hiddenWait": [7]}}
    assert engine.counters.bailed_out == {"awaitable_value": 1}
    assert engine.counters.delegated == {"awaitable_value": 2}


@pytest.mark.parametrize(
    ("query", "stage"),
    [
        ("{", Stage.PARSE),
        ("{ nothing }", Stage.VALIDATION),
        ("query A { now } query B { now }", Stage.OPERATION),
        ("query($n: Int!) { tree(number: $n) { number } }", Stage.VARIABLES),
        ("{ now }", Stage.EXECUTION),
        ("{ now " * 30 + "}" * 30, Stage.LIMITS),
        ("{ " + " ".join(f"a{i}: now" for i in range(1_001)) + " }", Stage.LIMITS),
        ("{ now }" + " " * 110_000, Stage.LIMITS),
    ],
)
async def test_a_result_has_the_stage_that_the_request_reached(query: str, stage: Stage) -> None:
    result = await Engine(schema).execute(query=query)
    assert result.stage is stage
    assert result.is_request_error == (stage is not Stage.EXECUTION)
    assert ("data" in result.response()) == (stage is Stage.EXECUTION)


def test_the_kind_of_an_operation_is_known_before_it_runs() -> None:
    engine = Engine(schema)
    text = "query Q { now } mutation M { plant(number: 1) { number } }"
    assert engine.prepare(text, "Q").kind is OperationType.QUERY
    assert engine.prepare(text, "M").kind is OperationType.MUTATION
    with pytest.raises(RequestError, match="operation"):
        engine.prepare(text, "N")


def test_a_document_is_prepared_once() -> None:
    engine = Engine(schema)
    assert engine.prepare("{ now }") is engine.prepare("{ now }")


async def test_each_combination_of_skip_and_include_has_its_own_plan() -> None:
    engine = Engine(schema)
    query = "query($a: Boolean!, $b: Boolean = true) { x: now @skip(if: $a) now @include(if: $b) }"
    for given, keys in (({"a": True}, {"now"}), ({"a": False, "b": False}, {"x"})):
        result = await engine.execute(query=query, variables=given)
        assert result.data is not None
        assert result.data.keys() == keys
    assert len(engine.prepare(query).plans) == 2


async def test_introspection_and_mutations_run_by_a_plan() -> None:
    engine = Engine(schema)
    result = await engine.execute(query="{ __schema { queryType { name } } now }")
    assert result.data is not None
    assert result.data["__schema"] == {"queryType": {"name": "Query"}}
    result = await engine.execute(query="mutation { plant(number: 3) { number } }")
    assert result.data == {"plant": {"number": 3}}
    assert engine.counters.delegated == {}
    assert engine.counters.planned == 2


async def test_utc_datetimes_are_left_for_orjson_to_serialize() -> None:
    response = await answer("{ now }")
    assert isinstance(response["data"]["now"], datetime)
    assert orjson.dumps(response["data"]) == b'{"now":"2024-05-17T12:00:00.000120+00:00"}'
    plain = await answer("{ now }", EngineSettings(orjson_datetimes=False))
    assert plain["data"]["now"] == "2024-05-17T12:00:00.000120+00:00"


def test_a_schema_with_extensions_is_rejected() -> None:
    with pytest.raises(ValueError, match="extensions"):
        Engine(strawberry.Schema(Query, extensions=[lambda: QueryDepthLimiter(3)]))


async def test_an_argument_may_have_any_name() -> None:
    def echo(function: int, rows: int, field: int) -> int:
        return function + rows + field

    named = strawberry.type(type("Query", (), {"echo": strawberry.field(echo)}))
    result = await Engine(strawberry.Schema(named)).execute(
        query="{ echo(function: 1, rows: 2, field: 3) }"
    )
    assert result.data == {"echo": 6}
