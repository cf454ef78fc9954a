"""A variable in @skip or @include that is null is an error of the variable."""

import pytest
import strawberry

from engine import Engine, Stage


@strawberry.type
class Query:
    @strawberry.field
    def flag(self, value: bool | None = None) -> bool:
        return value is None


SCHEMA = strawberry.Schema(Query)
DECLARED = "($v: Boolean = false)"
FRAGMENTS = """fragment F on Query { ...G }
    fragment G on Query { ... @include(if: $v) { flag } }"""
BOTH = f"""query A {DECLARED} {{ flag @skip(if: $v) }}
    query B {DECLARED} {{ flag(value: $v) ...F }} fragment F on Query {{ flag(value: $v) }}"""


@pytest.mark.parametrize(
    ("query", "name"),
    [
        (f"query {DECLARED} {{ flag @skip(if: $v) }}", None),
        (f"query {DECLARED} {{ ...F }} {FRAGMENTS}", None),
        (BOTH, "A"),
    ],
)
async def test_null_is_rejected_before_anything_runs(query: str, name: str | None) -> None:
    engine = Engine(SCHEMA)
    for _ in range(2):
        result = await engine.execute(query=query, variables={"v": None}, operation_name=name)
        assert (result.data, result.stage) == (None, Stage.VARIABLES)
        assert result.errors
        (error,) = result.errors
        assert error.message == "Variable '$v' must not be null: @skip or @include needs it."
    assert not engine.counters.delegated


async def test_null_is_valid_for_an_operation_that_has_the_variable_in_no_directive() -> None:
    result = await Engine(SCHEMA).execute(query=BOTH, variables={"v": None}, operation_name="B")
    assert (result.data, result.errors) == ({"flag": True}, [])


async def test_an_omitted_variable_has_its_default() -> None:
    result = await Engine(SCHEMA).execute(query=BOTH, operation_name="A")
    assert (result.data, result.errors) == ({"flag": True}, [])
