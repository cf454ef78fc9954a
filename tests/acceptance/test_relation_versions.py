"""Changes that are conditional on the version of a relation."""

import asyncio
from typing import Any

import pytest

from resolvers.policy import Policy
from storage.settings import StorageSettings
from storage.stores import Stores
from tests.acceptance.test_account_states import change_state
from tests.support.gateway import Gateway, running_gateway
from tests.support.graphs import drain_all, follows
from tests.support.relationships import change, change_many, protect

VERSION = """
query ($from: ID!, $to: ID!) { user(id: $from) { relationWith(ids: [$to]) { version } } }
"""
CONDITIONAL = """payload: {mutation}(input: $input) {{
  outcome changed relation {{ state version }} userErrors {{ __typename code message field }}
}}"""


async def version(gateway: Gateway, viewer: int | None, source: int, target: int) -> Any:
    data = await gateway.data(VERSION, viewer, **{"from": str(source), "to": str(target)})
    return data["user"]["relationWith"][0]["version"]


async def conditional(
    gateway: Gateway, viewer: int, mutation: str, target: int | None, **given: Any
) -> Any:
    """The payload of a mutation, with the version of the relation after it."""
    if target is not None:
        given["userId"] = str(target)
    kind = mutation[0].upper() + mutation[1:]
    query = f"mutation ($input: {kind}Input!) {{ {CONDITIONAL.format(mutation=mutation)} }}"
    return (await gateway.data(query, viewer, input=given))["payload"]


def is_conflict(payload: Any) -> bool:
    if payload["outcome"] != "REJECTED":
        return False
    (error,) = payload["userErrors"]
    assert (error["__typename"], error["code"]) == ("Conflict", "CONFLICT")
    assert error["field"] == ["input", "ifVersion"]
    assert not payload["changed"]
    return True


async def test_a_change_with_the_current_version_is_made(gateway: Gateway) -> None:
    first = await version(gateway, 1, 1, 2)
    followed = await conditional(gateway, 1, "followUser", 2, ifVersion=first)
    assert followed["outcome"] == "FOLLOWED"
    second = followed["relation"]["version"]
    assert second == await version(gateway, 1, 1, 2) != first
    unfollowed = await conditional(gateway, 1, "unfollowUser", 2, ifVersion=second)
    assert unfollowed["outcome"] == "UNFOLLOWED"


async def test_a_change_with_an_older_version_is_rejected_with_the_current_relation(
    gateway: Gateway,
) -> None:
    seen = await version(gateway, 1, 1, 2)
    await change(gateway, 1, "followUser", 2)
    for mutation in ("followUser", "unfollowUser", "blockUser", "muteUser", "dismissSuggestion"):
        payload = await conditional(gateway, 1, mutation, 2, ifVersion=seen)
        assert is_conflict(payload)
        assert payload["relation"]["state"] == "FOLLOWING"
        assert payload["relation"]["version"] == await version(gateway, 1, 1, 2)
    made = await conditional(gateway, 1, "blockUser", 2, ifVersion=payload["relation"]["version"])
    assert made["outcome"] == "BLOCKED"


@pytest.mark.parametrize(
    ("first", "mutation", "given"),
    [
        ([], "followUser", {}),
        (["followUser"], "unfollowUser", {}),
        (["followUser"], "updateFollow", {"closeFollow": True}),
        (["followUser"], "updateFollow", {"visibility": "WHISPER"}),
        ([], "blockUser", {}),
        (["blockUser"], "unblockUser", {}),
        ([], "muteUser", {}),
        (["muteUser"], "muteUser", {"until": "2999-01-01T00:00:00Z"}),
        (["muteUser"], "unmuteUser", {}),
        ([], "dismissSuggestion", {}),
    ],
)
async def test_every_change_of_the_viewer_makes_a_new_version(
    gateway: Gateway, first: list[str], mutation: str, given: dict[str, Any]
) -> None:
    seen = {await version(gateway, 1, 1, 2)}
    for before in first:
        await change(gateway, 1, before, 2)
        seen.add(await version(gateway, 1, 1, 2))
    assert (await change(gateway, 1, mutation, 2, **given))["changed"]
    seen.add(await version(gateway, 1, 1, 2))
    assert len(seen) == len(first) + 2


async def test_a_relation_that_returns_to_an_earlier_state_has_a_new_version(
    gateway: Gateway,
) -> None:
    before = await version(gateway, 1, 1, 2)
    await change(gateway, 1, "muteUser", 2)
    await change(gateway, 1, "unmuteUser", 2)
    assert is_conflict(await conditional(gateway, 1, "followUser", 2, ifVersion=before))


@pytest.mark.parametrize(
    ("first", "mutation"),
    [
        ([], "followUser"),
        (["followUser"], "unfollowUser"),
        (["followUser"], "blockUser"),
    ],
)
async def test_a_visible_change_by_the_other_user_makes_a_new_version(
    gateway: Gateway, stores: Stores, first: list[str], mutation: str
) -> None:
    for before in first:
        await change(gateway, 2, before, 1)
    await drain_all(stores)
    seen = await version(gateway, 1, 1, 2)
    await change(gateway, 2, mutation, 1)
    assert is_conflict(await conditional(gateway, 1, "muteUser", 2, ifVersion=seen))
    await drain_all(stores)
    assert await version(gateway, 1, 1, 2) != seen


@pytest.mark.parametrize(
    ("follows_back", "mutation", "given"),
    [
        (False, "muteUser", {}),
        (False, "blockUser", {}),
        (False, "dismissSuggestion", {}),
        (True, "muteUser", {}),
        (True, "updateFollow", {"closeFollow": True}),
    ],
)
async def test_a_hidden_change_by_the_other_user_makes_no_new_version(
    gateway: Gateway, stores: Stores, follows_back: bool, mutation: str, given: dict[str, Any]
) -> None:
    if follows_back:
        await follows(stores, (2, 1))
        await drain_all(stores)
    seen = await version(gateway, 1, 1, 2)
    assert (await change(gateway, 2, mutation, 1, **given))["changed"]
    await drain_all(stores)
    assert await version(gateway, 1, 1, 2) == seen
    made = await conditional(gateway, 1, "muteUser", 2, ifVersion=seen)
    assert made["outcome"] == "MUTED"


async def test_a_hidden_whisper_makes_no_new_version(storage_settings: StorageSettings) -> None:
    policy = Policy(whispers_hidden=True)
    async with running_gateway(storage_settings, policy) as gateway:
        seen = await version(gateway, 1, 1, 2)
        await change(gateway, 2, "followUser", 1, visibility="WHISPER")
        assert await version(gateway, 1, 1, 2) == seen
        assert not is_conflict(await conditional(gateway, 1, "followUser", 2, ifVersion=seen))


async def test_the_deletion_of_an_absent_user_makes_no_new_version(
    gateway: Gateway, stores: Stores
) -> None:
    await change(gateway, 1, "followUser", 2)
    await change_state(gateway, "deactivateAccount", 2)
    seen = await version(gateway, 1, 1, 2)
    # What an erasure does to the edge: it ends, with a newer version.
    await stores.servers.postgres.fetch(
        "UPDATE following SET kind = 0, version = version + 1 WHERE from_user_id = 1"
    )
    assert await version(gateway, 1, 1, 2) == seen


async def test_only_the_viewers_own_relations_have_versions(gateway: Gateway) -> None:
    assert await version(gateway, 1, 1, 2) is not None
    assert await version(gateway, 1, 2, 1) is None
    assert await version(gateway, 3, 1, 2) is None
    assert await version(gateway, None, 1, 2) is None
    assert await version(gateway, 1, 1, 1) is None


async def test_a_repeat_with_the_same_key_returns_the_first_result(gateway: Gateway) -> None:
    given = {"ifVersion": await version(gateway, 1, 1, 2), "idempotencyKey": "k"}
    first = await conditional(gateway, 1, "followUser", 2, **given)
    assert await conditional(gateway, 1, "followUser", 2, **given) == first
    await change(gateway, 1, "unfollowUser", 2)
    again = await conditional(gateway, 1, "followUser", 2, **given)
    assert (again["outcome"], again["relation"]["state"]) == ("FOLLOWED", "NONE")


async def test_a_conflict_does_not_use_up_the_idempotency_key(gateway: Gateway) -> None:
    old = await version(gateway, 1, 1, 2)
    await change(gateway, 1, "muteUser", 2)
    given = {"idempotencyKey": "k"}
    payload = await conditional(gateway, 1, "followUser", 2, ifVersion=old, **given)
    assert is_conflict(payload)
    current = payload["relation"]["version"]
    made = await conditional(gateway, 1, "followUser", 2, ifVersion=current, **given)
    assert made["outcome"] == "FOLLOWED"


async def test_only_one_of_concurrent_changes_with_the_same_version_is_made(
    gateway: Gateway,
) -> None:
    seen = await version(gateway, 1, 1, 2)
    mutations = ("followUser", "blockUser", "muteUser", "dismissSuggestion") * 2
    payloads = await asyncio.gather(
        *(conditional(gateway, 1, mutation, 2, ifVersion=seen) for mutation in mutations)
    )
    assert [is_conflict(payload) for payload in payloads].count(False) == 1


async def test_an_undo_with_an_older_version_is_rejected(gateway: Gateway) -> None:
    await change(gateway, 1, "followUser", 2)
    before = await version(gateway, 1, 1, 2)
    token = (await change(gateway, 1, "unfollowUser", 2))["undoToken"]
    undo = "undoRelationshipChange"
    assert is_conflict(await conditional(gateway, 1, undo, None, undoToken=token, ifVersion=before))
    given = {
        "undoToken": token,
        "ifVersion": await version(gateway, 1, 1, 2),
        "idempotencyKey": "k",
    }
    undone = await conditional(gateway, 1, undo, None, **given)
    assert undone["outcome"] == "RESTORED"
    assert await conditional(gateway, 1, undo, None, **given) == undone


async def test_each_change_of_change_relationships_has_its_own_condition(gateway: Gateway) -> None:
    seen = await version(gateway, 1, 1, 2)
    await change(gateway, 1, "followUser", 2)
    other = await version(gateway, 1, 1, 3)
    payload = await change_many(
        gateway, 1, ("BLOCK", 2, {"ifVersion": seen}), ("FOLLOW", 3, {"ifVersion": other})
    )
    rejected, made = payload["changes"]
    assert [error["code"] for error in rejected["userErrors"]] == ["CONFLICT"]
    assert rejected["userErrors"][0]["field"] == ["input", "changes", "0", "ifVersion"]
    assert made["outcome"] == "FOLLOWED"


@pytest.mark.parametrize("text", ["", "7", "x" * 17, "é" * 16])
async def test_an_invalid_version_is_rejected(gateway: Gateway, text: str) -> None:
    payload = await change(gateway, 1, "followUser", 2, ifVersion=text)
    (error,) = payload["userErrors"]
    assert (error["code"], error["field"]) == ("INVALID_INPUT", ["input", "ifVersion"])


async def test_requesting_and_declining_make_new_versions(gateway: Gateway, stores: Stores) -> None:
    await protect(stores, 2)
    seen = [await version(gateway, 1, 1, 2), await version(gateway, 2, 2, 1)]
    await change(gateway, 1, "followUser", 2)
    await drain_all(stores)
    requested = [await version(gateway, 1, 1, 2), await version(gateway, 2, 2, 1)]
    await change(gateway, 2, "declineFollowRequest", 1)
    await drain_all(stores)
    declined = [await version(gateway, 1, 1, 2), await version(gateway, 2, 2, 1)]
    assert len({seen[0], requested[0], declined[0]}) == 3
    assert seen[1] != requested[1] != declined[1]
