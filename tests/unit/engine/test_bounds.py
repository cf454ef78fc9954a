"""The deadlines, cancellation and limits of the engine."""

import asyncio
import gc
from collections import Counter
from typing import Any

import orjson
import pytest
import strawberry
from graphql import GraphQLError

from engine import Engine, EngineSettings, Stage, field_errors
from engine.cache import LruCache
from engine.errors import locate_error
from tests.support import misbehaving_schema as odd
from tests.support.tree_schema import Calls, answer, schema


async def test_a_response_of_too_many_rows_is_rejected_while_it_grows() -> None:
    calls: Calls = []
    query = "{ tree { branches(count: 40) { branches(count: 40) { size } } } }"
    response = await answer(query, EngineSettings(max_rows=100), context=calls)
    assert response["data"] is None
    assert response["errors"][0]["extensions"] == {"code": "COST_LIMIT_EXCEEDED"}
    assert ("size", 1600) not in calls


async def test_a_response_of_too_many_errors_is_rejected() -> None:
    engine = Engine(odd.schema, EngineSettings(max_rows=100))
    for aliases, codes in ((4, [None] * 8), (5, ["COST_LIMIT_EXCEEDED"])):
        fields = " ".join(f"a{n}: endless" for n in range(aliases))
        result = await engine.execute(query=f"{{ odds {{ {fields} }} }}")
        assert [(error.extensions or {}).get("code") for error in result.errors] == codes


async def test_the_field_errors_of_a_response_are_bounded() -> None:
    engine = Engine(odd.schema, EngineSettings(max_field_errors=8))
    for aliases, codes in ((4, [None] * 8), (5, ["COST_LIMIT_EXCEEDED"])):
        fields = " ".join(f"a{n}: endless" for n in range(aliases))
        result = await engine.execute(query=f"{{ odds {{ {fields} }} }}")
        assert [(error.extensions or {}).get("code") for error in result.errors] == codes
    assert result.errors[0].message.startswith("The response must have at most 8 field errors.")
    assert EngineSettings().max_field_errors <= 1_000


async def test_the_field_errors_of_all_root_fields_of_a_mutation_are_bounded() -> None:
    engine = Engine(odd.schema, EngineSettings(max_field_errors=2))
    for aliases, codes in ((2, [None] * 2), (3, ["COST_LIMIT_EXCEEDED"])):
        fields = " ".join(f"a{n}: cancelled" for n in range(aliases))
        result = await engine.execute(query=f"mutation {{ {fields} }}")
        assert [(error.extensions or {}).get("code") for error in result.errors] == codes


@pytest.mark.parametrize(("characters", "is_rejected"), [(1, False), (400, True)])
async def test_the_keys_in_the_paths_of_errors_count_as_bytes(
    characters: int, is_rejected: bool
) -> None:
    engine = Engine(odd.schema, EngineSettings(max_bytes=20_000))
    fields = " ".join(f"a{n}: endless" for n in range(20))
    result = await engine.execute(query=f"{{ {'a' * characters}: odds {{ {fields} }} }}")
    codes = [error.extensions for error in result.errors]
    assert codes == ([{"code": "COST_LIMIT_EXCEEDED"}] if is_rejected else [{}] * 40)


async def test_the_estimated_bytes_of_errors_are_close_to_their_length() -> None:
    fields = " ".join(f"a{n}: endless" for n in range(100))
    result = await Engine(odd.schema).execute(query=f"{{ {'a' * 300}: odds {{ {fields} }} }}")
    length = len(orjson.dumps(result.response()))
    assert len(result.errors) == 200
    assert length * 0.75 < result.bytes < length * 1.5


@strawberry.type
class Texts:
    attribute: str
    several: list[str | None]

    @strawberry.field
    def method(self, info: strawberry.Info) -> str:
        return self.attribute


@strawberry.type
class TextQuery:
    @strawberry.field
    def texts(self, text: str) -> list[Texts]:
        return [Texts(attribute=text, several=[text, None])] * 2


TEXTS = Engine(strawberry.Schema(TextQuery), EngineSettings(max_bytes=20_000))


@pytest.mark.parametrize("field", ["attribute", "several", "method"])
@pytest.mark.parametrize("text", ["x" * 1_200, "\x01" * 200, "\N{GRINNING FACE}" * 300])
async def test_a_response_of_too_many_long_texts_is_rejected(field: str, text: str) -> None:
    for aliases, codes in ((7, []), (9, [{"code": "COST_LIMIT_EXCEEDED"}])):
        fields = " ".join(f"a{n}: {field}" for n in range(aliases))
        query = f"query ($text: String!) {{ texts(text: $text) {{ {fields} }} }}"
        result = await TEXTS.execute(query=query, variables={"text": text})
        assert [error.extensions for error in result.errors] == codes
    assert result.data is None


@pytest.mark.parametrize("text", ["x", 'quo"te', "\x01\n", "\N{GRINNING FACE}"])
async def test_the_estimated_bytes_of_texts_are_close_to_their_length(text: str) -> None:
    query = "query ($text: String!) { texts(text: $text) { attribute several method } }"
    result = await TEXTS.execute(query=query, variables={"text": text * 400})
    length = len(orjson.dumps(result.data))
    assert length * 0.9 < result.bytes < length * 1.2


async def test_field_errors_are_located_in_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = Engine(odd.schema, EngineSettings(max_aliases=500))
    located: Counter[int] = Counter()

    def counting(*arguments: Any) -> GraphQLError:
        located[engine.turns.taken] += 1
        return locate_error(*arguments)

    monkeypatch.setattr(field_errors, "locate_error", counting)
    fields = " ".join(f"a{n}: endless" for n in range(500))
    result = await engine.execute(query=f"{{ odds {{ {fields} }} }}")
    assert len(result.errors) == located.total() == 1_000
    assert max(located.values()) <= 100


@pytest.mark.parametrize("field", ["endlessNumbers", "endlessNulls { number }"])
async def test_an_endless_list_is_rejected_for_its_rows(field: str) -> None:
    engine = Engine(odd.schema, EngineSettings(max_rows=100))
    result = await engine.execute(query=f"{{ {field} }}")
    assert [error.extensions for error in result.errors] == [{"code": "COST_LIMIT_EXCEEDED"}]


async def test_an_endless_batch_is_a_field_error() -> None:
    result = await Engine(odd.schema).execute(query="{ odds { endless } }")
    assert result.data == {"odds": [{"endless": None}] * 2}
    assert "one item for each parent" in result.errors[0].message


async def test_the_rows_of_a_mutation_are_limited_too() -> None:
    query = "mutation { plant(number: 1) { branches(count: 40) { number } } }"
    response = await answer(query, EngineSettings(max_rows=10), context=[])
    assert response["errors"][0]["extensions"] == {"code": "COST_LIMIT_EXCEEDED"}


@pytest.mark.parametrize("query", ["{ tree { forever } }", "{ tree { forever size } }"])
async def test_a_deadline_cancels_running_resolvers(query: str) -> None:
    calls: Calls = []
    engine = Engine(schema)
    operation = engine.prepare(query)
    for seconds in (0.05, 1, 10):  # on a busy machine, a deadline can pass before a resolver begins
        deadline = asyncio.get_running_loop().time() + seconds
        response = (await engine.run(operation, context=calls, deadline=deadline)).response()
        if calls:
            break
    assert response["data"] is None
    assert response["errors"][0]["extensions"] == {"code": "DEADLINE_EXCEEDED"}
    assert ("cancelled", 1) in calls


async def test_a_cancelled_request_cancels_its_resolvers() -> None:
    calls: Calls = []
    task = asyncio.ensure_future(answer("{ tree { forever size } }", context=calls))
    while not calls:  # noqa: ASYNC110
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ("cancelled", 1) in calls


async def test_a_cancelled_request_leaves_no_resolver_unawaited() -> None:
    calls: Calls = []
    task = asyncio.ensure_future(answer("{ tree { forever size } }", context=calls))
    await asyncio.sleep(0)  # both resolvers are called, and neither coroutine has begun
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    gc.collect()  # a coroutine that nobody awaited would warn, and warnings are errors
    assert calls == []


@pytest.mark.parametrize(
    "query",
    ["{ odd { slow } }", "{ odds { slow } }", "{ odds { slow soonCancelled cancelledBatch } }"],
)
async def test_a_deadline_in_the_past_leaves_no_resolver_unawaited(query: str) -> None:
    engine = Engine(odd.schema)
    result = await engine.run(engine.prepare(query), deadline=0)
    assert [error.extensions for error in result.errors] == [{"code": "DEADLINE_EXCEEDED"}]
    gc.collect()


async def test_a_fragment_bomb_is_rejected_by_its_expanded_number_of_fields() -> None:
    layers = [
        f"fragment F{n} on Tree {{ a: branches {{ ...F{n + 1} }} b: branches {{ ...F{n + 1} }} }}"
        for n in range(15)
    ]
    bomb = f"{{ tree {{ ...F0 }} }} {' '.join(layers)} fragment F15 on Tree {{ number }}"
    result = await Engine(schema).execute(query=bomb)
    assert result.stage is Stage.LIMITS
    assert any("fields; at most 1,000 are allowed" in error.message for error in result.errors)


def test_the_least_recently_used_entry_is_evicted() -> None:
    cache: LruCache[str, int] = LruCache(entries=2)
    cache.put("a", 1)
    cache.put("b", 2)
    assert cache.get("a") == 1
    cache.put("c", 3)
    assert [cache.get(key) for key in "abc"] == [1, None, 3]


def test_a_heavy_entry_evicts_others() -> None:
    cache: LruCache[str, int] = LruCache(entries=9, weight=10)
    cache.put("a", 1, weight=4)
    cache.put("a", 1, weight=5)
    cache.put("b", 2, weight=5)
    assert len(cache) == 2
    cache.put("c", 3, weight=6)
    assert [cache.get(key) for key in "abc"] == [None, None, 3]
