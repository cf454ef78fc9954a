"""An undo restores what a change removed: for its actor, for a while, if nothing is newer."""

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
from tests.support.relationships import change, deactivate, outcome, say


async def undo(gateway: Gateway, viewer: int, token: str, **given: Any) -> Any:
    return await change(gateway, viewer, "undoRelationshipChange", undoToken=token, **given)


def reason(payload: Any) -> str:
    """Why nothing was undone."""
    (error,) = payload["userErrors"]
    assert (payload["outcome"], payload["changed"]) == ("REJECTED", False)
    assert (error["code"], error["field"]) == ("CANNOT_UNDO", ["input", "undoToken"])
    return str(error["reason"])


async def left(gateway: Gateway, viewer: int = 1, target: int = 2) -> str:
    """The token of an unfollow."""
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
    taken = await change(gateway, 1, mutation, 2)
    assert taken["relation"] != before
    undone = await undo(gateway, 1, taken["undoToken"])
    assert (undone["outcome"], undone["changed"]) == ("RESTORED", True)
    assert (undone["user"], undone["relation"]) == ({"id": "2"}, before)
    assert (await gateway.data(RELATION, 1, id="2"))["user"]["viewerRelation"] == before
    await drain_all(stores)
    assert (await gateway.data(RELATION, 1, id="2"))["user"]["viewerRelation"] == before
    assert reason(await undo(gateway, 1, taken["undoToken"])) == "OVERTAKEN"


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
async def test_a_request_that_was_taken_waits_again_with_its_date_and_message(
    gateway: Gateway, stores: Stores, mutation: str, actor: int, target: int
) -> None:
    await say(gateway, 2, protected=True)
    await change(gateway, 1, "followUser", 2, message="Please!")
    await drain_all(stores)
    before = [await gateway.data(REQUESTS, viewer) for viewer in (1, 2)]
    (asked,) = before[0]["viewer"]["outgoingFollowRequests"]["edges"]
    assert asked["node"] == {"id": "request:1:2", "message": "Please!"}
    taken = await change(gateway, actor, mutation, target)
    assert (await gateway.data(REQUESTS, actor)) != before[actor - 1]
    undone = await undo(gateway, actor, taken["undoToken"])
    assert undone["outcome"] == "RESTORED"
    await drain_all(stores)
    assert [await gateway.data(REQUESTS, viewer) for viewer in (1, 2)] == before
    assert reason(await undo(gateway, actor, taken["undoToken"])) == "OVERTAKEN"
    assert (await outcome(gateway, 2, "acceptFollowRequest", 1))[0] == "REQUEST_ACCEPTED"


async def test_a_request_that_was_made_anew_since_is_brought_back_by_no_undo(
    gateway: Gateway,
) -> None:
    await say(gateway, 2, protected=True)
    await change(gateway, 1, "followUser", 2, message="Please!")
    declined = (await change(gateway, 2, "declineFollowRequest", 1))["undoToken"]
    await change(gateway, 1, "followUser", 2, message="Pretty please!")
    assert reason(await undo(gateway, 2, declined)) == "OVERTAKEN"
    cancelled = (await change(gateway, 1, "cancelFollowRequest", 2))["undoToken"]
    await say(gateway, 2, protected=False)
    await change(gateway, 1, "followUser", 2)
    assert reason(await undo(gateway, 1, cancelled)) == "OVERTAKEN"


NOTHING = ("followUser", "muteUser", "unfollowUser", "removeFollower", "declineFollowRequest")


@pytest.mark.parametrize("mutation", [*NOTHING, "cancelFollowRequest"])
async def test_a_change_that_removed_nothing_has_no_undo_token(
    gateway: Gateway, mutation: str
) -> None:
    assert (await change(gateway, 1, mutation, 2, idempotencyKey="k"))["undoToken"] is None


async def test_a_token_is_its_actors_alone(gateway: Gateway) -> None:
    token = await left(gateway)
    assert reason(await undo(gateway, 2, token)) == "UNKNOWN"
    assert (await undo(gateway, 1, token))["outcome"] == "RESTORED"


@pytest.mark.parametrize(
    "token", ["", "x", "A" * 22, "A" * 21 + "B", "é" * 22, "A" * 10_000, "+/" * 11]
)
async def test_an_unknown_undo_token_restores_nothing(gateway: Gateway, token: str) -> None:
    payload = await undo(gateway, 1, token)
    assert reason(payload) == "UNKNOWN"
    assert (payload["user"], payload["relation"]) == (None, None)


async def test_a_token_in_another_spelling_is_none(gateway: Gateway) -> None:
    token = await left(gateway)
    for other in (token + "==", token.swapcase(), token[:-1], " " + token):
        assert reason(await undo(gateway, 1, other)) == "UNKNOWN"


async def test_a_receipt_that_took_nothing_is_no_token(gateway: Gateway, stores: Stores) -> None:
    await change(gateway, 1, "followUser", 2, idempotencyKey="k")
    row = await stores.servers.postgres.row(
        "SELECT translate(trim('=' FROM encode(uuid_send(id), 'base64')), '+/', '-_') AS token"
        " FROM receipt"
    )
    assert row is not None
    assert reason(await undo(gateway, 1, row["token"])) == "UNKNOWN"


async def test_a_token_expires(gateway: Gateway, stores: Stores) -> None:
    token = await left(gateway)
    await stores.servers.postgres.fetch(
        "UPDATE receipt SET made_at = made_at - 901 * 1000000::bigint"
    )
    payload = await undo(gateway, 1, token)
    assert (reason(payload), payload["user"]) == ("EXPIRED", {"id": "2"})


async def test_a_later_change_of_the_viewer_is_not_undone(gateway: Gateway) -> None:
    token = await left(gateway)
    await change(gateway, 1, "muteUser", 2)
    assert reason(await undo(gateway, 1, token)) == "OVERTAKEN"


SECRETS = {
    "mute": ["muteUser"],
    "mute and unmute": ["muteUser", "unmuteUser"],
    "dismiss": ["dismissSuggestion"],
    "block and unblock": ["blockUser", "unblockUser"],
}


@pytest.mark.parametrize("secret", SECRETS.values(), ids=SECRETS)
@pytest.mark.parametrize("mutation", ["unfollowUser", "blockUser", "removeFollower"])
async def test_no_undo_reveals_what_the_other_user_did_unseen(
    gateway: Gateway, stores: Stores, mutation: str, secret: list[str]
) -> None:
    """A mute by the other user stays, too."""
    both = [(1, 2), (3, 4)] if mutation != "removeFollower" else []  # else a block is seen by it
    await follows(stores, (2, 1), (4, 3), *both)
    result = []
    for viewer, target in ((1, 2), (3, 4)):
        token = (await change(gateway, viewer, mutation, target))["undoToken"]
        for act in secret if viewer == 1 else []:
            await change(gateway, target, act, viewer)
        payload = await undo(gateway, viewer, token)
        result.append((payload["outcome"], payload["relation"]["state"]))
    if "blockUser" in secret and mutation == "unfollowUser":
        assert result == [("RESTORED", "FOLLOWING"), ("RESTORED", "FRIENDS")]  # a follow has ended
    else:
        assert result[0] == result[1] == ("RESTORED", "FRIENDS" if both else "FOLLOWED_BY")
    if secret == ["muteUser"]:
        assert (await outcome(gateway, 2, "muteUser", 1))[0] == "ALREADY_MUTED"


async def test_a_follow_by_the_other_is_none_of_the_undos_business(gateway: Gateway) -> None:
    token = await left(gateway)
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


BROKEN = """
CREATE FUNCTION broken() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'as if the server went away' USING ERRCODE = 'admin_shutdown';
END $$;
CREATE TRIGGER broken BEFORE UPDATE ON receipt FOR EACH ROW EXECUTE FUNCTION broken();
"""


@pytest.mark.plain("it plants a trigger, which distributed tables cannot have")
@pytest.mark.parametrize("given", [{}, {"idempotencyKey": "k"}], ids=["no key", "a key"])
async def test_an_undo_that_fails_has_neither_given_back_nor_spent(
    gateway: Gateway, storage_settings: StorageSettings, given: dict[str, str]
) -> None:
    await say(gateway, 2, protected=True)
    await change(gateway, 1, "followUser", 2, message="Please!")
    token = (await change(gateway, 2, "declineFollowRequest", 1))["undoToken"]
    await execute(storage_settings, BROKEN)
    query = """mutation ($input: UndoRelationshipChangeInput!) {
        undoRelationshipChange(input: $input) { outcome } }"""
    error = await gateway.error(query, 2, input={"undoToken": token, **given})
    assert error["extensions"]["code"] == "UNAVAILABLE"
    await execute(storage_settings, "DROP TRIGGER broken ON receipt")
    assert (await outcome(gateway, 1, "cancelFollowRequest", 2))[0] == "NO_REQUEST"
    assert (await undo(gateway, 2, token, **given))["outcome"] == "RESTORED"
    assert (await outcome(gateway, 1, "cancelFollowRequest", 2))[0] == "REQUEST_CANCELLED"
    assert reason(await undo(gateway, 2, token)) == "OVERTAKEN"


async def test_of_many_undos_at_once_one_restores_and_its_repeats_report_that(
    gateway: Gateway,
) -> None:
    for given, restored in (({}, 1), ({"idempotencyKey": "k"}, 10)):
        token = await left(gateway)
        result = await asyncio.gather(*(undo(gateway, 1, token, **given) for _ in range(10)))
        assert sorted(one["outcome"] for one in result).count("RESTORED") == restored
        await change(gateway, 1, "unfollowUser", 2)


async def test_an_undo_sends_a_request_to_an_account_protected_since(gateway: Gateway) -> None:
    token = await left(gateway)
    await say(gateway, 2, protected=True)
    assert (await undo(gateway, 1, token))["relation"]["state"] == "NONE"
    assert await outcome(gateway, 2, "acceptFollowRequest", 1) == (
        "REQUEST_ACCEPTED",
        "FOLLOWED_BY",
    )
    token = (await change(gateway, 1, "unfollowUser", 2))["undoToken"]
    assert (await undo(gateway, 1, token))["relation"]["state"] == "FOLLOWING"


@pytest.mark.parametrize("mutation", ["removeFollower", "declineFollowRequest"])
async def test_a_whisper_that_is_hidden_is_answered_as_a_full_limit(
    storage_settings: StorageSettings, mutation: str
) -> None:
    policy = Policy(following_max=1, whispers_hidden=True)
    async with running_gateway(storage_settings, policy) as gateway:
        result = []
        for viewer, other, later in (
            (1, 2, {"target": 1, "visibility": "WHISPER"}),
            (3, 4, {"target": 5}),
        ):
            await say(gateway, viewer, protected=mutation == "declineFollowRequest")
            await change(gateway, other, "followUser", viewer)
            token = (await change(gateway, viewer, mutation, other))["undoToken"]
            await say(gateway, viewer, protected=False)
            assert (await change(gateway, other, "followUser", **later))["outcome"] == "FOLLOWED"
            payload = await undo(gateway, viewer, token)
            assert (payload.pop("user")["id"], reason(payload)) == (str(other), "OVERTAKEN")
            result.append((payload["relation"], payload["userErrors"]))
        assert result[0] == result[1]


async def test_an_undo_lifts_the_other_over_no_limit(storage_settings: StorageSettings) -> None:
    async with running_gateway(storage_settings, Policy(following_max=1)) as gateway:
        await change(gateway, 2, "followUser", 1)
        token = (await change(gateway, 1, "blockUser", 2))["undoToken"]
        await change(gateway, 2, "followUser", 3)
        payload = await undo(gateway, 1, token)
        assert (payload["outcome"], payload["relation"]["state"]) == ("RESTORED", "NONE")


async def test_a_block_and_an_absent_account_look_the_same(
    gateway: Gateway, stores: Stores
) -> None:
    blocked, gone = await left(gateway, 1, 2), await left(gateway, 1, 3)
    await change(gateway, 2, "blockUser", 1)
    await deactivate(stores, 3)
    result = [await undo(gateway, 1, token) for token in (blocked, gone)]
    assert [payload.pop("user")["id"] for payload in result] == ["2", "3"]
    assert result[0] == result[1]
    assert [error["code"] for error in result[0]["userErrors"]] == ["NOT_ALLOWED"]


@pytest.mark.parametrize("mutation", ["unfollowUser", "blockUser", "removeFollower"])
@pytest.mark.parametrize("state", [AccountState.DEACTIVATED, AccountState.DELETED])
async def test_nothing_is_given_back_of_an_account_that_is_not_here(
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
        assert again["userErrors"] == rejected["userErrors"], "for good"
    else:
        assert (again["outcome"], again["relation"]["state"]) == ("RESTORED", "FRIENDS")


async def test_an_undo_is_held_to_the_limit(storage_settings: StorageSettings) -> None:
    async with running_gateway(storage_settings, Policy(following_max=1)) as gateway:
        token = await left(gateway)
        await change(gateway, 1, "followUser", 3)
        (error,) = (await undo(gateway, 1, token))["userErrors"]
        assert error["code"] == "FOLLOWING_LIMIT_REACHED"
        await change(gateway, 1, "unfollowUser", 3)
        assert (await undo(gateway, 1, token))["outcome"] == "RESTORED"


async def test_an_undo_may_be_repeated_with_its_key(gateway: Gateway, stores: Stores) -> None:
    token = await left(gateway)
    first = await undo(gateway, 1, token, idempotencyKey="k")
    await stores.servers.postgres.fetch(
        "UPDATE receipt SET made_at = made_at - 901 * 1000000::bigint"
    )
    assert await undo(gateway, 1, token, idempotencyKey="k") == first
    (error,) = (await undo(gateway, 1, "A" * 22, idempotencyKey="k"))["userErrors"]
    assert error["code"] == "IDEMPOTENCY_KEY_REUSED"


async def test_a_note_that_was_made_before_survives_an_undo(gateway: Gateway) -> None:
    await change(gateway, 1, "muteUser", 2)
    await undo(gateway, 1, await left(gateway))
    assert await outcome(gateway, 1, "muteUser", 2) == ("ALREADY_MUTED", "FOLLOWING")
