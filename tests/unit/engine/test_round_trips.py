"""Resolvers are called once for each level of an operation, and once for equal fields."""

import asyncio
import gc

from engine import Engine
from engine.codegen import object_builder
from tests.support.tree_schema import Calls, answer, schema

DEADLINE_S = 5


class WatchedCalls(Calls):
    """Calls, with an event for the first one."""

    def __init__(self, watched: tuple[str, int]) -> None:
        super().__init__()
        self._watched = watched
        self.seen = asyncio.Event()

    def append(self, call: tuple[str, int]) -> None:
        super().append(call)
        if call == self._watched:
            self.seen.set()


async def test_round_trips_depend_on_depth_and_not_on_breadth() -> None:
    calls: Calls = []
    query = "{ tree { size branches(count: 5) { a: number branches { size } } } }"
    await answer(query, context=calls)
    assert sorted(calls) == [("branches", 1), ("branches", 5), ("size", 1), ("size", 15)]


async def test_a_slow_field_does_not_delay_other_fields() -> None:
    calls = WatchedCalls(("size", 9))
    query = "{ tree { forever branches { branches { size } } } }"
    executing = asyncio.create_task(answer(query, context=calls))
    async with asyncio.timeout(DEADLINE_S):
        await calls.seen.wait()
    executing.cancel()
    await asyncio.wait([executing], timeout=DEADLINE_S)
    assert calls[-1] == ("cancelled", 1)


async def test_equal_fields_of_several_aliases_are_one_call() -> None:
    calls: Calls = []
    aliases = " ".join(f"t{number}: tree(number: {number}) {{ size }}" for number in range(20))
    response = await answer(f"{{ {aliases} other: tree {{ size(scale: 2) }} }}", context=calls)
    assert calls == [("size", 20), ("size", 1)]
    assert response["data"]["t7"] == {"size": 7}
    assert response["data"]["other"] == {"size": 2}


async def test_graphql_core_batches_with_the_same_resolvers() -> None:
    calls: Calls = []
    result = await schema.execute("{ tree { branches { size } } }", context_value=calls)
    assert result.errors is None
    assert calls == [("branches", 1), ("size", 3)]


async def test_objects_of_equal_derived_fields_are_shared_by_responses() -> None:
    engine = Engine(schema)
    result = await engine.execute(
        query="{ tree { branches(count: 4) { even odd __typename } } }", context=[]
    )
    assert result.data is not None
    one, two = result.data["tree"]["branches"][:2]
    assert one == {"even": True, "odd": False, "__typename": "Tree"}
    assert two == {"even": False, "odd": True, "__typename": "Tree"}
    again = await engine.execute(
        query="{ tree { branches(count: 4) { even odd __typename } } }", context=[]
    )
    assert again.data is not None
    assert again.data["tree"]["branches"][0] is one


def test_rows_are_built_of_columns_and_constants() -> None:
    assert object_builder(("a",), {})(2, ["x", "y"]) == [{"a": "x"}, {"a": "y"}]
    assert object_builder(("t",), {"t": "T"})(2) == [{"t": "T"}, {"t": "T"}]
    assert object_builder((), {})(1) == [{}]
    assert list(object_builder(("b", "t", "a"), {"t": "T"})(1, [2], [3])[0]) == ["b", "t", "a"]


async def test_a_response_leaves_no_cyclic_garbage() -> None:
    engine = Engine(schema)
    query = "{ a: tree { size branches { number even size } } b: tree { size } }"
    for _ in range(3):
        await engine.execute(query=query, context=[])
    gc.collect()
    gc.disable()
    try:
        for _ in range(10):
            await engine.execute(query=query, context=[])
        assert gc.collect() == 0
    finally:
        gc.enable()
