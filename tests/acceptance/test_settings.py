"""Privacy settings, which users change, and following limits, which services set."""

import asyncio
from typing import Any

import pytest

from graph.account_state import AccountState
from graph.edge import Kind, UserId
from graph.pace import Pace
from resolvers.policy import Policy
from storage.settings import StorageSettings
from storage.stores import Stores
from tests.support.edges import edges
from tests.support.gateway import Gateway, running_gateway
from tests.support.graphs import drain_all
from tests.support.relationships import CHANGE_SETTINGS, change, change_settings

READ_SETTINGS = """
{ viewer { relationshipSettings {
  protected followingAudience followersAudience followingLimit
} } }
"""

SET_LIMIT = """
mutation ($input: SetFollowingLimitInput!) { setFollowingLimit(input: $input) {
  outcome changed userErrors { __typename code field }
  user { id } settings { followingLimit } clientMutationId
} }
"""

RELATION = '{ user(id: "1") { relationWith(ids: ["2"]) { state } } }'
ELIGIBILITY = '{ user(id: "1") { viewerFollowEligibility { code } } }'
UNKNOWN_UNDO_TOKEN = {"undoToken": "A" * 22}
FOLLOW = 'mutation { followUser(input: { userId: "2" }) { userErrors { code } } }'

DEFAULTS = {
    "protected": False,
    "followingAudience": "EVERYONE",
    "followersAudience": "EVERYONE",
    "followingLimit": 1000,
}


async def update(gateway: Gateway, viewer: int | None = 1, **given: Any) -> Any:
    return await change_settings(gateway, viewer, **given)


async def set_limit(gateway: Gateway, viewer: int | None = None, **given: Any) -> dict[str, Any]:
    data = await gateway.as_service.data(SET_LIMIT, viewer, input=given)
    payload: dict[str, Any] = data["setFollowingLimit"]
    return payload


Result = tuple[str, bool, list[str]]


def result(payload: dict[str, Any]) -> Result:
    """The outcome, whether something changed, and the codes of the errors."""
    codes = [error["code"] for error in payload["userErrors"]]
    return payload["outcome"], payload["changed"], codes


UPDATED: Result = ("UPDATED", True, [])
UNCHANGED: Result = ("UNCHANGED", False, [])
REUSED: Result = ("REJECTED", False, ["IDEMPOTENCY_KEY_REUSED"])


async def read_settings(gateway: Gateway, viewer: int = 1) -> Any:
    return (await gateway.data(READ_SETTINGS, viewer))["viewer"]["relationshipSettings"]


async def test_changed_settings_are_visible_immediately_through_any_gateway(
    gateway: Gateway, storage_settings: StorageSettings
) -> None:
    async with running_gateway(storage_settings) as other:
        assert await read_settings(gateway) == await read_settings(other) == DEFAULTS
        given: dict[str, Any] = {"protected": True, "followersAudience": "FRIENDS"}
        payload = await update(gateway, **given, clientMutationId="c-1", idempotencyKey="k-1")
        now = DEFAULTS | given
        assert payload == {
            "outcome": "UPDATED",
            "changed": True,
            "userErrors": [],
            "settings": now,
            "viewer": {"relationshipSettings": now, "user": {"id": "1"}},
            "clientMutationId": "c-1",
        }
        assert await read_settings(other) == await read_settings(gateway) == now
        assert await read_settings(other, viewer=2) == DEFAULTS
        await update(other, protected=False, followingAudience="ONLY_ME")
        assert await read_settings(gateway) == {
            **now,
            "protected": False,
            "followingAudience": "ONLY_ME",
        }
        again = await update(other, protected=False)
        assert result(again) == result(await update(other)) == UNCHANGED
        assert again["settings"] == await read_settings(gateway)


async def test_each_of_two_changes_in_one_request_returns_its_own_settings(
    gateway: Gateway,
) -> None:
    change = """%s: updateRelationshipSettings(input: { protected: %s }) {
      viewer { relationshipSettings { protected } }
    }"""
    document = f"mutation {{ {change % ('one', 'true')} {change % ('two', 'false')} }}"
    data = await gateway.data(document, 1)
    seen = [data[name]["viewer"]["relationshipSettings"]["protected"] for name in ("one", "two")]
    assert seen == [True, False]


async def test_a_follow_is_hidden_immediately_when_both_users_hide_their_lists(
    gateway: Gateway, stores: Stores, storage_settings: StorageSettings
) -> None:
    await edges(stores, {(1, 2): Kind.FOLLOW})
    await drain_all(stores)

    async def state(caller: Gateway) -> Any:
        return (await caller.data(RELATION, 3))["user"]["relationWith"][0]["state"]

    async with running_gateway(storage_settings) as other:
        assert await state(gateway) == await state(other) == "FOLLOWING"
        await update(gateway, 1, followingAudience="ONLY_ME")
        assert await state(other) == "FOLLOWING", "the followers of user 2 still show it"
        await update(gateway, 2, followersAudience="ONLY_ME")
        assert await state(gateway) == await state(other) == "NONE"
        assert await state(gateway.as_service) == "NONE", (
            "a service that acts for user 3 sees the same"
        )
        await update(other, 2, followersAudience="EVERYONE")
        assert await state(gateway) == await state(other) == "FOLLOWING"


async def test_turning_protection_off_accepts_no_request(gateway: Gateway, stores: Stores) -> None:
    await update(gateway, protected=True)
    await edges(stores, {(2, 1): Kind.REQUEST})
    await drain_all(stores)
    await update(gateway, protected=False)
    query = '{ viewer { user { relationWith(ids: ["2"]) { requestedBy followedBy } } } }'
    (relation,) = (await gateway.data(query, 1))["viewer"]["user"]["relationWith"]
    assert relation == {"requestedBy": True, "followedBy": False}
    eligibility = (await gateway.data(ELIGIBILITY, 2))["user"]["viewerFollowEligibility"]
    assert eligibility["code"] == "ALLOWED", "user 2 can follow now"


async def test_settings_of_a_deactivated_account_can_change_and_of_a_deleted_one_cannot(
    gateway: Gateway, stores: Stores
) -> None:
    await stores.writes.account_states.change(UserId(1), AccountState.DEACTIVATED)
    assert result(await update(gateway, protected=True)) == UPDATED
    assert result(await set_limit(gateway, userId="1", limit=5)) == UPDATED
    await stores.writes.account_states.change(UserId(1), AccountState.DELETED)
    payload = await update(gateway, protected=False, idempotencyKey="k")
    assert result(payload) == ("REJECTED", False, ["ACCOUNT_NOT_ACTIVE"])
    payload = await set_limit(gateway, userId="1", limit=6, idempotencyKey="k")
    assert result(payload) == ("REJECTED", False, ["ACCOUNT_DELETED"])
    assert (await read_settings(gateway))["protected"]


async def test_changing_settings_requires_a_viewer(gateway: Gateway) -> None:
    for caller in (gateway, gateway.as_service):
        error = await caller.error(CHANGE_SETTINGS, input={"protected": True})
        assert error["extensions"] == {"code": "UNAUTHENTICATED"}
    payload = await update(gateway.as_service, 1, protected=True)
    assert payload["viewer"]["user"]["id"] == "1"


async def test_services_set_and_remove_following_limits(gateway: Gateway) -> None:
    assert await set_limit(gateway, userId="1", limit=0, clientMutationId="c-1") == {
        "outcome": "UPDATED",
        "changed": True,
        "userErrors": [],
        "user": {"id": "1"},
        "settings": {"followingLimit": 0},
        "clientMutationId": "c-1",
    }
    assert (await read_settings(gateway))["followingLimit"] == 0
    (error,) = (await gateway.data(FOLLOW, 1))["followUser"]["userErrors"]
    assert error["code"] == "FOLLOWING_LIMIT_REACHED"
    assert result(await set_limit(gateway, userId="1", limit=0)) == UNCHANGED
    assert result(await set_limit(gateway, 5, userId="1", limit=None)) == UPDATED
    assert (await read_settings(gateway))["followingLimit"] == 1000
    assert (await gateway.data(FOLLOW, 1))["followUser"]["userErrors"] == []


@pytest.mark.parametrize("viewer", [None, 1])
async def test_only_services_set_following_limits(gateway: Gateway, viewer: int | None) -> None:
    error = await gateway.error(SET_LIMIT, viewer, input={"userId": "1", "limit": 5})
    assert error["extensions"] == {"code": "FORBIDDEN"}
    assert (await read_settings(gateway))["followingLimit"] == 1000


@pytest.mark.parametrize(
    ("field", "given"),
    [
        ("limit", {"userId": "1", "limit": -1}),
        ("userId", {"userId": "x", "limit": 1}),
        ("idempotencyKey", {"userId": "1", "limit": 1, "idempotencyKey": ""}),
    ],
)
async def test_invalid_input_of_a_limit_is_rejected_with_the_name_of_its_field(
    gateway: Gateway, field: str, given: Any
) -> None:
    payload = await set_limit(gateway, **given)
    assert result(payload) == ("REJECTED", False, ["INVALID_INPUT"])
    assert [error["field"] for error in payload["userErrors"]] == [["input", field]]
    assert (payload["user"], payload["settings"]) == (None, None)
    assert (await read_settings(gateway))["followingLimit"] == 1000


async def test_an_invalid_idempotency_key_is_rejected_and_nothing_changes(gateway: Gateway) -> None:
    payload = await update(gateway, protected=True, idempotencyKey="x" * 65)
    assert result(payload) == ("REJECTED", False, ["INVALID_INPUT"])
    assert [error["field"] for error in payload["userErrors"]] == [["input", "idempotencyKey"]]
    assert payload["settings"] == await read_settings(gateway) == DEFAULTS


async def test_a_repeat_does_not_overwrite_a_later_change(gateway: Gateway) -> None:
    given: dict[str, Any] = {"protected": True, "idempotencyKey": "k"}
    assert result(await update(gateway, **given)) == UPDATED
    assert result(await update(gateway, protected=False)) == UPDATED
    again = await update(gateway, **given)
    assert result(again) == UPDATED, "the first outcome"
    assert again["settings"] == await read_settings(gateway) == DEFAULTS, "the current settings"

    given = {"userId": "1", "limit": 5, "idempotencyKey": "k"}
    assert result(await set_limit(gateway, **given)) == UPDATED
    assert result(await set_limit(gateway, userId="1", limit=6)) == UPDATED
    again = await set_limit(gateway, **given)
    assert (result(again), again["settings"]) == (UPDATED, {"followingLimit": 6})


async def test_a_repeat_of_a_change_without_effect_has_no_effect_in_another_state(
    gateway: Gateway,
) -> None:
    given: dict[str, Any] = {"protected": False, "idempotencyKey": "k"}
    assert result(await update(gateway, **given)) == UNCHANGED
    await update(gateway, protected=True)
    assert result(await update(gateway, **given)) == UNCHANGED
    assert (await read_settings(gateway))["protected"]


async def test_an_idempotency_key_with_another_change_of_the_same_user_is_rejected(
    gateway: Gateway,
) -> None:
    await update(gateway, protected=True, idempotencyKey="k")
    payload = await update(gateway, protected=True, followingAudience="FRIENDS", idempotencyKey="k")
    assert result(payload) == REUSED
    (error,) = payload["userErrors"]
    assert error["__typename"] == "IdempotencyKeyReused"
    assert error["field"] == ["input", "idempotencyKey"]
    assert payload["settings"] == await read_settings(gateway) == DEFAULTS | {"protected": True}
    for mutation, given in (
        ("followUser", {"userId": "2"}),
        ("undoRelationshipChange", UNKNOWN_UNDO_TOKEN),
    ):
        assert result(await change(gateway, 1, mutation, **given, idempotencyKey="k")) == REUSED
    await change(gateway, 1, "followUser", 2, idempotencyKey="other")
    assert result(await update(gateway, protected=False, idempotencyKey="other")) == REUSED
    assert result(await update(gateway, 2, protected=False, idempotencyKey="k")) == UNCHANGED


async def test_idempotency_keys_of_services_are_separate_from_those_of_users(
    gateway: Gateway,
) -> None:
    await update(gateway, protected=True, idempotencyKey="k")
    assert result(await set_limit(gateway, userId="1", limit=5, idempotencyKey="k")) == UPDATED
    for user, most in (("1", 6), ("2", 5)):
        payload = await set_limit(gateway, 9, userId=user, limit=most, idempotencyKey="k")
        assert result(payload) == REUSED
        assert payload["user"] == {"id": user}
    assert (await read_settings(gateway))["followingLimit"] == 5


async def test_concurrent_repeats_make_one_change(gateway: Gateway) -> None:
    payloads = await asyncio.gather(
        *(update(gateway, protected=True, idempotencyKey="k") for _ in range(12))
    )
    assert all(payload == payloads[0] for payload in payloads)
    assert result(payloads[0]) == UPDATED
    payloads = await asyncio.gather(
        *(
            update(gateway, followingAudience=audience, idempotencyKey="other")
            for audience in ("FOLLOWERS", "FRIENDS", "ONLY_ME")
        )
    )
    assert sorted(map(result, payloads)) == [REUSED, REUSED, UPDATED]


async def test_changes_of_settings_count_towards_the_rate_limit_of_the_user(
    storage_settings: StorageSettings,
) -> None:
    policy = Policy(pace=Pace(interval_us=60_000_000, burst=2))
    async with running_gateway(storage_settings, policy) as gateway:
        assert (await change(gateway, 1, "followUser", 2))["outcome"] == "FOLLOWED"
        assert result(await update(gateway, protected=True, idempotencyKey="k")) == UPDATED
        rejected = ("REJECTED", False, ["RATE_LIMITED"])
        assert result(await update(gateway, protected=False)) == rejected
        assert result(await update(gateway, protected=True, idempotencyKey="new")) == rejected
        assert result(await update(gateway, protected=True, idempotencyKey="k")) == UPDATED
        assert result(await set_limit(gateway, userId="1", limit=5)) == UPDATED, (
            "services are not limited"
        )
