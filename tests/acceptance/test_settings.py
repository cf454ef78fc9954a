"""Privacy settings of users, and limits that services set, over HTTP."""

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
from tests.support.relationships import SAY, change, say

READ = """
{ viewer { relationshipSettings {
  protected followingAudience followersAudience followingLimit
} } }
"""

LIMIT = """
mutation ($input: SetFollowingLimitInput!) { setFollowingLimit(input: $input) {
  outcome changed userErrors { __typename code field }
  user { id } settings { followingLimit } clientMutationId
} }
"""

BETWEEN = '{ user(id: "1") { relationWith(ids: ["2"]) { state } } }'
WISH = '{ user(id: "1") { viewerFollowEligibility { code } } }'
TOKEN = {"undoToken": "A" * 22}
FOLLOW = 'mutation { followUser(input: { userId: "2" }) { userErrors { code } } }'

DEFAULTS = {
    "protected": False,
    "followingAudience": "EVERYONE",
    "followersAudience": "EVERYONE",
    "followingLimit": 1000,
}


async def update(gateway: Gateway, viewer: int | None = 1, **said: Any) -> Any:
    return await say(gateway, viewer, **said)


async def limit(gateway: Gateway, viewer: int | None = None, **said: Any) -> dict[str, Any]:
    data = await gateway.as_service.data(LIMIT, viewer, input=said)
    payload: dict[str, Any] = data["setFollowingLimit"]
    return payload


Result = tuple[str, bool, list[str]]


def result(payload: dict[str, Any]) -> Result:
    """The result, in short."""
    codes = [error["code"] for error in payload["userErrors"]]
    return payload["outcome"], payload["changed"], codes


UPDATED: Result = ("UPDATED", True, [])
UNCHANGED: Result = ("UNCHANGED", False, [])
REUSED: Result = ("REJECTED", False, ["IDEMPOTENCY_KEY_REUSED"])


async def read(gateway: Gateway, viewer: int = 1) -> Any:
    return (await gateway.data(READ, viewer))["viewer"]["relationshipSettings"]


async def test_settings_hold_at_once_through_any_gateway(
    gateway: Gateway, storage_settings: StorageSettings
) -> None:
    async with running_gateway(storage_settings) as other:
        assert await read(gateway) == await read(other) == DEFAULTS
        said: dict[str, Any] = {"protected": True, "followersAudience": "FRIENDS"}
        payload = await update(gateway, **said, clientMutationId="c-1", idempotencyKey="k-1")
        now = DEFAULTS | said
        assert payload == {
            "outcome": "UPDATED",
            "changed": True,
            "userErrors": [],
            "settings": now,
            "viewer": {"relationshipSettings": now, "user": {"id": "1"}},
            "clientMutationId": "c-1",
        }
        assert await read(other) == await read(gateway) == now
        assert await read(other, viewer=2) == DEFAULTS
        await update(other, protected=False, followingAudience="ONLY_ME")
        assert await read(gateway) == {**now, "protected": False, "followingAudience": "ONLY_ME"}
        again = await update(other, protected=False)
        assert result(again) == result(await update(other)) == UNCHANGED
        assert again["settings"] == await read(gateway)


async def test_the_second_of_two_changes_in_one_request_sees_itself(gateway: Gateway) -> None:
    change = """%s: updateRelationshipSettings(input: { protected: %s }) {
      viewer { relationshipSettings { protected } }
    }"""
    document = f"mutation {{ {change % ('one', 'true')} {change % ('two', 'false')} }}"
    data = await gateway.data(document, 1)
    seen = [data[name]["viewer"]["relationshipSettings"]["protected"] for name in ("one", "two")]
    assert seen == [True, False]


async def test_a_hidden_list_is_hidden_at_once(
    gateway: Gateway, stores: Stores, storage_settings: StorageSettings
) -> None:
    await edges(stores, {(1, 2): Kind.FOLLOW})
    await drain_all(stores)

    async def state(asked: Gateway) -> Any:
        return (await asked.data(BETWEEN, 3))["user"]["relationWith"][0]["state"]

    async with running_gateway(storage_settings) as other:
        assert await state(gateway) == await state(other) == "FOLLOWING"
        await update(gateway, 1, followingAudience="ONLY_ME")
        assert await state(other) == "FOLLOWING", "it stands in the other's list, too"
        await update(gateway, 2, followersAudience="ONLY_ME")
        assert await state(gateway) == await state(other) == "NONE"
        assert await state(gateway.as_service) == "NONE", "for a user, as that user"
        await update(other, 2, followersAudience="EVERYONE")
        assert await state(gateway) == await state(other) == "FOLLOWING"


async def test_turning_protection_off_accepts_nobody(gateway: Gateway, stores: Stores) -> None:
    await update(gateway, protected=True)
    await edges(stores, {(2, 1): Kind.REQUEST})
    await drain_all(stores)
    await update(gateway, protected=False)
    asked = '{ viewer { user { relationWith(ids: ["2"]) { requestedBy followedBy } } } }'
    (relation,) = (await gateway.data(asked, 1))["viewer"]["user"]["relationWith"]
    assert relation == {"requestedBy": True, "followedBy": False}
    eligibility = (await gateway.data(WISH, 2))["user"]["viewerFollowEligibility"]
    assert eligibility["code"] == "ALLOWED", "but asking again is following"


async def test_only_who_is_deleted_says_nothing_any_more(gateway: Gateway, stores: Stores) -> None:
    await stores.writes.account_states.change(UserId(1), AccountState.DEACTIVATED)
    assert result(await update(gateway, protected=True)) == UPDATED
    assert result(await limit(gateway, userId="1", limit=5)) == UPDATED
    await stores.writes.account_states.change(UserId(1), AccountState.DELETED)
    payload = await update(gateway, protected=False, idempotencyKey="k")
    assert result(payload) == ("REJECTED", False, ["ACCOUNT_NOT_ACTIVE"])
    payload = await limit(gateway, userId="1", limit=6, idempotencyKey="k")
    assert result(payload) == ("REJECTED", False, ["ACCOUNT_DELETED"])
    assert (await read(gateway))["protected"]


async def test_settings_are_of_somebody(gateway: Gateway) -> None:
    for asked in (gateway, gateway.as_service):
        error = await asked.error(SAY, input={"protected": True})
        assert error["extensions"] == {"code": "UNAUTHENTICATED"}
    payload = await update(gateway.as_service, 1, protected=True)
    assert payload["viewer"]["user"]["id"] == "1"


async def test_services_set_limits(gateway: Gateway) -> None:
    assert await limit(gateway, userId="1", limit=0, clientMutationId="c-1") == {
        "outcome": "UPDATED",
        "changed": True,
        "userErrors": [],
        "user": {"id": "1"},
        "settings": {"followingLimit": 0},
        "clientMutationId": "c-1",
    }
    assert (await read(gateway))["followingLimit"] == 0
    (error,) = (await gateway.data(FOLLOW, 1))["followUser"]["userErrors"]
    assert error["code"] == "FOLLOWING_LIMIT_REACHED"
    assert result(await limit(gateway, userId="1", limit=0)) == UNCHANGED
    assert result(await limit(gateway, 5, userId="1", limit=None)) == UPDATED
    assert (await read(gateway))["followingLimit"] == 1000
    assert (await gateway.data(FOLLOW, 1))["followUser"]["userErrors"] == []


@pytest.mark.parametrize("viewer", [None, 1])
async def test_only_services_set_limits(gateway: Gateway, viewer: int | None) -> None:
    error = await gateway.error(LIMIT, viewer, input={"userId": "1", "limit": 5})
    assert error["extensions"] == {"code": "FORBIDDEN"}
    assert (await read(gateway))["followingLimit"] == 1000


@pytest.mark.parametrize(
    ("field", "given"),
    [
        ("limit", {"userId": "1", "limit": -1}),
        ("userId", {"userId": "x", "limit": 1}),
        ("idempotencyKey", {"userId": "1", "limit": 1, "idempotencyKey": ""}),
    ],
)
async def test_an_invalid_limit_names_its_field(gateway: Gateway, field: str, given: Any) -> None:
    payload = await limit(gateway, **given)
    assert result(payload) == ("REJECTED", False, ["INVALID_INPUT"])
    assert [error["field"] for error in payload["userErrors"]] == [["input", field]]
    assert (payload["user"], payload["settings"]) == (None, None)
    assert (await read(gateway))["followingLimit"] == 1000


async def test_a_wrong_key_is_named_and_nothing_is_changed(gateway: Gateway) -> None:
    payload = await update(gateway, protected=True, idempotencyKey="x" * 65)
    assert result(payload) == ("REJECTED", False, ["INVALID_INPUT"])
    assert [error["field"] for error in payload["userErrors"]] == [["input", "idempotencyKey"]]
    assert payload["settings"] == await read(gateway) == DEFAULTS


async def test_a_repeat_does_not_overwrite_a_later_change(gateway: Gateway) -> None:
    said: dict[str, Any] = {"protected": True, "idempotencyKey": "k"}
    assert result(await update(gateway, **said)) == UPDATED
    assert result(await update(gateway, protected=False)) == UPDATED
    again = await update(gateway, **said)
    assert result(again) == UPDATED, "as it was answered first"
    assert again["settings"] == await read(gateway) == DEFAULTS, "as things stand now"

    said = {"userId": "1", "limit": 5, "idempotencyKey": "k"}
    assert result(await limit(gateway, **said)) == UPDATED
    assert result(await limit(gateway, userId="1", limit=6)) == UPDATED
    again = await limit(gateway, **said)
    assert (result(again), again["settings"]) == (UPDATED, {"followingLimit": 6})


async def test_a_repeat_of_a_change_without_effect_has_no_effect_later(gateway: Gateway) -> None:
    said: dict[str, Any] = {"protected": False, "idempotencyKey": "k"}
    assert result(await update(gateway, **said)) == UNCHANGED
    await update(gateway, protected=True)
    assert result(await update(gateway, **said)) == UNCHANGED
    assert (await read(gateway))["protected"]


async def test_a_key_is_of_one_request(gateway: Gateway) -> None:
    await update(gateway, protected=True, idempotencyKey="k")
    payload = await update(gateway, protected=True, followingAudience="FRIENDS", idempotencyKey="k")
    assert result(payload) == REUSED
    (error,) = payload["userErrors"]
    assert error["__typename"] == "IdempotencyKeyReused"
    assert error["field"] == ["input", "idempotencyKey"]
    assert payload["settings"] == await read(gateway) == DEFAULTS | {"protected": True}
    for mutation, given in (("followUser", {"userId": "2"}), ("undoRelationshipChange", TOKEN)):
        assert result(await change(gateway, 1, mutation, **given, idempotencyKey="k")) == REUSED
    await change(gateway, 1, "followUser", 2, idempotencyKey="other")
    assert result(await update(gateway, protected=False, idempotencyKey="other")) == REUSED
    assert result(await update(gateway, 2, protected=False, idempotencyKey="k")) == UNCHANGED


async def test_services_share_their_keys_with_nobody(gateway: Gateway) -> None:
    await update(gateway, protected=True, idempotencyKey="k")
    assert result(await limit(gateway, userId="1", limit=5, idempotencyKey="k")) == UPDATED
    for user, most in (("1", 6), ("2", 5)):
        payload = await limit(gateway, 9, userId=user, limit=most, idempotencyKey="k")
        assert result(payload) == REUSED
        assert payload["user"] == {"id": user}
    assert (await read(gateway))["followingLimit"] == 5


async def test_repeats_that_arrive_at_once_are_one(gateway: Gateway) -> None:
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


async def test_settings_are_changed_at_the_pace_of_everything_else(
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
        assert result(await limit(gateway, userId="1", limit=5)) == UPDATED, "it is the service's"
