"""Two worlds: in one an account is not here, in the other it has no edge. Both look the same."""

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
from storage.stores import Stores, open_stores
from tests.acceptance.test_account_states import put
from tests.acceptance.test_hidden_in_lists import EVERYTHING
from tests.support.edges import Edges, edges
from tests.support.gateway import Gateway, running_gateway
from tests.support.graphs import PLENTY, as_pair, drain_all
from tests.support.relationships import change

GONE = 9
PEOPLE = ("1", "2", "3", "4", "5", "9")
VIEWERS = (None, 1, 2, 3, 4, 5)

OTHERS: Edges = {
    (1, 2): Kind.FOLLOW,
    (2, 1): Kind.FOLLOW,
    (1, 3): (Kind.FOLLOW, Flags.CLOSE_FOLLOW),
    (3, 2): Kind.FOLLOW,
    (4, 1): Kind.FOLLOW,
    (4, 2): Kind.WHISPER,
    (5, 2): Kind.BLOCK,
}
ITS_OWN: Edges = {
    (GONE, 1): Kind.FOLLOW,
    (1, GONE): (Kind.FOLLOW, Flags.CLOSE_FOLLOW),
    (GONE, 2): Kind.FOLLOW,
    (2, GONE): Kind.WHISPER,
    (3, GONE): Kind.FOLLOW,
    (GONE, 3): Kind.WHISPER,
    (4, GONE): Kind.REQUEST,
    (GONE, 5): Kind.REQUEST,
    (GONE, 4): Kind.BLOCK,
}

BETWEEN = """
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
OWN = """
query { viewer {
  closeFollows { totalCount nodes { id } }
  incomingFollowRequests { totalCount nodes { id } }
  outgoingFollowRequests { totalCount nodes { id } }
  blockedUsers { totalCount nodes { id } } mutedUsers { totalCount nodes { id } }
} nodes(ids: ["request:4:9", "request:9:5"]) { id } }
"""


async def seen(gateway: Gateway, viewer: int | None, *people: str) -> list[Any]:
    """All that a viewer is shown of people, and of themselves."""
    signed_in = viewer is not None
    found = [await gateway.data(BETWEEN, viewer, ids=people)]
    for other in ("2", "3"):
        given = {"ids": people, "signedIn": signed_in, "with": other}
        found.append(await gateway.data(EVERYTHING, viewer, **given))
    return [*found, await gateway.data(OWN, viewer)]


@pytest.mark.parametrize("how", ["deactivateAccount", "deleteAccount"])
@pytest.mark.parametrize("redis", ["Redis is up", "Redis is down"])
async def test_an_absent_account_shows_no_edges(
    storage_settings: StorageSettings, stores: Stores, how: str, redis: str
) -> None:
    settings = storage_settings
    if redis == "Redis is down":
        settings = StorageSettings(settings.database_url, "unix:///nowhere.sock")
    async with running_gateway(settings) as gateway:
        await edges(stores, OTHERS)
        await drain_all(stores)
        # Its own lists are closed and nobody may follow it: so its own fields are not compared.
        others = [person for person in PEOPLE if person != str(GONE)]
        without = [await seen(gateway, viewer, *others) for viewer in VIEWERS]
        strangers = [await gateway.data(BETWEEN, viewer, ids=PEOPLE) for viewer in VIEWERS]
        await edges(stores, ITS_OWN)
        await drain_all(stores)
        here = [await seen(gateway, viewer, *others) for viewer in VIEWERS]
        assert here != without
        service = await seen(gateway.as_service, None, *PEOPLE)

        await put(gateway, how, GONE)
        assert [await seen(gateway, viewer, *others) for viewer in VIEWERS] == without
        for viewer, before in zip(VIEWERS, strangers, strict=True):
            now = await gateway.data(BETWEEN, viewer, ids=PEOPLE)
            for result, earlier in zip(now["users"], before["users"], strict=True):
                for name in ("relationWith", "relationMask", "viewerRelation"):
                    assert result[name] == earlier[name]
            its_own = now["users"][-1]["viewerFollowEligibility"]["code"]
            assert its_own == ("SIGN_IN" if viewer is None else "NOT_ALLOWED")
        assert await seen(gateway.as_service, None, *PEOPLE) == service, "services see everything"
        if how == "deactivateAccount":
            await put(gateway, "reactivateAccount", GONE)
            assert [await seen(gateway, viewer, *others) for viewer in VIEWERS] == here


async def test_its_lists_are_closed_to_all_but_itself(gateway: Gateway, stores: Stores) -> None:
    await edges(stores, OTHERS)
    await edges(stores, ITS_OWN)
    await drain_all(stores)
    query = """query { user(id: "9") {
        followerCount followers { access totalCount nodes { id } }
        following { access } friends { access } } }"""
    before = (await gateway.data(query, GONE))["user"]
    assert before["followerCount"] == 2 + 1
    await put(gateway, "deactivateAccount", GONE)
    for viewer in VIEWERS:
        user = (await gateway.data(query, viewer))["user"]
        assert user["followerCount"] is None
        for name in ("followers", "following", "friends"):
            assert user[name]["access"] == "HIDDEN_BY_OWNER"
    assert (await gateway.data(query, GONE))["user"] == before


async def test_a_viewer_still_sees_their_mutes_and_blocks_of_an_absent_account(
    gateway: Gateway, stores: Stores
) -> None:
    await change(gateway, 1, "followUser", GONE)
    await change(gateway, 1, "muteUser", GONE)
    await change(gateway, 2, "blockUser", GONE)
    await drain_all(stores)
    await put(gateway, "deactivateAccount", GONE)
    query = """query {
        user(id: "9") { viewerRelation { state following muted blocking } }
        viewer {
            mutedUsers { totalCount nodes { id } }
            blockedUsers { totalCount nodes { id } }
        }
    }"""
    nobody, it = {"totalCount": 0, "nodes": []}, {"totalCount": 1, "nodes": [{"id": "9"}]}
    result = {"state": "NONE", "following": False, "muted": True, "blocking": False}
    assert await gateway.data(query, 1) == {
        "user": {"viewerRelation": result},
        "viewer": {"mutedUsers": it, "blockedUsers": nobody},
    }
    result = {"state": "NONE", "following": False, "muted": False, "blocking": True}
    assert await gateway.data(query, 2) == {
        "user": {"viewerRelation": result},
        "viewer": {"mutedUsers": nobody, "blockedUsers": it},
    }


async def test_a_request_to_who_is_switched_off_is_rejected_like_any(
    gateway: Gateway, stores: Stores
) -> None:
    await stores.writes.accounts.set_privacy(UserId(GONE), PrivacyChange(protected=True))
    assert (await change(gateway, 1, "followUser", GONE))["outcome"] == "REQUESTED"
    await put(gateway, "deactivateAccount", GONE)
    query = 'query { user(id: "9") { viewerFollowEligibility { code } } }'
    assert (await gateway.data(query, 1))["user"]["viewerFollowEligibility"][
        "code"
    ] == "NOT_ALLOWED"
    payload = await change(gateway, 1, "followUser", GONE)
    assert payload["userErrors"][0]["code"] == "NOT_ALLOWED"
    await put(gateway, "reactivateAccount", GONE)
    assert (await change(gateway, 1, "followUser", GONE))["outcome"] == "ALREADY_REQUESTED"


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
    await put(gateway, "deactivateAccount", DEACTIVATED)
    await drain_all(stores)

    async def shown(other: int) -> str:
        ids = [str(other), str(BLOCKED)]
        everything = {"ids": ids[:1], "signedIn": True, "with": str(other)}
        found: list[Any] = [
            await gateway.data(BETWEEN, BLOCKED, ids=ids),
            await gateway.data(EVERYTHING, BLOCKED, **everything),
        ]
        for action in ACTIONS:
            payload = await change(gateway, BLOCKED, action, other)
            found.append((action, payload["outcome"], payload["userErrors"]))
            found.append(await gateway.data(BETWEEN, BLOCKED, ids=ids))
        found.append(await gateway.data(OTHER_CHANGES, BLOCKED, id=str(other)))
        return re.sub(r'"202\d-[^"]*"', "a date", json.dumps(found).replace(str(other), "other"))

    assert await shown(BLOCKER) == await shown(DEACTIVATED)


FOLLOWERS = """query ($after: String) { user(id: "1") {
  followers(first: 3, after: $after) {
    totalCount nodes { id } pageInfo { hasNextPage endCursor }
  }
} }"""
NEWEST_LAST = """query ($before: String) { user(id: "1") {
  followers(last: 3, before: $before) { nodes { id } pageInfo { hasPreviousPage startCursor } }
} }"""


async def test_pages_are_refilled_and_end_where_only_absent_ones_follow(
    gateway: Gateway, stores: Stores
) -> None:
    """Of thirty followers, all but each seventh are switched off, and so are the oldest."""
    for fan in range(101, 131):
        await stores.writes.edges.change(as_pair(fan, 1), follow(PLENTY))
    await drain_all(stores)
    here = {107, 114, 121, 128}
    for fan in range(101, 131):
        if fan not in here:
            await put(gateway, "deactivateAccount", fan)
    first = (await gateway.data(FOLLOWERS))["user"]["followers"]
    assert [node["id"] for node in first["nodes"]] == ["128", "121", "114"]
    assert first["totalCount"] == len(here)
    assert first["pageInfo"]["hasNextPage"]
    after = first["pageInfo"]["endCursor"]
    second = (await gateway.data(FOLLOWERS, after=after))["user"]["followers"]
    assert [node["id"] for node in second["nodes"]] == ["107"]
    assert not second["pageInfo"]["hasNextPage"], "though there are older ones, all absent"
    last = (await gateway.data(NEWEST_LAST))["user"]["followers"]
    assert [node["id"] for node in last["nodes"]] == ["121", "114", "107"]
    assert last["pageInfo"]["hasPreviousPage"]
    before = last["pageInfo"]["startCursor"]
    rest = (await gateway.data(NEWEST_LAST, before=before))["user"]["followers"]
    assert [node["id"] for node in rest["nodes"]] == ["128"]
    assert not rest["pageInfo"]["hasPreviousPage"]


async def test_totals_are_right_where_very_many_are_absent(
    gateway: Gateway, stores: Stores
) -> None:
    """More than are looked up in each list: so each list is looked up among them."""
    await edges(stores, OTHERS)
    await edges(stores, ITS_OWN)
    await drain_all(stores)
    query = """query { users(ids: ["1", "2", "3"]) { followingCount followerCount friendCount } }"""
    await put(gateway, "deactivateAccount", GONE)
    few = await gateway.data(query)
    await stores.servers.postgres.fetch(
        "INSERT INTO account (user_id, state) SELECT u, 1 FROM generate_series(1000, 1500) u"
    )
    await stores.servers.redis.pipe([("FLUSHDB",)])
    assert await gateway.data(query) == few
    assert few["users"][0] == {"followingCount": 2, "followerCount": 2, "friendCount": 1}


async def test_other_gateways_learn_of_it(
    stores: Stores, storage_settings: StorageSettings
) -> None:
    await edges(stores, OTHERS)
    await edges(stores, ITS_OWN)
    await drain_all(stores)
    soon = StorageSettings(
        storage_settings.database_url,
        storage_settings.redis_url,
        local=LocalSettings(absent_age_ms=0),
    )
    async with running_gateway(soon) as one, running_gateway(soon) as other:
        here = await seen(other, 1, "1", "2", "3")
        await put(one, "deactivateAccount", GONE)
        assert await seen(other, 1, "1", "2", "3") == await seen(one, 1, "1", "2", "3") != here
        await put(one, "reactivateAccount", GONE)
        assert await seen(other, 1, "1", "2", "3") == here


async def test_absences_are_read_again_after_a_cancelled_and_a_failed_read(
    stores: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One reader hangs up, another finds PostgreSQL too busy: the third must still know."""
    absences = stores.reads.absences
    assert await absences.now() == set()
    await stores.servers.postgres.fetch(
        "INSERT INTO account (user_id, state, changed_at)"
        " VALUES (9, 1, extract(epoch FROM clock_timestamp()) * 1000000)"
    )
    absences.expire()
    hangs = asyncio.create_task(absences.now())
    await asyncio.sleep(0)
    hangs.cancel()
    await asyncio.gather(hangs, return_exceptions=True)

    async def busy(*_: object) -> None:
        raise Unavailable("PostgreSQL")

    with monkeypatch.context() as patched:
        patched.setattr(stores.servers.postgres, "fetch", busy)
        assert await absences.now() == set(), "what was known holds on"
        with pytest.raises(Unavailable):
            await absences.as_of(0)
    assert await absences.as_of(0) == {GONE} == await absences.now()


async def test_a_moment_that_never_comes_is_looked_for_once_a_request(stores: Stores) -> None:
    """Tokens are no secret: anybody may make one up."""
    scope = Scope(stores, UserId(1), Policy())
    await reach(scope, [moment_of_accounts(AT_MAX)])
    before = stores.servers.postgres.statements
    for _ in range(9):
        assert await scope.absent() == set()
    assert stores.servers.postgres.statements == before + 1


async def test_operators_see_how_many_are_absent(gateway: Gateway) -> None:
    for user in (8, GONE):
        await put(gateway, "deactivateAccount", user)
    assert "\nkith_absent_accounts 2.0\n" in (await gateway.http.get("/metrics")).text
    await put(gateway, "reactivateAccount", GONE)
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
    assert await stores.reads.absences.as_of(row["changed_at"]) == {GONE}
    assert await stores.reads.absences.as_of(2**63 - 1) == {GONE}, (
        "what has not come is not waited for"
    )


async def test_while_postgresql_is_away_what_was_known_of_absences_holds_on(
    storage_settings: StorageSettings,
) -> None:
    nowhere = StorageSettings("postgresql://nobody@127.0.0.1:1/none", storage_settings.redis_url)
    async with open_stores(nowhere) as stores:
        absences: Any = stores.reads.absences
        absences._read_at, absences._known = 0.0, {UserId(GONE)}
        assert await stores.reads.absences.now() == {GONE}
