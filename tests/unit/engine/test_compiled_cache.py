"""Plans and costs are bounded by the number of their fields, over all documents."""

from collections.abc import Mapping
from typing import Any

from engine import Engine, EngineSettings, restricted_to
from engine.compiled import Compiled, CompiledCache
from tests.support.tree_schema import schema

CONDITIONS = ("a", "b", "c", "d")
COMBINATIONS = [
    {name: bool(bits >> place & 1) for place, name in enumerate(CONDITIONS)} for bits in range(16)
]
HOT = "{ tree { number branches(count: 2) { even } } }"


def repeating(number: int, spreads: int = 4) -> str:
    """A short document with many fields: a fragment with conditions that is spread often."""
    variables = ", ".join(f"${name}: Boolean = false" for name in CONDITIONS)
    aliases = " ".join(
        f"n{number}_{alias}: branches(count: 1) {{ ...F }}" for alias in range(spreads)
    )
    fields = ("number", "even", "odd", "size")
    skipped = " ".join(
        f"{field} @skip(if: ${name})" for field, name in zip(fields, CONDITIONS, strict=True)
    )
    return (
        f"query ({variables}) {{ tree {{ {aliases} }} }} fragment F on Tree {{ number {skipped} }}"
    )


async def run_combinations(engine: Engine, query: str) -> list[Mapping[str, Any]]:
    results = []
    for given in COMBINATIONS:
        operation = engine.prepare(query)
        operation.cost(operation.variables.coerce(given))
        results.append(await engine.execute(query=query, variables=given, context=[]))
    return [result.response() for result in results]


def fields_held(engine: Engine, *queries: str) -> int:
    operations = [engine.prepare(query) for query in queries]
    return sum(
        sum(operation.plans.fields.values()) + sum(operation.costs.compiled.fields.values())
        for operation in operations
    )


async def test_plans_of_many_documents_are_bounded_by_their_fields() -> None:
    most = 600
    engine, free = Engine(schema, EngineSettings(cached_fields=most)), Engine(schema)
    queries = [repeating(number) for number in range(10)]
    for query in queries:
        assert await run_combinations(engine, query) == await run_combinations(free, query)
        assert engine.compiled.fields == fields_held(engine, *queries) <= most
    assert fields_held(free, *queries) > 5 * most
    assert await run_combinations(engine, queries[0]) == await run_combinations(free, queries[0])


async def test_each_field_of_a_fragment_counts_at_each_spread() -> None:
    few, many = Engine(schema), Engine(schema)
    await run_combinations(few, repeating(1, spreads=2))
    await run_combinations(many, repeating(1, spreads=20))
    assert many.compiled.fields > 5 * few.compiled.fields


async def test_a_plan_in_use_outlives_a_flood_of_documents() -> None:
    engine = Engine(schema, EngineSettings(cached_fields=600))
    first = await engine.execute(query=HOT, context=[])
    plan = engine.prepare(HOT).plans[()]
    for number in range(10):
        assert (await engine.execute(query=HOT, context=[])).response() == first.response()
        await run_combinations(engine, repeating(number))
    assert engine.prepare(HOT).plans[()] is plan


async def test_a_cleared_plan_is_compiled_again() -> None:
    engine = Engine(schema, EngineSettings(cached_fields=600))
    first = await engine.execute(query=HOT, context=[])
    for number in range(10):
        await run_combinations(engine, repeating(number))
    assert not engine.prepare(HOT).plans
    assert (await engine.execute(query=HOT, context=[])).response() == first.response()
    assert engine.prepare(HOT).plans


async def test_a_plan_above_the_bound_runs_without_being_cached() -> None:
    engine = Engine(schema, EngineSettings(cached_fields=10))
    query = repeating(1)
    assert await run_combinations(engine, query) == await run_combinations(Engine(schema), query)
    assert engine.compiled.fields <= 10


async def test_an_evicted_document_drops_its_plans() -> None:
    engine = Engine(schema, EngineSettings(cached_documents=1))
    await run_combinations(engine, repeating(1))
    evicted = engine.prepare(repeating(1))
    await engine.execute(query=HOT, context=[])
    assert not evicted.plans
    assert not evicted.costs.compiled
    assert engine.compiled.fields == fields_held(engine, HOT)
    assert len(engine.compiled) == 1


def test_plans_end_with_their_operation() -> None:
    cache = CompiledCache(fields=100, entries=2)
    compiled: Compiled[str] = Compiled()
    cache.put(compiled, (), "a plan", 7)
    assert cache.fields == 7
    del compiled
    assert (len(cache), cache.fields) == (0, 0)


def test_the_plans_of_a_restricted_operation_are_its_own() -> None:
    operation = Engine(schema).prepare("{ now tree { number } }")
    restricted = restricted_to(operation, "now")
    assert restricted.plans is not operation.plans
    assert restricted.costs.compiled is not operation.costs.compiled


def test_the_oldest_entry_of_an_operation_is_replaced() -> None:
    cache = CompiledCache(fields=100, entries=2)
    compiled: Compiled[str] = Compiled()
    for number in range(3):
        cache.put(compiled, (number,), "a plan", 10)
    assert list(compiled) == [(1,), (2,)]
    assert cache.fields == 20
    cache.grow(compiled, (0,), 10)  # it runs to its end, and is no longer cached
    cache.grow(compiled, (1,), 5)
    assert cache.fields == 25
