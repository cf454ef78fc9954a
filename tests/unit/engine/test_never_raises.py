"""Every request has a result, even if resolvers fail. It is that of graphql-core, if it has one."""

from typing import Any

import pytest

from engine import Engine, Stage
from engine.awaiting import AwaitableCancelled
from engine.errors import Unsupported
from tests.support.answer_comparison import Answer, by_graphql_core
from tests.support.misbehaving_schema import VALUES, schema
from tests.support.tree_schema import schema as tree

NINES = "9" * 5_000
LEAVES = ["moment", "id", "whole", "ratio", "text", "flag", "anything"]
LISTS = ["moments", "ids", "numbers", "lists"]
CANCELLED_MESSAGE = str(AwaitableCancelled())

# graphql-core leaves coroutines behind where it fails.
pytestmark = pytest.mark.filterwarnings("ignore:coroutine .* was never awaited:RuntimeWarning")


async def assert_same_as_graphql_core(
    query: str, *, in_order: bool = True, **variables: Any
) -> None:
    expected = await by_graphql_core(schema, query, variables)
    engine = Engine(schema)
    for _ in range(2):  # the second time from the caches
        result = await engine.execute(query=query, variables=variables)
        Answer(result.data, result.errors).assert_equals(expected, in_order=in_order)


@pytest.mark.parametrize("name", VALUES)
@pytest.mark.parametrize("field", LEAVES + LISTS)
async def test_any_value_of_any_leaf_is_answered_as_by_graphql_core(field: str, name: str) -> None:
    await assert_same_as_graphql_core(f'{{ {field}(of: "{name}") }}')


@pytest.mark.parametrize("name", VALUES)
async def test_any_value_in_place_of_a_row_is_answered_as_by_graphql_core(name: str) -> None:
    await assert_same_as_graphql_core(f'{{ odd(of: "{name}") {{ number slow }} }}')
    await assert_same_as_graphql_core(f'{{ odds(of: "{name}") {{ number slow }} }}')


@pytest.mark.parametrize("name", ["error", "stop", "group", "number", "class"])
async def test_every_exception_is_reported_as_by_graphql_core(name: str) -> None:
    await assert_same_as_graphql_core(f'{{ raises(of: "{name}") }}')
    await assert_same_as_graphql_core(
        f'{{ raisesLater(of: "{name}") raises(of: "{name}") }}', in_order=False
    )


@pytest.mark.parametrize("field", ["odd", "odds"])
@pytest.mark.parametrize(
    "selection",
    [
        "length",
        "length first",
        "length number",
        "stop",
        "stop number",
        "derivedStop",
        "derivedStop number",
        "batchStop",
        "short",
        "nothing",
        "uneven",
        "number root { __schema { queryType { name } } }",
        'slow root { __type(name: "Odd") { name } }',
    ],
)
async def test_odd_columns_are_answered_as_by_graphql_core(field: str, selection: str) -> None:
    await assert_same_as_graphql_core(f"{{ {field} {{ {selection} }} }}")


@pytest.mark.parametrize(
    "query",
    [
        "{ root { __schema { queryType { name } } echo } }",
        '{ root { ... { __type(name: "Odd") { name } } } }',
        '{ one(one: {left: 1, right: "x"}) }',
        "{ one(one: {}) }",
        "{ one(one: {left: 1}) root { one(one: {}) } }",
        "{ ones(ones: {}) }",
        "{ ones(ones: [{}, {left: 1}]) }",
        "query($n: Int) { one(one: {left: $n}) }",
        'query($o: One! = {left: 1, right: "x"}) { one(one: $o) }',
        'fragment F on Query { one(one: {left: 1, right: "x"}) } { ...F }',
        f"{{ echo(id: {NINES}) }}",
        f"{{ echo(whole: {NINES}) }}",
        f"{{ echo(ratio: {NINES}) }}",
        "{ echo(ratio: 1e999) }",
        "query($r: Float = 1e999) { echo(ratio: $r) }",
        f"query($n: Int = {NINES}) {{ echo(whole: $n) }}",
        f"query($i: ID = {NINES}) {{ echo(id: $i) }}",
        'query($a: Anything = "stop") { echo(anything: $a) }',
        '{ echo(anything: "stop") }',
        "query($l: [[Int!]!] = 5) { echo(lists: $l) }",
        "{ echo(lists: []) }",
        f"{{ echo(lists: {'[' * 1_000}{']' * 1_000}) }}",
        f"{{ echo(deep: {'{inner: ' * 90}{{}}{'}' * 90}) }}",
        f"query($d: {'[' * 1_000}Int{']' * 1_000}) {{ echo }}",
        "fragment F on Query { ...F } { ...F }",
        "fragment F on Query { ...G } fragment G on Query { ...F } { ...F }",
        "{ a: echo a: root { echo } }",
        "{ a: echo(whole: 1) a: echo(whole: 2) }",
        "{ a: __typename a: __typename }",
        "{ echo @skip(if: true) @include(if: true) }",
        "{ echo @skip(if: false) @skip(if: false) }",
        "query @skip(if: true) { echo }",
        "query($b: Boolean! @skip(if: true)) { echo @skip(if: $b) }",
        "query($b: Boolean = null) { echo @skip(if: $b) }",
        "query($b: [Boolean!]! = true) { echo @skip(if: $b) }",
        "query($n: Nothing) { echo(whole: $n) }",
        "query($n: Int, $n: Int) { echo(whole: $n) }",
        "{ echo @defer }",
        "",
        "\ud800",
        '{ text(of: "\\ud800") }',
        "type Query { echo: Int }",
        "{ root {} }",
    ],
)
async def test_odd_documents_are_answered_as_by_graphql_core(query: str) -> None:
    await assert_same_as_graphql_core(query)


@pytest.mark.parametrize(
    ("declared", "value"),
    [
        ("$whole: Int", float("nan")),
        ("$whole: Int", float("inf")),
        ("$ratio: Float", float("nan")),
        ("$ratio: Float", 10**400),
        ("$id: ID", float("inf")),
        ("$lists: [[Int!]!]", [3, [4], []]),
        ("$lists: [[Int!]!]", {"a": []}),
        ("$lists: [[Int!]!]", iter([])),
        ("$anything: Anything", "stop"),
        ("$anything: Anything", object),
    ],
)
async def test_odd_variables_are_answered_as_by_graphql_core(declared: str, value: Any) -> None:
    name = declared[1 : declared.index(":")]
    await assert_same_as_graphql_core(
        f"query({declared}) {{ echo({name}: ${name}) }}", **{name: value}
    )


async def test_deeply_nested_variables_are_answered_as_by_graphql_core() -> None:
    deep: dict[str, Any] = {}
    for _ in range(3_000):
        deep = {"inner": deep}
    await assert_same_as_graphql_core("query($d: Deep) { echo(deep: $d) }", d=deep)


@pytest.mark.parametrize(
    ("query", "variables", "stage"),
    [
        ("query($id: ID) { echo(id: $id) }", {"id": 10**5000}, Stage.VARIABLES),
        ("query($a: Anything) { echo(anything: $a) }", {"a": "unprintable"}, Stage.VARIABLES),
        ('{ echo(anything: "unprintable") }', {}, Stage.VALIDATION),
        ("query { one(one: {left: $n}) }", {}, Stage.VALIDATION),
        ("mutation { cancelled }", {}, Stage.EXECUTION),
        ("{ cancels }", {}, Stage.EXECUTION),
        ("{ unprintable }", {}, Stage.EXECUTION),
    ],
)
async def test_requests_that_make_graphql_core_raise_have_a_result(
    query: str, variables: dict[str, Any], stage: Stage
) -> None:
    result = await Engine(schema).execute(query=query, variables=variables)
    assert result.stage is stage
    assert len(result.errors) == 1


async def test_an_error_that_cannot_be_printed_affects_no_other_field() -> None:
    result = await Engine(schema).execute(query="{ unprintable root { echo } }")
    assert result.data is not None
    assert result.data["root"] is not None
    assert [(error.message, error.path) for error in result.errors] == [
        ("Unprintable", ["unprintable"])
    ]


@pytest.mark.parametrize("field", ["odd", "odds"])
@pytest.mark.parametrize("name", ["cancelled", "cancelledBatch", "soonCancelled"])
async def test_a_field_whose_future_was_cancelled_affects_no_other_field(
    field: str, name: str
) -> None:
    result = await Engine(schema).execute(query=f"{{ {field} {{ {name} slow }} }}")
    rows = 2 if field == "odds" else 1
    found: Any = result.data
    assert found[field] in ({name: None, "slow": 3}, [{name: None, "slow": 3}] * rows)
    assert [error.message for error in result.errors] == [CANCELLED_MESSAGE] * rows


async def test_a_cancelled_batch_field_is_an_error_of_both_its_aliases() -> None:
    query = "{ a: odd { cancelledBatch } b: odd { cancelledBatch } }"
    result = await Engine(schema).execute(query=query)
    assert result.data == {"a": {"cancelledBatch": None}, "b": {"cancelledBatch": None}}
    assert [error.message for error in result.errors] == [CANCELLED_MESSAGE] * 2


async def test_if_a_plan_fails_graphql_core_runs_the_operation(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    engine = Engine(tree)
    compiling = engine._executor._compiler.compiling

    def broken(*given: Any) -> Any:
        found = yield from compiling(*given)
        monkeypatch.setattr(type(found.steps[0]), "execute", lambda *_: 1 / 0)
        return found

    monkeypatch.setattr(engine._executor._compiler, "compiling", broken)
    result = await engine.execute(query="{ tree { number } }")
    assert result.response() == {"data": {"tree": {"number": 1}}}
    assert engine.counters.bailed_out == {"failed": 1}
    assert "division by zero" in caplog.text


async def test_an_operation_that_cannot_be_compiled_is_left_to_graphql_core(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    engine = Engine(tree)
    monkeypatch.setattr(engine._executor._compiler, "compiling", lambda *_: 1 / 0)
    result = await engine.execute(query="{ tree { number } }")
    assert result.response() == {"data": {"tree": {"number": 1}}}
    assert engine.counters.delegated == {"failed": 1}
    assert "division by zero" in caplog.text
    (left,) = [engine.prepare("{ tree { number } }").plans.get(())]
    assert isinstance(left, Unsupported)


async def test_a_subscription_executed_as_a_query_is_answered_as_by_graphql_core() -> None:
    await assert_same_as_graphql_core("subscription { ticks }")
