"""Introspection runs beside other fields without changing how they run, and is cached."""

from random import Random
from typing import Any

import pytest
from graphql import get_introspection_query

from engine import Engine
from engine.result import Result
from tests.property.test_engine_equals_graphql_core import VALUES, never_waits
from tests.support.answer_comparison import Answer, by_graphql_core
from tests.support.random_operations import Operations
from tests.support.seeds import UNBOUNDED
from tests.support.tree_schema import Calls
from tests.support.tree_schema import schema as tree_schema
from tests.support.zoo_schema import schema

MIXED = """
query Q($deep: Boolean = true, $of: String = "Tree") {
  before: tree { number }
  __schema { queryType { ...T } }
  again: __schema { types { ...T } }
  __type(name: $of) { ...T }
  ... on Query { none: __type(name: "Nobody") { name } }
  after: tree { branches(count: 2) { number size } }
}
fragment T on __Type { kind name fields(includeDeprecated: $deep) { name args { name } } }
"""


async def test_batched_fields_run_once_beside_introspection() -> None:
    calls: Calls = []
    engine = Engine(tree_schema)
    result = await engine.execute(query=MIXED, context=calls)
    assert not result.errors
    assert result.data is not None
    assert list(result.data) == ["before", "__schema", "again", "__type", "none", "after"]
    alone: Calls = []
    query = "{ before: tree { number } after: tree { branches(count: 2) { number size } } }"
    await engine.execute(query=query, context=alone)
    assert calls == alone
    assert engine.counters.delegated == engine.counters.bailed_out == {}


@pytest.mark.parametrize("variables", [{}, {"deep": False}, {"of": "Query"}, {"of": "None"}])
async def test_introspection_in_a_mixed_operation_is_that_of_graphql_core(
    variables: dict[str, Any],
) -> None:
    engine = Engine(tree_schema)
    expected = await by_graphql_core(tree_schema, MIXED, variables, [])
    for _ in range(2):  # the second time from the cache
        result = await engine.execute(query=MIXED, variables=variables, context=[])
        Answer(result.data, result.errors).assert_equals(expected, in_order=True)


async def test_the_results_are_cached_by_variables() -> None:
    engine = Engine(tree_schema)
    query = """query($of: String!, $n: Int! = 1) {
        __type(name: $of) { name } tree { branches(count: $n) { number } }
    }"""

    async def rows_and_type(**variables: object) -> tuple[int, Any]:
        result = await engine.execute(query=query, variables=variables, context=[])
        assert result.data is not None
        return result.rows, result.data["__type"]

    first = await rows_and_type(of="Tree")
    assert first[1] == {"name": "Tree"}
    assert await rows_and_type(of="Tree") == (first[0] - 1, first[1])  # the type is not built again
    assert await rows_and_type(of="Tree", n=1) == (first[0] - 1, first[1])  # `n` is not used there
    assert await rows_and_type(of="Query") == (first[0], {"name": "Query"})


async def test_an_error_beside_a_cached_introspection_is_reported() -> None:
    engine = Engine(schema)
    introspection = "__schema { queryType { name } }"
    for _ in range(3):
        result = await engine.execute(query=f"{{ {introspection} }}", context=[])
        assert result.data == {"__schema": {"queryType": {"name": "Query"}}}
    await assert_same_as_graphql_core(
        engine, "{ " + introspection + " animals(ids: [1, 2, 3]) { name mood } }"
    )


async def assert_same_as_graphql_core(engine: Engine, query: str, **variables: Any) -> Result:
    expected = await by_graphql_core(schema, query, variables, [])
    result = None
    for _ in range(2):
        result = await engine.execute(query=query, variables=variables, context=[])
        Answer(result.data, result.errors).assert_equals(expected, in_order=True)
    assert result is not None
    return result


async def test_random_mixed_operations_are_answered_as_by_graphql_core() -> None:
    engine = Engine(schema, UNBOUNDED)
    operations = Operations(schema._schema, VALUES, never_waits)
    failed = 0
    for seed in range(80):
        random = Random(seed)
        request = operations.draw(random)
        mixed = random.choice(
            ("{ in: __schema { types { name } } ", '{ __type(name: "Cat") { fields { name } } ')
        )
        query = request.query.replace("{", mixed, 1)
        expected = await by_graphql_core(schema, query, request.variables, [])
        for _ in range(2):
            result = await engine.execute(query=query, variables=request.variables, context=[])
            Answer(result.data, result.errors).assert_equals(expected, in_order=True)
        failed += bool(result.errors and result.data)
    assert engine.counters.planned > 80
    assert failed > 4


async def test_the_usual_introspection_query_is_planned() -> None:
    engine = Engine(schema)
    await assert_same_as_graphql_core(engine, get_introspection_query(input_value_deprecation=True))
    assert engine.counters.planned == 2
