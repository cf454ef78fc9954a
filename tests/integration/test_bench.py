"""What the bench reads from a running gateway."""

import pytest

from bench.fallbacks import counted
from bench.goals import left_to_graphql_core
from bench.rounds import Outcome
from storage.settings import StorageSettings
from tests.gateway import Gateway, running_gateway


async def fallbacks(gateway: Gateway) -> int:
    return counted((await gateway.http.get("/metrics")).text)


async def test_the_bench_counts_what_is_left_to_graphql_core(
    storage_settings: StorageSettings,
) -> None:
    async with running_gateway(storage_settings) as gateway:
        before = await fallbacks(gateway)
        await gateway.data("{ user(id: 1) { id } }")
        assert await fallbacks(gateway) == before
        await gateway.data("{ __schema { queryType { name } } }")
        await gateway.data("{ __schema { queryType { name } } }")
        assert await fallbacks(gateway) == before + 2


@pytest.mark.parametrize(("fallen", "writes", "told"), [(0, False, 0), (3, False, 1), (3, True, 0)])
def test_a_read_that_is_left_to_graphql_core_fails_the_bench(
    fallen: int, writes: bool, told: int
) -> None:
    outcome = Outcome("shape", "Shape", 0, writes, fallbacks=fallen)
    assert len(left_to_graphql_core([outcome])) == told
