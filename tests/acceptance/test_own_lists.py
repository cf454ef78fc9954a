"""The viewer's own lists, read by the viewer and by others."""

from typing import Any

import pytest

from graph.account import PrivacyChange
from graph.decision_types import Rule
from graph.edge import Flags, Kind, UserId
from graph.outcome import Outcome
from graph.rules import (
    accept_request,
    block,
    cancel_request,
    decline_request,
    follow,
    mute,
    remove_follower,
    unblock,
    update_follow,
)
from storage.stores import Stores
from tests.support.edges import KindAndFlags, edges
from tests.support.gateway import Gateway
from tests.support.graphs import PLENTY, as_pair, drain_all, follows

OWN_LISTS = """
{ viewer {
  closeFollows { totalCount edges { cursor followedAt node { id } } nodes { id } }
  mutedUsers { totalCount edges { mutedUntil node { id } } }
  blockedUsers { totalCount edges { blockedAt node { id } } }
  incomingFollowRequests { totalCount edges { requestedAt node { ...request } } }
  outgoingFollowRequests { totalCount edges { requestedAt node { ...request } } nodes { id } }
} }
fragment request on FollowRequest { id from { id } to { id } message requestedAt }
"""

PAGE_OF_TWO = """
query ($after: String, $direction: OrderDirection!) { viewer {
  page: LIST(first: 2, after: $after, orderBy: {direction: $direction}) {
    nodes { id } pageInfo { hasNextPage endCursor }
} } }
"""
"""`LIST` stands for the name of a list."""

REQUEST_NODE = """
query ($id: ID!) { node(id: $id) {
  __typename id ... on FollowRequest { from { id } to { id } message }
} }
"""

FOLLOW_LISTS = """
{ viewer { user {
  followingCount followerCount
  following { totalCount nodes { id } } followers { totalCount nodes { id } }
} } }
"""


async def apply_rule(stores: Stores, actor: int, other: int, rule: Rule) -> Outcome:
    """Change the relationship of `actor` to `other` by a rule, without a drain."""
    return (await stores.writes.edges.change(as_pair(actor, other), rule)).outcome


async def own_lists(gateway: Gateway, viewer: int) -> Any:
    return (await gateway.data(OWN_LISTS, viewer))["viewer"]


def ids_of(connection: Any) -> list[str]:
    assert connection["totalCount"] == len(connection["edges"])
    return [edge["node"]["id"] for edge in connection["edges"]]


@pytest.fixture
async def follow_request(stores: Stores) -> None:
    """User 2 is protected, and user 1 has sent them a request with a message."""
    await stores.writes.accounts.set_privacy(UserId(2), PrivacyChange(protected=True))
    rule = follow(PLENTY, message="Please!")
    assert await apply_rule(stores, 1, 2, rule) is Outcome.REQUESTED
    await drain_all(stores)


async def test_each_own_list_contains_the_edges_with_its_kind_or_flag(
    gateway: Gateway, stores: Stores
) -> None:
    await edges(
        stores,
        {
            (1, 2): (Kind.FOLLOW, Flags.CLOSE_FOLLOW),
            (1, 3): (Kind.WHISPER, Flags.CLOSE_FOLLOW | Flags.MUTED),
            (1, 4): (Kind.BLOCK, Flags.MUTED),
            (1, 5): (Kind.NONE, Flags.MUTED),
            (1, 6): Kind.FOLLOW,
            (1, 7): (Kind.NONE, Flags.DISMISSED),
        },
    )
    lists = await own_lists(gateway, 1)
    assert set(ids_of(lists["closeFollows"])) == {"2", "3"}
    assert set(ids_of(lists["mutedUsers"])) == {"3", "4", "5"}
    assert ids_of(lists["blockedUsers"]) == ["4"]
    assert all(edge["blockedAt"] for edge in lists["blockedUsers"]["edges"])
    for viewer in (2, 3, 4):
        assert not any(ids_of(found) for found in (await own_lists(gateway, viewer)).values())


async def test_muted_users_have_the_end_of_their_mute(gateway: Gateway, stores: Stores) -> None:
    await apply_rule(stores, 1, 2, mute())
    await apply_rule(stores, 1, 3, mute(until=2_000_000_000_000))  # type: ignore[arg-type]
    muted = (await own_lists(gateway, 1))["mutedUsers"]["edges"]
    assert {edge["node"]["id"]: edge["mutedUntil"] for edge in muted} == {
        "2": None,
        "3": "2033-05-18T03:33:20+00:00",
    }


async def test_a_relation_shows_the_end_of_a_mute_only_to_its_owner_and_to_services(
    gateway: Gateway, stores: Stores
) -> None:
    await apply_rule(stores, 1, 2, mute(until=2_000_000_000_000))  # type: ignore[arg-type]
    await apply_rule(stores, 1, 3, mute())
    await drain_all(stores)
    query = """{ users(ids: ["1", "2", "3", "4"]) {
        relationWith(ids: ["1", "2", "3", "4"]) { muted mutedUntil } } }"""
    muted_until = {"muted": True, "mutedUntil": "2033-05-18T03:33:20+00:00"}
    muted_forever = {"muted": True, "mutedUntil": None}
    not_muted = {"muted": False, "mutedUntil": None}
    result = [user["relationWith"] for user in (await gateway.data(query, 1))["users"]]
    assert result == [[not_muted, muted_until, muted_forever, not_muted], *[[not_muted] * 4] * 3]
    result = [user["relationWith"] for user in (await gateway.as_service.data(query))["users"]]
    assert result[0] == [not_muted, muted_until, muted_forever, not_muted]
    for viewer in (None, 2, 3, 4):
        for user in (await gateway.data(query, viewer))["users"]:
            assert user["relationWith"] == [not_muted] * 4


async def test_own_changes_are_immediately_visible_in_own_lists(
    gateway: Gateway, stores: Stores
) -> None:
    await follows(stores, (5, 1), (6, 1))
    await stores.writes.accounts.set_privacy(UserId(1), PrivacyChange(protected=True))
    for requester in (7, 8):
        await apply_rule(stores, requester, 1, follow(PLENTY))
    await drain_all(stores)
    assert set(await _requests(gateway, 1, "incoming")) == {"request:7:1", "request:8:1"}
    # From here on no worker runs.
    await apply_rule(stores, 1, 7, accept_request(PLENTY))
    assert await _requests(gateway, 1, "incoming") == ["request:8:1"]
    await apply_rule(stores, 1, 8, decline_request())
    assert await _requests(gateway, 1, "incoming") == []
    await apply_rule(stores, 1, 5, remove_follower())
    await apply_rule(stores, 1, 6, block(PLENTY))
    assert await _follow_lists(gateway, 1) == ([], ["7"])
    assert ids_of((await own_lists(gateway, 1))["blockedUsers"]) == ["6"]
    await apply_rule(stores, 1, 6, unblock())
    assert ids_of((await own_lists(gateway, 1))["blockedUsers"]) == []
    await apply_rule(stores, 1, 3, follow(PLENTY, Kind.WHISPER, close_follow=True))
    assert await _follow_lists(gateway, 1) == (["3"], ["7"])
    await apply_rule(stores, 1, 3, update_follow(close_follow=False))
    assert ids_of((await own_lists(gateway, 1))["closeFollows"]) == []


@pytest.mark.usefixtures("follow_request")
async def test_only_the_two_users_of_a_request_and_services_see_it(gateway: Gateway) -> None:
    (request,) = (await own_lists(gateway, 1))["outgoingFollowRequests"]["edges"]
    (same,) = (await own_lists(gateway, 2))["incomingFollowRequests"]["edges"]
    assert request == same
    assert request["node"]["requestedAt"] == request["requestedAt"]
    node = {"id": "request:1:2", "from": {"id": "1"}, "to": {"id": "2"}, "message": "Please!"}
    assert request["node"] == {**node, "requestedAt": request["requestedAt"]}
    for viewer in (1, 2):
        found = (await gateway.data(REQUEST_NODE, viewer, id="request:1:2"))["node"]
        assert found == {"__typename": "FollowRequest", **node}
    found = (await gateway.as_service.data(REQUEST_NODE, id="request:1:2"))["node"]
    assert found["message"] == "Please!"
    for other in (None, 3):
        assert (await gateway.data(REQUEST_NODE, other, id="request:1:2"))["node"] is None
    assert (await gateway.data(REQUEST_NODE, 1, id="request:2:1"))["node"] is None


@pytest.mark.usefixtures("follow_request")
async def test_the_requester_sees_immediately_that_a_cancelled_request_is_gone(
    gateway: Gateway, stores: Stores
) -> None:
    await apply_rule(stores, 1, 2, cancel_request())
    assert await _requests(gateway, 1, "outgoing") == []
    assert (await gateway.data(REQUEST_NODE, 1, id="request:1:2"))["node"] is None
    await drain_all(stores)
    assert await _requests(gateway, 2, "incoming") == []


@pytest.mark.parametrize(
    "text", ["request:1", "request:1:2:3", "request:0:1", "request:1:", "request:x:y", "foo:1"]
)
async def test_an_invalid_request_id_is_rejected(gateway: Gateway, text: str) -> None:
    error = await gateway.error(REQUEST_NODE, 1, id=text)
    assert error["extensions"] == {"code": "BAD_USER_INPUT", "argument": "id"}
    assert f'user ids with colons between them, got "{text}".' in error["message"]
    assert "`request:`" in error["message"]


async def test_nodes_returns_users_and_requests_in_the_order_of_the_ids(
    gateway: Gateway, stores: Stores
) -> None:
    await edges(stores, {(1, 2): Kind.REQUEST})
    query = "query ($ids: [ID!]!) { nodes(ids: $ids) { __typename id } }"
    ids = ["2", "request:1:2", "request:1:3", "1"]
    found = (await gateway.data(query, 1, ids=ids))["nodes"]
    assert [node and (node["__typename"], node["id"]) for node in found] == [
        ("User", "2"),
        ("FollowRequest", "request:1:2"),
        None,
        ("User", "1"),
    ]


async def test_the_pages_of_an_own_list_contain_each_entry_once(
    gateway: Gateway, stores: Stores
) -> None:
    await edges(stores, {(1, user): Kind.BLOCK for user in range(2, 9)})
    query = """query ($after: String) { viewer { blockedUsers(first: 3, after: $after) {
      nodes { id } totalCount pageInfo { hasNextPage endCursor }
    } } }"""
    after, found = None, []
    while True:
        page = (await gateway.data(query, 1, after=after))["viewer"]["blockedUsers"]
        found += [node["id"] for node in page["nodes"]]
        after = page["pageInfo"]["endCursor"]
        if not page["pageInfo"]["hasNextPage"]:
            break
    assert len(found) == len(set(found)) == page["totalCount"] == 7
    query = "query ($c: String) { viewer { mutedUsers(after: $c) { totalCount } } }"
    assert "does not belong" in (await gateway.error(query, 1, c=after))["message"]


@pytest.mark.parametrize(
    ("name", "edge"),
    [
        ("incomingFollowRequests", Kind.REQUEST),
        ("outgoingFollowRequests", Kind.REQUEST),
        ("blockedUsers", Kind.BLOCK),
        ("mutedUsers", (Kind.NONE, Flags.MUTED)),
        ("closeFollows", (Kind.FOLLOW, Flags.CLOSE_FOLLOW)),
    ],
)
async def test_every_own_list_can_be_read_in_both_orders(
    gateway: Gateway, stores: Stores, name: str, edge: Kind | KindAndFlags
) -> None:
    for user in range(2, 7):
        pair = as_pair(user, 1) if name.startswith("incoming") else as_pair(1, user)
        await edges(stores, {pair: edge})
    await drain_all(stores)
    query = PAGE_OF_TWO.replace("LIST", name)
    found: dict[str, list[str]] = {"ASC": [], "DESC": []}
    for direction, ids in found.items():
        after, has_more = None, True
        while has_more:
            page = await gateway.data(query, 1, after=after, direction=direction)
            page = page["viewer"]["page"]
            ids += [node["id"] for node in page["nodes"]]
            after, has_more = page["pageInfo"]["endCursor"], page["pageInfo"]["hasNextPage"]
    assert len(found["ASC"]) == 5
    assert found["ASC"] == found["DESC"][::-1]
    error = await gateway.error(query, 1, after=after, direction="ASC")
    assert error["extensions"] == {"code": "BAD_USER_INPUT", "argument": "after"}


async def _requests(gateway: Gateway, viewer: int, direction: str) -> list[str]:
    """The ids of the viewer's requests; `direction` is `incoming` or `outgoing`."""
    return ids_of((await own_lists(gateway, viewer))[f"{direction}FollowRequests"])


async def _follow_lists(gateway: Gateway, viewer: int) -> tuple[list[str], list[str]]:
    """The ids of whom the viewer follows, and of the viewer's followers."""
    user = (await gateway.data(FOLLOW_LISTS, viewer))["viewer"]["user"]
    found = []
    for count, field in (("followingCount", "following"), ("followerCount", "followers")):
        assert user[count] == user[field]["totalCount"] == len(user[field]["nodes"])
        found.append(sorted(node["id"] for node in user[field]["nodes"]))
    return found[0], found[1]
