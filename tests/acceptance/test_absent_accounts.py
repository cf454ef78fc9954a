"""An absent account looks the same to other users as an account without edges."""

import asyncio
import json
import re
from typing import Any

import pytest

from graph.account import PrivacyChange
from graph.consistency import AT_MAX, moment_of_accounts
from graph.edge import Flags, Kind, UserId
from graph.errors import Unavailable
from graph.rules import follow
from resolvers.freshness import reach
from resolvers.policy import Policy
from resolvers.scope import Scope
from storage.settings import LocalSettings, StorageSettings
from storage.stores import Stores
from tests.acceptance.test_account_states import change_state
from tests.acceptance.test_hidden_in_lists import ALL_LISTS
from tests.support.edges import Edges, edges
from tests.support.gateway import Gateway, running_gateway
from tests.support.graphs import PLENTY, as_pair, drain_all
from tests.support.relationships import change

ABSENT = 9
USER_IDS = ("1", "2", "3", "4", "5", "9")
VIEWERS = (None, 1, 2, 3, 4, 5)

OTHER_EDGES: Edges = {
    (1, 2): Kind.FOLLOW,
    (2, 1): Kind.FOLLOW,
    (1, 3): (Kind.FOLLOW, Flags.CLOSE_FOLLOW),
    (3, 2): Kind.FOLLOW,
    (4, 1): Kind.FOLLOW,
    (4, 2): Kind.WHISPER,
    (5, 2): Kind.BLOCK,
}
EDGES_OF_ABSENT: Edges = {
    (ABSENT, 1): Kind.FOLLOW,
    (1, ABSENT): (Kind.FOLLOW, Flags.CLOSE_FOLLOW),
    (ABSENT, 2): Kind.FOLLOW,
    (2, ABSENT): Kind.WHISPER,
    (3, ABSENT): Kind.FOLLOW,
    (ABSENT, 3): Kind.WHISPER,
    (4, ABSENT): Kind.REQUEST,
    (ABSENT, 5): Kind.REQUEST,
    (ABSENT, 4): Kind.BLOCK,
}

RELATIONS = """
query ($ids: [ID!]!) { users(ids: $ids) {
  relationWith(ids: $ids) { ...all } relationMask(ids: $ids)
  viewerRelation { ...all } viewerIsFollowing isFollowingViewer
  viewerCanFollow viewerFollowEligibility { code message }
} }
fragment all on Relation {
  state following followedBy whispering requested requestedBy blocking muted closeFollow
  followedAt followedByAt requestedAt requestedByAt blockedAt mutedUntil friendsSince
}
"""
OWN_LISTS = """
query { viewer {
  closeFollows { totalCount nodes { id } }
  incomingFollowRequests { totalCount nodes { id } }
  outgoingFollowRequests { totalCount nodes { id } }
  blockedUsers { totalCount nodes { id } } mutedUsers { totalCount nodes { id } }
} nodes(ids: ["request:4:9", "request:9:5"]) { id } }
"""


async def read_everything(gateway: Gateway, viewer: int | None, *user_ids: str) -> list[Any]:
    """The viewer's relations to these users, the users' lists, and the viewer's own lists."""
    signed_in = viewer is not None
    found = [await gateway.data(RELATIONS, viewer, ids=user_ids)]
    for other in ("2", "3"):
        given = {"ids": user_ids, "signedIn": signed_in, "with": other}
        found.append(await gateway.data(ALL_LISTS, viewer, **given))
    return [*found, await gateway.data(OWN_LISTS, viewer)]


@pytest.mark.parametrize("mutation", ["deactivateAccount", "deleteAccount"])
@pytest.mark.parametrize("redis", ["Redis is up", "Redis is down"])
async def test_an_absent_account_shows_no_edges(
    storage_settings: StorageSettings, stores: Stores, mutation: str, redis: str
) -> None:
    settings = storage_settings
    if redis == "Redis is down":
        settings = StorageSettings(settings.database_url, "unix:///nowhere.sock")
    async with running_gateway(settings) as gateway:
        await edges(stores, OTHER_EDGES)
        await drain_all(stores)
        # The absent account's own fields differ: its lists are hidden, and nobody may follow it.
        others = [user_id for user_id in USER_IDS if user_id != str(ABSENT)]
        without_edges = [await read_everything(gateway, viewer, *others) for viewer in VIEWERS]
        relations_without_edges = [
            await gateway.data(RELATIONS, viewer, ids=USER_IDS) for viewer in VIEWERS
        ]
        await edges(stores, EDGES_OF_ABSENT)
        await drain_all(stores)
        with_edges = [await read_everything(gateway, viewer, *others) for viewer in VIEWERS]
        assert with_edges != without_edges
        seen_by_service = await read_everything(gateway.as_service, None, *USER_IDS)

        await change_state(gateway, mutation, ABSENT)
        assert [
            await read_everything(gateway, viewer, *others) for viewer in VIEWERS
        ] == without_edges
        for viewer, before in zip(VIEWERS, relations_without_edges, strict=True):
            now = await gateway.data(RELATIONS, viewer, ids=USER_IDS)
            for user, user_before in zip(now["users"], before["users"], strict=True):
                for field in ("relationWith", "relationMask", "viewerRelation"):
                    assert user[field] == user_before[field]
            eligibility = now["users"][-1]["viewerFollowEligibility"]["code"]
            assert eligibility == ("SIGN_IN" if viewer is None else "NOT_ALLOWED")
        assert await read_everything(gateway.as_service, None, *USER_IDS) == seen_by_service
        if mutation == "deactivateAccount":
            await change_state(gateway, "reactivateAccount", ABSENT)
            assert [
                await read_everything(gateway, viewer, *others) for viewer in VIEWERS
            ] == with_edges


async def test_the_lists_of_an_absent_account_are_hidden_from_all_others(
    gateway: Gateway, stores: Stores
) -> None:
    await edges(stores, OTHER_EDGES)
    await edges(stores, EDGES_OF_ABSENT)
    await drain_all(stores)
    query = """query { user(id: "9") {
        followerCount followers { access totalCount nodes { id } }
        following { access } friends { access } } }"""
    before = (await gateway.data(query, ABSENT))["user"]
    assert before["followerCount"] == 2 + 1
    await change_state(gateway, "deactivateAccount", ABSENT)
    for viewer in VIEWERS:
        user = (await gateway.data(query, viewer))["user"]
        assert user["followerCount"] is None
        for name in ("followers", "following", "friends"):
            assert user[name]["access"] == "HIDDEN_BY_OWNER"
    assert (await gateway.data(query, ABSENT))["user"] == before


async def test_a_viewer_still_sees_their_mutes_and_blocks_of_an_absent_account(
    gateway: Gateway, stores: Stores
) -> None:
    await change(gateway, 1, "followUser", ABSENT)
    await change(gateway, 1, "muteUser", ABSENT)
    await change(gateway, 2, "blockUser", ABSENT)
    await drain_all(stores)
    await change_state(gateway, "deactivateAccount", ABSENT)
    query = """query {
        user(id: "9") { viewerRelation { state following muted blocking } }
        viewer {
            mutedUsers { totalCount nodes { id } }
            blockedUsers { totalCount nodes { id } }
        }
    }"""
    empty, only_absent = {"totalCount": 0, "nodes": []}, {"totalCount": 1, "nodes": [{"id": "9"}]}
    relation = {"state": "NONE", "following": False, "muted": True, "blocking": False}
    assert await gateway.data(query, 1) == {
        "user": {"viewerRelation": relation},
        "viewer": {"mutedUsers": only_absent, "blockedUsers": empty},
    }
    relation = {"state": "NONE", "following": False, "muted": False, "blocking": True}
    assert await gateway.data(query, 2) == {
        "user": {"viewerRelation": relation},
        "viewer": {"mutedUsers": empty, "blockedUsers": only_absent},
    }


async def test_a_new_request_to_a_deactivated_account_is_rejected_and_an_older_one_is_kept(
    gateway: Gateway, stores: Stores
) -> None:
    await stores.writes.accounts.set_privacy(UserId(ABSENT), PrivacyChange(protected=True))
    assert (await change(gateway, 1, "followUser", ABSENT))["outcome"] == "REQUESTED"
    await change_state(gateway, "deactivateAccount", ABSENT)
    query = 'query { user(id: "9") { viewerFollowEligibility { code } } }'
    assert (await gateway.data(query, 1))["user"]["viewerFollowEligibility"][
        "code"
    ] == "NOT_ALLOWED"
    payload = await change(gateway, 1, "followUser", ABSENT)
    assert payload["userErrors"][0]["code"] == "NOT_ALLOWED"
    await change_state(gateway, "reactivateAccount", ABSENT)
    assert (await change(gateway, 1, "followUser", ABSENT))["outcome"] == "ALREADY_REQUESTED"


BLOCKER, DEACTIVATED, BLOCKED = 11, 12, 13
ACTIONS = [
    "followUser",
    "unfollowUser",
    "removeFollower",
    "muteUser",
    "unmuteUser",
    "updateFollow",
    "acceptFollowRequest",
    "declineFollowRequest",
    "cancelFollowRequest",
    "blockUser",
    "unblockUser",
    "dismissSuggestion",
]
OTHER_CHANGES = """mutation ($id: ID!) {
  note: setNote(input: {userId: $id, note: "x"}) { outcome relation { note } }
  pin: setPinnedFollowing(input: {userIds: [$id]}) { outcome userErrors { code } }
  many: changeRelationships(input: {changes: [{action: FOLLOW, userId: $id}]}) {
    changes { outcome userErrors { code message } }
  }
}"""


async def test_a_blocker_looks_like_a_deactivated_account_to_a_stranger(
    gateway: Gateway, stores: Stores
) -> None:
    for other in (BLOCKER, DEACTIVATED):
        await edges(stores, {(other, 1): Kind.FOLLOW, (2, other): Kind.FOLLOW})
    await drain_all(stores)
    await change(gateway, BLOCKER, "blockUser", BLOCKED)
    await change_state(gateway, "deactivateAccount", DEACTIVATED)
    await drain_all(stores)

    async def responses_about(other: int) -> str:
        """All responses to BLOCKED about one user, without the user's id and dates."""
        ids = [str(other), str(BLOCKED)]
        everything = {"ids": ids[:1], "signedIn": True, "with": str(other)}
        found: list[Any] = [
            await gateway.data(RELATIONS, BLOCKED, ids=ids),
            await gateway.data(ALL_LISTS, BLOCKED, **everything),
        ]
        for action in ACTIONS:
            payload = await change(gateway, BLOCKED, action, other)
            found.append((action, payload["outcome"], payload["userErrors"]))
            found.append(await gateway.data(RELATIONS, BLOCKED, ids=ids))
            if action == "blockUser":  # now the two block each other
                found.append(await gateway.data(ALL_LISTS, BLOCKED, **everything))
        found.append(await gateway.data(OTHER_CHANGES, BLOCKED, id=str(other)))
        return re.sub(r'"202\d-[^"]*"', "a date", json.dumps(found).replace(str(other), "other"))

    assert await responses_about(BLOCKER) == await responses_about(DEACTIVATED)


COUNTS_OF_FRIEND = """query ($friend: ID!, $other: ID!) {
  friend: user(id: $friend) {
    followerCount friendCount followers { totalCount } friends { totalCount }
  }
  other: user(id: $other) { followerCount followers { access } }
}"""


async def test_counts_and_anonymous_requests_tell_a_blocker_from_a_deactivated_account(
    gateway: Gateway, stores: Stores
) -> None:
    """The counts of a profile are the same for all viewers, so they contain a user whom a block
    hides from the list. And nobody blocks an anonymous viewer."""
    friends = {BLOCKER: 1, DEACTIVATED: 2}
    for other, friend in friends.items():
        await edges(stores, {(other, friend): Kind.FOLLOW, (friend, other): Kind.FOLLOW})
    await change(gateway, BLOCKER, "blockUser", BLOCKED)
    await change_state(gateway, "deactivateAccount", DEACTIVATED)
    await drain_all(stores)

    async def seen(viewer: int | None, other: int) -> tuple[list[tuple[int, int]], Any]:
        """The counts of the friend of this user, each with the total of its list, and the user's
        own fields."""
        given = {"friend": str(friends[other]), "other": str(other)}
        data = await gateway.data(COUNTS_OF_FRIEND, viewer, **given)
        friend = data["friend"]
        totals = [friend["followers"]["totalCount"], friend["friends"]["totalCount"]]
        counts = [friend["followerCount"], friend["friendCount"]]
        return list(zip(counts, totals, strict=True)), data["other"]

    hidden = {"followerCount": None, "followers": {"access": "HIDDEN_BY_OWNER"}}
    assert await seen(BLOCKED, BLOCKER) == ([(1, 0), (1, 0)], hidden)
    assert await seen(BLOCKED, DEACTIVATED) == ([(0, 0), (0, 0)], hidden)
    visible = {"followerCount": 1, "followers": {"access": "VISIBLE"}}
    assert await seen(None, BLOCKER) == ([(1, 1), (1, 1)], visible)
    assert await seen(None, DEACTIVATED) == ([(0, 0), (0, 0)], hidden)


VERSION = """query ($user: ID!, $ids: [ID!]!) {
  user(id: $user) { relationWith(ids: $ids) { version } }
}"""


@pytest.mark.parametrize(
    "earlier",
    [
        [],
        ["muteUser"],
        ["muteUser", "unmuteUser"],
        ["dismissSuggestion"],
        ["followUser"],
        ["followUser", "unfollowUser"],
    ],
)
async def test_the_version_of_a_relation_does_not_tell_a_blocker_from_a_deactivated_account(
    gateway: Gateway, stores: Stores, earlier: list[str]
) -> None:
    for other in (BLOCKER, DEACTIVATED):
        for action in earlier:
            await change(gateway, BLOCKED, action, other)
    await change(gateway, BLOCKER, "blockUser", BLOCKED)
    await change_state(gateway, "deactivateAccount", DEACTIVATED)
    await drain_all(stores)

    async def versions() -> list[str]:
        ids = [str(BLOCKER), str(DEACTIVATED)]
        data = await gateway.data(VERSION, BLOCKED, user=str(BLOCKED), ids=ids)
        return [relation["version"] for relation in data["user"]["relationWith"]]

    of_blocker, of_deactivated = await versions()
    assert of_blocker == of_deactivated
    for action in ("muteUser", "unmuteUser"):
        for other in (BLOCKER, DEACTIVATED):
            payload = await change(gateway, BLOCKED, action, other, ifVersion=of_blocker)
            assert payload["outcome"] in ("MUTED", "ALREADY_MUTED", "UNMUTED"), payload
        of_blocker, of_deactivated = await versions()
        assert of_blocker == of_deactivated


FOLLOWERS = """query ($after: String) { user(id: "1") {
  followers(first: 3, after: $after) {
    totalCount nodes { id } pageInfo { hasNextPage endCursor }
  }
} }"""
FOLLOWERS_BACKWARD = """query ($before: String) { user(id: "1") {
  followers(last: 3, before: $before) { nodes { id } pageInfo { hasPreviousPage startCursor } }
} }"""


async def test_pages_of_followers_skip_absent_accounts(gateway: Gateway, stores: Stores) -> None:
    """Of 30 followers, 26 are deactivated: among them the newest two and the oldest six."""
    for follower in range(101, 131):
        await stores.writes.edges.change(as_pair(follower, 1), follow(PLENTY))
    await drain_all(stores)
    active = {107, 114, 121, 128}
    for follower in range(101, 131):
        if follower not in active:
            await change_state(gateway, "deactivateAccount", follower)
    first = (await gateway.data(FOLLOWERS))["user"]["followers"]
    assert [node["id"] for node in first["nodes"]] == ["128", "121", "114"]
    assert first["totalCount"] == len(active)
    assert first["pageInfo"]["hasNextPage"]
    after = first["pageInfo"]["endCursor"]
    second = (await gateway.data(FOLLOWERS, after=after))["user"]["followers"]
    assert [node["id"] for node in second["nodes"]] == ["107"]
    assert not second["pageInfo"]["hasNextPage"], "all older followers are absent"
    last = (await gateway.data(FOLLOWERS_BACKWARD))["user"]["followers"]
    assert [node["id"] for node in last["nodes"]] == ["121", "114", "107"]
    assert last["pageInfo"]["hasPreviousPage"]
    before = last["pageInfo"]["startCursor"]
    rest = (await gateway.data(FOLLOWERS_BACKWARD, before=before))["user"]["followers"]
    assert [node["id"] for node in rest["nodes"]] == ["128"]
    assert not rest["pageInfo"]["hasPreviousPage"]


async def test_totals_do_not_change_with_500_more_absent_accounts(
    gateway: Gateway, stores: Stores
) -> None:
    await edges(stores, OTHER_EDGES)
    await edges(stores, EDGES_OF_ABSENT)
    await drain_all(stores)
    query = """query { users(ids: ["1", "2", "3"]) { followingCount followerCount friendCount } }"""
    await change_state(gateway, "deactivateAccount", ABSENT)
    counts = await gateway.data(query)
    await stores.servers.postgres.fetch(
        "INSERT INTO account (user_id, state) SELECT u, 1 FROM generate_series(1000, 1500) u"
    )
    await stores.servers.redis.pipe([("FLUSHDB",)])
    assert await gateway.data(query) == counts
    assert counts["users"][0] == {"followingCount": 2, "followerCount": 2, "friendCount": 1}


async def test_other_gateways_see_when_an_account_becomes_absent_or_active(
    stores: Stores, storage_settings: StorageSettings
) -> None:
    await edges(stores, OTHER_EDGES)
    await edges(stores, EDGES_OF_ABSENT)
    await drain_all(stores)
    settings = StorageSettings(
        storage_settings.database_url,
        storage_settings.redis_url,
        local=LocalSettings(absent_age_ms=0),
    )
    async with running_gateway(settings) as first, running_gateway(settings) as second:
        active = await read_everything(second, 1, "1", "2", "3")
        await change_state(first, "deactivateAccount", ABSENT)
        seen_by_second = await read_everything(second, 1, "1", "2", "3")
        assert seen_by_second == await read_everything(first, 1, "1", "2", "3") != active
        await change_state(first, "reactivateAccount", ABSENT)
        assert await read_everything(second, 1, "1", "2", "3") == active


async def test_absences_are_read_again_after_a_cancelled_and_a_failed_read(
    stores: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first reader is cancelled, the second finds PostgreSQL unavailable, the third reads."""
    absences = stores.reads.absences
    assert await absences.now() == set()
    await stores.servers.postgres.fetch(
        "INSERT INTO account (user_id, state, changed_at)"
        " VALUES (9, 1, extract(epoch FROM clock_timestamp()) * 1000000)"
    )
    absences.expire()
    cancelled = asyncio.create_task(absences.now())
    await asyncio.sleep(0)
    cancelled.cancel()
    await asyncio.gather(cancelled, return_exceptions=True)

    async def fail(*_: object) -> None:
        raise Unavailable("PostgreSQL")

    with monkeypatch.context() as patched:
        patched.setattr(stores.servers.postgres, "fetch", fail)
        assert await absences.now() == set(), "the last known absences"
        with pytest.raises(Unavailable):
            await absences.as_of(0)
    assert await absences.as_of(0) == {ABSENT} == await absences.now()


async def test_a_token_from_the_future_costs_one_read_per_request(stores: Stores) -> None:
    """Clients can forge tokens: they are not signed."""
    scope = Scope(stores, UserId(1), Policy())
    await reach(scope, [moment_of_accounts(AT_MAX)])
    before = stores.servers.postgres.statements
    for _ in range(9):
        assert await scope.absent() == set()
    assert stores.servers.postgres.statements == before + 1


async def test_a_metric_shows_the_number_of_absent_accounts(gateway: Gateway) -> None:
    for user in (8, ABSENT):
        await change_state(gateway, "deactivateAccount", user)
    assert "\nkith_absent_accounts 2.0\n" in (await gateway.http.get("/metrics")).text
    await change_state(gateway, "reactivateAccount", ABSENT)
    assert "\nkith_absent_accounts 1.0\n" in (await gateway.http.get("/metrics")).text


async def test_absences_are_as_fresh_as_required(stores: Stores) -> None:
    await stores.reads.absences.now()
    before = (await stores.jobs.lanes.progress.watermarks()).now
    assert await stores.reads.absences.as_of(before) == set()
    (row,) = await stores.servers.postgres.fetch(
        "INSERT INTO account (user_id, state, changed_at)"
        " VALUES (9, 1, extract(epoch FROM clock_timestamp()) * 1000000) RETURNING changed_at"
    )
    assert await stores.reads.absences.as_of(before) == set()
    assert await stores.reads.absences.as_of(row["changed_at"]) == {ABSENT}
    assert await stores.reads.absences.as_of(2**63 - 1) == {ABSENT}, (
        "a time in the future is not waited for"
    )
