"""`recordInteractions`: services record interactions, which raise affinities. Nobody else may."""

import asyncio
from datetime import UTC, datetime, timedelta
from math import isclose
from typing import Any

import pytest

from graph.account_state import AccountState
from graph.affinity import DEFAULT_SCALE
from graph.edge import Millis, UserId
from storage.stores import Stores
from tests.acceptance.test_costs import cost_since, counters
from tests.support import citus
from tests.support.citus_databases import SHARDS
from tests.support.gateway import Gateway
from tests.support.interactions import RECORD, interaction, record, record_with


async def affinity(stores: Stores, user: int, other: int, now: datetime) -> float:
    """The affinity of `user` to `other` at that time, as a sum of decayed weights."""
    rank = (await stores.jobs.periodic.affinity.closest(UserId(user)))[UserId(other)]
    return DEFAULT_SCALE.strength(rank, Millis(int(now.timestamp() * 1000)))


def invalid_input(*path: str) -> dict[str, Any]:
    """The error of an input field that has an invalid value."""
    return {"__typename": "InvalidInput", "code": "INVALID_INPUT", "field": ["input", *path]}


async def test_interactions_that_a_service_records_raise_affinities(
    gateway: Gateway, stores: Stores
) -> None:
    now = datetime.now(UTC)
    month = timedelta(days=DEFAULT_SCALE.half_life_days)
    given = [
        interaction(1, 2, "LIKED", at=now.isoformat(), count=3),
        interaction(1, 2, "MESSAGED", at=(now - month).isoformat()),
        interaction(1, 1, "LIKED"),
        interaction(2, 1, "VIEWED_PROFILE"),
    ]
    data = await gateway.as_service.data(RECORD, interactions=given)
    assert data["recordInteractions"] == {
        "outcome": "RECORDED",
        "changed": True,
        "recorded": 3,
        "clientMutationId": "c-1",
        "userErrors": [],
    }
    assert isclose(await affinity(stores, 1, 2, now), 3 * 2 + 8 / 2, rel_tol=1e-6)
    assert isclose(await affinity(stores, 2, 1, now), 1, rel_tol=1e-3)


async def test_interactions_with_deleted_accounts_are_ignored(
    gateway: Gateway, stores: Stores
) -> None:
    await stores.writes.account_states.change(UserId(3), AccountState.DELETED)
    await stores.writes.account_states.change(UserId(4), AccountState.DEACTIVATED)
    given = [interaction(*pair) for pair in ((1, 3), (3, 1), (1, 4), (1, 4), (4, 1))]
    assert await record(gateway, *given) == 3
    assert set(await stores.jobs.periodic.affinity.closest(UserId(1))) == {4}


async def test_a_service_that_acts_for_a_user_may_record(gateway: Gateway) -> None:
    data = await gateway.as_service.data(RECORD, viewer=9, interactions=[interaction(1, 2)])
    assert data["recordInteractions"]["recorded"] == 1


async def test_an_empty_batch_records_nothing(gateway: Gateway) -> None:
    assert await record(gateway) == 0


@pytest.mark.parametrize("viewer", [None, 1])
async def test_only_services_may_record(
    gateway: Gateway, stores: Stores, viewer: int | None
) -> None:
    error = await gateway.error(RECORD, viewer, interactions=[interaction(1, 2)])
    assert error["extensions"] == {"code": "FORBIDDEN"}
    assert await stores.jobs.periodic.affinity.closest(UserId(1)) == {}
    error = await gateway.error(RECORD, viewer, interactions=[interaction(1, 0)])
    assert error["extensions"] == {"code": "FORBIDDEN"}, "permission is checked before the input"


@pytest.mark.parametrize(
    ("given", "argument"),
    [
        ([interaction(1, 2), interaction(1, 0)], "interactions.1.to"),
        ([{**interaction(1, 2), "from": "ann"}], "interactions.0.from"),
        ([interaction(1, 2, count=0)], "interactions.0.count"),
        ([interaction(1, 2, count=1001)], "interactions.0.count"),
        ([interaction(1, 2, at="2026-01-01T00:00:00")], "interactions.0.at"),
        ([interaction(1, 2, at="1969-12-31T23:59:59Z")], "interactions.0.at"),
        ([interaction(1, 2, at="9000-01-01T00:00:00Z")], "interactions.0.at"),
        ([interaction(1, 2)] * 501, "interactions"),
    ],
)
async def test_a_batch_with_bad_input_is_rejected_as_a_whole(
    gateway: Gateway, stores: Stores, given: list[dict[str, Any]], argument: str
) -> None:
    payload = (await gateway.as_service.data(RECORD, interactions=given))["recordInteractions"]
    assert (payload["outcome"], payload["changed"], payload["recorded"]) == ("REJECTED", False, 0)
    assert payload["userErrors"] == [invalid_input(*argument.split("."))]
    assert await stores.jobs.periodic.affinity.closest(UserId(1)) == {}


async def test_a_repeat_with_the_same_idempotency_key_returns_the_first_result_and_records_nothing(
    gateway: Gateway, stores: Stores
) -> None:
    given = [interaction(1, 2, count=2), interaction(1, 2), interaction(1, 1), interaction(1, 3)]
    first = await record_with(gateway, "k", *given)
    assert (first["outcome"], first["recorded"]) == ("RECORDED", 3)
    before = await stores.jobs.periodic.affinity.closest(UserId(1))
    # A repeat returns the first number, although one of the accounts is deleted now.
    await stores.writes.account_states.change(UserId(3), AccountState.DELETED)
    assert await record_with(gateway, "k", *given) == first
    assert await stores.jobs.periodic.affinity.closest(UserId(1)) == before
    assert (await record_with(gateway, "other", *given))["recorded"] == 2
    assert (await stores.jobs.periodic.affinity.closest(UserId(1)))[UserId(2)] > before[UserId(2)]


async def test_concurrent_repeats_record_once(gateway: Gateway, stores: Stores) -> None:
    given = [interaction(1, user) for user in range(2, 30)]
    payloads = await asyncio.gather(*(record_with(gateway, "k", *given) for _ in range(12)))
    assert {payload["recorded"] for payload in payloads} == {28}
    concurrent = await stores.jobs.periodic.affinity.closest(UserId(1))
    await record(gateway, *(interaction(2, user) for user in range(3, 30)))
    single = await stores.jobs.periodic.affinity.closest(UserId(2))
    assert isclose(concurrent[UserId(3)], single[UserId(3)], abs_tol=1e-3), "it was recorded once"


@pytest.mark.parametrize(
    "other_batch",
    [
        [interaction(1, 2, "LIKED")],
        [interaction(2, 1)],
        [interaction(1, 2, count=2)],
        [interaction(1, 2, at="2026-01-01T00:00:00Z")],
        [interaction(1, 2)] * 2,
        [],
    ],
)
async def test_an_idempotency_key_with_another_batch_is_rejected(
    gateway: Gateway, stores: Stores, other_batch: list[dict[str, Any]]
) -> None:
    await record_with(gateway, "k", interaction(1, 2))
    before = await stores.jobs.periodic.affinity.closest(UserId(1))
    rejected = await record_with(gateway, "k", *other_batch)
    assert (rejected["outcome"], rejected["recorded"]) == ("REJECTED", 0)
    assert rejected["userErrors"] == [
        {
            "__typename": "IdempotencyKeyReused",
            "code": "IDEMPOTENCY_KEY_REUSED",
            "field": ["input", "idempotencyKey"],
        }
    ]
    assert await stores.jobs.periodic.affinity.closest(UserId(1)) == before
    assert await stores.jobs.periodic.affinity.closest(UserId(2)) == {}


async def test_all_mutations_of_a_service_share_its_idempotency_keys(gateway: Gateway) -> None:
    await record_with(gateway, "k", interaction(1, 2))
    limit = """mutation { setFollowingLimit(input: {userId: "1", limit: 5, idempotencyKey: "k"}) {
        outcome userErrors { code } } }"""
    result = (await gateway.as_service.data(limit))["setFollowingLimit"]
    assert result == {"outcome": "REJECTED", "userErrors": [{"code": "IDEMPOTENCY_KEY_REUSED"}]}


async def test_an_invalid_idempotency_key_is_rejected(gateway: Gateway, stores: Stores) -> None:
    for key in ("", "x" * 65):
        given = [interaction(1, 2)]
        data = await gateway.as_service.data(RECORD, interactions=given, key=key)
        assert data["recordInteractions"]["userErrors"] == [invalid_input("idempotencyKey")]
    assert await stores.jobs.periodic.affinity.closest(UserId(1)) == {}


async def test_a_full_batch_costs_one_statement_and_on_citus_one_more_per_shard(
    gateway: Gateway,
) -> None:
    before = await counters(gateway)
    batch = [interaction(user % 50 + 1, user % 7 + 51) for user in range(500)]
    assert await record(gateway, *batch) == 500
    expected = 1 if citus.prefix() is None else 1 + SHARDS
    assert (await cost_since(gateway, before)).statements == expected
