"""The static cost of an operation: its weights, list sizes, fragments, conditions and variables."""

from typing import Annotated, Any

import pytest
import strawberry
from graphql import FieldNode, OperationDefinitionNode, parse
from strawberry import ID

from engine import (
    PAGE,
    Engine,
    EngineSettings,
    ListSize,
    Parents,
    batched,
    length_of,
    weighed,
)
from engine.list_size import list_size
from tests.support.call_counts import count_calls

SETTINGS = EngineSettings(
    request_weight=10, introspection_weight=700, mutation_weight=500, key_character_weight=0.5
)


@strawberry.interface
class Node:
    @batched(metadata=weighed(call=0, row=1, item=0))
    def id(rows: Parents[int]) -> list[ID]:
        return [ID(str(row)) for row in rows]


@strawberry.type
class Page:
    @batched(
        graphql_type=list[Annotated["User", strawberry.lazy("tests.unit.engine.test_cost")]],
        metadata=weighed(call=0, row=0, item=2, size=PAGE),
    )
    def nodes(rows: Parents[int]) -> list[list[int]]:
        return [[] for _ in rows]

    @batched(metadata=weighed(call=0, row=3, item=0))
    def total(rows: Parents[int]) -> list[int]:
        return list(rows)


FIRST = ListSize(("first", "last"), default=20, maximum=100)


@strawberry.input
class Filter:
    name: str | None = None


@strawberry.type
class User(Node):
    @batched(
        graphql_type=Page,
        metadata=weighed(
            call=100, row=5, item=1, page=FIRST, entry=0.5, given={"after": 40, "filter": 300}
        ),
    )
    def friends(
        rows: Parents[int],
        first: int | None = None,
        last: int | None = None,
        after: str | None = None,
        filter: Filter | None = None,  # noqa: A002
    ) -> list[int]:
        return list(rows)

    @batched(metadata=weighed(call=0, row=7, item=4, size=length_of("ids", maximum=1_000)))
    def mask(rows: Parents[int], ids: list[ID]) -> list[str]:
        return ["" for _ in rows]


@strawberry.type
class Group(Node):
    @batched(metadata=weighed(call=0, row=50, item=0))
    def name(rows: Parents[int]) -> list[str]:
        return ["" for _ in rows]


@strawberry.input
class Changes:
    ids: list[ID]


@strawberry.type
class Query:
    @batched(graphql_type=User | None, metadata=weighed(call=0, row=0, item=1))
    def user(roots: Parents[None]) -> list[int]:
        return [1]

    @batched(graphql_type=Node | None, metadata=weighed(call=0, row=0, item=1))
    def node(roots: Parents[None]) -> list[int]:
        return [1]

    @batched(
        graphql_type=list[User],
        metadata=weighed(call=0, row=0, item=1, size=length_of("ids", maximum=1_000)),
    )
    def users(roots: Parents[None], ids: list[ID]) -> list[list[int]]:
        return [[int(one) for one in ids]]

    plain: int = 1


@strawberry.type
class Mutation:
    @batched(
        graphql_type=Page,
        metadata=weighed(call=0, row=0, item=1, page=length_of("input.ids", maximum=50), entry=30),
    )
    def change(roots: Parents[None], input: Changes) -> list[int]:  # noqa: A002
        return [1]


ENGINE = Engine(strawberry.Schema(Query, Mutation, types=[User, Group]), SETTINGS)


def cost(query: str, **variables: Any) -> int:
    operation = ENGINE.prepare(query)
    return operation.cost(operation.variables.coerce(variables))


def page(size: int, each: float = 0) -> float:
    """The cost of one page of friends whose users cost `each`, without the 100 of the call."""
    return 5 + 1 + size * 0.5 + size * (2 + each)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("{ __typename }", 0),
        ("{ user { id } }", 1 + 1),
        ("{ a: user { id } b: user { id id } }", 2 * (1 + 1)),
        ("{ user { friends { total } } }", 1 + 100 + 5 + 1 + 20 * 0.5 + 3),
        ("{ user { friends { nodes { id } } } }", 1 + 100 + page(20, 1)),
        ("{ user { friends(first: null) { nodes { id } } } }", 1 + 100 + page(20, 1)),
        ("{ user { friends(first: 7) { nodes { id } } } }", 1 + 100 + page(7, 1)),
        ("{ user { friends(last: 7) { nodes { id } } } }", 1 + 100 + page(7, 1)),
        ("{ user { friends(first: 0) { nodes { id } } } }", 1 + 100 + page(0, 1)),
        ("{ user { friends(first: 999) { nodes { id } } } }", 1 + 100 + page(100, 1)),
        (
            "{ user { friends(first: 10) { nodes { friends(first: 10) { nodes { id } } } } } }",
            1 + 100 + 100 + page(10, page(10, 1)),
        ),
        ('{ user { mask(ids: ["1", "2", "3"]) } }', 1 + 7 + 3 * 4),
        ('{ user { mask(ids: "1") } }', 1 + 7 + 1 * 4),
        ('{ users(ids: ["1", "2"]) { mask(ids: ["1", "2", "3"]) } }', 2 * (1 + 7 + 3 * 4)),
        ("{ node { id } }", 1 + 1),
        ("{ node { ... on User { id } ... on Group { id name } } }", 1 + 1 + 50),
        ("{ __schema { description } }", 700),
        ('{ user { id __typename } __type(name: "User") { name } }', 2 + 700),
    ],
)
def test_the_cost_is_the_sum_of_the_weights(query: str, expected: float) -> None:
    assert cost(query) == -(-(10 + expected) // 1)


@pytest.mark.parametrize(
    ("query", "waits"),
    [
        ("{ user { id } }", 0),
        ("{ user { friends { nodes { id } } } }", 99),
        ("{ a: user { friends { total } } b: user { friends { nodes { id } } } }", 2 * 99),
        ("{ user { friends { nodes { friends { nodes { id } } } } } }", 2 * 99),
        ('mutation { a: change(input: { ids: "1" }) { total } }', 500),
        ("{ __schema { description } }", 0),
    ],
)
def test_calls_and_mutations_wait(query: str, waits: float) -> None:
    operation = ENGINE.prepare(query)
    operation.cost(operation.variables.coerce({}))
    assert operation.costs.waiting_cost == waits


def test_the_waits_of_an_operation_with_conditions_are_the_least() -> None:
    operation = ENGINE.prepare(
        "query ($x: Boolean!) { user { id friends @include(if: $x) { total } } }"
    )
    for shown, waits in ((True, 99), (False, 0), (True, 0)):
        operation.cost(operation.variables.coerce({"x": shown}))
        assert operation.costs.waiting_cost == waits


@pytest.mark.parametrize(
    ("given", "size"),
    [({"n": 7}, 7), ({"n": None}, 20), ({}, 20), ({"n": 0}, 0), ({"n": 1_000}, 100)],
)
def test_a_page_size_may_be_a_variable(given: dict[str, Any], size: int) -> None:
    query = "query ($n: Int) { user { friends(first: $n) { nodes { id } } } }"
    assert cost(query, **given) == cost(
        f"{{ user {{ friends(first: {size}) {{ nodes {{ id }} }} }} }}"
    )


@pytest.mark.parametrize(
    ("given", "extra"),
    [({}, 0), ({"after": None}, 0), ({"after": "x"}, 40), ({"filter": {}}, 300)],
)
def test_an_argument_may_cost_more_if_it_is_given(given: dict[str, Any], extra: int) -> None:
    plain = cost("{ user { friends { total } } }")
    query = """query ($after: String, $filter: Filter) {
      user { friends(after: $after, filter: $filter) { total } }
    }"""
    assert cost(query, **given) == plain + extra
    assert cost("{ user { friends(after: null) { total } } }") == plain
    assert cost('{ user { friends(after: "x", filter: {name: "y"}) { total } } }') == plain + 340


def test_the_default_of_a_variable_counts() -> None:
    query = "query ($n: Int = 9) { user { friends(first: $n) { nodes { id } } } }"
    assert cost(query) == cost("{ user { friends(first: 9) { nodes { id } } } }")


def test_nested_variables_multiply() -> None:
    query = """query ($n: Int, $ids: [ID!]!) {
      user { friends(first: $n) { nodes { friends(first: $n) { nodes { mask(ids: $ids) } } } } }
    }"""
    found = cost(query, n=10, ids=["1"] * 25)
    assert found == -(-(10 + 1 + 200 + page(10, page(10, 7 + 25 * 4))) // 1)


def test_a_list_counts_by_its_length_in_literals_and_variables() -> None:
    inside = 'mutation { change(input: {ids: ["1", "2", "3"]}) { total } }'
    whole = "mutation ($input: Changes!) { change(input: $input) { total } }"
    part = "mutation ($ids: [ID!]!) { change(input: {ids: $ids}) { total } }"
    element = 'mutation ($id: ID!) { change(input: {ids: [$id, "2", $id]}) { total } }'
    ids = ["1", "2", "3"]
    expected = 10 + 500 + 1 + 3 * 30 + 3
    assert cost(inside) == expected
    assert cost(whole, input={"ids": ids}) == expected
    assert cost(part, ids=ids) == expected
    assert cost(element, id="1") == expected


@pytest.mark.parametrize("one", ["10000", "0", '"10000"', "9" * 5_000, f'"{"9" * 5_000}"'])
def test_a_literal_in_place_of_a_list_is_one_item(one: str) -> None:
    assert cost(f"{{ users(ids: {one}) {{ id }} }}") == cost('{ users(ids: ["1"]) { id } }')
    assert cost(f"mutation {{ change(input: {{ids: {one}}}) {{ total }} }}") == cost(
        'mutation { change(input: {ids: ["1"]}) { total } }'
    )


@pytest.mark.parametrize("one", [10_000, 0, "10000"])
def test_a_variable_in_place_of_a_list_is_one_item(one: object) -> None:
    assert cost("query ($ids: [ID!]!) { users(ids: $ids) { id } }", ids=one) == cost(
        '{ users(ids: ["1"]) { id } }'
    )


def test_a_page_size_of_too_many_digits_counts_as_the_maximum() -> None:
    size = list_size(_field(f"friends(first: {'9' * 5_000})"), FIRST)
    assert size == FIRST.maximum
    assert list_size(_field("friends(first: 7)"), FIRST) == 7
    assert list_size(_field("friends(first: null)"), FIRST) == FIRST.default


def _field(text: str) -> FieldNode:
    (definition,) = parse(f"{{ {text} }}").definitions
    assert isinstance(definition, OperationDefinitionNode)
    (node,) = definition.selection_set.selections
    assert isinstance(node, FieldNode)
    return node


def test_a_list_counts_up_to_its_maximum_length() -> None:
    query = "query ($ids: [ID!]!) { user { mask(ids: $ids) } }"
    assert cost(query, ids=["1"] * 5_000) == cost(query, ids=["1"] * 1_000)


def test_the_characters_of_long_response_keys_count_for_each_row() -> None:
    query = '{{ users(ids: ["1", "2", "3"]) {{ {}: __typename }} }}'
    short, longest, long = (cost(query.format("k" * length)) for length in (1, 50, 70))
    assert short == longest
    assert long == longest + 3 * 20 * 0.5


def test_every_root_field_of_a_mutation_counts() -> None:
    one = 'change(input: {ids: ["1"]}) { total }'
    once, twice = cost(f"mutation {{ {one} }}"), cost(f"mutation {{ a: {one} b: {one} }}")
    assert twice - 10 == 2 * (once - 10)


def test_equal_fields_of_several_fragments_count_once() -> None:
    query = """{ user { ...A ...B friends(first: 5) { total } } }
    fragment A on User { id friends(first: 5) { nodes { id } } }
    fragment B on User { id friends(first: 5) { nodes { id mask(ids: ["1"]) } } }"""
    assert cost(query) == cost(
        '{ user { id friends(first: 5) { total nodes { id mask(ids: ["1"]) } } } }'
    )


def test_a_fragment_counts_wherever_it_is_spread() -> None:
    fragment = 'fragment F on User { id mask(ids: "1") }'
    query = f"{{ a: user {{ ...F }} b: user {{ ...F ... {{ ...F }} }} }} {fragment}"
    assert cost(query) == cost('{ a: user { id mask(ids: "1") } b: user { id mask(ids: "1") } }')


def test_a_fragment_on_an_interface_counts_for_its_types() -> None:
    query = "{ user { ...F } } fragment F on Node { id ... on Group { name } }"
    assert cost(query) == cost("{ user { id } }")


@pytest.mark.parametrize("spread", ["mask(ids: $ids)", "... on User", "...F"])
def test_a_skipped_selection_costs_nothing(spread: str) -> None:
    selection = "{ mask(ids: $ids) }" if spread == "... on User" else ""
    query = f"""query ($ids: [ID!]!, $yes: Boolean!) {{
      user {{
        id {spread} @include(if: $yes) {selection}
        mask(ids: $ids) @skip(if: true) ...F @include(if: false)
      }}
    }} fragment F on User {{ mask(ids: $ids) }}"""
    assert cost(query, ids=["1"], yes=False) == cost("{ user { id } }")
    assert cost(query, ids=["1"], yes=True) == cost('{ user { id mask(ids: "1") } }')


def test_each_combination_of_conditions_is_compiled_once() -> None:
    query = (
        "query ($yes: Boolean!) { user { id @include(if: $yes) mask(ids: []) @skip(if: $yes) } }"
    )
    operation = ENGINE.prepare(query)
    assert cost(query, yes=True) == 10 + 1 + 1
    assert _calls(lambda: cost(query, yes=False)) > 2 * _calls(lambda: cost(query, yes=True))
    assert cost(query, yes=True) == 10 + 1 + 1
    assert operation is ENGINE.prepare(query)


def test_a_cost_without_variables_is_cached() -> None:
    operation = ENGINE.prepare("{ user { friends { nodes { id } } } }")
    values = operation.variables.coerce({})
    assert operation.cost(values) > 0
    assert _calls(lambda: operation.cost(values)) == 2  # this lambda and `cost`


def test_a_very_large_cost_is_exact() -> None:
    inner = "id"
    for _ in range(6):
        inner = f"friends(first: 100) {{ nodes {{ {inner} }} }}"
    expected = 1.0
    for _ in range(6):
        expected = page(100, expected)
    assert cost(f"{{ user {{ {inner} }} }}") == -(-(10 + 600 + 1 + expected) // 1)


def bomb(levels: int) -> str:
    """A document whose fields double with each level when its fragments are expanded."""
    fragments = "".join(
        f"fragment F{level} on User {{"
        f" a: friends(first: $n) {{ nodes {{ ...F{level + 1} }} }}"
        f" b: friends(first: $n) {{ nodes {{ ...F{level + 1} }} }} }} "
        for level in range(levels)
    )
    last = f"fragment F{levels} on User {{ id }}"
    return f"query ($n: Int) {{ user {{ ...F0 }} }} {fragments} {last}"


def test_compiling_takes_linear_time() -> None:
    engine = Engine(
        strawberry.Schema(Query, Mutation, types=[User, Group]),
        EngineSettings(max_fields=10**9, max_aliases=10**9, max_depth=100),
    )

    def compiled(levels: int) -> int:
        operation = engine.prepare(bomb(levels))
        return _calls(lambda: operation.costs.compile(()))

    small, large = compiled(6), compiled(12)
    assert large < 2.5 * small


async def test_the_cost_of_a_new_operation_is_compiled_in_a_turn_of_the_event_loop() -> None:
    operation = ENGINE.prepare("{ fresh: user { friends(first: 7) { nodes { id } } } }")
    before = ENGINE.turns.taken
    await ENGINE.compile_cost(operation, {})
    assert ENGINE.turns.taken == before + 1
    assert operation.costs.compiled
    await ENGINE.compile_cost(operation, {})
    assert ENGINE.turns.taken == before + 1


def _calls(function: Any) -> int:
    """The number of Python functions that `function` calls, itself included."""
    return count_calls(function, with_c=False)
