"""The engine answers like graphql-core, on random operations over a schema that often fails.

`pytest -m long` draws 150 times as many, with new seeds each time. How errors are compared is
described in `tests.support.answer_comparison`.
"""

import asyncio
import gc
from random import Random

import pytest
from graphql import GraphQLField, OperationType

from engine import Engine, slices
from tests.support.answer_comparison import Answer, by_graphql_core
from tests.support.random_inputs import Draw
from tests.support.random_operations import Operations
from tests.support.seeds import UNBOUNDED, Endings, assert_planned, for_seeds
from tests.support.zoo_schema import schema

# graphql-core leaves coroutines behind when a sibling of theirs fails.
pytestmark = [
    pytest.mark.filterwarnings("ignore:coroutine .* was never awaited:RuntimeWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

EXAMPLES = 350

VALUES: dict[str, Draw] = {
    "ID": lambda random: str(random.randint(0, 60)),
    "Int": lambda random: random.choice((0, 1, 2, 3, 4, 5, 13, -1)),
    "String": lambda random: random.choice(("", "a", 'ü\n"')),
    "Float": lambda random: random.choice((0, 1.5, -2e9)),
    "Boolean": lambda random: random.random() < 0.5,
    "DateTime": lambda random: random.choice(("2024-01-01T00:00:00Z",) * 9 + ("today",)),
    "Tag": lambda random: random.choice(("good",) * 9 + ("bad",)),
}


def never_waits(definition: GraphQLField) -> bool:
    return not definition.extensions["strawberry-definition"].is_async


class Comparison:
    """Runs random operations with both engines, and counts how they ended."""

    def __init__(self, kind: OperationType, *, in_order: bool) -> None:
        allowed = never_waits if in_order else lambda field: True
        self._operations = Operations(schema._schema, VALUES, allowed)
        self._kind = kind
        self._in_order = in_order
        self._runner = asyncio.Runner()
        self.engine = Engine(schema, UNBOUNDED)
        self._ended = Endings()

    def compare_seed(self, seed: int) -> None:
        request = self._operations.draw(Random(seed), self._kind)
        self._runner.run(self._compare(request.query, request.variables))

    async def _compare(self, query: str, variables: dict[str, object]) -> None:
        expected_calls: list[str] = []
        calls: list[str] = []
        expected = await by_graphql_core(schema, query, variables, expected_calls)
        result = await self.engine.execute(query=query, variables=variables, context=calls)
        answer = Answer(result.data, result.errors)
        answer.assert_equals(expected, in_order=self._in_order)
        assert calls == expected_calls
        self._ended.count(result)

    def close(self, examples: int) -> None:
        """End, and assert that the results were varied and that the engine ran most operations."""
        self._runner.close()
        gc.collect()  # while the warnings of graphql-core's lost coroutines are still ignored
        self._ended.assert_varied(examples)
        assert_planned(self.engine.counters, examples)
        if self._kind is OperationType.MUTATION:
            assert self.engine.counters.bailed_out, "graphql-core has continued some mutations"


def compare(
    examples: int,
    kind: OperationType = OperationType.QUERY,
    *,
    in_order: bool,
    derandomize: bool,
) -> None:
    comparison = Comparison(kind, in_order=in_order)
    for_seeds(comparison.compare_seed, examples, derandomize=derandomize)
    comparison.close(examples)


def test_synchronous_operations_have_equal_answers_and_all_errors_in_order() -> None:
    compare(EXAMPLES, in_order=True, derandomize=True)


def test_operations_with_async_resolvers_have_equal_answers() -> None:
    compare(EXAMPLES, in_order=False, derandomize=True)


@pytest.mark.parametrize("in_order", [True, False])
def test_mutations_have_equal_answers_and_call_the_same_resolvers_in_order(
    in_order: bool,
) -> None:
    compare(EXAMPLES // 3, OperationType.MUTATION, in_order=in_order, derandomize=True)


def test_operations_with_columns_filled_in_slices_have_equal_answers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(slices, "LONG_COLUMN", 1)
    monkeypatch.setattr(slices, "SLICE_BYTES", 50)
    compare(EXAMPLES // 3, in_order=True, derandomize=True)
    compare(EXAMPLES // 3, in_order=False, derandomize=True)
    compare(EXAMPLES // 3, OperationType.MUTATION, in_order=True, derandomize=True)


@pytest.mark.long
@pytest.mark.parametrize("kind", [OperationType.QUERY, OperationType.MUTATION])
@pytest.mark.parametrize("in_order", [True, False])
def test_many_more_operations_have_equal_answers(kind: OperationType, in_order: bool) -> None:
    compare(150 * EXAMPLES, kind, in_order=in_order, derandomize=False)
