"""The viewer's suggestions, asked as front ends ask them: over HTTP, on real stores."""

from typing import Any

import pytest

from graph.edge import Kind, UserId
from resolvers import suggestions as resolver
from storage.settings import StorageSettings
from storage.stores import Stores
from tests.acceptance.test_costs import counters
from tests.gateway import Gateway
from tests.graphs import drain_all, follows, unfollows
from tests.loads import execute
from tests.services import interaction, record

SUGGESTIONS = """
query Suggestions($first: Int, $after: String) {
  viewer {
    suggestions(first: $first, after: $after) {
      edges {
        cursor
        node {
          user { id followerCount viewerRelation { state } } reason
          knownFollowers { id } knownFollowerCount
        }
      }
      nodes { user { id } }
      pageInfo { hasNextPage hasPreviousPage startCursor endCursor }
    }
  }
}
"""


async def suggested(gateway: Gateway, viewer: int = 1, **paging: Any) -> Any:
    return (await gateway.data(SUGGESTIONS, viewer, **paging))["viewer"]["suggestions"]


async def ids(gateway: Gateway, viewer: int = 1, **paging: Any) -> list[int]:
    page = await suggested(gateway, viewer, **paging)
    return [int(edge["node"]["user"]["id"]) for edge in page["edges"]]


@pytest.fixture
async def graph(stores: Stores) -> None:
    """1 follows 2, 3 and 4; 9 follows 1; 5 is followed by all three, 6 by one."""
    await follows(stores, (1, 2), (1, 3), (1, 4), (2, 5), (3, 5), (4, 5), (2, 6), (9, 1), (2, 1))
    await follows(stores, (2, 3), (7, 8))
    await drain_all(stores)


@pytest.mark.usefixtures("graph")
async def test_suggestions_say_who_and_why(gateway: Gateway) -> None:
    page = await suggested(gateway)
    nodes = [edge["node"] for edge in page["edges"]]
    assert nodes == [
        {
            "user": {"id": "9", "followerCount": 0, "viewerRelation": {"state": "FOLLOWED_BY"}},
            "reason": "FOLLOWS_YOU",
            "knownFollowers": [],
            "knownFollowerCount": 0,
        },
        {
            "user": {"id": "5", "followerCount": 3, "viewerRelation": {"state": "NONE"}},
            "reason": "FRIENDS_OF_FRIENDS",
            "knownFollowers": [{"id": "4"}, {"id": "3"}, {"id": "2"}],
            "knownFollowerCount": 3,
        },
        {
            "user": {"id": "6", "followerCount": 1, "viewerRelation": {"state": "NONE"}},
            "reason": "FRIENDS_OF_FRIENDS",
            "knownFollowers": [{"id": "2"}],
            "knownFollowerCount": 1,
        },
    ]
    assert page["nodes"] == [{"user": {"id": node["user"]["id"]}} for node in nodes]
    assert page["pageInfo"] == {
        "hasNextPage": False,
        "hasPreviousPage": False,
        "startCursor": page["edges"][0]["cursor"],
        "endCursor": page["edges"][-1]["cursor"],
    }


@pytest.mark.usefixtures("graph")
async def test_whom_the_viewer_has_to_do_with_comes_first(gateway: Gateway) -> None:
    await record(gateway, interaction(1, 6, "MESSAGED"))
    assert await ids(gateway) == [6, 9, 5]
    await record(gateway, interaction(5, 1, "MESSAGED", count=1000))  # not the viewer's doing
    assert await ids(gateway) == [6, 9, 5]


@pytest.mark.usefixtures("graph")
async def test_following_a_suggestion_ends_it_and_opens_others(
    gateway: Gateway, stores: Stores
) -> None:
    await follows(stores, (9, 10))
    await follows(stores, (1, 9))
    assert await ids(gateway) == [5, 10, 6]


@pytest.mark.usefixtures("graph")
async def test_pages_of_suggestions_join(gateway: Gateway) -> None:
    walked, cursor = [], None
    for place in range(3):
        page = await suggested(gateway, first=1, after=cursor)
        walked += [edge["node"]["user"]["id"] for edge in page["edges"]]
        cursor = page["pageInfo"]["endCursor"]
        assert page["pageInfo"]["hasNextPage"] is (place < 2)
        assert page["pageInfo"]["hasPreviousPage"] is (place > 0)
    assert walked == ["9", "5", "6"]
    assert await ids(gateway, after=cursor) == []
    assert await ids(gateway, first=0) == []


@pytest.mark.usefixtures("graph")
async def test_a_page_goes_on_after_a_suggestion_that_was_taken(
    gateway: Gateway, stores: Stores
) -> None:
    cursor = (await suggested(gateway, first=2))["pageInfo"]["endCursor"]
    await follows(stores, (1, 5))
    assert await ids(gateway, after=cursor) == [6]


@pytest.mark.usefixtures("graph")
async def test_a_cursor_belongs_to_the_suggestions_of_one_viewer(gateway: Gateway) -> None:
    cursor = (await suggested(gateway))["pageInfo"]["endCursor"]
    following = '{ user(id: "1") { following { pageInfo { endCursor } } } }'
    other = (await gateway.data(following))["user"]["following"]["pageInfo"]["endCursor"]
    for viewer, wrong in ((1, other), (2, cursor)):
        error = await gateway.error(SUGGESTIONS, viewer, after=wrong)
        assert "does not belong to this suggestions list" in error["message"]


@pytest.mark.usefixtures("graph")
async def test_a_cursor_of_whom_nothing_suggests_any_more_is_an_error(
    gateway: Gateway, stores: Stores
) -> None:
    cursor = (await suggested(gateway, first=1))["pageInfo"]["endCursor"]
    await unfollows(stores, (9, 1))
    await drain_all(stores)
    error = await gateway.error(SUGGESTIONS, 1, after=cursor)
    assert error["extensions"] == {"code": "BAD_USER_INPUT", "argument": "after"}
    assert "begin again" in error["message"]


async def test_who_knows_nobody_is_suggested_nobody(gateway: Gateway) -> None:
    page = await suggested(gateway)
    assert page["edges"] == page["nodes"] == []
    assert set(page["pageInfo"].values()) == {False, None}


@pytest.mark.usefixtures("graph")
async def test_nobody_gets_no_suggestions(gateway: Gateway) -> None:
    assert await gateway.data(SUGGESTIONS) == {"viewer": None}


@pytest.mark.usefixtures("graph")
@pytest.mark.parametrize(
    ("source", "target", "kind", "rest"),
    [
        (1, 5, Kind.WHISPER, [9, 6]),
        (1, 5, Kind.REQUEST, [9, 6]),
        (1, 5, Kind.BLOCK, [9, 6]),
        (5, 1, Kind.BLOCK, [9, 6]),
        (5, 1, Kind.REQUEST, [9, 5, 6]),
    ],
)
async def test_whom_the_viewer_has_to_do_with_already_is_not_suggested(
    gateway: Gateway,
    storage_settings: StorageSettings,
    source: int,
    target: int,
    kind: Kind,
    rest: list[int],
) -> None:
    await execute(
        storage_settings,
        f"INSERT INTO following VALUES ({source}, {target}, 1, 1, {kind:d})",
        f"INSERT INTO follower VALUES ({target}, {source}, 1, 1, {kind:d})",
    )
    assert await ids(gateway) == rest


@pytest.mark.usefixtures("graph")
async def test_a_page_is_refilled_behind_those_who_are_left_out(
    gateway: Gateway, storage_settings: StorageSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resolver, "CHECKED_AT_ONCE", 1)
    await execute(storage_settings, f"INSERT INTO following VALUES (1, 9, 1, 1, {Kind.BLOCK:d})")
    assert await ids(gateway, first=1) == [5]
    assert (await suggested(gateway, first=2))["pageInfo"]["hasNextPage"] is False


@pytest.mark.usefixtures("graph")
async def test_nothing_is_derived_from_lists_that_the_viewer_may_not_open(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def none_of_them(*_: object) -> list[UserId]:
        return []

    monkeypatch.setattr(resolver, "visible", none_of_them)
    assert await ids(gateway) == [9]


@pytest.mark.parametrize("first", [-1, 101])
async def test_a_page_has_a_bound(gateway: Gateway, first: int) -> None:
    error = await gateway.error(SUGGESTIONS, 1, first=first)
    assert error["extensions"] == {"code": "BAD_USER_INPUT", "argument": "first"}


@pytest.mark.usefixtures("graph")
async def test_known_followers_are_told_as_far_as_asked(gateway: Gateway) -> None:
    query = """query ($first: Int!) { viewer { suggestions(first: 2) { nodes {
        knownFollowers(first: $first) { id } knownFollowerCount } } } }"""
    nodes = (await gateway.data(query, 1, first=1))["viewer"]["suggestions"]["nodes"]
    assert nodes[1] == {"knownFollowers": [{"id": "4"}], "knownFollowerCount": 3}
    error = await gateway.error(query, 1, first=51)
    assert error["extensions"] == {"code": "BAD_USER_INPUT", "argument": "first"}


async def test_suggestions_cost_the_same_however_many_are_followed(
    gateway: Gateway, stores: Stores
) -> None:
    """Viewer 1 follows two users, viewer 2 sixty, all of whom follow others."""
    await follows(stores, *((1, fan) for fan in (101, 102)), *((2, u) for u in range(101, 161)))
    await follows(stores, *((u, u + step) for u in range(101, 161) for step in (100, 101)))
    await drain_all(stores)
    query = "{ viewer { suggestions { nodes { reason } } } }"
    costs = []
    for viewer in (1, 2):
        await gateway.data(query, viewer)
        before = await counters(gateway)
        assert (await gateway.data(query, viewer))["viewer"]["suggestions"]["nodes"]
        after = await counters(gateway)
        costs.append((after.statements - before.statements, after.round_trips - before.round_trips))
    assert costs[0] == costs[1]
    statements, round_trips = costs[0]
    assert statements == 2  # the viewer's ranks; and the question of /metrics itself
    assert round_trips <= 7  # three reads of lists, each with the viewer's own writes; the checks


async def test_only_so_many_lists_are_looked_into(
    gateway: Gateway, stores: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resolver, "MIDDLES_MAX", 2)
    await follows(stores, (1, 2), (1, 3), (1, 4), (2, 12), (3, 13), (4, 14))
    await drain_all(stores)
    assert set(await ids(gateway)) == {13, 14}  # of the newest two
    await record(gateway, interaction(1, 2))
    assert set(await ids(gateway)) == {12, 14}  # of the closest, then the newest
