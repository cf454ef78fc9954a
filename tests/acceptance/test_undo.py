"""An undo restores what a change removed, for its actor, for a limited time, unless a newer change
prevents it."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from graph.account_state import AccountState
from graph.edge import UserId
from resolvers.policy import Policy
from storage.settings import StorageSettings
from storage.stores import Stores
from tests.support.edge_files import execute
from tests.support.gateway import Gateway, running_gateway
from tests.support.graphs import drain_all, follows
from tests.support.relationships import change, change_settings, deactivate, outcome


async def undo(gateway: Gateway, viewer: int, token: str, **given: Any) -> Any:
    return await change(gateway, viewer, "undoRelationshipChange", undoToken=token, **given)


def reason(payload: Any) -> str:
    """The reason of a `CANNOT_UNDO` rejection."""
    (error,) = payload["userErrors"]
    assert (payload["outcome"], payload["changed"]) == ("REJECTED", False)
    assert (error["code"], error["field"]) == ("CANNOT_UNDO", ["input", "undoToken"])
    return str(error["reason"])


async def unfollow_token(gateway: Gateway, viewer: int = 1, target: int = 2) -> str:
    """Follow and unfollow a user. Returns the undo token of the unfollow."""
    await change(gateway, viewer, "followUser", target)
    return str((await change(gateway, viewer, "unfollowUser", target))["undoToken"])


RELATION = """
query ($id: ID!) { user(id: $id) { viewerRelation { state followedAt followedByAt } } }
"""


@pytest.mark.parametrize("mutation", ["unfollowUser", "blockUser", "removeFollower"])
async def test_an_undo_restores_the_relation_with_its_dates(
    gateway: Gateway, stores: Stores, mutation: str
) -> None:
    await follows(stores, (1, 2), (2, 1))
    await drain_all(stores)
    before = (await gateway.data(RELATION, 1, id="2"))["user"]["viewerRelation"]
    assert before["state"] == "FRIENDS"
    removal = await change(gateway, 1, mutation, 2)
    assert removal["relation"] != before
    undone = await undo(gateway, 1, removal["undoToken"])
    assert (undone["outcome"], undone["changed"]) == ("RESTORED", True)
    assert (undone["user"], undone["relation"]) == ({"id": "2"}, before)
    assert (await gateway.data(RELATION, 1, id="2"))["user"]["viewerRelation"] == before
    await drain_all(stores)
    assert (await gateway.data(RELATION, 1, id="2"))["user"]["viewerRelation"] == before
    assert reason(await undo(gateway, 1, removal["undoToken"])) == "OVERTAKEN"


REQUESTS = """
{ viewer {
  incomingFollowRequests { edges { requestedAt node { id message } } }
  outgoingFollowRequests { edges { requestedAt node { id message } } }
} }
"""


@pytest.mark.parametrize(
    ("mutation", "actor", "target"),
    [
        ("blockUser", 1, 2),
        ("blockUser", 2, 1),
        ("declineFollowRequest", 2, 1),
        ("cancelFollowRequest", 1, 2),
    ],
)
async def test_an_undo_restores_a_removed_request_with_its_date_and_message(
    gateway: Gateway, stores: Stores, mutation: str, actor: int, target: int
) -> None:
    await change_settings(gateway, 2, protected=True)
    await change(gateway, 1, "followUser", 2, message="Please!")
    await drain_all(stores)
    before = [await gateway.data(REQUESTS, viewer) for viewer in (1, 2)]
    (request,) = before[0]["viewer"]["outgoingFollowRequests"]["edges"]
    assert request["node"] == {"id": "request:1:2", "message": "Please!"}
    removal = await change(gateway, actor, mutation, target)
    assert (await gateway.data(REQUESTS, actor)) != before[actor - 1]
    undone = await undo(gateway, actor, removal["undoToken"])
    assert undone["outcome"] == "RESTORED"
    await drain_all(stores)
    assert [await gateway.data(REQUESTS, viewer) for viewer in (1, 2)] == before
    assert reason(await undo(gateway, actor, removal["undoToken"])) == "OVERTAKEN"
    assert (await outcome(gateway, 2, "acceptFollowRequest", 1))[0] == "REQUEST_ACCEPTED"


async def test_an_undo_of_a_removed_request_is_rejected_after_a_new_request_or_follow(
    gateway: Gateway,
) -> None:
    await change_settings(gateway, 2, protected=True)
    await change(gateway, 1, "followUser", 2, message="Please!")
    declined = (await change(gateway, 2, "declineFollowRequest", 1))["undoToken"]
    await change(gateway, 1, "followUser", 2, message="Pretty please!")
    assert reason(await undo(gateway, 2, declined)) == "OVERTAKEN"
    cancelled = (await change(gateway, 1, "cancelFollowRequest", 2))["undoToken"]
    await change_settings(gateway, 2, protected=False)
    await change(gateway, 1, "followUser", 2)
    assert reason(await undo(gateway, 1, cancelled)) == "OVERTAKEN"


@pytest.mark.parametrize(
    "mutation",
    [
        "followUser",
        "muteUser",
        "unfollowUser",
        "removeFollower",
        "declineFollowRequest",
        "cancelFollowRequest",
    ],
)
async def test_a_change_that_removed_nothing_has_no_undo_token(
    gateway: Gateway, mutation: str
) -> None:
    assert (await change(gateway, 1, mutation, 2, idempotencyKey="k"))["undoToken"] is None


async def test_only_the_actor_of_a_change_can_use_its_undo_token(gateway: Gateway) -> None:
    token = await unfollow_token(gateway)
    assert reason(await undo(gateway, 2, token)) == "UNKNOWN"
    assert (await undo(gateway, 1, token))["outcome"] == "RESTORED"


@pytest.mark.parametrize(
    "token", ["", "x", "A" * 22, "A" * 21 + "B", "é" * 22, "A" * 10_000, "+/" * 11]
)
async def test_an_unknown_undo_token_restores_nothing(gateway: Gateway, token: str) -> None:
    payload = await undo(gateway, 1, token)
    assert reason(payload) == "UNKNOWN"
    assert (payload["user"], payload["relation"]) == (None, None)


async def test_an_undo_token_in_another_encoding_is_unknown(gateway: Gateway) -> None:
    token = await unfollow_token(gateway)
    for other in (token + "==", token.swapcase(), token[:-1], " " + token):
        assert reason(await undo(gateway, 1, other)) == "UNKNOWN"


async def test_the_id_of_a_receipt_without_an_undo_record_is_not_an_undo_token(
    gateway: Gateway, stores: Stores
) -> None:
    await change(gateway, 1, "followUser", 2, idempotencyKey="k")
    row = await stores.servers.postgres.row(
        "SELECT translate(trim('=' FROM encode(uuid_send(id), 'base64')), '+/', '-_') AS token"
        " FROM receipt"
    )
    assert row is not None
    assert reason(await undo(gateway, 1, row["token"])) == "UNKNOWN"


async def test_an_undo_token_expires(gateway: Gateway, stores: Stores) -> None:
    token = await unfollow_token(gateway)
    await stores.servers.postgres.fetch(
        "UPDATE receipt SET made_at = made_at - 901 * 1000000::bigint"
    )
    payload = await undo(gateway, 1, token)
    assert (reason(payload), payload["user"]) == ("EXPIRED", {"id": "2"})


async def test_an_undo_is_rejected_after_a_later_change_by_the_actor(gateway: Gateway) -> None:
    token = await unfollow_token(gateway)
    await change(gateway, 1, "muteUser", 2)
    assert reason(await undo(gateway, 1, token)) == "OVERTAKEN"


HIDDEN_CHANGES = {
    "mute": ["muteUser"],
    "mute and unmute": ["muteUser", "unmuteUser"],
    "dismiss": ["dismissSuggestion"],
    "block and unblock": ["blockUser", "unblockUser"],
}


@pytest.mark.parametrize("hidden", HIDDEN_CHANGES.values(), ids=HIDDEN_CHANGES)
@pytest.mark.parametrize("mutation", ["unfollowUser", "blockUser", "removeFollower"])
async def test_the_result_of_an_undo_does_not_reveal_hidden_changes_by_the_other_user(
    gateway: Gateway, stores: Stores, mutation: str, hidden: list[str]
) -> None:
    """The undo also keeps a mute by the other user."""
    # With `removeFollower` the viewer follows nobody: a block would visibly end such a follow.
    both = [(1, 2), (3, 4)] if mutation != "removeFollower" else []
    await follows(stores, (2, 1), (4, 3), *both)
    result = []
    for viewer, target in ((1, 2), (3, 4)):
        token = (await change(gateway, viewer, mutation, target))["undoToken"]
        for hidden_mutation in hidden if viewer == 1 else []:
            await change(gateway, target, hidden_mutation, viewer)
        payload = await undo(gateway, viewer, token)
        result.append((payload["outcome"], payload["relation"]["state"]))
    if "blockUser" in hidden and mutation == "unfollowUser":
        # The block has ended the other user's follow.
        assert result == [("RESTORED", "FOLLOWING"), ("RESTORED", "FRIENDS")]
    else:
        assert result[0] == result[1] == ("RESTORED", "FRIENDS" if both else "FOLLOWED_BY")
    if hidden == ["muteUser"]:
        assert (await outcome(gateway, 2, "muteUser", 1))[0] == "ALREADY_MUTED"


async def test_a_later_follow_by_the_other_user_does_not_prevent_an_undo(gateway: Gateway) -> None:
    token = await unfollow_token(gateway)
    await change(gateway, 2, "followUser", 1)
    payload = await undo(gateway, 1, token)
    assert (payload["outcome"], payload["relation"]["state"]) == ("RESTORED", "FRIENDS")


async def test_a_second_undo_does_not_restore_a_follow_that_the_other_user_ended(
    gateway: Gateway, stores: Stores
) -> None:
    await follows(stores, (2, 1))
    token = (await change(gateway, 1, "removeFollower", 2))["undoToken"]
    assert (await undo(gateway, 1, token))["relation"]["state"] == "FOLLOWED_BY"
    await change(gateway, 2, "unfollowUser", 1)
    assert reason(await undo(gateway, 1, token)) == "OVERTAKEN"


FAILING_TRIGGER = """
CREATE FUNCTION broken() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'as if the server went away' USING ERRCODE = 'admin_shutdown';
END $$;
CREATE TRIGGER broken BEFORE UPDATE ON receipt FOR EACH ROW EXECUTE FUNCTION broken();
"""


@pytest.mark.plain("it creates a trigger, which distributed tables cannot have")
@pytest.mark.parametrize("given", [{}, {"idempotencyKey": "k"}], ids=["no key", "a key"])
async def test_an_undo_that_fails_restores_nothing_and_can_be_repeated(
    gateway: Gateway, storage_settings: StorageSettings, given: dict[str, str]
) -> None:
    await change_settings(gateway, 2, protected=True)
    await change(gateway, 1, "followUser", 2, message="Please!")
    token = (await change(gateway, 2, "declineFollowRequest", 1))["undoToken"]
    await execute(storage_settings, FAILING_TRIGGER)
    query = """mutation ($input: UndoRelationshipChangeInput!) {
        undoRelationshipChange(input: $input) { outcome } }"""
    error = await gateway.error(query, 2, input={"undoToken": token, **given})
    assert error["extensions"]["code"] == "UNAVAILABLE"
    await execute(storage_settings, "DROP TRIGGER broken ON receipt")
    assert (await outcome(gateway, 1, "cancelFollowRequest", 2))[0] == "NO_REQUEST"
    assert (await undo(gateway, 2, token, **given))["outcome"] == "RESTORED"
    assert (await outcome(gateway, 1, "cancelFollowRequest", 2))[0] == "REQUEST_CANCELLED"
    assert reason(await undo(gateway, 2, token)) == "OVERTAKEN"


async def test_only_one_of_concurrent_undos_restores_unless_they_share_an_idempotency_key(
    gateway: Gateway,
) -> None:
    for given, restored in (({}, 1), ({"idempotencyKey": "k"}, 10)):
        token = await unfollow_token(gateway)
        result = await asyncio.gather(*(undo(gateway, 1, token, **given) for _ in range(10)))
        assert sorted(one["outcome"] for one in result).count("RESTORED") == restored
        await change(gateway, 1, "unfollowUser", 2)


async def test_an_undo_of_an_unfollow_sends_a_request_if_the_account_is_protected_now(
    gateway: Gateway,
) -> None:
    token = await unfollow_token(gateway)
    await change_settings(gateway, 2, protected=True)
    assert (await undo(gateway, 1, token))["relation"]["state"] == "NONE"
    assert await outcome(gateway, 2, "acceptFollowRequest", 1) == (
        "REQUEST_ACCEPTED",
        "FOLLOWED_BY",
    )
    token = (await change(gateway, 1, "unfollowUser", 2))["undoToken"]
    assert (await undo(gateway, 1, token))["relation"]["state"] == "FOLLOWING"


@pytest.mark.parametrize("mutation", ["removeFollower", "declineFollowRequest"])
async def test_a_hidden_whisper_and_a_reached_limit_give_the_same_result_of_an_undo(
    storage_settings: StorageSettings, mutation: str
) -> None:
    policy = Policy(following_max=1, whispers_hidden=True)
    async with running_gateway(storage_settings, policy) as gateway:
        result = []
        for viewer, other, later in (
            (1, 2, {"target": 1, "visibility": "WHISPER"}),
            (3, 4, {"target": 5}),
        ):
            await change_settings(gateway, viewer, protected=mutation == "declineFollowRequest")
            await change(gateway, other, "followUser", viewer)
            token = (await change(gateway, viewer, mutation, other))["undoToken"]
            await change_settings(gateway, viewer, protected=False)
            assert (await change(gateway, other, "followUser", **later))["outcome"] == "FOLLOWED"
            payload = await undo(gateway, viewer, token)
            assert (payload.pop("user")["id"], reason(payload)) == (str(other), "OVERTAKEN")
            result.append((payload["relation"], payload["userErrors"]))
        assert result[0] == result[1]


@pytest.mark.parametrize("later", ["nothing", "deactivation", "block"])
async def test_the_undo_of_a_block_does_not_reveal_that_it_ended_a_hidden_whisper(
    storage_settings: StorageSettings, stores: Stores, later: str
) -> None:
    async with running_gateway(storage_settings, Policy(whispers_hidden=True)) as gateway:
        results = []
        for viewer, other in ((1, 2), (3, 4)):
            if viewer == 1:
                await change(gateway, other, "followUser", viewer, visibility="WHISPER")
            token = (await change(gateway, viewer, "blockUser", other))["undoToken"]
            if later == "deactivation":
                await deactivate(stores, other)
            elif later == "block":
                await change(gateway, other, "blockUser", viewer)
            payload = await undo(gateway, viewer, token)
            results.append((payload["outcome"], payload["relation"], payload["userErrors"]))
        assert results[0] == results[1]
        assert results[0][0] == "RESTORED"


async def test_an_undo_does_not_restore_a_follow_beyond_the_other_users_limit(
    storage_settings: StorageSettings,
) -> None:
    async with running_gateway(storage_settings, Policy(following_max=1)) as gateway:
        await change(gateway, 2, "followUser", 1)
        token = (await change(gateway, 1, "blockUser", 2))["undoToken"]
        await change(gateway, 2, "followUser", 3)
        payload = await undo(gateway, 1, token)
        assert (payload["outcome"], payload["relation"]["state"]) == ("RESTORED", "NONE")


async def befriend(gateway: Gateway, user: int, other: int) -> None:
    """With mutual approval: both follow each other."""
    await change(gateway, user, "followUser", other)
    accepted = await outcome(gateway, other, "acceptFollowRequest", user)
    assert accepted == ("REQUEST_ACCEPTED", "FRIENDS")


@pytest.mark.parametrize("mutation", ["unfollowUser", "blockUser", "removeFollower"])
async def test_with_mutual_approval_an_undo_restores_both_follows_or_none(
    storage_settings: StorageSettings, stores: Stores, mutation: str
) -> None:
    policy = Policy(following_max=2, mutual_approval=True)
    async with running_gateway(storage_settings, policy) as gateway:
        await befriend(gateway, 1, 2)
        removal = await change(gateway, 1, mutation, 2)
        for other in (3, 4):  # user 2 is at their limit then
            await befriend(gateway, 2, other)
        assert reason(await undo(gateway, 1, removal["undoToken"])) == "OVERTAKEN"
        await drain_all(stores)
        relation = (await gateway.data(RELATION, 2, id="1"))["user"]["viewerRelation"]
        assert relation["state"] == "NONE"
        await change(gateway, 2, "unfollowUser", 3)
        undone = await undo(gateway, 1, removal["undoToken"])
        assert (undone["outcome"], undone["relation"]["state"]) == ("RESTORED", "FRIENDS")


async def test_with_mutual_approval_an_undo_beyond_the_own_limit_is_rejected(
    storage_settings: StorageSettings,
) -> None:
    policy = Policy(following_max=2, mutual_approval=True)
    async with running_gateway(storage_settings, policy) as gateway:
        await befriend(gateway, 1, 2)
        token = (await change(gateway, 1, "unfollowUser", 2))["undoToken"]
        for other in (3, 4):
            await befriend(gateway, 1, other)
        (error,) = (await undo(gateway, 1, token))["userErrors"]
        assert error["code"] == "FOLLOWING_LIMIT_REACHED"


async def test_an_undo_returns_the_same_for_a_blocker_and_a_deactivated_account(
    gateway: Gateway, stores: Stores
) -> None:
    blocked, deactivated = await unfollow_token(gateway, 1, 2), await unfollow_token(gateway, 1, 3)
    await change(gateway, 2, "blockUser", 1)
    await deactivate(stores, 3)
    result = [await undo(gateway, 1, token) for token in (blocked, deactivated)]
    assert [payload.pop("user")["id"] for payload in result] == ["2", "3"]
    assert result[0] == result[1]
    assert [error["code"] for error in result[0]["userErrors"]] == ["NOT_ALLOWED"]


@pytest.mark.parametrize("mutation", ["unfollowUser", "blockUser", "removeFollower"])
@pytest.mark.parametrize("state", [AccountState.DEACTIVATED, AccountState.DELETED])
async def test_no_relation_to_an_absent_account_is_restored(
    storage_settings: StorageSettings, stores: Stores, mutation: str, state: AccountState
) -> None:
    await follows(stores, (1, 2), (2, 1))
    await drain_all(stores)
    async with running_gateway(
        replace(storage_settings, local=replace(storage_settings.local, absent_age_ms=0))
    ) as gateway:
        token = (await change(gateway, 1, mutation, 2))["undoToken"]
        await stores.writes.account_states.change(UserId(2), state)
        rejected = await undo(gateway, 1, token)
        assert [error["code"] for error in rejected["userErrors"]] == ["NOT_ALLOWED"]
        assert rejected["relation"]["state"] == "NONE"
        await stores.writes.account_states.change(UserId(2), AccountState.ACTIVE)
        again = await undo(gateway, 1, token)
    if state is AccountState.DELETED:
        assert again["userErrors"] == rejected["userErrors"], "a deletion is final"
    else:
        assert (again["outcome"], again["relation"]["state"]) == ("RESTORED", "FRIENDS")


async def test_an_undo_beyond_the_following_limit_is_rejected(
    storage_settings: StorageSettings,
) -> None:
    async with running_gateway(storage_settings, Policy(following_max=1)) as gateway:
        token = await unfollow_token(gateway)
        await change(gateway, 1, "followUser", 3)
        (error,) = (await undo(gateway, 1, token))["userErrors"]
        assert error["code"] == "FOLLOWING_LIMIT_REACHED"
        await change(gateway, 1, "unfollowUser", 3)
        assert (await undo(gateway, 1, token))["outcome"] == "RESTORED"


async def test_a_repeat_of_an_undo_with_its_key_succeeds_after_the_token_has_expired(
    gateway: Gateway, stores: Stores
) -> None:
    token = await unfollow_token(gateway)
    first = await undo(gateway, 1, token, idempotencyKey="k")
    await stores.servers.postgres.fetch(
        "UPDATE receipt SET made_at = made_at - 901 * 1000000::bigint"
    )
    assert await undo(gateway, 1, token, idempotencyKey="k") == first
    (error,) = (await undo(gateway, 1, "A" * 22, idempotencyKey="k"))["userErrors"]
    assert error["code"] == "IDEMPOTENCY_KEY_REUSED"


async def test_an_undo_keeps_an_earlier_mute(gateway: Gateway) -> None:
    await change(gateway, 1, "muteUser", 2)
    await undo(gateway, 1, await unfollow_token(gateway))
    assert await outcome(gateway, 1, "muteUser", 2) == ("ALREADY_MUTED", "FOLLOWING")
