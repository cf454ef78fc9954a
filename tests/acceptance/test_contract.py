"""The GraphQL API as front ends use it: over HTTP, on real stores."""

from datetime import datetime
from typing import Any

import pytest

from resolvers.policy import Policy
from storage.settings import StorageSettings
from storage.stores import Stores
from tests.support.gateway import Gateway, running_gateway
from tests.support.graphs import drain_all, follows

FOLLOW = """
mutation Follow($id: ID!) {
  followUser(input: {userId: $id, clientMutationId: "c-1"}) {
    outcome clientMutationId
    relation { from { id } to { id } state following followedBy followedAt }
    user { id followerCount followers { nodes { id } } viewerRelation { state } }
    viewer { user { id followingCount following { totalCount nodes { id } } } }
    userErrors { code message field }
  }
}
"""

UNFOLLOW = """
mutation Unfollow($id: ID!) {
  unfollowUser(input: {userId: $id}) {
    outcome relation { state followedAt } user { followerCount } userErrors { code field }
  }
}
"""


async def test_a_follow_returns_the_relation_both_users_and_their_lists(gateway: Gateway) -> None:
    payload = (await gateway.data(FOLLOW, viewer=1, id="2"))["followUser"]
    followed_at = payload["relation"].pop("followedAt")
    assert datetime.fromisoformat(followed_at).tzinfo is not None
    assert payload == {
        "outcome": "FOLLOWED",
        "clientMutationId": "c-1",
        "relation": {
            "from": {"id": "1"},
            "to": {"id": "2"},
            "state": "FOLLOWING",
            "following": True,
            "followedBy": False,
        },
        "user": {
            "id": "2",
            "followerCount": 1,
            "followers": {"nodes": [{"id": "1"}]},
            "viewerRelation": {"state": "FOLLOWING"},
        },
        "viewer": {
            "user": {
                "id": "1",
                "followingCount": 1,
                "following": {"totalCount": 1, "nodes": [{"id": "2"}]},
            }
        },
        "userErrors": [],
    }


async def test_a_repeated_follow_changes_nothing(gateway: Gateway) -> None:
    first = (await gateway.data(FOLLOW, viewer=1, id="2"))["followUser"]
    second = (await gateway.data(FOLLOW, viewer=1, id="2"))["followUser"]
    assert second == {**first, "outcome": "ALREADY_FOLLOWING"}


async def test_an_unfollow_ends_the_follow(gateway: Gateway) -> None:
    await gateway.data(FOLLOW, viewer=1, id="2")
    unfollowed = (await gateway.data(UNFOLLOW, viewer=1, id="2"))["unfollowUser"]
    assert unfollowed == {
        "outcome": "UNFOLLOWED",
        "relation": {"state": "NONE", "followedAt": None},
        "user": {"followerCount": 0},
        "userErrors": [],
    }
    again = (await gateway.data(UNFOLLOW, viewer=1, id="2"))["unfollowUser"]
    assert again == {**unfollowed, "outcome": "NOT_FOLLOWING"}


@pytest.mark.parametrize(
    ("target", "code"),
    [
        ("1", "CANNOT_FOLLOW_SELF"),
        ("x", "INVALID_INPUT"),
        ("0", "INVALID_INPUT"),
        ("", "INVALID_INPUT"),
    ],
)
async def test_an_invalid_follow_is_rejected_with_a_reason(
    gateway: Gateway, target: str, code: str
) -> None:
    payload = (await gateway.data(FOLLOW, viewer=1, id=target))["followUser"]
    assert payload["outcome"] == "REJECTED"
    (error,) = payload["userErrors"]
    assert (error["code"], error["field"]) == (code, ["input", "userId"])
    assert error["message"]


async def test_a_follow_beyond_the_following_limit_is_rejected(
    storage_settings: StorageSettings,
) -> None:
    async with running_gateway(storage_settings, Policy(following_max=2)) as gateway:
        for target in ("2", "3"):
            await gateway.data(FOLLOW, viewer=1, id=target)
        payload = (await gateway.data(FOLLOW, viewer=1, id="4"))["followUser"]
        assert payload["outcome"] == "REJECTED"
        assert [error["code"] for error in payload["userErrors"]] == ["FOLLOWING_LIMIT_REACHED"]
        assert payload["viewer"]["user"]["followingCount"] == 2
        await gateway.data(UNFOLLOW, viewer=1, id="2")
        payload = (await gateway.data(FOLLOW, viewer=1, id="4"))["followUser"]
        assert payload["outcome"] == "FOLLOWED"


async def test_an_anonymous_viewer_cannot_follow(gateway: Gateway) -> None:
    error = await gateway.error(FOLLOW, id="2")
    assert error["extensions"]["code"] == "UNAUTHENTICATED"


async def test_relations_are_in_the_order_of_the_ids_with_repeats(
    gateway: Gateway, stores: Stores
) -> None:
    await follows(stores, (1, 2), (3, 1), (1, 4), (4, 1))
    await drain_all(stores)
    query = """query ($ids: [ID!]!) { user(id: "1") { relationWith(ids: $ids) {
        to { id } state following followedBy followedAt followedByAt friendsSince } } }"""
    data = await gateway.data(query, ids=["4", "2", "9", "1", "3", "2"])
    relations = data["user"]["relationWith"]
    assert [(r["to"]["id"], r["state"]) for r in relations] == [
        ("4", "FRIENDS"),
        ("2", "FOLLOWING"),
        ("9", "NONE"),
        ("1", "SELF"),
        ("3", "FOLLOWED_BY"),
        ("2", "FOLLOWING"),
    ]
    friend = relations[0]
    assert friend["friendsSince"] == max(friend["followedAt"], friend["followedByAt"])
    assert relations[2] == {
        "to": {"id": "9"},
        "state": "NONE",
        "following": False,
        "followedBy": False,
        "followedAt": None,
        "followedByAt": None,
        "friendsSince": None,
    }


async def test_the_viewers_relation_is_null_for_an_anonymous_viewer(
    gateway: Gateway, stores: Stores
) -> None:
    await follows(stores, (1, 2))
    query = '{ users(ids: ["2", "1"]) { viewerRelation { state } } viewer { user { id } } }'
    assert await gateway.data(query) == {"users": [{"viewerRelation": None}] * 2, "viewer": None}
    assert await gateway.data(query, viewer=1) == {
        "users": [
            {"viewerRelation": {"state": "FOLLOWING"}},
            {"viewerRelation": {"state": "SELF"}},
        ],
        "viewer": {"user": {"id": "1"}},
    }


async def test_nodes_are_found_by_their_ids(gateway: Gateway) -> None:
    query = """{ node(id: "7") { __typename id ... on User { followerCount } }
        nodes(ids: ["8", "7"]) { id } users(ids: ["7"]) { id } }"""
    assert await gateway.data(query) == {
        "node": {"__typename": "User", "id": "7", "followerCount": 0},
        "nodes": [{"id": "8"}, {"id": "7"}],
        "users": [{"id": "7"}],
    }


async def page_through(
    gateway: Gateway, field: str, size: int, *, backward: bool
) -> list[dict[str, Any]]:
    """All edges of user 1's list, page by page, in the order of the list."""
    paging = "last: $size, before: $cursor" if backward else "first: $size, after: $cursor"
    query = f"""query ($size: Int!, $cursor: String) {{ user(id: "1") {{ {field}({paging}) {{
        totalCount edges {{ cursor node {{ id }} }}
        pageInfo {{ hasNextPage hasPreviousPage startCursor endCursor }} }} }} }}"""
    found: list[dict[str, Any]] = []
    cursor = None
    while True:
        page = (await gateway.data(query, size=size, cursor=cursor))["user"][field]
        edges, info = page["edges"], page["pageInfo"]
        assert info["startCursor"] == edges[0]["cursor"]
        assert info["endCursor"] == edges[-1]["cursor"]
        found = [*edges, *found] if backward else [*found, *edges]
        cursor = info["startCursor" if backward else "endCursor"]
        if not info["hasPreviousPage" if backward else "hasNextPage"]:
            assert page["totalCount"] == len(found)
            return found


@pytest.mark.parametrize("field", ["following", "followers", "friends"])
@pytest.mark.parametrize("size", [1, 3, 4, 100])
async def test_a_list_has_the_same_edges_when_paged_from_either_end(
    gateway: Gateway, stores: Stores, field: str, size: int
) -> None:
    await follows(stores, *((1, fan) for fan in range(2, 14)), *((fan, 1) for fan in range(2, 14)))
    await drain_all(stores)
    forward = await page_through(gateway, field, size, backward=False)
    assert [int(edge["node"]["id"]) for edge in forward] == list(range(13, 1, -1))
    assert await page_through(gateway, field, size, backward=True) == forward


async def test_an_empty_page_tells_whether_the_list_has_entries(
    gateway: Gateway, stores: Stores
) -> None:
    await follows(stores, (1, 2))
    query = """{ user(id: "1") { following(first: 0) { edges { cursor } totalCount
        pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } } }"""
    page = (await gateway.data(query))["user"]["following"]
    assert page == {
        "edges": [],
        "totalCount": 1,
        "pageInfo": {
            "hasNextPage": True,
            "hasPreviousPage": False,
            "startCursor": None,
            "endCursor": None,
        },
    }


@pytest.mark.parametrize(
    ("field", "argument", "message_part"),
    [
        ('user(id: "0") { id }', "id", "user id"),
        ('user(id: "007") { id }', "id", "user id"),
        ('user(id: "9223372036854775808") { id }', "id", "user id"),
        ('user(id: "٣") { id }', "id", "user id"),
        ('user(id: "request:7:42") { id }', "id", "user id"),
        ("user(id: -1) { id }", "id", "user id"),
        ('node(id: "") { id }', "id", "user id"),
        (f"users(ids: [{','.join(['1'] * 101)}]) {{ id }}", "ids", "100 entries, got 101"),
        (f"nodes(ids: [{','.join(['1'] * 101)}]) {{ id }}", "ids", "100"),
        ('user(id: "1") { following(first: 101) { totalCount } }', "first", "100, got 101."),
        ('user(id: "1") { followers(last: -1) { totalCount } }', "last", "100, got -1."),
        (
            'user(id: "1") { friends(first: 1, last: 1) { totalCount } }',
            "first",
            "cannot be combined with `last`",
        ),
        ('user(id: "1") { friends(after: "x") { totalCount } }', "after", "cursor"),
        (
            'user(id: "1") { followers(filter: {since: "2026-01-31T12:00:00"}) { totalCount } }',
            "filter.since",
            "time zone",
        ),
        ('user(id: "1") { relationWith(ids: ["2", "two"]) { state } }', "ids", "two"),
    ],
)
async def test_the_error_names_the_invalid_argument(
    gateway: Gateway, field: str, argument: str, message_part: str
) -> None:
    error = await gateway.error(f"{{ {field} }}")
    assert error["extensions"]["code"] == "BAD_USER_INPUT"
    assert error["extensions"]["argument"] == argument
    assert message_part in error["message"]


DATE_EXPECTED = 'A DateTime must be a string like "2026-01-31T12:00:00Z", got '


@pytest.mark.parametrize(
    ("field", "column", "message"),
    [
        ("user(id: null) { id }", 12, "Expected value of non-null type 'ID!' not to be null."),
        ("users(ids: [[1]]) { id }", 14, "non-string and non-integer value: [1]"),
        ("user(id: {a: 1}) { id }", 12, "non-string and non-integer value: { a: 1 }"),
        (
            'user(id: "1") { followers(filter: {since: 1}) { totalCount } }',
            37,
            f"{DATE_EXPECTED}1.",
        ),
        (
            'user(id: "1") { followers(filter: {since: "today"}) { totalCount } }',
            37,
            f'{DATE_EXPECTED}"today".',
        ),
    ],
)
async def test_the_error_of_an_invalid_literal_has_its_location(
    gateway: Gateway, field: str, column: int, message: str
) -> None:
    error = await gateway.error(f"{{ {field} }}")
    assert error["message"].endswith(message)
    assert error["locations"] == [{"line": 1, "column": column}]


async def test_the_error_of_an_invalid_variable_has_the_expected_type(gateway: Gateway) -> None:
    error = await gateway.error("query ($id: ID!) { user(id: $id) { id } }", id=None)
    assert error["message"].endswith("Expected value of non-null type 'ID!' not to be null.")
    since = """
    query ($since: DateTime) { user(id: "1") { followers(filter: {since: $since}) { totalCount } } }
    """
    error = await gateway.error(since, since=2026)
    assert error["message"].endswith(f"{DATE_EXPECTED}2026.")


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("POST", "/", 405, "METHOD_NOT_ALLOWED"),
        ("POST", "/grahpql", 404, "NOT_FOUND"),
        ("POST", "/graphql/", 404, "NOT_FOUND"),
        ("DELETE", "/healthz", 405, "METHOD_NOT_ALLOWED"),
    ],
)
async def test_a_wrong_path_or_method_is_a_graphql_error(
    gateway: Gateway, method: str, path: str, status: int, code: str
) -> None:
    response = await gateway.http.request(method, path, json={"query": "{ __typename }"})
    assert response.status_code == status
    (error,) = response.json()["errors"]
    assert error["extensions"]["code"] == code
    assert status != 404 or "/graphql" in error["message"]
    assert status != 405 or response.headers["allow"]


async def test_too_many_ids_are_an_error_and_not_truncated(gateway: Gateway) -> None:
    query = 'query ($ids: [ID!]!) { user(id: "1") { relationWith(ids: $ids) { state } } }'
    data = await gateway.data(query, ids=["2"] * 1000)
    assert len(data["user"]["relationWith"]) == 1000
    error = await gateway.error(query, ids=["2"] * 1001)
    assert error["extensions"] == {"code": "BAD_USER_INPUT", "argument": "ids"}


async def test_a_cursor_of_another_list_is_rejected(gateway: Gateway, stores: Stores) -> None:
    await follows(stores, (1, 2), (3, 2))
    await drain_all(stores)
    query = '{ user(id: "1") { following { edges { cursor } } } }'
    cursor = (await gateway.data(query))["user"]["following"]["edges"][0]["cursor"]
    for owner, field in (("1", "followers"), ("3", "following")):
        selection = f'user(id: "{owner}") {{ {field}(after: $c) {{ totalCount }} }}'
        error = await gateway.error(f"query ($c: String) {{ {selection} }}", c=cursor)
        assert error["extensions"]["code"] == "BAD_USER_INPUT"
        assert "does not belong" in error["message"]
