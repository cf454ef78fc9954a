"""Every change of a relationship, and every rejection, through GraphQL. No worker runs."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from graph.edge import Flags, Kind, UserId
from graph.pace import Pace
from resolvers import actions, relationship
from resolvers.policy import Policy
from resolvers.scope import Scope
from storage.settings import StorageSettings
from storage.stores import Stores
from tests.support.gateway import Gateway, running_gateway
from tests.support.graphs import drain_all, follows
from tests.support.relationships import change, change_settings, deactivate, outcome, protect

OWN_LISTS_AND_RELATIONS = """
{ viewer { user {
  followingCount followerCount friendCount
  following { totalCount nodes { id } }
  followers { totalCount nodes { id } }
  friends { totalCount nodes { id } }
  relationWith(ids: ["1", "2", "3"]) { state }
} } }
"""


async def own_lists_and_relations(
    gateway: Gateway, viewer: int
) -> tuple[list[list[str]], list[str]]:
    """The viewer's own lists, whose totals must agree, and their relations to users 1, 2 and 3."""
    user = (await gateway.data(OWN_LISTS_AND_RELATIONS, viewer))["viewer"]["user"]
    lists = []
    for field, count in (("following",) * 2, ("followers", "follower"), ("friends", "friend")):
        page = user[field]
        lists.append([node["id"] for node in page["nodes"]])
        assert page["totalCount"] == user[f"{count}Count"] == len(lists[-1])
    return lists, [relation["state"] for relation in user["relationWith"]]


async def test_a_payload_contains_outcome_relation_users_and_client_mutation_id(
    gateway: Gateway,
) -> None:
    payload = await change(gateway, 1, "muteUser", 2, clientMutationId="c-1")
    assert payload == {
        "outcome": "MUTED",
        "changed": True,
        "relation": {"state": "NONE", "followedAt": None, "followedByAt": None},
        "user": {"id": "2"},
        "undoToken": None,
        "userErrors": [],
        "clientMutationId": "c-1",
        "viewer": {"user": {"id": "1"}},
    }


async def test_a_long_client_mutation_id_is_an_error_and_changes_nothing(gateway: Gateway) -> None:
    mutation = """mutation ($id: String, $user: ID!) {
        muteUser(input: {userId: $user, clientMutationId: $id}) { changed clientMutationId } }"""
    error = await gateway.error(mutation, 1, user="2", id="c" * 257)
    assert error["extensions"] == {"code": "BAD_USER_INPUT", "argument": "clientMutationId"}
    payload = (await gateway.data(mutation, 1, user="2", id="c" * 256))["muteUser"]
    assert payload == {"changed": True, "clientMutationId": "c" * 256}


async def test_a_long_client_mutation_id_of_a_service_is_an_error(gateway: Gateway) -> None:
    start = """mutation ($input: StartBulkOperationInput!) {
        startBulkOperation(input: $input) { clientMutationId } }"""
    change_input = {"viewerId": "1", "action": "FOLLOW", "userId": "2"}
    given = {"id": "echoed", "changes": [change_input], "clientMutationId": "c" * 257}
    error = await gateway.as_service.error(start, input=given)
    assert error["extensions"] == {"code": "BAD_USER_INPUT", "argument": "clientMutationId"}


@pytest.mark.parametrize(
    ("first", "mutation", "result", "again"),
    [
        ([], "followUser", ("FOLLOWED", "FOLLOWING"), "ALREADY_FOLLOWING"),
        (["followUser"], "unfollowUser", ("UNFOLLOWED", "NONE"), "NOT_FOLLOWING"),
        ([], "blockUser", ("BLOCKED", "NONE"), "ALREADY_BLOCKED"),
        (["blockUser"], "unblockUser", ("UNBLOCKED", "NONE"), "NOT_BLOCKED"),
        ([], "muteUser", ("MUTED", "NONE"), "ALREADY_MUTED"),
        (["muteUser"], "unmuteUser", ("UNMUTED", "NONE"), "NOT_MUTED"),
        ([], "dismissSuggestion", ("DISMISSED", "NONE"), "ALREADY_DISMISSED"),
    ],
)
async def test_a_repeated_change_changes_nothing(
    gateway: Gateway, first: list[str], mutation: str, result: tuple[str, str], again: str
) -> None:
    for before in first:
        await change(gateway, 1, before, 2)
    assert await outcome(gateway, 1, mutation, 2) == result
    repeated = await change(gateway, 1, mutation, 2)
    assert (repeated["outcome"], repeated["changed"]) == (again, False)
    assert repeated["relation"]["state"] == result[1]


@pytest.mark.parametrize(
    ("mutation", "result"),
    [
        ("unfollowUser", "NOT_FOLLOWING"),
        ("updateFollow", "NOT_FOLLOWING"),
        ("removeFollower", "NOT_FOLLOWED"),
        ("unblockUser", "NOT_BLOCKED"),
        ("unmuteUser", "NOT_MUTED"),
        ("acceptFollowRequest", "NO_REQUEST"),
        ("declineFollowRequest", "NO_REQUEST"),
        ("cancelFollowRequest", "NO_REQUEST"),
    ],
)
@pytest.mark.parametrize("target", [1, 2], ids=["oneself", "another user"])
async def test_ending_a_missing_relation_changes_nothing(
    gateway: Gateway, mutation: str, result: str, target: int
) -> None:
    payload = await change(gateway, 1, mutation, target)
    assert (payload["outcome"], payload["changed"], payload["userErrors"]) == (result, False, [])


async def test_changing_a_follow_to_a_whisper_and_back_keeps_its_date(gateway: Gateway) -> None:
    first = await change(gateway, 1, "followUser", 2)
    for visibility in ("WHISPER", "PUBLIC"):
        payload = await change(gateway, 1, "updateFollow", 2, visibility=visibility)
        assert (payload["outcome"], payload["relation"]) == ("UPDATED", first["relation"])
    assert await outcome(gateway, 1, "updateFollow", 2, closeFollow=True) == (
        "UPDATED",
        "FOLLOWING",
    )
    unchanged = await outcome(gateway, 1, "updateFollow", 2, visibility="PUBLIC", closeFollow=True)
    assert unchanged == ("UNCHANGED", "FOLLOWING")


async def test_whispering_to_a_follower_does_not_make_friends(
    gateway: Gateway, stores: Stores
) -> None:
    await follows(stores, (2, 1))
    result = await outcome(gateway, 1, "followUser", 2, visibility="WHISPER", closeFollow=True)
    assert result == ("FOLLOWED", "FOLLOWING")


async def test_the_viewer_sees_immediately_that_a_follower_is_removed(
    gateway: Gateway, stores: Stores
) -> None:
    await follows(stores, (2, 1), (1, 2))
    assert await outcome(gateway, 1, "removeFollower", 2) == ("FOLLOWER_REMOVED", "FOLLOWING")
    lists, relations = await own_lists_and_relations(gateway, 1)
    assert lists == [["2"], [], []]
    assert relations == ["SELF", "FOLLOWING", "NONE"]
    assert await outcome(gateway, 1, "removeFollower", 2) == ("NOT_FOLLOWED", "FOLLOWING")


async def test_the_viewer_sees_immediately_that_a_block_ends_follows_in_both_directions(
    gateway: Gateway, stores: Stores
) -> None:
    await follows(stores, (2, 1), (1, 2), (1, 3), (3, 1))
    assert await outcome(gateway, 1, "blockUser", 2) == ("BLOCKED", "NONE")
    lists, relations = await own_lists_and_relations(gateway, 1)
    assert lists == [["3"], ["3"], ["3"]]
    assert relations == ["SELF", "NONE", "FRIENDS"]


async def test_own_counts_of_a_viewer_with_a_block_agree_with_own_lists_before_a_drain(
    gateway: Gateway, stores: Stores
) -> None:
    """User 3 is not in the list of followers yet, so neither lists nor counts include a friend."""
    await change(gateway, 1, "blockUser", 2)
    await follows(stores, (1, 3), (3, 1))  # not drained yet
    assert (await own_lists_and_relations(gateway, 1))[0] == [["3"], [], []]


async def test_following_a_protected_user_creates_a_request(
    gateway: Gateway, stores: Stores
) -> None:
    await protect(stores, 2)
    requested = await change(gateway, 1, "followUser", 2, message="It is me!", closeFollow=True)
    assert (requested["outcome"], requested["changed"]) == ("REQUESTED", True)
    assert requested["relation"]["state"] == "NONE"
    assert await outcome(gateway, 1, "followUser", 2) == ("ALREADY_REQUESTED", "NONE")
    row = await stores.servers.postgres.row("SELECT message FROM following WHERE from_user_id = 1")
    assert row is not None
    assert row["message"] == "It is me!"


async def test_a_request_keeps_its_message_when_the_requester_mutes_the_target(
    gateway: Gateway, stores: Stores
) -> None:
    await protect(stores, 2)
    await change(gateway, 1, "followUser", 2, message="It is me!")
    await change(gateway, 1, "muteUser", 2)
    row = await stores.servers.postgres.row("SELECT message FROM following WHERE from_user_id = 1")
    assert row is not None
    assert row["message"] == "It is me!"


async def test_both_users_see_an_accepted_request_immediately_as_a_follow(
    gateway: Gateway, stores: Stores
) -> None:
    await protect(stores, 2)
    await change(gateway, 1, "followUser", 2)
    accepted = await outcome(gateway, 2, "acceptFollowRequest", 1)
    assert accepted == ("REQUEST_ACCEPTED", "FOLLOWED_BY")
    assert await own_lists_and_relations(gateway, 2) == (
        [[], ["1"], []],
        ["FOLLOWED_BY", "SELF", "NONE"],
    )
    assert (await own_lists_and_relations(gateway, 1))[0] == [["2"], [], []]
    assert (await outcome(gateway, 2, "acceptFollowRequest", 1))[0] == "NO_REQUEST"


@pytest.mark.parametrize(
    ("viewer", "mutation", "other", "result"),
    [
        (2, "declineFollowRequest", 1, "REQUEST_DECLINED"),
        (1, "cancelFollowRequest", 2, "REQUEST_CANCELLED"),
    ],
)
async def test_the_target_can_decline_and_the_requester_can_cancel_a_request(
    gateway: Gateway, stores: Stores, viewer: int, mutation: str, other: int, result: str
) -> None:
    await protect(stores, 2)
    await change(gateway, 1, "followUser", 2)
    assert await outcome(gateway, viewer, mutation, other) == (result, "NONE")
    assert (await outcome(gateway, 2, "acceptFollowRequest", 1))[0] == "NO_REQUEST"


async def test_following_a_user_whom_the_viewer_blocks_is_rejected(gateway: Gateway) -> None:
    await change(gateway, 1, "blockUser", 2)
    payload = await change(gateway, 1, "followUser", 2)
    (error,) = payload["userErrors"]
    assert payload["outcome"] == "REJECTED"
    assert (error["__typename"], error["code"]) == ("UnblockFirst", "UNBLOCK_FIRST")


async def test_a_limit_error_has_the_limit_and_the_current_number(
    storage_settings: StorageSettings,
) -> None:
    policy = Policy(following_max=1, blocks_max=1)
    async with running_gateway(storage_settings, policy) as gateway:
        for mutation, code in (
            ("followUser", "FOLLOWING_LIMIT_REACHED"),
            ("blockUser", "BLOCK_LIMIT_REACHED"),
        ):
            await change(gateway, 1, mutation, 2)
            (error,) = (await change(gateway, 1, mutation, 3))["userErrors"]
            assert (error["code"], error["limit"], error["current"]) == (code, 1, 1)
            assert error["__typename"].upper() == code.replace("_", "")
            await change(gateway, 1, "unfollowUser", 2)


async def test_a_change_above_the_rate_limit_is_rejected_with_the_time_to_try_again(
    storage_settings: StorageSettings, stores: Stores
) -> None:
    await follows(stores, (2, 1), (3, 1), (4, 1))
    policy = Policy(pace=Pace(interval_us=60_000_000, burst=3))
    async with running_gateway(storage_settings, policy) as gateway:
        await change(gateway, 1, "removeFollower", 2)
        await change(gateway, 1, "blockUser", 3)
        await change(gateway, 1, "muteUser", 3)
        for mutation, target in (("removeFollower", 4), ("followUser", 5), ("blockUser", 4)):
            payload = await change(gateway, 1, mutation, target)
            (error,) = payload["userErrors"]
            assert (payload["outcome"], error["__typename"]) == ("REJECTED", "RateLimited")
            waits = datetime.fromisoformat(error["retryAt"]) - datetime.now(UTC)
            assert timedelta(seconds=50) < waits <= timedelta(seconds=61)
        # A change without effect is not limited.
        assert (await outcome(gateway, 1, "muteUser", 3))[0] == "ALREADY_MUTED"


MUTATIONS = (
    "followUser",
    "unfollowUser",
    "updateFollow",
    "removeFollower",
    "acceptFollowRequest",
    "declineFollowRequest",
    "cancelFollowRequest",
    "muteUser",
    "unmuteUser",
    "dismissSuggestion",
    "blockUser",
    "followUser",
    "unblockUser",
    "followUser",
)
"""All mutations of a relationship. `followUser` is repeated while the viewer blocks, and after."""


async def test_mutations_return_the_same_for_a_blocker_and_a_deactivated_account(
    gateway: Gateway, stores: Stores
) -> None:
    await change(gateway, 2, "blockUser", 1)
    await deactivate(stores, 3)

    async def result(mutation: str, target: int) -> Any:
        payload = await change(gateway, 1, mutation, target)
        assert payload.pop("user") == {"id": str(target)}
        assert (payload.pop("undoToken") is None) == (mutation != "blockUser")
        return payload, await own_lists_and_relations(gateway, 1)

    for mutation in MUTATIONS:
        assert await result(mutation, 2) == await result(mutation, 3), mutation
    (error,) = (await change(gateway, 1, "followUser", 2))["userErrors"]
    assert (error["code"], "block" in error["message"]) == ("NOT_ALLOWED", False)


async def test_the_result_of_a_mute_and_of_its_repeat_hide_a_block_by_the_other_user(
    gateway: Gateway, stores: Stores
) -> None:
    await change(gateway, 2, "blockUser", 1)
    scope = Scope(stores, UserId(1), Policy())
    for _ in range(2):
        result = await relationship.change(scope, UserId(2), actions.mute(None), "k")
        assert result.relation is not None
        assert (result.relation.reverse_kind, result.relation.flags) == (Kind.NONE, Flags.MUTED)


@pytest.mark.parametrize("mutation", ["blockUser", "muteUser", "dismissSuggestion", "followUser"])
async def test_a_change_of_the_relation_to_oneself_is_rejected(
    gateway: Gateway, mutation: str
) -> None:
    payload = await change(gateway, 1, mutation, 1)
    code = "CANNOT_FOLLOW_SELF" if mutation == "followUser" else "CANNOT_DO_TO_SELF"
    assert [error["code"] for error in payload["userErrors"]] == [code]
    assert payload["relation"]["state"] == "SELF"


@pytest.mark.parametrize(
    ("mutation", "given", "field"),
    [
        ("followUser", {"message": "x" * 501}, "message"),
        ("followUser", {"message": "\0"}, "message"),
        ("followUser", {"userId": "-1"}, "userId"),
        ("followUser", {"idempotencyKey": ""}, "idempotencyKey"),
        ("followUser", {"idempotencyKey": "x" * 65}, "idempotencyKey"),
        ("muteUser", {"until": "2001-01-01T00:00:00Z"}, "until"),
        ("muteUser", {"until": "2999-01-01T00:00:00"}, "until"),
        ("muteUser", {"until": "9999-12-31T23:59:59-12:00"}, "until"),
        ("muteUser", {"until": "9999-12-31T23:59:59.999999Z"}, "until"),
        ("undoRelationshipChange", {"undoToken": "", "idempotencyKey": ""}, "idempotencyKey"),
    ],
)
async def test_invalid_input_is_rejected_with_the_name_of_its_field(
    gateway: Gateway, mutation: str, given: dict[str, Any], field: str
) -> None:
    user = {} if mutation == "undoRelationshipChange" else {"userId": "2"}
    payload = await change(gateway, 1, mutation, **{**user, **given})
    (error,) = payload["userErrors"]
    assert (payload["outcome"], payload["relation"], payload["user"]) == ("REJECTED", None, None)
    assert (error["__typename"], error["field"]) == ("InvalidInput", ["input", field])


@pytest.mark.parametrize(
    "call",
    [
        'blockUser(input: {userId: "2"}) { outcome }',
        'undoRelationshipChange(input: {undoToken: "x"}) { outcome }',
        "changeRelationships(input: {changes: []}) { userErrors { code } }",
    ],
)
async def test_an_anonymous_viewer_can_change_nothing(gateway: Gateway, call: str) -> None:
    error = await gateway.error(f"mutation {{ {call} }}")
    assert error["extensions"]["code"] == "UNAUTHENTICATED"


async def test_with_mutual_approval_accepting_a_request_makes_friends(
    storage_settings: StorageSettings,
) -> None:
    async with running_gateway(storage_settings, Policy(mutual_approval=True)) as gateway:
        assert await outcome(gateway, 1, "followUser", 2) == ("REQUESTED", "NONE")
        accepted = await outcome(gateway, 2, "acceptFollowRequest", 1)
        assert accepted == ("REQUEST_ACCEPTED", "FRIENDS")
        assert (await own_lists_and_relations(gateway, 2))[0] == [["1"], ["1"], ["1"]]
        assert await outcome(gateway, 2, "unfollowUser", 1) == ("UNFOLLOWED", "NONE")
        assert (await own_lists_and_relations(gateway, 2))[0] == [[], [], []]


async def test_a_mute_can_end_at_the_latest_possible_time(gateway: Gateway) -> None:
    until = "9999-12-31T23:59:59.999Z"
    assert await outcome(gateway, 1, "muteUser", 2, until=until) == ("MUTED", "NONE")
    muted = "{ viewer { mutedUsers { edges { mutedUntil } } } }"
    (edge,) = (await gateway.data(muted, 1))["viewer"]["mutedUsers"]["edges"]
    assert edge["mutedUntil"].startswith("9999-12-31T23:59:59.99")


async def test_with_mutual_approval_every_account_is_protected(
    storage_settings: StorageSettings,
) -> None:
    query = """{ user(id: "2") {
        viewerFollowEligibility { code } following { access } followingCount
    } viewer { relationshipSettings { protected } } }"""
    async with running_gateway(storage_settings, Policy(mutual_approval=True)) as gateway:
        result = await gateway.data(query, 1)
        assert result["user"]["viewerFollowEligibility"] == {"code": "APPROVAL_NEEDED"}
        assert result["user"]["following"] == {"access": "PROTECTED"}
        assert result["user"]["followingCount"] is None
        assert result["viewer"]["relationshipSettings"] == {"protected": True}
        payload = await change_settings(gateway, 1, protected=False)
        assert payload["settings"]["protected"]


async def test_with_mutual_approval_following_a_requester_accepts_the_request(
    storage_settings: StorageSettings, stores: Stores
) -> None:
    query = '{ user(id: "1") { viewerFollowEligibility { code } } }'
    async with running_gateway(storage_settings, Policy(mutual_approval=True)) as gateway:
        await change(gateway, 1, "followUser", 2)
        await drain_all(stores)
        result = await gateway.data(query, 2)
        assert result["user"]["viewerFollowEligibility"] == {"code": "ALLOWED"}
        assert await outcome(gateway, 2, "followUser", 1) == ("FOLLOWED", "FRIENDS")
        assert (await own_lists_and_relations(gateway, 2))[0] == [["1"], ["1"], ["1"]]
        token = (await change(gateway, 1, "unfollowUser", 2))["undoToken"]
        undone = await change(gateway, 1, "undoRelationshipChange", undoToken=token)
        assert undone["relation"]["state"] == "FRIENDS"


@pytest.mark.parametrize("mutation", ["followUser", "updateFollow"])
async def test_with_mutual_approval_whispers_are_rejected(
    storage_settings: StorageSettings, mutation: str
) -> None:
    async with running_gateway(storage_settings, Policy(mutual_approval=True)) as gateway:
        await change(gateway, 1, "followUser", 2)
        await change(gateway, 2, "followUser", 1)
        payload = await change(gateway, 1, mutation, 2, visibility="WHISPER")
        (error,) = payload["userErrors"]
        assert (error["code"], error["field"]) == ("INVALID_INPUT", ["input", "visibility"])
        assert await outcome(gateway, 2, "unfollowUser", 1) == ("UNFOLLOWED", "NONE")


async def test_the_target_sees_an_accepted_whisper_request_although_whispers_are_hidden(
    storage_settings: StorageSettings,
) -> None:
    async with running_gateway(storage_settings, Policy(whispers_hidden=True)) as gateway:
        await change_settings(gateway, 2, protected=True)
        await change(gateway, 1, "followUser", 2, visibility="WHISPER")
        accepted = await outcome(gateway, 2, "acceptFollowRequest", 1)
        assert accepted == ("REQUEST_ACCEPTED", "FOLLOWED_BY")
        assert await outcome(gateway, 2, "removeFollower", 1) == ("FOLLOWER_REMOVED", "NONE")


@pytest.mark.parametrize("hidden", [False, True])
async def test_the_target_sees_a_whisper_unless_whispers_are_hidden(
    storage_settings: StorageSettings, hidden: bool
) -> None:
    async with running_gateway(storage_settings, Policy(whispers_hidden=hidden)) as gateway:
        await change(gateway, 1, "followUser", 2, visibility="WHISPER")
        muted = await change(gateway, 2, "muteUser", 1)
        assert (muted["relation"]["followedByAt"] is None) == hidden
        assert muted["relation"]["state"] == ("NONE" if hidden else "FOLLOWED_BY")
        removed = await outcome(gateway, 2, "removeFollower", 1)
        assert removed == ("NOT_FOLLOWED" if hidden else "FOLLOWER_REMOVED", "NONE")
