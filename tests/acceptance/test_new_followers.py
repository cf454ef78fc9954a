"""New followers: their number, the mark in the list, marking them as seen, and live updates."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from graph.account_state import AccountState
from graph.edge import Kind, UserId
from graph.outcome import Outcome
from graph.pace import Pace
from resolvers import new_followers
from resolvers.policy import Policy
from resolvers.scope import Scope
from storage.ports.reader import Consistency
from storage.settings import StorageSettings
from storage.stores import Stores
from tests.acceptance.test_costs import cost_since, counters
from tests.acceptance.test_private_notes import set_state
from tests.support.edges import becomes
from tests.support.gateway import Gateway, running_gateway
from tests.support.graphs import as_pair, drain_all, follows
from tests.support.live_gateway import LiveGateway
from tests.support.relationships import change, protect

NEW_FOLLOWERS = """query ($id: ID!) {
  viewer { newFollowersCount }
  user(id: $id) { newFollowersCount followers { edges { isNew node { id } } } }
}"""
MARK_SEEN = """mutation ($input: MarkFollowersSeenInput!) { markFollowersSeen(input: $input) {
  outcome changed viewer { newFollowersCount } userErrors { code field } clientMutationId
} }"""
CURSORS = """query ($direction: OrderDirection!) { user(id: "1") {
  followers(orderBy: { direction: $direction }) { edges { cursor node { id } } }
  following { edges { cursor } }
} }"""


async def follow(stores: Stores, *followers: int, kind: Kind = Kind.FOLLOW, to: int = 1) -> None:
    """Each of these users follows `to`. User `n` has followed since `n` seconds after 1970."""
    for follower in followers:
        pair, since_ms = as_pair(follower, to), follower * 1000
        await stores.writes.edges.change(pair, becomes(kind, since=since_ms))
    await drain_all(stores)


def date(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat()


async def mark_seen(gateway: Gateway, viewer: int = 1, **given: Any) -> tuple[str, Any]:
    """Mark followers as seen. Returns the outcome, and each error as a pair of code and field."""
    payload = (await gateway.data(MARK_SEEN, viewer, input=given))["markFollowersSeen"]
    assert payload["changed"] == (payload["outcome"] == "UPDATED")
    assert payload["clientMutationId"] == given.get("clientMutationId")
    errors = [(error["code"], error["field"]) for error in payload["userErrors"]]
    return payload["outcome"], errors


async def read_new(caller: Any, viewer: int | None = 1, of: int = 1) -> tuple[int, list[str]]:
    """The number of the viewer's new followers, and which followers of `of` are shown as new."""
    data = await caller.data(NEW_FOLLOWERS, viewer, id=str(of))
    count = data["viewer"]["newFollowersCount"]
    assert data["user"]["newFollowersCount"] == count
    edges = data["user"]["followers"]["edges"]
    return count, [edge["node"]["id"] for edge in edges if edge["isNew"]]


async def test_followers_are_new_until_they_are_marked_as_seen(
    gateway: Gateway, stores: Stores
) -> None:
    assert await read_new(gateway) == (0, [])
    assert await mark_seen(gateway) == ("UNCHANGED", [])
    await follow(stores, 2, 3)
    assert await read_new(gateway) == (2, ["3", "2"])
    assert await mark_seen(gateway, clientMutationId="c") == ("UPDATED", [])
    assert await read_new(gateway) == (0, [])
    assert await mark_seen(gateway) == ("UNCHANGED", [])
    await follow(stores, 4)
    assert await read_new(gateway) == (1, ["4"])


async def test_the_payload_has_the_new_count(gateway: Gateway, stores: Stores) -> None:
    await follow(stores, 2, 3, 4)
    given = {"upTo": date(2)}
    payload = (await gateway.data(MARK_SEEN, 1, input=given))["markFollowersSeen"]
    assert payload["viewer"] == {"newFollowersCount": 2}


async def test_followers_are_marked_up_to_a_date_and_an_earlier_date_changes_nothing(
    gateway: Gateway, stores: Stores
) -> None:
    await follow(stores, 2, 3, 4)
    assert await mark_seen(gateway, upTo=date(3)) == ("UPDATED", [])
    assert await read_new(gateway) == (1, ["4"])
    for earlier in (1, 2.5, 3):
        assert await mark_seen(gateway, upTo=date(earlier)) == ("UNCHANGED", [])
    assert await read_new(gateway) == (1, ["4"])
    assert await mark_seen(gateway, upTo=date(3.999)) == ("UPDATED", [])
    assert await read_new(gateway) == (1, ["4"])
    assert await mark_seen(gateway, upTo=date(4)) == ("UPDATED", [])
    assert await read_new(gateway) == (0, [])


@pytest.mark.parametrize("direction", ["ASC", "DESC"])
async def test_followers_are_marked_up_to_a_cursor(
    gateway: Gateway, stores: Stores, direction: str
) -> None:
    await follow(stores, 2, 3, 4)
    edges = (await gateway.data(CURSORS, 1, direction=direction))["user"]["followers"]["edges"]
    cursors = {edge["node"]["id"]: edge["cursor"] for edge in edges}
    assert await mark_seen(gateway, upToCursor=cursors["3"]) == ("UPDATED", [])
    assert await read_new(gateway) == (1, ["4"])
    assert await mark_seen(gateway, upToCursor=cursors["2"]) == ("UNCHANGED", [])


@pytest.mark.parametrize("until", [None, "2999-01-01T00:00:00Z"])
async def test_a_follow_that_is_not_yet_in_the_list_stays_new_when_followers_are_marked(
    gateway: Gateway, stores: Stores, until: str | None
) -> None:
    await follow(stores, 2)
    await stores.writes.edges.change(as_pair(3, 1), becomes(Kind.FOLLOW, since=3000))
    assert await mark_seen(gateway, upTo=until) == ("UPDATED", [])
    await drain_all(stores)
    assert await read_new(gateway) == (1, ["3"])


async def test_invalid_input_is_rejected(gateway: Gateway, stores: Stores) -> None:
    await follow(stores, 2)
    await follow(stores, 1, to=2)
    data = (await gateway.data(CURSORS, 1, direction="DESC"))["user"]
    (own,), (other,) = (data[of]["edges"] for of in ("followers", "following"))
    for given, field in (
        ({"upTo": "2026-01-01T00:00:00"}, "upTo"),
        ({"upTo": date(2), "upToCursor": own["cursor"]}, "upToCursor"),
        ({"upToCursor": "nothing"}, "upToCursor"),
        ({"upToCursor": other["cursor"]}, "upToCursor"),
        ({"idempotencyKey": ""}, "idempotencyKey"),
    ):
        rejected = ("REJECTED", [("INVALID_INPUT", ["input", field])])
        assert await mark_seen(gateway, **given) == rejected
    rejected = ("REJECTED", [("INVALID_INPUT", ["input", "upToCursor"])])
    assert await mark_seen(gateway, 2, upToCursor=own["cursor"]) == rejected
    assert await read_new(gateway) == (1, ["2"])


async def test_only_the_user_sees_which_of_their_followers_are_new(
    gateway: Gateway, stores: Stores
) -> None:
    await follow(stores, 2, 3)
    await follow(stores, 4, to=2)
    await mark_seen(gateway, upTo=date(2))
    query = """query ($ids: [ID!]!) { users(ids: $ids) {
        newFollowersCount followers { edges { isNew } } followersYouKnow { edges { isNew } } } }"""

    async def seen(caller: Any, viewer: int | None) -> list[tuple[int | None, set[bool | None]]]:
        users = (await caller.data(query, viewer, ids=["1", "2"]))["users"]
        return [
            (user["newFollowersCount"], {edge["isNew"] for edge in user["followers"]["edges"]})
            for user in users
        ]

    assert await seen(gateway, 1) == [(1, {True, False}), (None, {None})]
    assert await seen(gateway, 2) == [(None, {None}), (1, {True})]
    assert await seen(gateway.as_service, 1) == [(1, {True, False}), (None, {None})]
    for caller, viewer in ((gateway, 3), (gateway, None), (gateway.as_service, None)):
        assert await seen(caller, viewer) == [(None, {None}), (None, {None})]


async def test_marking_requires_a_viewer(gateway: Gateway) -> None:
    for caller in (gateway, gateway.as_service):
        error = await caller.error(MARK_SEEN, None, input={})
        assert error["extensions"]["code"] == "UNAUTHENTICATED"


async def test_a_service_marks_for_a_user(gateway: Gateway, stores: Stores) -> None:
    await follow(stores, 2)
    answer = await gateway.as_service.data(MARK_SEEN, 1, input={})
    assert answer["markFollowersSeen"]["outcome"] == "UPDATED"
    assert await read_new(gateway) == (0, [])


async def test_hidden_followers_are_not_counted(gateway: Gateway, stores: Stores) -> None:
    await follow(stores, 2, 3, 4)
    await set_state(gateway, "deactivateAccount", 4)
    assert await read_new(gateway) == (2, ["3", "2"])
    await change(gateway, 1, "blockUser", 3)
    assert await read_new(gateway) == (1, ["2"])
    assert await mark_seen(gateway) == ("UPDATED", [])
    assert await read_new(gateway) == (0, [])
    await set_state(gateway, "reactivateAccount", 4)
    assert await read_new(gateway) == (1, ["4"]), "user 4 was hidden when the followers were marked"


async def test_requests_are_not_followers_before_they_are_accepted(
    gateway: Gateway, stores: Stores
) -> None:
    await follow(stores, 2)
    await mark_seen(gateway)
    await protect(stores, 1)
    await change(gateway, 3, "followUser", 1)
    await drain_all(stores)
    assert await read_new(gateway) == (0, [])
    await change(gateway, 1, "acceptFollowRequest", 3)
    assert await read_new(gateway) == (1, ["3"])


@pytest.mark.parametrize("hidden", [False, True])
async def test_whispers_count_unless_they_are_hidden_from_their_targets(
    storage_settings: StorageSettings, stores: Stores, hidden: bool
) -> None:
    await follow(stores, 2)
    await follow(stores, 3, kind=Kind.WHISPER)
    async with running_gateway(storage_settings, policy=Policy(whispers_hidden=hidden)) as gateway:
        assert await read_new(gateway) == ((1, ["2"]) if hidden else (2, ["3", "2"]))
        await mark_seen(gateway)
    (moment,) = (await stores.own_data.seen_followers.get_many([UserId(1)])).values()
    assert moment == (2000 if hidden else 3000)


async def test_an_undo_does_not_make_a_follower_new_and_a_new_follow_does(
    gateway: Gateway, stores: Stores
) -> None:
    await follow(stores, 2, 3)
    await mark_seen(gateway)
    token = (await change(gateway, 1, "removeFollower", 2))["undoToken"]
    await change(gateway, 1, "undoRelationshipChange", undoToken=token)
    assert await read_new(gateway) == (0, [])
    token = (await change(gateway, 3, "unfollowUser", 1))["undoToken"]
    await change(gateway, 3, "undoRelationshipChange", undoToken=token)
    await drain_all(stores)
    assert await read_new(gateway) == (0, [])
    await change(gateway, 3, "unfollowUser", 1)
    await change(gateway, 3, "followUser", 1)
    await drain_all(stores)
    assert await read_new(gateway) == (1, ["3"]), "user 3 has followed again"


async def test_the_count_of_new_followers_has_a_maximum(
    gateway: Gateway, stores: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(new_followers, "COUNTED_MAX", 3)
    await follow(stores, *range(2, 9))
    assert (await read_new(gateway))[0] == 3
    await mark_seen(gateway, upTo=date(6))
    assert await read_new(gateway) == (2, ["8", "7"])


async def test_a_repeated_request_returns_the_first_outcome(
    gateway: Gateway, stores: Stores
) -> None:
    await follow(stores, 2, 3)
    first: dict[str, Any] = {"upTo": date(2), "idempotencyKey": "a"}
    assert await mark_seen(gateway, **first) == ("UPDATED", [])
    assert await mark_seen(gateway, **first) == ("UPDATED", [])
    reused = ("IDEMPOTENCY_KEY_REUSED", ["input", "idempotencyKey"])
    assert await mark_seen(gateway, idempotencyKey="a") == ("REJECTED", [reused])
    assert await read_new(gateway) == (1, ["3"])


async def test_an_inactive_user_marks_nothing(gateway: Gateway, stores: Stores) -> None:
    await follow(stores, 2)
    await stores.writes.account_states.change(UserId(1), AccountState.DEACTIVATED)
    assert await mark_seen(gateway) == ("REJECTED", [("ACCOUNT_NOT_ACTIVE", None)])


async def test_marks_are_rate_limited_and_repeats_are_free(stores: Stores) -> None:
    await follow(stores, 2, 3)
    policy = Policy(pace=Pace(interval_us=60_000_000, burst=1))
    scope = Scope(stores, UserId(1), policy, consistency=Consistency.FRESH)
    marked = await new_followers.mark_followers_seen(scope, None)
    assert marked.outcome is Outcome.UPDATED
    assert (await new_followers.mark_followers_seen(scope, None)).outcome is Outcome.UNCHANGED
    await follow(stores, 4)
    rejected = await new_followers.mark_followers_seen(scope, None)
    assert (rejected.outcome, rejected.retry_at is None) == (Outcome.RATE_LIMITED, False)
    assert await new_followers.count_new_followers(scope, UserId(1)) == 1


async def test_every_gateway_sees_a_mark_immediately(
    gateway: Gateway, stores: Stores, storage_settings: StorageSettings
) -> None:
    await follow(stores, 2, 3)
    async with running_gateway(storage_settings) as other:
        assert await read_new(other) == (2, ["3", "2"])
        await mark_seen(gateway)
        assert await read_new(other) == (0, [])


async def test_without_redis_followers_are_counted_and_marked(
    storage_settings: StorageSettings, stores: Stores
) -> None:
    await follow(stores, 2, 3)
    settings = replace(storage_settings, redis_url="unix:///nowhere.sock")
    async with running_gateway(settings) as gateway:
        assert await read_new(gateway) == (2, ["3", "2"])
        assert await mark_seen(gateway, upTo=date(2)) == ("UPDATED", [])
        assert await read_new(gateway) == (1, ["3"])


async def test_each_field_costs_at_most_one_statement(gateway: Gateway, stores: Stores) -> None:
    await follow(stores, *range(2, 60))
    for fields, statements in (
        ("viewer { user { followers { edges { cursor } } } }", 0),
        ("viewer { user { followers { edges { isNew } } } }", 1),
        ("viewer { newFollowersCount }", 1),
        ('users(ids: ["1", "2", "3"]) { newFollowersCount }', 1),
        ('users(ids: ["2", "3"]) { newFollowersCount followers { edges { isNew } } }', 0),
    ):
        query = f"{{ {fields} }}"
        await gateway.data(query, 1)
        before = await counters(gateway)
        await gateway.data(query, 1)
        assert (await cost_since(gateway, before)).statements == statements, fields


async def test_counts_changed_reports_new_followers_and_marking_them(
    live: LiveGateway, stores: Stores
) -> None:
    """When one follower replaces another, only `newFollowersCount` changes."""
    query = 'subscription { countsChanged(userId: "1") { followerCount newFollowersCount } }'
    await follow(stores, 2)
    async with live.socket(viewer=1) as socket, live.socket(viewer=1) as device:

        async def counts() -> tuple[int, int]:
            user = (await socket.data())["countsChanged"]
            return user["followerCount"], user["newFollowersCount"]

        await socket.subscribe(query)
        assert await counts() == (1, 1)
        await device.subscribe(MARK_SEEN, input={})
        marked = (await device.data())["markFollowersSeen"]
        assert marked["outcome"] == "UPDATED"
        assert await counts() == (1, 0)
        await stores.writes.edges.change(as_pair(2, 1), becomes(Kind.NONE))
        await follows(stores, (3, 1))
        await drain_all(stores)
        while (seen := await counts()) != (1, 1):
            # After one of the two changes, or a drain ran between the reads of the two fields.
            assert seen in {(0, 0), (0, 1), (1, 0), (2, 0), (2, 1)}
