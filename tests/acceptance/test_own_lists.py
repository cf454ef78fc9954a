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
from tests.support.edges import Said, edges
from tests.support.gateway import Gateway
from tests.support.graphs import PLENTY, as_pair, drain_all, follows

OWN = """
{ viewer {
  closeFollows { totalCount edges { cursor followedAt node { id } } nodes { id } }
  mutedUsers { totalCount edges { mutedUntil node { id } } }
  blockedUsers { totalCount edges { blockedAt node { id } } }
  incomingFollowRequests { totalCount edges { requestedAt node { ...request } } }
  outgoingFollowRequests { totalCount edges { requestedAt node { ...request } } nodes { id } }
} }
fragment request on FollowRequest { id from { id } to { id } message requestedAt }
"""

READ_FROM_EITHER_END = """
query ($after: String, $direction: OrderDirection!) { viewer {
  page: LIST(first: 2, after: $after, orderBy: {direction: $direction}) {
    nodes { id } pageInfo { hasNextPage endCursor }
} } }
"""

NODE = """
query ($id: ID!) { node(id: $id) {
  __typename id ... on FollowRequest { from { id } to { id } message }
} }
"""

FOLLOWS = """
{ viewer { user {
  followingCount followerCount
  following { totalCount nodes { id } } followers { totalCount nodes { id } }
} } }
"""


async def changed(stores: Stores, actor: int, other: int, rule: Rule) -> Outcome:
    return (await stores.writes.edges.change(as_pair(actor, other), rule)).outcome


async def own(gateway: Gateway, viewer: int) -> Any:
    return (await gateway.data(OWN, viewer))["viewer"]


def users(connection: Any) -> list[str]:
    assert connection["totalCount"] == len(connection["edges"])
    return [edge["node"]["id"] for edge in connection["edges"]]


@pytest.fixture
async def asked(stores: Stores) -> None:
    """User 2 approves who follows; user 1 asks, with a message."""
    await stores.writes.accounts.set_privacy(UserId(2), PrivacyChange(protected=True))
    rule = follow(PLENTY, message="Please!")
    assert await changed(stores, 1, 2, rule) is Outcome.REQUESTED
    await drain_all(stores)


async def test_each_of_the_viewers_lists_holds_what_the_viewer_has_said(
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
    lists = await own(gateway, 1)
    assert set(users(lists["closeFollows"])) == {"2", "3"}
    assert set(users(lists["mutedUsers"])) == {"3", "4", "5"}
    assert users(lists["blockedUsers"]) == ["4"]
    assert all(edge["blockedAt"] for edge in lists["blockedUsers"]["edges"])
    for viewer in (2, 3, 4):
        assert not any(users(found) for found in (await own(gateway, viewer)).values())


async def test_a_muted_user_has_the_end_of_the_mute(gateway: Gateway, stores: Stores) -> None:
    await changed(stores, 1, 2, mute())
    await changed(stores, 1, 3, mute(until=2_000_000_000_000))  # type: ignore[arg-type]
    muted = (await own(gateway, 1))["mutedUsers"]["edges"]
    assert {edge["node"]["id"]: edge["mutedUntil"] for edge in muted} == {
        "2": None,
        "3": "2033-05-18T03:33:20+00:00",
    }


async def test_a_relation_shows_the_end_of_a_mute_to_its_owner_alone(
    gateway: Gateway, stores: Stores
) -> None:
    await changed(stores, 1, 2, mute(until=2_000_000_000_000))  # type: ignore[arg-type]
    await changed(stores, 1, 3, mute())
    await drain_all(stores)
    query = """{ users(ids: ["1", "2", "3", "4"]) {
        relationWith(ids: ["1", "2", "3", "4"]) { muted mutedUntil } } }"""
    end = {"muted": True, "mutedUntil": "2033-05-18T03:33:20+00:00"}
    no_end = {"muted": True, "mutedUntil": None}
    nothing = {"muted": False, "mutedUntil": None}
    result = [user["relationWith"] for user in (await gateway.data(query, 1))["users"]]
    assert result == [[nothing, end, no_end, nothing], *[[nothing] * 4] * 3]
    result = [user["relationWith"] for user in (await gateway.as_service.data(query))["users"]]
    assert result[0] == [nothing, end, no_end, nothing]
    for viewer in (None, 2, 3, 4):
        for user in (await gateway.data(query, viewer))["users"]:
            assert user["relationWith"] == [nothing] * 4


async def test_own_changes_are_visible_at_once_in_own_lists(
    gateway: Gateway, stores: Stores
) -> None:
    await follows(stores, (5, 1), (6, 1))
    await stores.writes.accounts.set_privacy(UserId(1), PrivacyChange(protected=True))
    for asker in (7, 8):
        await changed(stores, asker, 1, follow(PLENTY))
    await drain_all(stores)
    assert set(await _requests(gateway, 1, "incoming")) == {"request:7:1", "request:8:1"}
    # From here on no worker runs.
    await changed(stores, 1, 7, accept_request(PLENTY))
    assert await _requests(gateway, 1, "incoming") == ["request:8:1"]
    await changed(stores, 1, 8, decline_request())
    assert await _requests(gateway, 1, "incoming") == []
    await changed(stores, 1, 5, remove_follower())
    await changed(stores, 1, 6, block(PLENTY))
    assert await _follows(gateway, 1) == ([], ["7"])
    assert users((await own(gateway, 1))["blockedUsers"]) == ["6"]
    await changed(stores, 1, 6, unblock())
    assert users((await own(gateway, 1))["blockedUsers"]) == []
    await changed(stores, 1, 3, follow(PLENTY, Kind.WHISPER, close_follow=True))
    assert await _follows(gateway, 1) == (["3"], ["7"])
    await changed(stores, 1, 3, update_follow(close_follow=False))
    assert users((await own(gateway, 1))["closeFollows"]) == []


@pytest.mark.usefixtures("asked")
async def test_a_request_is_seen_by_its_two_ends_only(gateway: Gateway) -> None:
    (request,) = (await own(gateway, 1))["outgoingFollowRequests"]["edges"]
    (same,) = (await own(gateway, 2))["incomingFollowRequests"]["edges"]
    assert request == same
    assert request["node"]["requestedAt"] == request["requestedAt"]
    node = {"id": "request:1:2", "from": {"id": "1"}, "to": {"id": "2"}, "message": "Please!"}
    assert request["node"] == {**node, "requestedAt": request["requestedAt"]}
    for viewer in (1, 2):
        found = (await gateway.data(NODE, viewer, id="request:1:2"))["node"]
        assert found == {"__typename": "FollowRequest", **node}
    assert (await gateway.as_service.data(NODE, id="request:1:2"))["node"]["message"] == "Please!"
    for other in (None, 3):
        assert (await gateway.data(NODE, other, id="request:1:2"))["node"] is None
    assert (await gateway.data(NODE, 1, id="request:2:1"))["node"] is None


@pytest.mark.usefixtures("asked")
async def test_a_cancelled_request_is_gone_at_once_for_who_asked(
    gateway: Gateway, stores: Stores
) -> None:
    await changed(stores, 1, 2, cancel_request())
    assert await _requests(gateway, 1, "outgoing") == []
    assert (await gateway.data(NODE, 1, id="request:1:2"))["node"] is None
    await drain_all(stores)
    assert await _requests(gateway, 2, "incoming") == []


@pytest.mark.parametrize(
    "text", ["request:1", "request:1:2:3", "request:0:1", "request:1:", "request:x:y", "foo:1"]
)
async def test_an_invalid_request_id_is_rejected(gateway: Gateway, text: str) -> None:
    error = await gateway.error(NODE, 1, id=text)
    assert error["extensions"] == {"code": "BAD_USER_INPUT", "argument": "id"}
    assert f'user ids with colons between them, got "{text}".' in error["message"]
    assert "`request:`" in error["message"]


async def test_nodes_of_both_types_keep_their_places(gateway: Gateway, stores: Stores) -> None:
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


async def test_an_own_list_is_paged_like_any_other(gateway: Gateway, stores: Stores) -> None:
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
async def test_every_own_list_is_read_from_either_end(
    gateway: Gateway, stores: Stores, name: str, edge: Kind | Said
) -> None:
    for user in range(2, 7):
        pair = as_pair(user, 1) if name.startswith("incoming") else as_pair(1, user)
        await edges(stores, {pair: edge})
    await drain_all(stores)
    query = READ_FROM_EITHER_END.replace("LIST", name)
    found: dict[str, list[str]] = {"ASC": [], "DESC": []}
    for direction, ids in found.items():
        after, more = None, True
        while more:
            page = await gateway.data(query, 1, after=after, direction=direction)
            page = page["viewer"]["page"]
            ids += [node["id"] for node in page["nodes"]]
            after, more = page["pageInfo"]["endCursor"], page["pageInfo"]["hasNextPage"]
    assert len(found["ASC"]) == 5
    assert found["ASC"] == found["DESC"][::-1]
    error = await gateway.error(query, 1, after=after, direction="ASC")
    assert error["extensions"] == {"code": "BAD_USER_INPUT", "argument": "after"}


async def _requests(gateway: Gateway, viewer: int, way: str) -> list[str]:
    return users((await own(gateway, viewer))[f"{way}FollowRequests"])


async def _follows(gateway: Gateway, viewer: int) -> tuple[list[str], list[str]]:
    user = (await gateway.data(FOLLOWS, viewer))["viewer"]["user"]
    found = []
    for count, field in (("followingCount", "following"), ("followerCount", "followers")):
        assert user[count] == user[field]["totalCount"] == len(user[field]["nodes"])
        found.append(sorted(node["id"] for node in user[field]["nodes"]))
    return found[0], found[1]
