"""What users say about who may see them, and what services allow, over HTTP."""

from typing import Any

import pytest

from graph.edge import Kind
from storage.settings import StorageSettings
from storage.stores import Stores
from tests.edges import edges
from tests.gateway import Gateway, running_gateway
from tests.graphs import drain_all

UPDATE = """
mutation ($input: UpdateRelationshipSettingsInput!) {
  updateRelationshipSettings(input: $input) {
    settings { ...all } viewer { relationshipSettings { ...all } user { id } } clientMutationId
  }
}
fragment all on RelationshipSettings {
  protected followingAudience followersAudience followingLimit
}
"""

READ = """
{ viewer { relationshipSettings {
  protected followingAudience followersAudience followingLimit
} } }
"""

LIMIT = """
mutation ($input: SetFollowingLimitInput!) { setFollowingLimit(input: $input) {
  user { id } settings { followingLimit } clientMutationId
} }
"""

BETWEEN = '{ user(id: "1") { relationWith(ids: ["2"]) { state } } }'
WISH = '{ user(id: "1") { viewerFollowEligibility { code } } }'
FOLLOW = 'mutation { followUser(input: { userId: "2" }) { userErrors { code } } }'

DEFAULTS = {
    "protected": False,
    "followingAudience": "EVERYONE",
    "followersAudience": "EVERYONE",
    "followingLimit": 1000,
}


async def update(gateway: Gateway, viewer: int | None = 1, **said: Any) -> dict[str, Any]:
    data = await gateway.data(UPDATE, viewer, input=said)
    payload: dict[str, Any] = data["updateRelationshipSettings"]
    return payload


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
            "settings": now,
            "viewer": {"relationshipSettings": now, "user": {"id": "1"}},
            "clientMutationId": "c-1",
        }
        assert await read(other) == await read(gateway) == now
        assert await read(other, viewer=2) == DEFAULTS
        await update(other, protected=False, followingAudience="ONLY_ME")
        assert await read(gateway) == {**now, "protected": False, "followingAudience": "ONLY_ME"}
        assert (await update(other))["settings"] == await read(gateway)


async def test_the_second_of_two_changes_in_one_request_sees_itself(gateway: Gateway) -> None:
    change = """%s: updateRelationshipSettings(input: { protected: %s }) {
      viewer { relationshipSettings { protected } }
    }"""
    document = f"mutation {{ {change % ('one', 'true')} {change % ('two', 'false')} }}"
    data = await gateway.data(document, 1)
    told = [data[name]["viewer"]["relationshipSettings"]["protected"] for name in ("one", "two")]
    assert told == [True, False]


async def test_what_is_hidden_is_hidden_at_once(
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


async def test_settings_are_of_somebody(gateway: Gateway) -> None:
    for asked in (gateway, gateway.as_service):
        error = await asked.error(UPDATE, input={"protected": True})
        assert error["extensions"] == {"code": "UNAUTHENTICATED"}
    payload = await update(gateway.as_service, 1, protected=True)
    assert payload["viewer"]["user"]["id"] == "1"


async def test_services_set_limits(gateway: Gateway) -> None:
    given = {"userId": "1", "limit": 0, "clientMutationId": "c-1"}
    payload = (await gateway.as_service.data(LIMIT, input=given))["setFollowingLimit"]
    assert payload == {
        "user": {"id": "1"},
        "settings": {"followingLimit": 0},
        "clientMutationId": "c-1",
    }
    assert (await read(gateway))["followingLimit"] == 0
    (error,) = (await gateway.data(FOLLOW, 1))["followUser"]["userErrors"]
    assert error["code"] == "FOLLOWING_LIMIT_REACHED"
    await gateway.as_service.data(LIMIT, 5, input={"userId": "1", "limit": None})
    assert (await read(gateway))["followingLimit"] == 1000
    assert (await gateway.data(FOLLOW, 1))["followUser"]["userErrors"] == []


@pytest.mark.parametrize("viewer", [None, 1])
async def test_only_services_set_limits(gateway: Gateway, viewer: int | None) -> None:
    error = await gateway.error(LIMIT, viewer, input={"userId": "1", "limit": 5})
    assert error["extensions"] == {"code": "FORBIDDEN"}
    assert (await read(gateway))["followingLimit"] == 1000


@pytest.mark.parametrize(
    ("argument", "given"),
    [("limit", {"userId": "1", "limit": -1}), ("userId", {"userId": "x", "limit": 1})],
)
async def test_a_wrong_limit_is_named(gateway: Gateway, argument: str, given: Any) -> None:
    error = await gateway.as_service.error(LIMIT, input=given)
    assert error["extensions"] == {"code": "BAD_USER_INPUT", "argument": argument}
