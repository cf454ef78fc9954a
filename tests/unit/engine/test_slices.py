"""Long columns are computed in slices, each in another iteration of the event loop."""

import asyncio
import gc
import math
from collections import Counter
from dataclasses import replace
from typing import Any

import orjson
import pytest

from engine import Engine, EngineSettings, compiler, slices
from engine.codegen import KEYS_MAX, object_builder
from engine.compiler import FIELDS_PER_SLICE
from engine.parts import ROWS_PER_CALL
from engine.plan import FieldColumns
from engine.run import Field, Rows, Run
from engine.turns import Turns
from tests.support.loop_ticks import LoopTicks, loop_ticks
from tests.support.tree_schema import Calls, answer, schema

WIDE = "{ tree { branches(count: 300) { branches(count: 40) { number even size } } } }"
SQUARE = "{ tree { branches(count: 100) { branches(count: 100) { number even size } } } }"
LONG = "{ tree { branches(count: 9000) { number even size } } }"
LIGHT = "branches(count: 300) { number even }"
ROWS_MAX = 5_000
"""The most rows of one short field in a slice of `slices.SLICE_BYTES`."""


class RowsPerIteration:
    """Counts the rows that are built in each iteration of the event loop."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.rows: Counter[int] = Counter()
        self.sizes: list[int] = []
        """The rows that were built together."""
        self._tick = 0
        real = FieldColumns.execute

        def counting(columns: FieldColumns, rows: Rows, run: Run) -> list[dict[str, object]]:
            self.rows[self._tick] += len(rows)
            self.sizes.append(len(rows))
            return real(columns, rows, run)

        monkeypatch.setattr(FieldColumns, "execute", counting)
        asyncio.get_running_loop().call_soon(self._count)

    def _count(self) -> None:
        self._tick += 1
        self._handle = asyncio.get_running_loop().call_soon(self._count)


class CountedCalls(list[tuple[str, int]]):
    """Calls of resolvers, whose rows are counted in each iteration of the event loop."""

    def __init__(self, ticks: LoopTicks) -> None:
        super().__init__()
        self._ticks = ticks

    def append(self, call: tuple[str, int]) -> None:
        self._ticks.add(*call)


@pytest.mark.parametrize(("query", "rows"), [(WIDE, 12_302), (LONG, 9_002), (SQUARE, 10_102)])
async def test_no_iteration_of_the_loop_builds_more_than_a_slice(
    query: str, rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    ticks = RowsPerIteration(monkeypatch)
    calls: Calls = []
    result = await Engine(schema).execute(query=query, context=calls)
    assert not result.errors
    assert result.rows == ticks.rows.total() == rows
    assert max(ticks.rows.values()) <= ROWS_MAX
    sizes = [count for name, count in calls if name == "size"]
    assert sum(sizes) == rows - 2 - {WIDE: 300, LONG: 0, SQUARE: 100}[query]
    assert len(sizes) == math.ceil(sum(sizes) / ROWS_PER_CALL)


async def test_resolvers_get_a_part_of_many_rows_in_each_iteration_of_the_event_loop() -> None:
    fields = " ".join(f"of{n}: size(scale: {n})" for n in range(4))
    query = f"{{ tree {{ branches(count: 9000) {{ {fields} }} }} }}"
    async with loop_ticks() as ticks:
        result = await Engine(schema).execute(query=query, context=CountedCalls(ticks))
    assert not result.errors
    assert ticks.total["size"] == 4 * 9_000
    assert ticks.most["size"] <= ROWS_PER_CALL


async def test_an_error_of_a_part_of_the_rows_is_an_error_of_all_rows() -> None:
    """The result is the same as without parts. Further parts are not read, because each could wait
    for a timeout."""
    calls: Calls = []
    query, settings = "{ tree { branches(count: 4500) { failing } } }", EngineSettings()
    settings = replace(settings, max_field_errors=10_000)
    response = await answer(query, settings, context=calls)
    assert [rows for name, rows in calls if name == "failing"] == [ROWS_PER_CALL]
    failed = [branch["failing"] for branch in response["data"]["tree"]["branches"]]
    assert failed == [None] * 4_500
    assert len(response["errors"]) == 4_500


async def test_a_long_column_of_light_rows_takes_no_turns_after_its_first_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    waits: list[Turns] = []
    real = Turns.wait

    async def wait(turns: Turns) -> None:
        waits.append(turns)
        await real(turns)

    monkeypatch.setattr(Turns, "wait", wait)
    engine, query = Engine(schema), f"{{ tree {{ {LIGHT} }} }}"
    first = await engine.execute(query=query, context=[])
    assert waits
    waits.clear()
    second = await engine.execute(query=query, context=[])
    assert not waits
    assert second.data == first.data


async def test_the_first_slice_is_as_long_as_the_others_when_the_rows_are_known(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows = RowsPerIteration(monkeypatch)
    engine, query = Engine(schema), "{ tree { branches(count: 2500) { number even } } }"
    await engine.execute(query=query, context=[])
    assert max(rows.sizes) < 2_500
    rows.sizes.clear()
    await engine.execute(query=query, context=[])
    assert rows.sizes == [1, 1, 2_500]


async def test_a_new_document_is_compiled_and_first_run_in_turns_of_the_event_loop() -> None:
    engine = Engine(schema)
    operation = engine.prepare("{ tree { number } }")
    await engine.run(operation, context=[])
    assert engine.turns.taken == 2
    await engine.run(operation, context=[])
    assert engine.turns.taken == 2


ALIASES = " ".join(f"a{n}: tree(number: {n}) {{ number even odd size }}" for n in range(199))
WIDE_ROWS = " ".join(f"s{n}: size(scale: {n}) n{n}: number e{n}: even" for n in range(60))


@pytest.mark.parametrize(
    ("query", "fields"), [(f"{{ {ALIASES} }}", 199 * 5), (f"{{ tree {{ {WIDE_ROWS} }} }}", 180)]
)
async def test_no_iteration_of_the_loop_compiles_more_than_a_slice(
    query: str, fields: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fields of the root, fields below them, and those of the first rows."""
    engine = Engine(schema)
    await engine.prepare_in_turns(query)
    async with loop_ticks() as ticks:
        _count_compiled(ticks, monkeypatch)
        result = await engine.execute(query=query, context=[])
    assert not result.errors
    assert fields <= ticks.total["fields"] <= fields + 1
    assert ticks.most["fields"] <= FIELDS_PER_SLICE


def _count_compiled(ticks: LoopTicks, monkeypatch: pytest.MonkeyPatch) -> None:
    def counting_field(*given: Any) -> Field:
        ticks.add("fields", 1)
        return Field(*given)

    monkeypatch.setattr(compiler, "Field", counting_field)


async def test_a_document_in_many_concurrent_requests_is_compiled_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    engine, query = Engine(schema), "{ tree { number } }"
    async with loop_ticks() as ticks:
        _count_compiled(ticks, monkeypatch)
        await asyncio.gather(*[engine.execute(query=query, context=[]) for _ in range(10)])
    assert ticks.total["fields"] == 2


def test_fields_that_are_selected_again_are_built_by_the_same_function() -> None:
    """Evaluating its source takes 0.1 ms, and a document can have 200 aliases."""
    assert object_builder(("id", "size"), {}) is object_builder(("id", "size"), {})
    assert object_builder(("id", "size"), {}) is not object_builder(("size", "id"), {})


@pytest.mark.parametrize("rows", [0, 1, 3])
@pytest.mark.parametrize("constants", [{}, {"k7": None, "k3": "Tree"}])
def test_rows_of_many_fields_are_built_like_those_of_few(
    rows: int, constants: dict[str, str | None]
) -> None:
    keys = tuple(f"k{number}" for number in range(KEYS_MAX + 1))
    varying = [key for key in keys if key not in constants]
    columns = [[f"{key} of {row}" for row in range(rows)] for key in varying]
    objects = object_builder(keys, constants)(rows, *columns)
    expected = [{key: constants.get(key, f"{key} of {row}") for key in keys} for row in range(rows)]
    assert objects == expected
    assert [list(one) for one in objects] == [list(keys)] * rows


def test_rows_of_many_constants_are_built_like_those_of_few() -> None:
    keys = tuple(f"k{number}" for number in range(KEYS_MAX + 1))
    objects = object_builder(keys, dict.fromkeys(keys))(2)
    assert objects == [dict.fromkeys(keys)] * 2
    assert objects[0] is not objects[1]


async def test_light_columns_of_one_request_that_arrive_together_take_turns(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ticks = RowsPerIteration(monkeypatch)
    engine = Engine(schema)
    query = "{ tree { " + " ".join(f"of{n}: {LIGHT}" for n in range(40)) + " } }"
    await engine.execute(query=query, context=[])
    ticks.rows.clear()
    result = await engine.execute(query=query, context=[])
    assert not result.errors
    assert ticks.rows.total() == 40 * 300 + 2
    assert max(ticks.rows.values()) <= ROWS_MAX


async def test_the_response_is_the_same_with_slices_and_without(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sliced = await answer(WIDE)
    monkeypatch.setattr(slices, "LONG_COLUMN", 1_000_000)
    assert await answer(WIDE) == sliced


async def test_several_long_responses_take_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = RowsPerIteration(monkeypatch)
    engine = Engine(schema)
    await asyncio.gather(*[engine.execute(query=WIDE, context=[]) for _ in range(4)])
    assert max(ticks.rows.values()) <= ROWS_MAX


async def test_a_request_that_is_cancelled_between_two_slices_ends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ticks = RowsPerIteration(monkeypatch)
    task = asyncio.create_task(Engine(schema).execute(query=WIDE, context=[]))
    while ticks.rows.total() < 1_000:  # noqa: ASYNC110
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ticks.rows.total() < 12_302
    gc.collect()  # a coroutine that nobody awaited would warn


async def test_a_deadline_ends_a_response_between_two_slices() -> None:
    engine = Engine(schema)
    operation = engine.prepare(WIDE)
    clock = asyncio.get_running_loop().time
    result = await engine.run(operation, context=[], deadline=clock() + 0.001)
    assert [error.extensions for error in result.errors] == [{"code": "DEADLINE_EXCEEDED"}]


async def test_a_response_of_too_many_bytes_is_rejected_while_it_grows() -> None:
    calls: Calls = []
    response = await answer(WIDE, EngineSettings(max_bytes=50_000), context=calls)
    assert response["data"] is None
    (error,) = response["errors"]
    assert error["extensions"] == {"code": "COST_LIMIT_EXCEEDED"}
    assert "50,000 bytes" in error["message"]
    assert "size" not in dict(calls)


async def test_the_estimate_of_the_bytes_is_within_a_factor_of_two() -> None:
    for query in (WIDE, LONG):
        result = await Engine(schema).execute(query=query, context=[])
        length = len(orjson.dumps(result.data))
        assert length / 2 < result.bytes < 2 * length
