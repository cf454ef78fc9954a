"""Operations that cost too much are rejected before anything runs."""

from typing import Any

import pytest

from tests.acceptance.test_costs import METRICS
from tests.support.gateway import Gateway

NESTED = "{ id }"
for _ in range(3):
    NESTED = f"{{ followers(first: 100) {{ nodes {NESTED} }} }}"
THREE_LEVELS = f'{{ user(id: "1") {NESTED} }}'
MASKS = (
    "query ($users: [ID!]!, $ids: [ID!]!) { "
    + " ".join(f"m{n}: users(ids: $users) {{ relationMask(ids: $ids) }}" for n in range(60))
    + " }"
)
RELATIONS = """
query ($users: [ID!]!, $ids: [ID!]!) {
  users(ids: $users) { relationWith(ids: $ids) { id state followedAt } }
}
"""
IDS = [str(number) for number in range(1, 1_001)]


@pytest.mark.parametrize(
    ("query", "variables"),
    [
        (THREE_LEVELS, {}),
        (f"{{ __schema {{ description }} {THREE_LEVELS[1:]}", {}),
        (MASKS, {"users": IDS[:100], "ids": IDS}),
        (RELATIONS, {"users": IDS[:98], "ids": IDS}),
    ],
)
async def test_an_operation_that_costs_too_much_is_rejected_before_anything_is_read(
    gateway: Gateway, query: str, variables: dict[str, Any]
) -> None:
    await gateway.data('{ user(id: "1") { followerCount } }')
    before = await reads(gateway)
    for _ in range(2):  # also when its document is cached
        error = await gateway.error(query, viewer=1, **variables)
        extensions = error["extensions"]
        assert extensions["code"] == "COST_LIMIT_EXCEEDED"
        assert extensions["cost"] > extensions["limit"]
        assert f"{extensions['cost']:,}" in error["message"]
        assert "data" not in await gateway.answer(query, viewer=1, **variables)
    planned, round_trips = await reads(gateway)
    assert (planned, round_trips - METRICS.round_trips) == before


async def test_a_service_may_run_operations_that_cost_more(gateway: Gateway) -> None:
    variables: dict[str, Any] = {"users": IDS[:80], "ids": IDS}
    error = await gateway.error(RELATIONS, viewer=1, **variables)
    assert error["extensions"]["code"] == "COST_LIMIT_EXCEEDED"
    assert await gateway.as_service.data(RELATIONS, **variables)
    assert await gateway.as_service.data(RELATIONS, viewer=1, **variables)


async def reads(gateway: Gateway) -> tuple[float, float]:
    """The engine's operations and the round trips to Redis so far."""
    text = (await gateway.http.get("/metrics")).text
    values = dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
    return float(values["kith_engine_planned"]), float(values["kith_redis_round_trips"])
