"""The viewer's suggestions: reasons, order, pages, privacy and costs."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from graph.account import PrivacyChange
from graph.affinity import DAY_MS
from graph.edge import Flags, Kind, UserId
from graph.privacy import Audience
from graph.suggestion import candidates
from resolvers import suggestions as resolver
from resolvers.policy import Policy
from storage.settings import StorageSettings
from storage.stores import Stores
from tests.acceptance.test_costs import cost_since, counters
from tests.support.edge_files import execute
from tests.support.edges import KindAndFlags, edges
from tests.support.gateway import ANY_COST, Gateway, running_gateway
from tests.support.graphs import drain_all, follows, unfollows
from tests.support.interactions import interaction, record
from tests.support.relationships import change, deactivate, outcome, protect
from workers.main import FORWARD_TOMBSTONES_KEPT_S

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
      totalCount
      pageInfo { hasNextPage hasPreviousPage startCursor endCursor }
    }
  }
}
"""


async def read_suggestions(gateway: Gateway, viewer: int = 1, **paging: Any) -> Any:
    return (await gateway.data(SUGGESTIONS, viewer, **paging))["viewer"]["suggestions"]


async def suggested_ids(gateway: Gateway, viewer: int = 1, **paging: Any) -> list[int]:
    page = await read_suggestions(gateway, viewer, **paging)
    return [int(edge["node"]["user"]["id"]) for edge in page["edges"]]


@pytest.fixture
async def gateway_without_cost_limit(storage_settings: StorageSettings) -> AsyncIterator[Gateway]:
    async with running_gateway(storage_settings, costs=ANY_COST) as running:
        yield running


@pytest.fixture
async def graph(stores: Stores) -> None:
    """1 follows 2, 3 and 4; 9 follows 1; 5 is followed by all three, 6 by one."""
    await follows(stores, (1, 2), (1, 3), (1, 4), (2, 5), (3, 5), (4, 5), (2, 6), (9, 1), (2, 1))
    await follows(stores, (2, 3), (7, 8))
    await drain_all(stores)


@pytest.mark.usefixtures("graph")
async def test_suggestions_have_a_reason_and_known_followers(gateway: Gateway) -> None:
    page = await read_suggestions(gateway)
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
async def test_suggestions_begin_with_those_the_viewer_interacted_with(gateway: Gateway) -> None:
    await record(gateway, interaction(1, 6, "MESSAGED"))
    assert await suggested_ids(gateway) == [6, 9, 5]
    await record(gateway, interaction(5, 1, "MESSAGED", count=1000))  # not by the viewer
    assert await suggested_ids(gateway) == [6, 9, 5]


@pytest.mark.usefixtures("graph")
async def test_after_following_a_suggested_user_those_they_follow_are_suggested_instead(
    gateway: Gateway, stores: Stores
) -> None:
    await follows(stores, (9, 10))
    await follows(stores, (1, 9))
    assert await suggested_ids(gateway) == [5, 10, 6]


@pytest.mark.usefixtures("graph")
async def test_pages_of_one_contain_each_suggestion_once(gateway: Gateway) -> None:
    found_ids, cursor = [], None
    for number in range(3):
        page = await read_suggestions(gateway, first=1, after=cursor)
        assert page["totalCount"] == 3
        found_ids += [edge["node"]["user"]["id"] for edge in page["edges"]]
        cursor = page["pageInfo"]["endCursor"]
        assert page["pageInfo"]["hasNextPage"] is (number < 2)
        assert page["pageInfo"]["hasPreviousPage"] is (number > 0)
    assert found_ids == ["9", "5", "6"]
    assert await suggested_ids(gateway, after=cursor) == []
    assert await suggested_ids(gateway, first=0) == []


@pytest.mark.usefixtures("graph")
async def test_a_cursor_at_a_user_who_has_been_followed_since_is_still_valid(
    gateway: Gateway, stores: Stores
) -> None:
    cursor = (await read_suggestions(gateway, first=2))["pageInfo"]["endCursor"]
    await follows(stores, (1, 5))
    assert await suggested_ids(gateway, after=cursor) == [6]


@pytest.mark.usefixtures("graph")
async def test_a_cursor_belongs_to_the_suggestions_of_one_viewer(gateway: Gateway) -> None:
    cursor = (await read_suggestions(gateway))["pageInfo"]["endCursor"]
    following = '{ user(id: "1") { following { pageInfo { endCursor } } } }'
    other = (await gateway.data(following))["user"]["following"]["pageInfo"]["endCursor"]
    for viewer, wrong in ((1, other), (2, cursor)):
        error = await gateway.error(SUGGESTIONS, viewer, after=wrong)
        assert "does not belong to this suggestions list" in error["message"]


@pytest.mark.usefixtures("graph")
async def test_a_cursor_at_a_user_whom_no_reason_suggests_any_more_is_an_error(
    gateway: Gateway, stores: Stores
) -> None:
    cursor = (await read_suggestions(gateway, first=1))["pageInfo"]["endCursor"]
    await unfollows(stores, (9, 1))
    await drain_all(stores)
    error = await gateway.error(SUGGESTIONS, 1, after=cursor)
    assert error["extensions"] == {"code": "BAD_USER_INPUT", "argument": "after"}
    assert "Start without a cursor" in error["message"]


async def test_a_user_without_relations_has_no_suggestions(gateway: Gateway) -> None:
    page = await read_suggestions(gateway)
    assert page["edges"] == page["nodes"] == []
    assert page["totalCount"] == 0
    assert set(page["pageInfo"].values()) == {False, None}


@pytest.mark.usefixtures("graph")
async def test_an_anonymous_viewer_gets_no_suggestions(gateway: Gateway) -> None:
    assert await gateway.data(SUGGESTIONS) == {"viewer": None}


@pytest.mark.usefixtures("graph")
@pytest.mark.parametrize(
    ("source", "target", "edge", "expected"),
    [
        (1, 5, Kind.WHISPER, [9, 6]),
        (1, 5, Kind.REQUEST, [9, 6]),
        (1, 5, Kind.BLOCK, [9, 6]),
        (1, 5, (Kind.NONE, Flags.MUTED), [9, 6]),
        (5, 1, Kind.BLOCK, [9, 6]),
        (9, 1, Kind.BLOCK, [5, 6]),
        (5, 1, Kind.REQUEST, [9, 5, 6]),
        (5, 1, (Kind.NONE, Flags.DISMISSED), [9, 5, 6]),
    ],
)
async def test_users_with_a_relation_to_the_viewer_are_not_suggested(
    gateway: Gateway,
    stores: Stores,
    source: int,
    target: int,
    edge: Kind | KindAndFlags,
    expected: list[int],
) -> None:
    await edges(stores, {(source, target): edge})
    await drain_all(stores)
    assert await suggested_ids(gateway) == expected
    assert (await read_suggestions(gateway, first=1))["totalCount"] == len(expected)


@pytest.mark.usefixtures("graph")
async def test_a_dismissed_user_is_not_suggested_again(gateway: Gateway) -> None:
    cursor = (await read_suggestions(gateway, first=1))["pageInfo"]["endCursor"]
    assert await outcome(gateway, 1, "dismissSuggestion", 9) == ("DISMISSED", "FOLLOWED_BY")
    assert await suggested_ids(gateway) == [5, 6]
    assert await suggested_ids(gateway, after=cursor) == [5, 6]
    await record(gateway, interaction(1, 9, count=1000))
    assert await suggested_ids(gateway) == [5, 6]


@pytest.mark.usefixtures("graph")
async def test_a_user_who_was_unfollowed_is_not_suggested_for_three_months(
    gateway: Gateway, stores: Stores, storage_settings: StorageSettings
) -> None:
    cursor = (await read_suggestions(gateway, first=1))["pageInfo"]["endCursor"]
    await change(gateway, 1, "followUser", 5)
    await change(gateway, 1, "unfollowUser", 5)
    await change(gateway, 1, "unfollowUser", 2)
    assert await suggested_ids(gateway) == [9]
    assert (await read_suggestions(gateway))["totalCount"] == 1
    assert await suggested_ids(gateway, after=cursor) == []
    days = resolver.ENDED_FOR_MS // DAY_MS
    assert days * 86_400 == FORWARD_TOMBSTONES_KEPT_S
    for older, expected in ((days - 1, [9]), (2, [2, 5, 9])):
        await execute(
            storage_settings,
            f"UPDATE following SET since = since - {older * DAY_MS} WHERE kind = 0",
        )
        assert sorted(await suggested_ids(gateway)) == expected


@pytest.mark.usefixtures("graph")
async def test_a_request_that_was_declined_is_not_suggested_again(
    gateway: Gateway, stores: Stores
) -> None:
    await protect(stores, 5)
    await change(gateway, 1, "followUser", 5)
    assert await suggested_ids(gateway) == [9, 6]
    await change(gateway, 5, "declineFollowRequest", 1)
    assert await suggested_ids(gateway) == [9, 6]


@pytest.mark.usefixtures("graph")
async def test_the_number_of_suggestions_has_a_maximum(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resolver, "SUGGESTED_MAX", 2)
    page = await read_suggestions(gateway)
    assert [edge["node"]["user"]["id"] for edge in page["edges"]] == ["9", "5"]
    assert page["totalCount"] == 2
    assert page["pageInfo"]["hasNextPage"] is False


@pytest.mark.usefixtures("graph")
async def test_users_who_may_not_be_suggested_do_not_count_towards_the_maximum(
    gateway: Gateway, stores: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resolver, "SUGGESTED_MAX", 2)
    await edges(stores, {(5, 1): Kind.BLOCK})
    await drain_all(stores)
    page = await read_suggestions(gateway)
    assert [edge["node"]["user"]["id"] for edge in page["edges"]] == ["9", "6"]
    assert page["totalCount"] == 2


@pytest.mark.usefixtures("graph")
async def test_forward_and_backward_pages_end_at_the_maximum(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    cursor = (await read_suggestions(gateway))["edges"][1]["cursor"]
    last = """{ viewer { suggestions(last: 1) {
        nodes { user { id } } pageInfo { hasPreviousPage hasNextPage } } } }"""
    for maximum, after, last_id in ((2, [], "5"), (3, [6], "6")):
        monkeypatch.setattr(resolver, "SUGGESTED_MAX", maximum)
        assert await suggested_ids(gateway, first=1, after=cursor) == after
        page = (await gateway.data(last, 1))["viewer"]["suggestions"]
        assert page["nodes"] == [{"user": {"id": last_id}}]
        assert page["pageInfo"] == {"hasPreviousPage": True, "hasNextPage": False}


@pytest.mark.usefixtures("graph")
@pytest.mark.parametrize(("absent", "expected"), [(9, [5, 6]), (5, [9, 6]), (2, [9, 5])])
async def test_an_absent_account_is_neither_suggested_nor_a_reason(
    gateway: Gateway, stores: Stores, absent: int, expected: list[int]
) -> None:
    await deactivate(stores, absent)
    assert await suggested_ids(gateway) == expected
    assert (await read_suggestions(gateway, first=1))["totalCount"] == len(expected)


@pytest.mark.usefixtures("graph")
async def test_a_page_is_filled_up_if_candidates_are_left_out(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resolver, "CHECKED_FIRST", 0)
    monkeypatch.setattr(resolver, "CHECKED_AT_ONCE", 1)
    await change(gateway, 1, "dismissSuggestion", 9)
    assert await suggested_ids(gateway, first=1) == [5]
    assert (await read_suggestions(gateway, first=2))["pageInfo"]["hasNextPage"] is False


@pytest.mark.usefixtures("graph")
async def test_no_suggestion_is_derived_from_lists_that_the_viewer_may_not_open(
    gateway: Gateway, stores: Stores
) -> None:
    await stores.writes.accounts.set_privacy(UserId(2), PrivacyChange(following=Audience.ONLY_ME))
    await stores.writes.accounts.set_privacy(UserId(3), PrivacyChange(following=Audience.FRIENDS))
    nodes = [edge["node"] for edge in (await read_suggestions(gateway))["edges"]]
    assert [(node["user"]["id"], node["knownFollowers"]) for node in nodes] == [
        ("9", []),
        ("5", [{"id": "4"}]),
    ]
    await follows(stores, (3, 1))  # user 3 is a friend now
    await drain_all(stores)
    nodes = [edge["node"] for edge in (await read_suggestions(gateway))["edges"]]
    assert nodes[1]["knownFollowers"] == [{"id": "4"}, {"id": "3"}]


@pytest.mark.usefixtures("graph")
async def test_whispers_between_other_users_change_no_suggestion(
    gateway: Gateway, stores: Stores
) -> None:
    before = await read_suggestions(gateway)
    await edges(stores, {(2, 20): Kind.WHISPER, (4, 6): Kind.WHISPER, (20, 2): Kind.WHISPER})
    await drain_all(stores)
    assert await read_suggestions(gateway) == before


@pytest.mark.parametrize("hidden", [False, True])
async def test_a_whisper_to_the_viewer_is_a_reason_unless_whispers_are_hidden(
    stores: Stores, storage_settings: StorageSettings, hidden: bool
) -> None:
    await edges(stores, {(9, 1): Kind.WHISPER})
    await drain_all(stores)
    async with running_gateway(storage_settings, Policy(whispers_hidden=hidden)) as gateway:
        assert await suggested_ids(gateway) == ([] if hidden else [9])


@pytest.mark.usefixtures("graph")
async def test_a_whisper_by_a_user_is_a_reason_for_suggestions_to_that_user_only(
    gateway: Gateway, stores: Stores
) -> None:
    await follows(stores, (30, 31))
    await edges(stores, {(1, 30): Kind.WHISPER})
    await drain_all(stores)
    assert sorted(await suggested_ids(gateway)) == [5, 6, 9, 31]
    assert 30 not in await suggested_ids(gateway, viewer=9)  # user 9 follows user 1


@pytest.mark.parametrize("first", [-1, 101])
async def test_first_must_be_between_0_and_100(gateway: Gateway, first: int) -> None:
    error = await gateway.error(SUGGESTIONS, 1, first=first)
    assert error["extensions"] == {"code": "BAD_USER_INPUT", "argument": "first"}


@pytest.mark.usefixtures("graph")
async def test_known_followers_are_limited_by_first_and_their_count_is_not(
    gateway: Gateway,
) -> None:
    query = """query ($first: Int!) { viewer { suggestions(first: 2) { nodes {
        knownFollowers(first: $first) { id } knownFollowerCount } } } }"""
    nodes = (await gateway.data(query, 1, first=1))["viewer"]["suggestions"]["nodes"]
    assert nodes[1] == {"knownFollowers": [{"id": "4"}], "knownFollowerCount": 3}
    error = await gateway.error(query, 1, first=51)
    assert error["extensions"] == {"code": "BAD_USER_INPUT", "argument": "first"}


@pytest.mark.parametrize(("field", "more_round_trips"), [("", 0), ("totalCount", 1)])
async def test_the_cost_of_suggestions_does_not_depend_on_the_number_of_followed_users(
    gateway: Gateway, stores: Stores, field: str, more_round_trips: int
) -> None:
    """Viewer 1 follows two users, viewer 2 sixty. Each of these follows two others."""
    await follows(stores, *((1, fan) for fan in (101, 102)), *((2, u) for u in range(101, 161)))
    await follows(stores, *((u, u + step) for u in range(101, 161) for step in (100, 101)))
    await drain_all(stores)
    query = f"{{ viewer {{ suggestions {{ nodes {{ reason }} {field} }} }} }}"
    costs = []
    for viewer in (1, 2):
        await gateway.data(query, viewer)
        before = await counters(gateway)
        assert (await gateway.data(query, viewer))["viewer"]["suggestions"]["nodes"]
        costs.append(await cost_since(gateway, before))
    assert costs[0] == costs[1]
    assert costs[0].statements == 2  # the viewer's affinities, and ended relations
    # Own lists, numbers of follows, lists of followed users, and checks of the candidates.
    assert costs[0].round_trips <= 6 + more_round_trips


@pytest.mark.usefixtures("graph")
@pytest.mark.parametrize(
    "selection", ["nodes { reason }", "totalCount", "totalCount edges { cursor }"]
)
async def test_a_hundred_pages_in_one_request_cost_as_much_as_one(
    gateway_without_cost_limit: Gateway, monkeypatch: pytest.MonkeyPatch, selection: str
) -> None:
    gateway = gateway_without_cost_limit
    calls = []

    def counted(*lists: Any) -> Any:
        calls.append(lists)
        return candidates(*lists)

    monkeypatch.setattr(resolver, "candidates", counted)
    costs = []
    for count in (1, 1, 100):
        calls.clear()
        pages = " ".join(
            f"p{n}: suggestions(first: {n % 50}) {{ {selection} }}" for n in range(count)
        )
        before = await counters(gateway)
        viewer = (await gateway.data(f"{{ viewer {{ {pages} }} }}", 1))["viewer"]
        costs.append(await cost_since(gateway, before))
        assert len(calls) == 1
        assert len(viewer) == count
    assert costs[1] == costs[2]


async def test_suggestions_include_earlier_changes_of_the_same_request(
    gateway: Gateway, stores: Stores
) -> None:
    await follows(stores, (5, 1), (6, 1))
    await drain_all(stores)
    done = " ".join(
        f'd{user}: dismissSuggestion(input: {{ userId: "{user}" }}) '
        "{ viewer { suggestions { totalCount nodes { user { id } } } } }"
        for user in (5, 6)
    )
    data = await gateway.data(f"mutation {{ {done} }}", 1)
    assert [data[name]["viewer"]["suggestions"] for name in ("d5", "d6")] == [
        {"totalCount": 1, "nodes": [{"user": {"id": "6"}}]},
        {"totalCount": 0, "nodes": []},
    ]


async def test_the_number_of_followed_users_whose_follows_are_read_has_a_maximum(
    gateway: Gateway, stores: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resolver, "MIDDLES_MAX", 2)
    await follows(stores, (1, 2), (1, 3), (1, 4), (2, 12), (3, 13), (4, 14))
    await drain_all(stores)
    # Only the two newest follows, 3 and 4, are used.
    assert set(await suggested_ids(gateway)) == {13, 14}
    await record(gateway, interaction(1, 2))
    # The closest user, 2, comes before the newest follow, 4.
    assert set(await suggested_ids(gateway)) == {12, 14}


async def test_users_whose_follows_are_none_or_hidden_do_not_count_towards_that_maximum(
    gateway: Gateway, stores: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resolver, "MIDDLES_MAX", 1)
    await follows(stores, (1, 2), (1, 3), (1, 4), (2, 12), (3, 13))
    await drain_all(stores)
    assert await suggested_ids(gateway) == [13]
    await stores.writes.accounts.set_privacy(UserId(3), PrivacyChange(following=Audience.ONLY_ME))
    assert await suggested_ids(gateway) == [12]


async def test_a_user_with_two_follows_is_suggested_whom_others_with_the_same_follows_follow(
    gateway: Gateway, stores: Stores
) -> None:
    await follows(stores, (1, 2), (1, 3), (11, 2), (12, 2), (12, 3), (13, 3), (11, 20), (12, 20))
    await follows(stores, (12, 21), (13, 22), (14, 20), (14, 23))
    await drain_all(stores)
    nodes = [edge["node"] for edge in (await read_suggestions(gateway))["edges"]]
    assert nodes[0]["user"]["id"] == "20"
    assert {node["user"]["id"] for node in nodes} == {"20", "21", "22"}
    for node in nodes:
        assert node["reason"] == "FOLLOWED_BY_PEERS"
        assert (node["knownFollowers"], node["knownFollowerCount"]) == ([], 0)
    await edges(stores, {(13, 1): Kind.BLOCK, (1, 21): (Kind.NONE, Flags.MUTED)})
    await drain_all(stores)
    assert await suggested_ids(gateway) == [20]
    await stores.writes.accounts.set_privacy(UserId(11), PrivacyChange(following=Audience.ONLY_ME))
    await stores.writes.accounts.set_privacy(UserId(2), PrivacyChange(followers=Audience.ONLY_ME))
    await stores.writes.accounts.set_privacy(UserId(3), PrivacyChange(followers=Audience.ONLY_ME))
    assert 22 not in await suggested_ids(gateway)


async def test_a_user_without_follows_is_suggested_popular_users(
    gateway: Gateway, stores: Stores
) -> None:
    await follows(stores, *((user, 50) for user in (11, 12, 13)), (11, 51), (12, 51), (13, 52))
    await edges(stores, {(14, 52): Kind.WHISPER})
    await drain_all(stores)
    page = await read_suggestions(gateway)
    assert [
        (edge["node"]["user"]["id"], edge["node"]["reason"], edge["node"]["knownFollowerCount"])
        for edge in page["edges"]
    ] == [("50", "POPULAR", 0), ("51", "POPULAR", 0)]
    assert page["totalCount"] == 2
    await change(gateway, 1, "dismissSuggestion", 50)
    assert await suggested_ids(gateway) == [51]
    await stores.writes.accounts.set_privacy(UserId(12), PrivacyChange(following=Audience.ONLY_ME))
    assert await suggested_ids(gateway) == []
    await follows(stores, (1, 11))
    nodes = [edge["node"] for edge in (await read_suggestions(gateway))["edges"]]
    assert {(node["user"]["id"], node["reason"]) for node in nodes} == {
        ("51", "FRIENDS_OF_FRIENDS")
    }


async def test_only_the_newest_entries_of_each_list_are_read(
    gateway: Gateway, stores: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resolver, "MIDDLE_FOLLOWS_MAX", 2)
    monkeypatch.setattr(resolver, "FOLLOWERS_MAX", 1)
    await follows(stores, (1, 2), (2, 11), (2, 12), (2, 13), (21, 1), (22, 1))
    await drain_all(stores)
    found = await suggested_ids(gateway)
    assert len(found) == 3
    assert len({11, 12, 13} & set(found)) == 2
