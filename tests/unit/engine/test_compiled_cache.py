"""The cache of plans and costs is limited by the number of their fields, over all documents."""

from collections.abc import Mapping
from typing import Any

from engine import Engine, EngineSettings, restricted_to
from engine.compiled import Compiled, CompiledCache
from tests.support.tree_schema import schema

CONDITIONS = ("a", "b", "c", "d")
COMBINATIONS = [
    {name: bool(bits >> bit & 1) for bit, name in enumerate(CONDITIONS)} for bits in range(16)
]
FREQUENT = "{ tree { number branches(count: 2) { even } } }"


def repetitive_query(number: int, spreads: int = 4) -> str:
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


def cached_fields(engine: Engine, *queries: str) -> int:
    operations = [engine.prepare(query) for query in queries]
    return sum(
        sum(operation.plans.fields.values()) + sum(operation.costs.compiled.fields.values())
        for operation in operations
    )


async def test_plans_of_many_documents_are_limited_by_their_fields() -> None:
    fields_max = 600
    engine, unlimited = Engine(schema, EngineSettings(cached_fields=fields_max)), Engine(schema)
    queries = [repetitive_query(number) for number in range(10)]
    for query in queries:
        assert await run_combinations(engine, query) == await run_combinations(unlimited, query)
        assert engine.compiled.fields == cached_fields(engine, *queries) <= fields_max
    assert cached_fields(unlimited, *queries) > 5 * fields_max
    assert await run_combinations(engine, queries[0]) == await run_combinations(
        unlimited, queries[0]
    )


async def test_each_field_of_a_fragment_counts_at_each_spread() -> None:
    few, many = Engine(schema), Engine(schema)
    await run_combinations(few, repetitive_query(1, spreads=2))
    await run_combinations(many, repetitive_query(1, spreads=20))
    assert many.compiled.fields > 5 * few.compiled.fields


async def test_a_plan_in_use_stays_cached_while_many_documents_are_compiled() -> None:
    engine = Engine(schema, EngineSettings(cached_fields=600))
    first = await engine.execute(query=FREQUENT, context=[])
    plan = engine.prepare(FREQUENT).plans[()]
    for number in range(10):
        assert (await engine.execute(query=FREQUENT, context=[])).response() == first.response()
        await run_combinations(engine, repetitive_query(number))
    assert engine.prepare(FREQUENT).plans[()] is plan


async def test_a_cleared_plan_is_compiled_again() -> None:
    engine = Engine(schema, EngineSettings(cached_fields=600))
    first = await engine.execute(query=FREQUENT, context=[])
    for number in range(10):
        await run_combinations(engine, repetitive_query(number))
    assert not engine.prepare(FREQUENT).plans
    assert (await engine.execute(query=FREQUENT, context=[])).response() == first.response()
    assert engine.prepare(FREQUENT).plans


async def test_a_plan_above_the_limit_runs_without_being_cached() -> None:
    engine = Engine(schema, EngineSettings(cached_fields=10))
    query = repetitive_query(1)
    assert await run_combinations(engine, query) == await run_combinations(Engine(schema), query)
    assert engine.compiled.fields <= 10


async def test_an_evicted_document_drops_its_plans() -> None:
    engine = Engine(schema, EngineSettings(cached_documents=1))
    await run_combinations(engine, repetitive_query(1))
    evicted = engine.prepare(repetitive_query(1))
    await engine.execute(query=FREQUENT, context=[])
    assert not evicted.plans
    assert not evicted.costs.compiled
    assert engine.compiled.fields == cached_fields(engine, FREQUENT)
    assert len(engine.compiled) == 1


def test_plans_are_dropped_with_their_operation() -> None:
    cache = CompiledCache(fields=100, entries=2)
    compiled: Compiled[str] = Compiled()
    cache.put(compiled, (), "a plan", 7)
    assert cache.fields == 7
    del compiled
    assert (len(cache), cache.fields) == (0, 0)


def test_a_restricted_operation_has_separate_plans() -> None:
    operation = Engine(schema).prepare("{ now tree { number } }")
    restricted = restricted_to(operation, "now")
    assert restricted.plans is not operation.plans
    assert restricted.costs.compiled is not operation.costs.compiled


async def test_a_restricted_operation_is_compiled_once() -> None:
    engine = Engine(schema)
    operation = engine.prepare("{ now tree { number } }")
    for _ in range(2):
        restricted = restricted_to(operation, "now")
        values = restricted.variables.coerce({})
        restricted.cost(values)
        await engine.run_coerced(restricted, values, [])
    assert restricted_to(operation, "now") is restricted
    assert len(restricted.plans) == len(restricted.costs.compiled) == 1
    assert "now" not in restricted.restricted


def test_the_oldest_entry_of_an_operation_is_replaced() -> None:
    cache = CompiledCache(fields=100, entries=2)
    compiled: Compiled[str] = Compiled()
    for number in range(3):
        cache.put(compiled, (number,), "a plan", 10)
    assert list(compiled) == [(1,), (2,)]
    assert cache.fields == 20
    cache.grow(compiled, (0,), 10)  # no longer cached, so its fields do not count
    cache.grow(compiled, (1,), 5)
    assert cache.fields == 25
