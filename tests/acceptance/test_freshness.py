"""A token from one gateway makes another one's answer as fresh, whether or not any worker runs."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from gateway.graphql.settings import HttpLimits
from graph.consistency import Moment, moment_of, read_tokens, write_token
from graph.edge import UserId
from graph.errors import Unavailable
from graph.lane import Lane, lane_of
from resolvers.freshness import reach, read_watermarks
from resolvers.policy import Policy
from resolvers.scope import Scope
from storage.catch_up import CatchUp
from storage.ports.reader import Consistency
from storage.postgres.connection import locks
from storage.settings import StorageSettings
from storage.stores import Stores, open_stores
from tests.support import citus
from tests.support.gateway import Gateway, running_gateway
from tests.support.graphs import as_pair, drain_all, follows, users
from tests.support.redis_proxy import proxy_to

STAR, FAN, READER = users(1, 2, 9)
A_MOMENT = Moment(frozenset({Lane(3)}), 1)
PATIENT = Policy(freshness_wait_ms=9_000)
"""However slow the machine is."""

FOLLOWERS = """
query ($id: ID!, $token: String) { user(id: $id, atLeastAsFresh: $token) {
  followerCount followers { totalCount nodes { id } } friends { nodes { id } }
  relationWith(ids: ["2"]) { followedBy }
} }
"""


async def changed(
    gateway: Gateway, viewer: int, mutation: str, target: int, **given: Any
) -> tuple[str, str | None]:
    """The outcome of one change, and its token."""
    query = f"""mutation ($input: {mutation[0].upper()}{mutation[1:]}Input!) {{
        payload: {mutation}(input: $input) {{ outcome consistencyToken }} }}"""
    given["userId"] = str(target)
    payload = (await gateway.data(query, viewer, input=given))["payload"]
    return payload["outcome"], payload["consistencyToken"]


async def token_of(gateway: Gateway, viewer: int, mutation: str, target: int) -> str:
    _, token = await changed(gateway, viewer, mutation, target)
    assert token is not None
    return token


async def followers(
    gateway: Gateway, user: int = STAR, token: str | None = None, viewer: int | None = READER
) -> list[str]:
    """The users in the list. The count and the relations must agree with it."""
    shown = (await gateway.data(FOLLOWERS, viewer, id=str(user), token=token))["user"]
    found = [node["id"] for node in shown["followers"]["nodes"]]
    assert shown["followerCount"] == shown["followers"]["totalCount"] == len(found)
    assert shown["relationWith"][0]["followedBy"] is (str(FAN) in found)
    return found


def hot(settings: StorageSettings) -> StorageSettings:
    """Everybody is remembered in the process, for longer than any test takes."""
    return replace(settings, local=replace(settings.local, ttl_ms=60_000, requests_to_copy=1))


@pytest.fixture
async def other(storage_settings: StorageSettings) -> AsyncIterator[Gateway]:
    """A second gateway on the same graph, which remembers whom it is asked for."""
    async with running_gateway(hot(storage_settings), PATIENT) as running:
        yield running


@asynccontextmanager
async def impatient(settings: StorageSettings, wait_ms: int) -> AsyncIterator[Gateway]:
    async with running_gateway(settings, Policy(freshness_wait_ms=wait_ms)) as running:
        yield running


@asynccontextmanager
async def lanes_held(stores: Stores, *users: UserId) -> AsyncIterator[None]:
    """Somebody drains the lanes towards these users, and does not come to an end."""
    async with stores.servers.postgres.connection() as connection, connection.transaction():
        for lane in sorted(set(map(lane_of, users))):
            await connection.row("SELECT lock_at($2::integer, $1, $2)", locks.LANE, lane)
        yield


async def test_a_token_from_one_gateway_is_good_at_another(
    gateway: Gateway, other: Gateway
) -> None:
    for viewer in (READER, None, STAR):
        assert await followers(other, viewer=viewer) == []
    token = await token_of(gateway, FAN, "followUser", STAR)
    assert await followers(other) == [], "no worker runs: others see it later"
    assert await followers(other, token=token) == [str(FAN)]
    for viewer in (READER, None, STAR):
        assert await followers(other, token=token, viewer=viewer) == [str(FAN)]
    token = await token_of(gateway, FAN, "unfollowUser", STAR)
    assert await followers(other, token=token) == []


HEADER = 'query { user(id: "1") { followers { nodes { id } } } }'


async def test_a_header_says_it_for_any_request(gateway: Gateway, other: Gateway) -> None:
    async def seen(*values: str) -> list[str]:
        headers = [("X-Consistency-Token", value) for value in values]
        response = await other.http.post("/graphql", json={"query": HEADER}, headers=headers)
        nodes = response.json()["data"]["user"]["followers"]["nodes"]
        return [node["id"] for node in nodes]

    first = await token_of(gateway, FAN, "followUser", STAR)
    assert await seen() == []
    assert await seen(first) == [str(FAN)]
    tokens = [await token_of(gateway, fan, "followUser", STAR) for fan in (3, 4)]
    assert await seen() == [str(FAN)]
    assert await seen(f"{first}, {tokens[0]}", tokens[1]) == ["4", "3", "2"]


async def test_it_holds_for_all_fields_of_the_request(gateway: Gateway, other: Gateway) -> None:
    """For those before it in the document, and whichever field of the root it is given to."""
    fields = {
        "user": 'user(id: "5", atLeastAsFresh: $t) { id }',
        "users": 'users(ids: ["5"], atLeastAsFresh: $t) { id }',
        "account": 'account(id: "5", atLeastAsFresh: $t) { state }',
        "accounts": 'accounts(ids: ["5"], atLeastAsFresh: $t) { state }',
        "relationsBetween": """... on Query { ...last } } fragment last on Query {
            relationsBetween(pairs: [], atLeastAsFresh: $t) { state }""",
    }
    for fan, last in enumerate(fields.values(), 20):
        token = await token_of(gateway, fan, "followUser", STAR)
        query = f'query ($t: String) {{ star: user(id: "1") {{ followerCount }} {last} }}'
        result = (await other.as_service.data(query, READER, t=token))["star"]
        assert result["followerCount"] == fan - 19, last
        literal = query.replace("($t: String)", "").replace("$t", f'"{token}"')
        assert (await other.as_service.data(literal, READER))["star"] == result


async def test_several_tokens_hold_together(gateway: Gateway, other: Gateway) -> None:
    stars = users(31, 32, 33, 34)
    tokens = [await token_of(gateway, FAN, "followUser", star) for star in stars]
    asked = [
        f'u{star}: user(id: "{star}", atLeastAsFresh: "{token}") {{ followerCount }}'
        for star, token in zip(stars, tokens, strict=True)
    ]
    result = await other.data(f"{{ {' '.join(asked)} }}", READER)
    assert [user["followerCount"] for user in result.values()] == [1, 1, 1, 1]


async def test_many_changes_give_one_token(gateway: Gateway, other: Gateway) -> None:
    query = """mutation ($changes: [RelationshipChangeInput!]!) {
        changeRelationships(input: {changes: $changes}) { consistencyToken } }"""
    changes = [{"action": "FOLLOW", "userId": str(user)} for user in range(101, 151)]
    rejected = [{"action": "FOLLOW", "userId": str(FAN)}, {"action": "FOLLOW", "userId": "nobody"}]
    result = await gateway.data(query, FAN, changes=[*changes[:-2], *rejected])
    token = result["changeRelationships"]["consistencyToken"]
    assert len(token) == 20
    ids = [change["userId"] for change in changes[:-2]]
    counted = "query ($ids: [ID!]!, $t: String) { users(ids: $ids, atLeastAsFresh: $t) {"
    answer = await other.data(f"{counted} followerCount }} }}", READER, ids=ids, t=token)
    assert {user["followerCount"] for user in answer["users"]} == {1}
    nothing = await gateway.data(query, FAN, changes=rejected)
    assert nothing["changeRelationships"]["consistencyToken"] is None


async def test_a_repeated_change_gets_a_token_that_covers_it(
    gateway: Gateway, other: Gateway
) -> None:
    await changed(gateway, FAN, "followUser", STAR)
    outcome, token = await changed(gateway, FAN, "followUser", STAR)
    assert outcome == "ALREADY_FOLLOWING"
    assert await followers(other, token=token) == [str(FAN)]
    await changed(gateway, 3, "followUser", STAR, idempotencyKey="k")
    outcome, token = await changed(gateway, 3, "followUser", STAR, idempotencyKey="k")
    assert outcome == "FOLLOWED"
    assert await followers(other, token=token) == ["3", str(FAN)]


async def test_an_undo_returns_a_consistency_token(gateway: Gateway, other: Gateway) -> None:
    await token_of(gateway, FAN, "followUser", STAR)
    query = 'mutation { unfollowUser(input: {userId: "1"}) { undoToken } }'
    undo_token = (await gateway.data(query, FAN))["unfollowUser"]["undoToken"]
    query = """mutation ($t: String!) {
        undoRelationshipChange(input: {undoToken: $t}) { outcome consistencyToken } }"""
    result = (await gateway.data(query, FAN, t=undo_token))["undoRelationshipChange"]
    assert result["outcome"] == "RESTORED"
    assert await followers(other, token=result["consistencyToken"]) == [str(FAN)]
    result = (await gateway.data(query, FAN, t="nothing"))["undoRelationshipChange"]
    assert result["consistencyToken"] is None


async def test_a_change_of_both_edges_arrives_on_both_sides(
    gateway: Gateway, other: Gateway, stores: Stores
) -> None:
    """A block ends the other's follow as well: in both users' lists, for everybody."""
    await follows(stores, (STAR, FAN), (FAN, STAR))
    await drain_all(stores)
    assert await followers(other) == [str(FAN)]
    token = await token_of(gateway, STAR, "blockUser", FAN)
    for user in (STAR, FAN):
        assert await followers(other, user, token) == []


STALE = (
    "The changes of the consistency token are not visible yet. Repeat the request after 1000 ms, "
    "or send it without the token."
)


async def test_a_change_that_is_not_applied_in_time_is_stale(
    storage_settings: StorageSettings, gateway: Gateway, other: Gateway, stores: Stores
) -> None:
    token = await token_of(gateway, FAN, "followUser", STAR)
    async with impatient(storage_settings, 50) as reader:
        async with lanes_held(stores, STAR, FAN):
            answer = await reader.answer(FOLLOWERS, READER, id="1", token=token)
            assert await followers(reader) == [], "without a token nobody waits"
        assert answer == {
            "data": None,
            "errors": [{"message": STALE, "extensions": {"code": "STALE", "retryAfterMs": 1000}}],
        }
        assert await followers(other, token=token) == [str(FAN)]


async def test_waiting_readers_continue_when_another_process_has_drained(
    storage_settings: StorageSettings, gateway: Gateway, stores: Stores
) -> None:
    """Any number of them: they hold neither connections nor locks meanwhile."""
    readers = 50 if citus.prefix() is None else 10  # one connection answers all within 10 s
    token = await token_of(gateway, FAN, "followUser", STAR)
    # On a busy machine the last of 50 readers waits for the only connection for many seconds.
    connections = replace(storage_settings.connections, pool_max=1, acquire_timeout_s=60)
    async with running_gateway(
        replace(storage_settings, connections=connections),
        Policy(freshness_wait_ms=60_000),
        requests=HttpLimits(request_deadline_ms=60_000),
    ) as reader:
        async with lanes_held(stores, STAR, FAN):
            asked = [
                asyncio.create_task(followers(reader, token=token, viewer=viewer))
                for viewer in range(100, 100 + readers)
            ]
            assert await followers(reader) == []
            assert not any(task.done() for task in asked)
        assert await asyncio.gather(*asked) == [[str(FAN)]] * readers


async def test_without_patience_a_token_only_asks(
    storage_settings: StorageSettings, gateway: Gateway, stores: Stores
) -> None:
    token = await token_of(gateway, FAN, "followUser", STAR)
    async with impatient(storage_settings, 0) as reader:
        error = await reader.error(FOLLOWERS, READER, id="1", token=token)
        assert error["extensions"]["code"] == "STALE"
        await drain_all(stores)
        assert await followers(reader, token=token) == [str(FAN)]


async def test_a_token_waits_for_no_later_change(
    storage_settings: StorageSettings, gateway: Gateway, stores: Stores
) -> None:
    token = await token_of(gateway, FAN, "followUser", STAR)
    await drain_all(stores)
    await follows(stores, (3, STAR))
    async with impatient(storage_settings, 0) as reader, lanes_held(stores, STAR, FAN):
        assert await followers(reader, token=token) == [str(FAN)]


async def test_a_lane_is_drained_as_far_as_it_takes(
    gateway: Gateway, other: Gateway, stores: Stores
) -> None:
    """Thousands of older changes wait before it."""
    await stores.servers.postgres.fetch(
        """INSERT INTO outbox (lane, from_user_id, to_user_id, since, version, kind, flags, friends)
        SELECT $1, 1000000 + u, 1, 1, 1, 0, 0, 0 FROM generate_series(1, 2500) u""",
        lane_of(STAR),
    )
    token = await token_of(gateway, FAN, "followUser", STAR)
    assert await followers(other, token=token) == [str(FAN)]


async def test_a_drain_that_died_between_its_steps_changes_nothing(
    gateway: Gateway, other: Gateway, stores: Stores
) -> None:
    assert await followers(other) == []
    token = await token_of(gateway, FAN, "followUser", STAR)
    await stores.jobs.lanes.outbox.apply(lane_of(STAR), 1000)  # killed here: no cache was updated
    assert await followers(other) == []
    assert await followers(other, token=token) == [str(FAN)]
    assert lane_of(STAR) not in await stores.jobs.lanes.progress.dirty()


@pytest.mark.parametrize("mutation", ["deactivateAccount", "deleteAccount"])
async def test_a_token_shows_other_gateways_who_has_become_absent(
    storage_settings: StorageSettings, gateway: Gateway, stores: Stores, mutation: str
) -> None:
    """However old what they know of it may be, and also who finds it done."""
    await follows(stores, (FAN, STAR))
    await drain_all(stores)

    async def put(name: str) -> str:
        query = f"""mutation {{ payload: {name}(input: {{ userId: "2" }}) {{
            consistencyToken userErrors {{ code }} }} }}"""
        payload = (await gateway.as_service.data(query))["payload"]
        token: str = payload["consistencyToken"]
        assert (token is None) == bool(payload["userErrors"])
        return token

    aged = replace(
        hot(storage_settings), local=replace(hot(storage_settings).local, absent_age_ms=3_600_000)
    )
    async with running_gateway(aged, PATIENT) as other:
        assert await followers(other) == [str(FAN)]
        for token in (await put(mutation), await put(mutation)):
            assert await followers(other, token=token) == []
        token = await put("reactivateAccount")
        if mutation == "deactivateAccount":
            assert await followers(other, token=token) == [str(FAN)]


async def test_settings_give_tokens_too(gateway: Gateway, other: Gateway) -> None:
    assert await followers(other) == []
    query = """mutation { payload: updateRelationshipSettings(
        input: { followersAudience: ONLY_ME }) { consistencyToken } }"""
    token = (await gateway.data(query, STAR))["payload"]["consistencyToken"]
    hidden = "query ($t: String) { user(id: 1, atLeastAsFresh: $t) { followerCount } }"
    assert (await other.data(hidden, READER, t=token))["user"] == {"followerCount": None}
    query = """mutation ($user: ID!) { payload: setFollowingLimit(
        input: { userId: $user, limit: 5 }) { consistencyToken } }"""
    for user, gives in ((1, True), ("nobody", False)):
        payload = (await gateway.as_service.data(query, user=user))["payload"]
        assert (payload["consistencyToken"] is not None) is gives


async def test_a_reader_who_hangs_up_takes_nobody_along(gateway: Gateway, stores: Stores) -> None:
    token = await token_of(gateway, FAN, "followUser", STAR)
    (moment,) = read_tokens("t", [token])
    wanted = dict.fromkeys(moment.lanes, moment.at)
    async with lanes_held(stores, STAR, FAN):
        gone = asyncio.create_task(stores.changes.catch_up.reach(wanted, 9))
        stays = asyncio.create_task(stores.changes.catch_up.reach(wanted, 9))
        await asyncio.sleep(0)
        gone.cancel()
    assert await stays is True
    with pytest.raises(asyncio.CancelledError):
        await gone


async def test_without_redis_the_rows_answer(
    storage_settings: StorageSettings, stores: Stores
) -> None:
    """However much waits to be published, which nobody can do meanwhile."""
    await stores.servers.postgres.fetch(
        """INSERT INTO outbox (lane, from_user_id, to_user_id, since, version, kind, flags, friends)
        SELECT $1, 1000000 + u, 1, 1, 1, 0, 0, 0 FROM generate_series(1, 2500) u""",
        lane_of(STAR),
    )
    nowhere = replace(storage_settings, redis_url="unix:///nowhere.sock")
    async with running_gateway(nowhere) as one, running_gateway(nowhere, PATIENT) as two:
        token = await token_of(one, FAN, "followUser", STAR)
        assert await followers(two) == []
        assert await followers(two, token=token) == [str(FAN)]
        token = await token_of(one, 3, "followUser", STAR)
        assert await followers(two, token=token) == ["3", str(FAN)]
    assert await stores.jobs.lanes.progress.dirty(), "the cache updates are still pending"


async def test_a_reader_updates_the_caches_that_a_gateway_could_not_update(
    storage_settings: StorageSettings, other: Gateway
) -> None:
    assert await followers(other) == []
    nowhere = replace(storage_settings, redis_url="unix:///nowhere.sock")
    async with running_gateway(nowhere) as alone:
        token = await token_of(alone, FAN, "followUser", STAR)
    query = """query ($t: String) { user(id: "2", atLeastAsFresh: $t) {
        followingCount following { nodes { id } } } }"""
    result = await other.data(query, READER, t=token)
    assert result["user"] == {"followingCount": 1, "following": {"nodes": [{"id": "1"}]}}
    assert await followers(other) == [str(FAN)]


async def test_a_cache_that_missed_an_update_does_not_answer_when_it_is_back(
    storage_settings: StorageSettings,
    gateway: Gateway,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Redis has the old lists, and is back after the reader's wait and before the reader's
    reads."""
    to_reach = CatchUp.reach
    async with proxy_to(storage_settings.redis_url, tmp_path) as (proxy, url):

        async def mended(*given: Any) -> bool:
            result = await to_reach(*given)
            await proxy.restore()
            return result

        settings = replace(
            storage_settings,
            redis_url=url,
            connections=replace(storage_settings.connections, redis_retry_after_s=0),
        )
        async with running_gateway(settings, PATIENT) as reader:
            assert await followers(reader) == []
            token = await token_of(gateway, FAN, "followUser", STAR)
            await proxy.cut()
            monkeypatch.setattr(CatchUp, "reach", mended)
            assert await followers(reader, token=token) == [str(FAN)]
            assert await followers(reader) == [], "it is back, without the update yet"
            assert await followers(reader, token=token) == [str(FAN)]
            assert await followers(reader) == [str(FAN)], "the second reader could tell it"


async def test_every_reader_sees_what_their_token_is_of(
    gateway: Gateway, other: Gateway, stores: Stores
) -> None:
    """While many change the same list at once, and workers drain it, and it is remembered."""
    query = """query ($token: String) { user(id: "1", atLeastAsFresh: $token) {
        followers(first: 100) { nodes { id } } followerCount } }"""

    async def fan(number: int) -> None:
        for turn in range(6):
            mutation = "unfollowUser" if turn % 2 else "followUser"
            token = await token_of(gateway, number, mutation, STAR)
            shown = (await other.data(query, READER, token=token))["user"]
            found = {node["id"] for node in shown["followers"]["nodes"]}
            assert (str(number) in found) is (turn % 2 == 0), f"{number} in turn {turn}"

    async def work() -> None:
        while True:
            for lane in await stores.jobs.lanes.progress.dirty():
                await stores.jobs.lanes.drain.lane(lane)
            await asyncio.sleep(0.005)

    worker = asyncio.create_task(work())
    try:
        await asyncio.gather(*map(fan, range(10, 30)))
    finally:
        worker.cancel()
        await asyncio.gather(worker, return_exceptions=True)
    token = await token_of(gateway, FAN, "followUser", STAR)
    assert await followers(other, token=token) == [str(FAN)]


async def test_the_local_cache_is_not_used_for_fresh_reads(
    storage_settings: StorageSettings,
) -> None:
    async with open_stores(hot(storage_settings)) as stores:
        wanted, looked_at = (Scope(stores, READER, Policy()) for _ in range(2))
        await reach(wanted, [A_MOMENT])
        await read_watermarks(looked_at)
        assert wanted.consistency is looked_at.consistency is Consistency.FRESH


async def test_a_mutation_reads_as_freshly_as_its_header_says(
    gateway: Gateway, other: Gateway
) -> None:
    token = await token_of(gateway, FAN, "followUser", STAR)
    query = 'mutation { followUser(input: {userId: "1"}) { user { followerCount } } }'
    response = await other.http.post(
        "/graphql",
        json={"query": query},
        headers={"x-viewer": "9", "X-Consistency-Token": token},
    )
    assert response.json()["data"]["followUser"]["user"]["followerCount"] == 2


SOME = write_token(A_MOMENT)


@pytest.mark.parametrize(
    "token",
    ["", "garbage", SOME[:-1], "B" + SOME[1:], SOME + "=", SOME * 5000, "ü" * 20, "\0" * 20],
)
async def test_an_invalid_token_is_an_error_that_names_its_argument(
    gateway: Gateway, token: str
) -> None:
    error = await gateway.error(FOLLOWERS, READER, id="1", token=token)
    assert error["extensions"] == {"code": "BAD_USER_INPUT", "argument": "atLeastAsFresh"}
    assert len(error["message"]) < 200


@pytest.mark.parametrize("header", [b"", b"garbage", b"\xff\xfe", b", ", SOME.encode() + b","])
async def test_an_invalid_token_in_the_header_is_an_error(gateway: Gateway, header: bytes) -> None:
    response = await gateway.http.post(
        "/graphql", json={"query": HEADER}, headers=[(b"X-Consistency-Token", header)]
    )
    answer = response.json()
    assert answer["data"] is None
    (error,) = answer["errors"]
    assert error["extensions"] == {"code": "BAD_USER_INPUT", "argument": "X-Consistency-Token"}


async def test_too_many_tokens_are_not_looked_at(gateway: Gateway) -> None:
    headers = {"X-Consistency-Token": ",".join([SOME] * 17)}
    response = await gateway.http.post("/graphql", json={"query": HEADER}, headers=headers)
    assert "at most 16" in response.json()["errors"][0]["message"]
    fields = [f'u{n}: user(id: "1", atLeastAsFresh: "{SOME}") {{ id }}' for n in range(17)]
    error = await gateway.error(f"{{ {' '.join(fields)} }}")
    assert error["extensions"]["code"] == "BAD_USER_INPUT"


async def test_no_token_asks_for_nothing(gateway: Gateway) -> None:
    assert await followers(gateway, token=None) == []
    query = 'query ($t: String = null) { user(id: "1", atLeastAsFresh: $t) { id } }'
    assert await gateway.data(query) == {"user": {"id": "1"}}
    error = await gateway.error("query ($t: Int) { user(id: 1, atLeastAsFresh: $t) { id } }", t=1)
    assert error["extensions"]["code"] == "GRAPHQL_VALIDATION_FAILED"
    answer = await gateway.answer(FOLLOWERS, READER, id="1", token=7)
    assert answer["errors"][0]["extensions"]["code"] == "BAD_USER_INPUT"


async def test_a_token_reveals_nothing_about_the_change(gateway: Gateway, stores: Stores) -> None:
    """Tokens do not contain which edges were written, or whether any was: those of the same two
    users differ in nothing else than their time."""
    await follows(stores, (FAN, STAR))
    await drain_all(stores)
    tokens = [
        await token_of(gateway, STAR, *change)
        for change in (
            ("blockUser", FAN),  # both edges
            ("unblockUser", FAN),  # one
            ("unfollowUser", FAN),  # none
            ("removeFollower", FAN),  # none: whom the block took is gone
            ("muteUser", FAN),
        )
    ]
    moments = read_tokens("t", tokens)
    assert {moment.lanes for moment in moments} == {moment_of(as_pair(STAR, FAN), 1).lanes}
    times = [moment.at for moment in moments]
    assert times == sorted(times)


async def test_a_blocked_user_learns_nothing_from_tokens(gateway: Gateway, stores: Stores) -> None:
    """A rejected change has none, whatever the reason; and one that finds itself done says when it
    was asked, not when the other one did it.
    """
    await follows(stores, (FAN, STAR))
    await token_of(gateway, STAR, "blockUser", FAN)
    after = (await stores.jobs.lanes.progress.watermarks()).now
    assert await changed(gateway, FAN, "followUser", STAR) == ("REJECTED", None)
    outcome, token = await changed(gateway, FAN, "unfollowUser", STAR)
    assert outcome == "NOT_FOLLOWING"
    assert token is not None
    (asked,) = read_tokens("t", [token])
    assert asked.at > after


def _micros(moment: datetime) -> int:
    return int(moment.timestamp() * 1_000_000)


FRESHNESS = "freshness { asOf lagMs degraded }"
LISTS = f"""
query ($ids: [ID!]!) {{
  users(ids: $ids) {{
    following {{ {FRESHNESS} }} followers {{ {FRESHNESS} nodes {{
      friends(first: 1) {{ {FRESHNESS} }} followers(first: 1) {{ {FRESHNESS} }} }} }}
    friends {{ {FRESHNESS} }}
    followersYouKnow {{ {FRESHNESS} }} commonFollowing(with: "3") {{ {FRESHNESS} }}
  }}
  viewer {{
    closeFollows {{ {FRESHNESS} }} mutedUsers {{ {FRESHNESS} }} blockedUsers {{ {FRESHNESS} }}
    outgoingFollowRequests {{ {FRESHNESS} }} incomingFollowRequests {{ {FRESHNESS} }}
    suggestions {{ {FRESHNESS} }}
  }}
}}
"""
LAGGING = {"followers", "friends", "followersYouKnow", "incomingFollowRequests", "suggestions"}


def result_of(answer: dict[str, Any], user: int) -> dict[str, Any]:
    """The freshness of each list, by its name: of a user, and the viewer's own."""
    lists = {**answer["users"][user], **answer["viewer"]}
    return {name: shown["freshness"] for name, shown in lists.items()}


async def test_every_list_returns_its_freshness(gateway: Gateway, stores: Stores) -> None:
    before = datetime.now(UTC)
    answer = await gateway.data(LISTS, STAR, ids=["1"])
    for result in result_of(answer, 0).values():
        assert result["lagMs"] == 0
        assert result["degraded"] is False
        assert abs(datetime.fromisoformat(result["asOf"]) - before) < timedelta(minutes=1)
    await follows(stores, (FAN, STAR))
    waits_since = (await stores.jobs.lanes.progress.watermarks([lane_of(STAR)])).oldest[
        lane_of(STAR)
    ]
    assert waits_since is not None
    answer = await gateway.data(LISTS, STAR, ids=["1"])
    for name, result in result_of(answer, 0).items():
        as_of = _micros(datetime.fromisoformat(result["asOf"]))
        if name in LAGGING:
            assert as_of == waits_since // 1000 * 1000, name
            assert result["lagMs"] > 0
        else:
            assert as_of > waits_since, name
            assert result["lagMs"] == 0
    await drain_all(stores)
    answer = await gateway.data(LISTS, STAR, ids=["1"])
    assert {result["lagMs"] for result in result_of(answer, 0).values()} == {0}


async def test_the_closest_friends_lag_like_all_friends(gateway: Gateway, stores: Stores) -> None:
    query = f'{{ user(id: "1") {{ friends(orderBy: {{ field: AFFINITY }}) {{ {FRESHNESS} }} }} }}'
    await follows(stores, (FAN, STAR))
    found = (await gateway.data(query, STAR))["user"]["friends"]["freshness"]
    assert found["lagMs"] > 0
    await drain_all(stores)
    found = (await gateway.data(query, STAR))["user"]["friends"]["freshness"]
    assert found["lagMs"] == 0


async def test_a_response_without_redis_says_so(storage_settings: StorageSettings) -> None:
    query = f'{{ user(id: "1") {{ followers {{ {FRESHNESS} }} }} }}'
    nowhere = replace(storage_settings, redis_url="unix:///nowhere.sock")
    async with running_gateway(nowhere, PATIENT) as alone:
        result = (await alone.data(query, READER))["user"]["followers"]["freshness"]
        assert result["degraded"] is True
        token = await token_of(alone, FAN, "followUser", STAR)
        fresh = query.replace('"1"', f'"1", atLeastAsFresh: "{token}"')
        result = (await alone.data(fresh, READER))["user"]["followers"]["freshness"]
        assert result["degraded"] is True


async def test_where_freshness_cannot_be_looked_up_the_rest_is_answered(
    storage_settings: StorageSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def down(*_: object) -> None:
        raise Unavailable("PostgreSQL")

    query = f'{{ user(id: "1") {{ followers {{ totalCount {FRESHNESS} }} }} }}'
    async with running_gateway(storage_settings) as reader:
        await reader.data(query)
        monkeypatch.setattr("storage.postgres.lane_progress.PostgresLaneProgress.watermarks", down)
        answer = await reader.answer(query)
        assert answer["data"]["user"]["followers"] == {"totalCount": 0, "freshness": None}
        (error,) = answer["errors"]
        assert error["extensions"] == {"code": "UNAVAILABLE", "part": "PostgreSQL"}
        assert error["path"] == ["user", "followers", "freshness"]
        rejected = await reader.error(FOLLOWERS, id="1", token=SOME)
        assert rejected["extensions"]["code"] == "UNAVAILABLE"
