"""`node` and `nodes` return objects by id. Clients with a normalized cache refetch with them."""

from typing import Any

import pytest

from storage.stores import Stores
from tests.support.gateway import Gateway
from tests.support.graphs import drain_all, follows

NODE = """query ($id: ID!) { node(id: $id) { __typename id
    ... on User { followerCount }
    ... on Viewer { user { id } }
    ... on Relation { from { id } to { id } state }
    ... on FollowSuggestion { user { id } reason } } }"""


async def node(gateway: Gateway, id_: str, viewer: int | None = None) -> Any:
    return (await gateway.data(NODE, viewer, id=id_))["node"]


@pytest.fixture
async def graph(stores: Stores) -> None:
    """3 follows 1; 2 follows 4; 1 follows 2."""
    await follows(stores, (3, 1), (2, 4), (1, 2))
    await drain_all(stores)


@pytest.mark.usefixtures("graph")
async def test_the_viewer_is_a_node_for_themselves_only(gateway: Gateway) -> None:
    own = {"__typename": "Viewer", "id": "viewer:1", "user": {"id": "1"}}
    assert await node(gateway, "viewer:1", viewer=1) == own
    assert await node(gateway, "viewer:1", viewer=2) is None
    assert await node(gateway, "viewer:1") is None
    assert await gateway.data("{ viewer { id user { id } } }", 1) == {
        "viewer": {"id": "viewer:1", "user": {"id": "1"}}
    }


async def test_settings_and_limits_are_nodes_for_their_owner_only(gateway: Gateway) -> None:
    query = """{ viewer { relationshipSettings { __typename id protected }
        limits { __typename id following { used } } } }"""
    viewer_data = (await gateway.data(query, 1))["viewer"]
    assert viewer_data["relationshipSettings"]["id"] == "settings:1"
    assert viewer_data["limits"]["id"] == "limits:1"
    refetch = """query ($ids: [ID!]!) { nodes(ids: $ids) { __typename id
        ... on RelationshipSettings { protected }
        ... on RelationshipLimits { following { used } } } }"""
    ids = ["settings:1", "limits:1"]
    own = [viewer_data["relationshipSettings"], viewer_data["limits"]]
    assert (await gateway.data(refetch, 1, ids=ids))["nodes"] == own
    for viewer in (2, None):
        assert (await gateway.data(refetch, viewer, ids=ids))["nodes"] == [None, None]
    assert (await gateway.as_service.data(refetch, ids=ids))["nodes"] == [own[0], None]
    changed = """mutation { updateRelationshipSettings(input: {protected: true}) {
        settings { id protected } } }"""
    payload = (await gateway.data(changed, 1))["updateRelationshipSettings"]
    assert payload["settings"] == {"id": "settings:1", "protected": True}


@pytest.mark.usefixtures("graph")
async def test_a_relation_as_a_node_equals_the_result_of_relation_with(gateway: Gateway) -> None:
    query = """{ user(id: "3") { relationWith(ids: ["1"]) {
        __typename id from { id } to { id } state } } }"""
    for viewer in (None, 1, 3, 9):
        (relation,) = (await gateway.data(query, viewer))["user"]["relationWith"]
        assert relation["id"] == "relation:3:1"
        assert await node(gateway, relation["id"], viewer) == relation
    assert (await node(gateway, "relation:1:1"))["state"] == "SELF"


@pytest.mark.usefixtures("graph")
async def test_a_suggestion_is_a_node_for_its_viewer_only(gateway: Gateway) -> None:
    query = "{ viewer { suggestions { nodes { __typename id user { id } reason } } } }"
    found = (await gateway.data(query, 1))["viewer"]["suggestions"]["nodes"]
    assert [one["id"] for one in found] == ["suggestion:1:3", "suggestion:1:4"]
    for suggestion in found:
        assert await node(gateway, suggestion["id"], viewer=1) == suggestion
        assert await node(gateway, suggestion["id"], viewer=2) is None
        assert await node(gateway, suggestion["id"]) is None
    for followed_or_unknown in ("suggestion:1:2", "suggestion:1:99", "suggestion:1:1"):
        assert await node(gateway, followed_or_unknown, viewer=1) is None


async def test_nodes_of_several_types_are_returned_in_order_and_an_invalid_id_is_null(
    gateway: Gateway,
) -> None:
    query = "query ($ids: [ID!]!) { nodes(ids: $ids) { __typename id } }"
    ids = ["7", "relation:1:2", "bad", "viewer:1", "request:1:2", "viewer:2", "7", "relation:1"]
    answer = await gateway.answer(query, 1, ids=ids)
    assert answer["data"]["nodes"] == [
        {"__typename": "User", "id": "7"},
        {"__typename": "Relation", "id": "relation:1:2"},
        None,
        {"__typename": "Viewer", "id": "viewer:1"},
        None,
        None,
        {"__typename": "User", "id": "7"},
        None,
    ]
    assert [error["path"] for error in answer["errors"]] == [["nodes", 2], ["nodes", 7]]
    assert {error["extensions"]["code"] for error in answer["errors"]} == {"BAD_USER_INPUT"}


async def test_an_invalid_id_in_users_is_one_null_with_one_error(gateway: Gateway) -> None:
    answer = await gateway.answer('{ users(ids: ["1", "x", "2"]) { id followerCount } }')
    assert answer["data"]["users"] == [
        {"id": "1", "followerCount": 0},
        None,
        {"id": "2", "followerCount": 0},
    ]
    (error,) = answer["errors"]
    assert (error["path"], error["extensions"]["argument"]) == (["users", 1], "ids")


async def test_an_invalid_id_in_service_only_fields_is_one_null_with_one_error(
    gateway: Gateway,
) -> None:
    query = """{ accounts(ids: ["1", "x"]) { state }
        relationsBetween(pairs: [{from: "1", to: "y"}, {from: "1", to: "2"}]) { id } }"""
    answer = await gateway.as_service.answer(query)
    assert answer["data"] == {
        "accounts": [{"state": "ACTIVE"}, None],
        "relationsBetween": [None, {"id": "relation:1:2"}],
    }
    assert [error["path"] for error in answer["errors"]] == [
        ["accounts", 1],
        ["relationsBetween", 0],
    ]


@pytest.mark.parametrize(
    "field",
    [
        'account(id: "1") { state }',
        'accounts(ids: ["1"]) { state }',
        'relationsBetween(pairs: [{from: "1", to: "2"}]) { id }',
        f"nodes(ids: [{','.join(['1'] * 101)}]) {{ id }}",
        f"users(ids: [{','.join(['1'] * 101)}]) {{ id }}",
        'node(id: "x") { id }',
        'user(id: "x") { id }',
    ],
)
async def test_a_field_that_fails_is_null_and_the_other_fields_are_returned(
    gateway: Gateway, field: str
) -> None:
    answer = await gateway.answer(f'{{ failed: {field} good: user(id: "1") {{ id }} }}', 1)
    assert answer["data"] == {"failed": None, "good": {"id": "1"}}
    assert [error["path"] for error in answer["errors"]] == [["failed"]]


async def test_a_mutation_that_fails_does_not_hide_the_payloads_of_others(gateway: Gateway) -> None:
    query = """mutation {
        a: followUser(input: {userId: "2"}) { outcome consistencyToken undoToken }
        b: setFollowingLimit(input: {userId: "1", limit: 5}) { outcome }
        c: unfollowUser(input: {userId: "2"}) { outcome undoToken consistencyToken
            user { followers(first: 1000) { totalCount } }
            viewer { blockedUsers(after: "x") { totalCount } } }
    }"""
    answer = await gateway.answer(query, 1)
    data = answer["data"]
    assert data["a"]["outcome"] == "FOLLOWED"
    assert data["a"]["consistencyToken"]
    assert data["b"] is None
    assert (data["c"]["outcome"], data["c"]["user"], data["c"]["viewer"]) == (
        "UNFOLLOWED",
        None,
        None,
    )
    assert data["c"]["undoToken"]
    assert data["c"]["consistencyToken"]
    assert [error["extensions"]["code"] for error in answer["errors"]] == [
        "FORBIDDEN",
        "BAD_USER_INPUT",
        "BAD_USER_INPUT",
    ]


FRAGMENTS = """
fragment Page on UserConnection {
  __typename totalCount access nodes { id } pageInfo { hasNextPage }
  edges { __typename ...Entry }
}
fragment Entry on UserEdge { cursor node { id } }
fragment Result on RelationshipPayload {
  __typename changed user { id } relation { id } viewer { id } userErrors { code }
}
"""


async def test_one_fragment_can_be_used_for_all_lists(gateway: Gateway, stores: Stores) -> None:
    await follows(stores, (1, 2), (2, 1))
    await drain_all(stores)
    query = f"""{{ user(id: "1") {{
        following {{ ...Page }} followers {{ ...Page }} friends {{ ...Page }}
        followersYouKnow {{ ...Page }} commonFollowing(with: "3") {{ ...Page }} }}
      viewer {{ closeFollows {{ ...Page }} mutedUsers {{ ...Page }} blockedUsers {{ ...Page }} }} }}
      {FRAGMENTS.split("fragment Result")[0]}"""
    data = await gateway.data(query, 1)
    lists = {**data["user"], **data["viewer"]}
    assert {name: page["__typename"] for name, page in lists.items()} == {
        "following": "FollowingConnection",
        "followers": "FollowerConnection",
        "friends": "FriendConnection",
        "followersYouKnow": "FollowerConnection",
        "commonFollowing": "FollowingConnection",
        "closeFollows": "FollowingConnection",
        "mutedUsers": "MutedConnection",
        "blockedUsers": "BlockedConnection",
    }
    edges = [
        edge for name in ("following", "followers", "friends") for edge in lists[name]["edges"]
    ]
    assert [(edge["__typename"], edge["node"]["id"]) for edge in edges] == [
        ("FollowingEdge", "2"),
        ("FollowerEdge", "2"),
        ("FriendEdge", "2"),
    ]


async def test_one_fragment_can_be_used_for_all_payloads_of_relationship_changes(
    gateway: Gateway,
) -> None:
    query = f"""mutation {{
        followUser(input: {{userId: "2"}}) {{ ...Result }}
        muteUser(input: {{userId: "2"}}) {{ ...Result }}
        blockUser(input: {{userId: "x"}}) {{ ...Result }} }}
      fragment Result{FRAGMENTS.split("fragment Result")[1]}"""
    data = await gateway.data(query, 1)
    assert data["followUser"] == {
        "__typename": "FollowUserPayload",
        "changed": True,
        "user": {"id": "2"},
        "relation": {"id": "relation:1:2"},
        "viewer": {"id": "viewer:1"},
        "userErrors": [],
    }
    assert data["muteUser"]["__typename"] == "MuteUserPayload"
    assert data["blockUser"] == {
        "__typename": "BlockUserPayload",
        "changed": False,
        "user": None,
        "relation": None,
        "viewer": {"id": "viewer:1"},
        "userErrors": [{"code": "INVALID_INPUT"}],
    }


async def test_the_outcome_of_change_relationships_depends_on_whether_all_inputs_are_valid(
    gateway: Gateway,
) -> None:
    query = """mutation ($changes: [RelationshipChangeInput!]!) {
        changeRelationships(input: {changes: $changes}) { outcome changed } }"""
    follow = {"action": "FOLLOW", "userId": "2"}
    invalid = {"action": "FOLLOW", "userId": "x"}
    expected = [
        ([follow], "COMPLETED", True),
        ([follow], "COMPLETED", False),
        ([invalid, {**follow, "userId": "3"}], "PARTIALLY_COMPLETED", True),
        ([invalid], "PARTIALLY_COMPLETED", False),
        ([follow] * 51, "REJECTED", False),
        ([], "COMPLETED", False),
    ]
    for changes, outcome, changed in expected:
        data = await gateway.data(query, 1, changes=changes)
        assert data["changeRelationships"] == {"outcome": outcome, "changed": changed}
