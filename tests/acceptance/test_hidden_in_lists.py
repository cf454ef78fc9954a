"""Every list looks the same with and without an edge that is hidden from the viewer."""

from typing import Any

import pytest

from graph.account import PrivacyChange
from graph.edge import Kind, UserId
from graph.privacy import Audience
from storage.stores import Stores
from tests.support.edges import Edges, edges
from tests.support.gateway import Gateway
from tests.support.graphs import drain_all, follows
from tests.support.relationships import change

A, B, VIEWER, FRIEND = 1, 2, 3, 4

ALL_LISTS = """
query ($ids: [ID!]!, $signedIn: Boolean!, $with: ID!) { users(ids: $ids) {
  followingCount followerCount friendCount
  following(first: 2) { ...following }
  followers(first: 2) { ...followers }
  friends(first: 2) { access totalCount edges { cursor friendsSince node { id } } }
  oldest: followers(last: 2, orderBy: {direction: ASC}) { ...followers }
  recent: followers(filter: {since: "2001-01-01T00:00:00Z"}) { ...followers }
  strangers: followers(filter: {viewerFollows: false}) @include(if: $signedIn) { ...followers }
  followersYouKnow { ...followers }
  commonFollowing(with: $with) { ...following }
} }
fragment following on FollowingConnection {
  access totalCount edges { cursor followedAt node { id } } pageInfo { ...all }
}
fragment followers on FollowerConnection {
  access totalCount edges { cursor followedAt node { id } } pageInfo { ...all }
}
fragment all on PageInfo { hasNextPage hasPreviousPage startCursor endCursor }
"""

VISIBLE_EDGES: Edges = {
    (VIEWER, FRIEND): Kind.FOLLOW,
    (FRIEND, VIEWER): Kind.FOLLOW,
    (FRIEND, A): Kind.FOLLOW,
    (FRIEND, B): Kind.FOLLOW,
    (A, FRIEND): Kind.FOLLOW,
    (VIEWER, B): Kind.FOLLOW,
    (VIEWER, A): Kind.WHISPER,
}

HIDDEN_EDGES = {
    "whisper": (A, B, Kind.WHISPER),
    "request": (A, B, Kind.REQUEST),
    "block": (A, B, Kind.BLOCK),
    "block in the other direction": (B, A, Kind.BLOCK),
    "whisper to the viewer's friend": (B, FRIEND, Kind.WHISPER),
}


async def read_lists(gateway: Gateway, viewer: int | None) -> Any:
    """All lists of all users, as the viewer sees them."""
    found = []
    for other in (A, B, FRIEND):
        variables = {
            "ids": ["1", "2", "3", "4"],
            "signedIn": viewer is not None,
            "with": str(other),
        }
        found.append(await gateway.data(ALL_LISTS, viewer, **variables))
    return found


@pytest.mark.parametrize("name", list(HIDDEN_EDGES))
async def test_a_hidden_edge_is_in_no_list_total_or_cursor(
    gateway: Gateway, stores: Stores, name: str
) -> None:
    await edges(stores, VISIBLE_EDGES)
    await drain_all(stores)
    viewers = (None, VIEWER, 99)
    before = [await read_lists(gateway, viewer) for viewer in viewers]
    source, target, kind = HIDDEN_EDGES[name]
    await edges(stores, {(source, target): kind})
    await drain_all(stores)
    assert [await read_lists(gateway, viewer) for viewer in viewers] == before
    assert before[0] != before[1]


async def test_a_follow_between_users_who_hide_their_lists_is_in_no_list_total_or_cursor(
    gateway: Gateway, stores: Stores
) -> None:
    await edges(stores, VISIBLE_EDGES)
    await stores.writes.accounts.set_privacy(UserId(A), PrivacyChange(following=Audience.ONLY_ME))
    await stores.writes.accounts.set_privacy(UserId(B), PrivacyChange(followers=Audience.ONLY_ME))
    await drain_all(stores)
    before = [await read_lists(gateway, viewer) for viewer in (None, VIEWER, 99)]
    await edges(stores, {(A, B): Kind.FOLLOW})
    await drain_all(stores)
    assert [await read_lists(gateway, viewer) for viewer in (None, VIEWER, 99)] == before


async def test_a_viewer_with_1200_blocks_gets_full_pages(gateway: Gateway, stores: Stores) -> None:
    blocked = range(1000, 2200)
    await stores.servers.postgres.fetch(
        "INSERT INTO following (from_user_id, to_user_id, kind, flags, since, version) "
        "SELECT 5, u, 4, 0, 1000000, 1 FROM generate_series($1::integer, $2::integer) u "
        "UNION ALL SELECT u, 6, 1, 0, 2000000 + u, 1 FROM generate_series($1, $2) u "
        "UNION ALL SELECT u, 6, 1, 0, 3000000 * (u % 2) + u, 1 FROM generate_series(7, 12) u",
        blocked.start,
        blocked.stop - 1,
    )
    await stores.servers.postgres.fetch(
        "INSERT INTO follower (to_user_id, from_user_id, kind, flags, since, version) "
        "SELECT to_user_id, from_user_id, kind, flags, since, version FROM following"
    )
    total = len(blocked)
    await stores.servers.postgres.fetch(
        "INSERT INTO following_count (user_id, blocks) VALUES (5, $1)", total
    )
    await stores.servers.postgres.fetch(
        "INSERT INTO follower_count (user_id, follows) VALUES (6, $1)", total + 6
    )
    query = """query ($after: String) { user(id: "6") { followers(first: 4, after: $after) {
      totalCount nodes { id } pageInfo { hasNextPage endCursor }
    } } }"""
    first = (await gateway.data(query, 5))["user"]["followers"]
    assert [node["id"] for node in first["nodes"]] == ["11", "9", "7", "12"]
    assert first["totalCount"] == 6
    assert first["pageInfo"]["hasNextPage"]
    after = first["pageInfo"]["endCursor"]
    second = (await gateway.data(query, 5, after=after))["user"]["followers"]
    assert [node["id"] for node in second["nodes"]] == ["10", "8"]
    assert not second["pageInfo"]["hasNextPage"]


async def test_a_block_hides_the_blocker_when_the_mutation_returns(
    gateway: Gateway, stores: Stores
) -> None:
    """No worker runs."""
    await follows(stores, (2, 1))
    await drain_all(stores)
    query = """{ user(id: "1") {
        followers { access } viewerRelation { state } viewerFollowEligibility { code }
    } }"""
    assert (await gateway.data(query, 2))["user"]["viewerRelation"] == {"state": "FOLLOWING"}
    await change(gateway, 1, "blockUser", 2)
    assert (await gateway.data(query, 2))["user"] == {
        "followers": {"access": "HIDDEN_BY_OWNER"},
        "viewerRelation": {"state": "NONE"},
        "viewerFollowEligibility": {"code": "NOT_ALLOWED"},
    }
