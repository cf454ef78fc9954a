"""Only services deactivate, reactivate and delete accounts."""

from typing import Any

import pytest

from storage.stores import Stores
from tests.support.gateway import Gateway
from tests.support.graphs import drain_all, follows
from tests.support.relationships import change, change_many

STATUS = "state deletion { edgesLeft startedAt finishedAt } user { id }"
ACCOUNT = f"query ($id: ID!) {{ account(id: $id) {{ {STATUS} }} }}"
MUTATIONS = ("deactivateAccount", "reactivateAccount", "deleteAccount")


def document(mutation: str) -> str:
    input_type = f"{mutation[0].upper()}{mutation[1:]}Input"
    return f"""mutation ($input: {input_type}!) {{ payload: {mutation}(input: $input) {{
        outcome changed account {{ {STATUS} }} clientMutationId
        userErrors {{ __typename code message field }}
    }} }}"""


async def change_state(gateway: Gateway, mutation: str, user: int | str, **more_input: Any) -> Any:
    """Send one of MUTATIONS as a service, and return its payload."""
    given = {"userId": str(user), **more_input}
    return (await gateway.as_service.data(document(mutation), input=given))["payload"]


async def outcomes(gateway: Gateway, user: int, *mutations: str) -> list[tuple[str, bool, str]]:
    """The outcome of each mutation, whether it changed the account, and the state after it."""
    payloads = [await change_state(gateway, mutation, user) for mutation in mutations]
    return [(p["outcome"], p["changed"], p["account"]["state"]) for p in payloads]


async def test_services_read_the_states_of_many_accounts_in_one_field(gateway: Gateway) -> None:
    await change_state(gateway, "deactivateAccount", 2)
    await change_state(gateway, "deleteAccount", 3)
    query = "query ($ids: [ID!]!) { accounts(ids: $ids) { state user { id } } }"
    accounts = (await gateway.as_service.data(query, ids=["3", "1", "2", "3"]))["accounts"]
    assert [(account["user"]["id"], account["state"]) for account in accounts] == [
        ("3", "DELETED"),
        ("1", "ACTIVE"),
        ("2", "DEACTIVATED"),
        ("3", "DELETED"),
    ]
    for viewer in (None, 1):
        error = await gateway.error(query, viewer, ids=["1"])
        assert error["extensions"]["code"] == "FORBIDDEN"
    error = await gateway.as_service.error(query, ids=["1"] * 101)
    assert error["extensions"] == {"code": "BAD_USER_INPUT", "argument": "ids"}


async def test_a_repeated_change_of_state_changes_nothing(gateway: Gateway) -> None:
    off, on = "deactivateAccount", "reactivateAccount"
    assert await outcomes(gateway, 1, on, off, off, on, on) == [
        ("ALREADY_ACTIVE", False, "ACTIVE"),
        ("DEACTIVATED", True, "DEACTIVATED"),
        ("ALREADY_DEACTIVATED", False, "DEACTIVATED"),
        ("REACTIVATED", True, "ACTIVE"),
        ("ALREADY_ACTIVE", False, "ACTIVE"),
    ]
    assert await outcomes(gateway, 1, off, "deleteAccount", "deleteAccount") == [
        ("DEACTIVATED", True, "DEACTIVATED"),
        ("DELETED", True, "DELETED"),
        ("ALREADY_DELETED", False, "DELETED"),
    ]


@pytest.mark.parametrize("name", ["deactivateAccount", "reactivateAccount"])
async def test_a_deleted_account_cannot_be_deactivated_or_reactivated(
    gateway: Gateway, name: str
) -> None:
    await change_state(gateway, "deleteAccount", 1)
    payload = await change_state(gateway, name, 1, clientMutationId="c-1")
    (error,) = payload.pop("userErrors")
    assert error.pop("message")
    assert error == {
        "__typename": "AccountDeleted",
        "code": "ACCOUNT_DELETED",
        "field": ["input", "userId"],
    }
    assert payload.pop("account")["state"] == "DELETED"
    assert payload == {"outcome": "REJECTED", "changed": False, "clientMutationId": "c-1"}


async def test_services_read_the_progress_of_a_deletion(gateway: Gateway, stores: Stores) -> None:
    await follows(stores, (1, 2), (1, 3), (4, 1))
    await drain_all(stores)
    service = gateway.as_service
    assert (await service.data(ACCOUNT, id="1"))["account"] == {
        "state": "ACTIVE",
        "deletion": None,
        "user": {"id": "1"},
    }
    deletion = (await change_state(gateway, "deleteAccount", 1))["account"]["deletion"]
    assert deletion.pop("startedAt").startswith("20")
    assert deletion == {"edgesLeft": 3, "finishedAt": None}


@pytest.mark.parametrize("viewer", [None, 1, 2])
async def test_only_services_read_and_change_account_states(
    gateway: Gateway, viewer: int | None
) -> None:
    errors = [await gateway.error(ACCOUNT, viewer, id="1")]
    errors += [
        await gateway.error(document(name), viewer, input={"userId": "1"}) for name in MUTATIONS
    ]
    assert [error["extensions"] for error in errors] == [{"code": "FORBIDDEN"}] * 4
    assert (await gateway.as_service.data(ACCOUNT, id="1"))["account"]["state"] == "ACTIVE"


@pytest.mark.parametrize("name", MUTATIONS)
async def test_the_error_names_the_invalid_user_id(gateway: Gateway, name: str) -> None:
    payload = await change_state(gateway, name, "x")
    (error,) = payload.pop("userErrors")
    assert (error["code"], error["field"]) == ("INVALID_INPUT", ["input", "userId"])
    assert payload["outcome"] == "REJECTED"
    assert payload["account"] is None
    error = await gateway.as_service.error(ACCOUNT, id="x")
    assert error["extensions"] == {"code": "BAD_USER_INPUT", "argument": "id"}


async def test_a_repeat_with_the_same_key_returns_the_first_outcome_and_changes_nothing(
    gateway: Gateway,
) -> None:
    first = await change_state(gateway, "deactivateAccount", 1, idempotencyKey="k")
    assert (first["outcome"], first["account"]["state"]) == ("DEACTIVATED", "DEACTIVATED")
    await change_state(gateway, "reactivateAccount", 1, idempotencyKey="back")
    again = await change_state(gateway, "deactivateAccount", 1, idempotencyKey="k")
    assert (again["outcome"], again["changed"]) == ("DEACTIVATED", True), "the first outcome"
    assert again["account"]["state"] == "ACTIVE", "the state now"
    for name, user in (("reactivateAccount", 1), ("deactivateAccount", 2)):
        payload = await change_state(gateway, name, user, idempotencyKey="k")
        (error,) = payload["userErrors"]
        assert (payload["outcome"], error["code"]) == ("REJECTED", "IDEMPOTENCY_KEY_REUSED")
        assert payload["account"]["state"] == "ACTIVE"


async def test_a_repeat_that_would_be_rejected_now_returns_the_first_result(
    gateway: Gateway,
) -> None:
    await change_state(gateway, "deactivateAccount", 1, idempotencyKey="k")
    await change_state(gateway, "deleteAccount", 1)
    again = await change_state(gateway, "deactivateAccount", 1, idempotencyKey="k")
    assert (again["outcome"], again["userErrors"]) == ("DEACTIVATED", [])
    assert again["account"]["state"] == "DELETED"
    other = await change_state(gateway, "reactivateAccount", 1, idempotencyKey="k")
    assert [error["code"] for error in other["userErrors"]] == ["IDEMPOTENCY_KEY_REUSED"]


async def test_a_rejected_change_of_state_does_not_use_up_its_idempotency_key(
    gateway: Gateway,
) -> None:
    await change_state(gateway, "deleteAccount", 1, idempotencyKey="gone")
    for user, outcome in ((1, "REJECTED"), (2, "DEACTIVATED")):
        payload = await change_state(gateway, "deactivateAccount", user, idempotencyKey="k")
        assert payload["outcome"] == outcome


@pytest.mark.parametrize("name", MUTATIONS)
async def test_the_error_names_the_invalid_idempotency_key(gateway: Gateway, name: str) -> None:
    for key in ("", "x" * 65):
        payload = await change_state(gateway, name, 1, idempotencyKey=key)
        (error,) = payload["userErrors"]
        assert (payload["outcome"], payload["account"]) == ("REJECTED", None)
        assert (error["code"], error["field"]) == ("INVALID_INPUT", ["input", "idempotencyKey"])


VIEWER_MUTATIONS = ("followUser", "unfollowUser", "blockUser", "muteUser", "acceptFollowRequest")


@pytest.mark.parametrize("mutation", ["deactivateAccount", "deleteAccount"])
async def test_an_inactive_viewer_can_read_but_not_change(
    gateway: Gateway, stores: Stores, mutation: str
) -> None:
    await follows(stores, (1, 2), (3, 1))
    await drain_all(stores)
    token = (await change(gateway, 1, "unfollowUser", 2))["undoToken"]
    await change(gateway, 1, "followUser", 2)
    await change_state(gateway, mutation, 1)
    query = 'query { user(id: "1") { following { totalCount nodes { id } } } }'
    following = (await gateway.data(query, 1))["user"]["following"]
    assert following == {"totalCount": 1, "nodes": [{"id": "2"}]}
    payloads = [await change(gateway, 1, name, 5) for name in VIEWER_MUTATIONS]
    payloads += (await change_many(gateway, 1, ("FOLLOW", 5), ("UNFOLLOW", 2)))["changes"]
    payloads += [await change(gateway, 1, "undoRelationshipChange", undoToken=token)]
    for payload in payloads:
        (error,) = payload["userErrors"]
        assert (payload["outcome"], payload["changed"]) == ("REJECTED", False)
        assert error["__typename"] == "AccountNotActive"
        assert (error["code"], error["field"]) == ("ACCOUNT_NOT_ACTIVE", None)
    if mutation == "deactivateAccount":
        await change_state(gateway, "reactivateAccount", 1)
        assert (await change(gateway, 1, "followUser", 5))["outcome"] == "FOLLOWED"


async def test_edges_of_a_deleted_account_can_end_but_not_begin(
    gateway: Gateway, stores: Stores
) -> None:
    await follows(stores, (2, 1), (1, 3))
    await drain_all(stores)
    await change_state(gateway, "deleteAccount", 1)
    for name in ("followUser", "blockUser", "muteUser", "dismissSuggestion"):
        (error,) = (await change(gateway, 4, name, 1))["userErrors"]
        assert error["code"] == "NOT_ALLOWED", name
    assert (await change(gateway, 2, "unfollowUser", 1))["outcome"] == "UNFOLLOWED"
    assert (await change(gateway, 3, "removeFollower", 1))["outcome"] == "FOLLOWER_REMOVED"


async def test_a_deactivated_account_can_be_blocked_and_unfollowed(
    gateway: Gateway, stores: Stores
) -> None:
    await follows(stores, (2, 1), (1, 3))
    await change(gateway, 4, "blockUser", 1)
    await drain_all(stores)
    await change_state(gateway, "deactivateAccount", 1)
    assert (await change(gateway, 2, "unfollowUser", 1))["outcome"] == "UNFOLLOWED"
    assert (await change(gateway, 3, "blockUser", 1))["outcome"] == "BLOCKED"
    (error,) = (await change(gateway, 4, "followUser", 1))["userErrors"]
    assert error["code"] == "UNBLOCK_FIRST"
    await drain_all(stores)
    await change_state(gateway, "reactivateAccount", 1)
    query = """query { user(id: "1") { followingCount followerCount
        following { nodes { id } } followers { nodes { id } } } }"""
    empty: dict[str, Any] = {"nodes": []}
    assert (await gateway.data(query, 1))["user"] == {
        "followingCount": 0,
        "followerCount": 0,
        "following": empty,
        "followers": empty,
    }
