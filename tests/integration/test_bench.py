"""The reads of the benchmark, sent to a running gateway."""

from dataclasses import replace
from typing import Any

import httpx
import orjson
import pytest

from bench import caches
from bench.fallbacks import counted
from bench.goals import left_to_graphql_core
from bench.population import Population
from bench.raw_answers import RawAnswers
from bench.rounds import Outcome
from bench.shapes import BY_NAME, SHAPES, Shape
from engine import Unsupported
from engine.compiler import Compiler
from graph.cursor import write_cursor
from graph.edge import Millis, UserId
from graph.lists import ListKind, ListOf
from graph.page import Position
from storage.redis.multiplexed import MultiplexedWire
from storage.settings import StorageSettings
from storage.stores import open_stores
from tests.support.gateway import Gateway, running_gateway
from tests.support.graphs import follows
from tests.support.spaces import created_spaces, in_space

USERS = [*range(1, 201)]
PEOPLE = Population(
    ordinary=USERS,
    fresh=[],
    whales=USERS[:1],
    neighbours={user: [user % 200 + 1] for user in USERS},
    highest_id=10_000,
    deep=[(1, write_cursor(Position(Millis(1), UserId(2)), ListOf(ListKind.FOLLOWERS, UserId(1))))],
)
READS = [shape for shape in SHAPES if not shape.writes]


async def fallbacks(gateway: Gateway) -> int:
    """The number of operations that the gateway has left to graphql-core."""
    return counted((await gateway.http.get("/metrics")).text)


async def sent(gateway: Gateway, shape: Shape) -> httpx.Response:
    (request,) = replace(shape, request_count=1).requests(PEOPLE)
    return await gateway.http.post("/graphql", content=request.body, headers=request.headers)


@pytest.mark.parametrize("shape", READS, ids=lambda shape: shape.name)
async def test_no_read_of_the_bench_is_left_to_graphql_core(
    shape: Shape, storage_settings: StorageSettings
) -> None:
    async with running_gateway(storage_settings) as gateway:
        before = await fallbacks(gateway)
        for _ in range(2):  # with empty caches, then with what the first has filled
            response = await sent(gateway, shape)
            assert response.status_code == 200
            assert "errors" not in response.json()
        assert await fallbacks(gateway) == before


async def test_the_raw_server_and_the_gateway_give_equal_answers_in_a_space(
    storage_settings: StorageSettings,
) -> None:
    settings = in_space(storage_settings, "filled")
    shape = replace(BY_NAME["following-20"], request_count=1)
    people = replace(PEOPLE, ordinary=[1], whales=[])
    wire = MultiplexedWire(settings.redis_url, 5)
    async with (
        created_spaces(storage_settings, {"filled": {}}),
        open_stores(settings, wire) as stores,
        running_gateway(settings) as gateway,
    ):
        await follows(stores, (1, 2), (1, 3))
        await caches.fill(settings, people)
        (request,) = shape.requests(people)
        response = await gateway.http.post(
            "/graphql", content=request.body, headers=request.headers
        )
        raw_answer = await RawAnswers(wire, settings.space).following({"user": "1"}, b"")
    assert orjson.loads(orjson.dumps(raw_answer)) == response.json()["data"]


def unsupported(*_: object) -> Any:
    raise Unsupported("directive")


async def test_the_bench_counts_what_is_left_to_graphql_core(
    storage_settings: StorageSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running_gateway(storage_settings) as gateway:
        before = await fallbacks(gateway)
        await gateway.data("{ user(id: 1) { id } }")
        assert await fallbacks(gateway) == before
        monkeypatch.setattr(Compiler, "compiling", unsupported)
        for _ in range(2):
            await gateway.data("{ again: user(id: 1) { id } }")
        assert await fallbacks(gateway) == before + 2


@pytest.mark.parametrize(
    ("fallback_count", "writes", "exit_code"), [(0, False, 0), (3, False, 1), (3, True, 0)]
)
def test_only_a_read_that_is_left_to_graphql_core_fails_the_benchmark(
    fallback_count: int, writes: bool, exit_code: int
) -> None:
    outcome = Outcome("shape", "Shape", 0, writes, fallbacks=fallback_count)
    assert len(left_to_graphql_core([outcome])) == exit_code
