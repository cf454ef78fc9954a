"""A consistency token makes the response of another gateway as fresh, also without a worker."""

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
from resolvers.freshness import REACH_COST, reach, read_watermarks
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
LONG_WAIT = Policy(freshness_wait_ms=9_000)
"""Long enough for a slow machine."""

FOLLOWERS = """
query ($id: ID!, $token: String) { user(id: $id, atLeastAsFresh: $token) {
  followerCount followers { totalCount nodes { id } } friends { nodes { id } }
  relationWith(ids: ["2"]) { followedBy }
} }
"""


async def change(
    gateway: Gateway, viewer: int, mutation: str, target: int, **given: Any
) -> tuple[str, str | None]:
    """Send one mutation, and return its outcome and its token."""
    query = f"""mutation ($input: {mutation[0].upper()}{mutation[1:]}Input!) {{
        payload: {mutation}(input: $input) {{ outcome consistencyToken }} }}"""
    given["userId"] = str(target)
    payload = (await gateway.data(query, viewer, input=given))["payload"]
    return payload["outcome"], payload["consistencyToken"]


async def token_of(gateway: Gateway, viewer: int, mutation: str, target: int) -> str:
    """Send one mutation, and return its token."""
    _, token = await change(gateway, viewer, mutation, target)
    assert token is not None
    return token


async def followers(
    gateway: Gateway, user: int = STAR, token: str | None = None, viewer: int | None = READER
) -> list[str]:
    """The followers of a user. The count and the relation to FAN must agree with the list."""
    data = (await gateway.data(FOLLOWERS, viewer, id=str(user), token=token))["user"]
    found = [node["id"] for node in data["followers"]["nodes"]]
    assert data["followerCount"] == data["followers"]["totalCount"] == len(found)
    assert data["relationWith"][0]["followedBy"] is (str(FAN) in found)
    return found


def with_local_cache(settings: StorageSettings) -> StorageSettings:
    """Settings that copy every user to the local cache, for longer than any test takes."""
    return replace(settings, local=replace(settings.local, ttl_ms=60_000, requests_to_copy=1))


@pytest.fixture
async def other_gateway(storage_settings: StorageSettings) -> AsyncIterator[Gateway]:
    """A second gateway on the same graph, which copies every user it reads to its local cache."""
    async with running_gateway(with_local_cache(storage_settings), LONG_WAIT) as running:
        yield running


@asynccontextmanager
async def gateway_with_wait(settings: StorageSettings, wait_ms: int) -> AsyncIterator[Gateway]:
    """A gateway whose requests wait up to `wait_ms` for the changes of a token."""
    async with running_gateway(settings, Policy(freshness_wait_ms=wait_ms)) as running:
        yield running


@asynccontextmanager
async def lanes_locked(stores: Stores, *users: UserId) -> AsyncIterator[None]:
    """Hold the locks of the lanes of these users, as a drain that does not end."""
    async with stores.servers.postgres.connection() as connection, connection.transaction():
        for lane in sorted(set(map(lane_of, users))):
            await connection.row("SELECT lock_at($2::integer, $1, $2)", locks.LANE, lane)
        yield


async def test_a_token_of_one_gateway_is_valid_at_another(
    gateway: Gateway, other_gateway: Gateway
) -> None:
    for viewer in (READER, None, STAR):
        assert await followers(other_gateway, viewer=viewer) == []
    token = await token_of(gateway, FAN, "followUser", STAR)
    assert await followers(other_gateway) == [], "no worker has applied the change"
    assert await followers(other_gateway, token=token) == [str(FAN)]
    for viewer in (READER, None, STAR):
        assert await followers(other_gateway, token=token, viewer=viewer) == [str(FAN)]
    token = await token_of(gateway, FAN, "unfollowUser", STAR)
    assert await followers(other_gateway, token=token) == []


FOLLOWERS_OF_1 = 'query { user(id: "1") { followers { nodes { id } } } }'


async def test_tokens_in_the_header_apply_to_the_request(
    gateway: Gateway, other_gateway: Gateway
) -> None:
    async def followers_with(*values: str) -> list[str]:
        """The followers of user 1, read with these values of the header."""
        headers = [("X-Consistency-Token", value) for value in values]
        response = await other_gateway.http.post(
            "/graphql", json={"query": FOLLOWERS_OF_1}, headers=headers
        )
        nodes = response.json()["data"]["user"]["followers"]["nodes"]
        return [node["id"] for node in nodes]

    first = await token_of(gateway, FAN, "followUser", STAR)
    assert await followers_with() == []
    assert await followers_with(first) == [str(FAN)]
    tokens = [await token_of(gateway, fan, "followUser", STAR) for fan in (3, 4)]
    assert await followers_with() == [str(FAN)]
    assert await followers_with(f"{first}, {tokens[0]}", tokens[1]) == ["4", "3", "2"]


async def test_a_token_applies_to_all_fields_of_the_request(
    gateway: Gateway, other_gateway: Gateway
) -> None:
    """Also to fields before the argument, and for each root field that has the argument."""
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
        result = (await other_gateway.as_service.data(query, READER, t=token))["star"]
        assert result["followerCount"] == fan - 19, last
        literal = query.replace("($t: String)", "").replace("$t", f'"{token}"')
        assert (await other_gateway.as_service.data(literal, READER))["star"] == result


async def test_several_tokens_in_one_request_all_apply(
    gateway: Gateway, other_gateway: Gateway
) -> None:
    stars = users(31, 32, 33, 34)
    tokens = [await token_of(gateway, FAN, "followUser", star) for star in stars]
    fields = [
        f'u{star}: user(id: "{star}", atLeastAsFresh: "{token}") {{ followerCount }}'
        for star, token in zip(stars, tokens, strict=True)
    ]
    result = await other_gateway.data(f"{{ {' '.join(fields)} }}", READER)
    assert [user["followerCount"] for user in result.values()] == [1, 1, 1, 1]


async def test_many_changes_in_one_mutation_return_one_token(
    gateway: Gateway, other_gateway: Gateway
) -> None:
    query = """mutation ($changes: [RelationshipChangeInput!]!) {
        changeRelationships(input: {changes: $changes}) { consistencyToken } }"""
    changes = [{"action": "FOLLOW", "userId": str(user)} for user in range(101, 151)]
    rejected = [{"action": "FOLLOW", "userId": str(FAN)}, {"action": "FOLLOW", "userId": "nobody"}]
    result = await gateway.data(query, FAN, changes=[*changes[:-2], *rejected])
    token = result["changeRelationships"]["consistencyToken"]
    assert len(token) == 20
    ids = [change["userId"] for change in changes[:-2]]
    users_query = "query ($ids: [ID!]!, $t: String) { users(ids: $ids, atLeastAsFresh: $t) {"
    answer = await other_gateway.data(
        f"{users_query} followerCount }} }}", READER, ids=ids, t=token
    )
    assert {user["followerCount"] for user in answer["users"]} == {1}
    nothing = await gateway.data(query, FAN, changes=rejected)
    assert nothing["changeRelationships"]["consistencyToken"] is None


async def test_a_repeated_change_returns_a_token_that_includes_the_first(
    gateway: Gateway, other_gateway: Gateway
) -> None:
    await change(gateway, FAN, "followUser", STAR)
    outcome, token = await change(gateway, FAN, "followUser", STAR)
    assert outcome == "ALREADY_FOLLOWING"
    assert await followers(other_gateway, token=token) == [str(FAN)]
    await change(gateway, 3, "followUser", STAR, idempotencyKey="k")
    outcome, token = await change(gateway, 3, "followUser", STAR, idempotencyKey="k")
    assert outcome == "FOLLOWED"
    assert await followers(other_gateway, token=token) == ["3", str(FAN)]


async def test_an_undo_returns_a_consistency_token(
    gateway: Gateway, other_gateway: Gateway
) -> None:
    await token_of(gateway, FAN, "followUser", STAR)
    query = 'mutation { unfollowUser(input: {userId: "1"}) { undoToken } }'
    undo_token = (await gateway.data(query, FAN))["unfollowUser"]["undoToken"]
    query = """mutation ($t: String!) {
        undoRelationshipChange(input: {undoToken: $t}) { outcome consistencyToken } }"""
    result = (await gateway.data(query, FAN, t=undo_token))["undoRelationshipChange"]
    assert result["outcome"] == "RESTORED"
    assert await followers(other_gateway, token=result["consistencyToken"]) == [str(FAN)]
    result = (await gateway.data(query, FAN, t="nothing"))["undoRelationshipChange"]
    assert result["consistencyToken"] is None


async def test_a_token_of_a_block_applies_to_the_lists_of_both_users(
    gateway: Gateway, other_gateway: Gateway, stores: Stores
) -> None:
    """The block ends the follows in both directions."""
    await follows(stores, (STAR, FAN), (FAN, STAR))
    await drain_all(stores)
    assert await followers(other_gateway) == [str(FAN)]
    token = await token_of(gateway, STAR, "blockUser", FAN)
    for user in (STAR, FAN):
        assert await followers(other_gateway, user, token) == []


STALE_MESSAGE = (
    "The changes of the consistency token are not visible yet. Repeat the request after 1000 ms, "
    "or send it without the token."
)


async def test_a_change_that_is_not_applied_in_time_is_an_error_of_the_code_stale(
    storage_settings: StorageSettings, gateway: Gateway, other_gateway: Gateway, stores: Stores
) -> None:
    token = await token_of(gateway, FAN, "followUser", STAR)
    async with gateway_with_wait(storage_settings, 50) as reader:
        async with lanes_locked(stores, STAR, FAN):
            answer = await reader.answer(FOLLOWERS, READER, id="1", token=token)
            assert await followers(reader) == [], "without a token a reader does not wait"
        assert answer == {
            "data": None,
            "errors": [
                {"message": STALE_MESSAGE, "extensions": {"code": "STALE", "retryAfterMs": 1000}}
            ],
        }
        assert await followers(other_gateway, token=token) == [str(FAN)]


async def test_waiting_readers_continue_when_another_process_has_drained(
    storage_settings: StorageSettings, gateway: Gateway, stores: Stores
) -> None:
    """More readers than connections: a waiting reader holds neither a connection nor a lock."""
    readers = 50 if citus.prefix() is None else 10  # one connection serves them all within 10 s
    token = await token_of(gateway, FAN, "followUser", STAR)
    # On a busy machine the last of 50 readers waits for the only connection for many seconds.
    connections = replace(storage_settings.connections, pool_max=1, acquire_timeout_s=60)
    async with running_gateway(
        replace(storage_settings, connections=connections),
        Policy(freshness_wait_ms=60_000),
        requests=HttpLimits(request_deadline_ms=60_000),
    ) as reader:
        async with lanes_locked(stores, STAR, FAN):
            waiting = [
                asyncio.create_task(followers(reader, token=token, viewer=viewer))
                for viewer in range(100, 100 + readers)
            ]
            assert await followers(reader) == []
            assert not any(task.done() for task in waiting)
        assert await asyncio.gather(*waiting) == [[str(FAN)]] * readers


async def test_without_a_wait_a_token_of_a_pending_change_is_an_error(
    storage_settings: StorageSettings, gateway: Gateway, stores: Stores
) -> None:
    token = await token_of(gateway, FAN, "followUser", STAR)
    async with gateway_with_wait(storage_settings, 0) as reader:
        error = await reader.error(FOLLOWERS, READER, id="1", token=token)
        assert error["extensions"]["code"] == "STALE"
        await drain_all(stores)
        assert await followers(reader, token=token) == [str(FAN)]


async def test_a_token_does_not_wait_for_later_changes(
    storage_settings: StorageSettings, gateway: Gateway, stores: Stores
) -> None:
    token = await token_of(gateway, FAN, "followUser", STAR)
    await drain_all(stores)
    await follows(stores, (3, STAR))
    async with gateway_with_wait(storage_settings, 0) as reader, lanes_locked(stores, STAR, FAN):
        assert await followers(reader, token=token) == [str(FAN)]


async def test_a_reader_drains_a_lane_up_to_the_change_of_the_token(
    gateway: Gateway, other_gateway: Gateway, stores: Stores
) -> None:
    """2,500 older changes are pending in the lane."""
    await stores.servers.postgres.fetch(
        """INSERT INTO outbox (lane, from_user_id, to_user_id, since, version, kind, flags, friends)
        SELECT $1, 1000000 + u, 1, 1, 1, 0, 0, 0 FROM generate_series(1, 2500) u""",
        lane_of(STAR),
    )
    token = await token_of(gateway, FAN, "followUser", STAR)
    assert await followers(other_gateway, token=token) == [str(FAN)]


async def test_a_token_applies_after_a_drain_was_killed_between_its_steps(
    gateway: Gateway, other_gateway: Gateway, stores: Stores
) -> None:
    assert await followers(other_gateway) == []
    token = await token_of(gateway, FAN, "followUser", STAR)
    await stores.jobs.lanes.outbox.apply(lane_of(STAR), 1000)  # killed before it updates the caches
    assert await followers(other_gateway) == []
    assert await followers(other_gateway, token=token) == [str(FAN)]
    assert lane_of(STAR) not in await stores.jobs.lanes.progress.lanes_with_changes()


@pytest.mark.parametrize("mutation", ["deactivateAccount", "deleteAccount"])
async def test_a_token_of_a_change_of_state_applies_at_other_gateways(
    storage_settings: StorageSettings, gateway: Gateway, stores: Stores, mutation: str
) -> None:
    """Also if the gateway may use old absences, and for the token of a repeated mutation."""
    await follows(stores, (FAN, STAR))
    await drain_all(stores)

    async def change_state(mutation: str) -> str:
        """Change the state of user 2, and return the token."""
        query = f"""mutation {{ payload: {mutation}(input: {{ userId: "2" }}) {{
            consistencyToken userErrors {{ code }} }} }}"""
        payload = (await gateway.as_service.data(query))["payload"]
        token: str = payload["consistencyToken"]
        assert (token is None) == bool(payload["userErrors"])
        return token

    with_old_absences = replace(
        with_local_cache(storage_settings),
        local=replace(with_local_cache(storage_settings).local, absent_age_ms=3_600_000),
    )
    async with running_gateway(with_old_absences, LONG_WAIT) as other_gateway:
        assert await followers(other_gateway) == [str(FAN)]
        for token in (await change_state(mutation), await change_state(mutation)):
            assert await followers(other_gateway, token=token) == []
        token = await change_state("reactivateAccount")
        if mutation == "deactivateAccount":
            assert await followers(other_gateway, token=token) == [str(FAN)]


async def test_mutations_of_settings_return_tokens(
    gateway: Gateway, other_gateway: Gateway
) -> None:
    assert await followers(other_gateway) == []
    query = """mutation { payload: updateRelationshipSettings(
        input: { followersAudience: ONLY_ME }) { consistencyToken } }"""
    token = (await gateway.data(query, STAR))["payload"]["consistencyToken"]
    count_query = "query ($t: String) { user(id: 1, atLeastAsFresh: $t) { followerCount } }"
    assert (await other_gateway.data(count_query, READER, t=token))["user"] == {
        "followerCount": None
    }
    query = """mutation ($user: ID!) { payload: setFollowingLimit(
        input: { userId: $user, limit: 5 }) { consistencyToken } }"""
    for user, has_token in ((1, True), ("nobody", False)):
        payload = (await gateway.as_service.data(query, user=user))["payload"]
        assert (payload["consistencyToken"] is not None) is has_token


async def test_a_cancelled_reader_does_not_cancel_another(gateway: Gateway, stores: Stores) -> None:
    token = await token_of(gateway, FAN, "followUser", STAR)
    (moment,) = read_tokens("t", [token])
    required = dict.fromkeys(moment.lane_groups, moment.at)
    async with lanes_locked(stores, STAR, FAN):
        cancelled = asyncio.create_task(stores.changes.catch_up.reach(required, 9))
        waiting_reader = asyncio.create_task(stores.changes.catch_up.reach(required, 9))
        await asyncio.sleep(0)
        cancelled.cancel()
    assert await waiting_reader is True
    with pytest.raises(asyncio.CancelledError):
        await cancelled


async def test_without_redis_a_token_reads_from_the_tables(
    storage_settings: StorageSettings, stores: Stores
) -> None:
    """2,500 older changes are pending, and no cache can be updated."""
    await stores.servers.postgres.fetch(
        """INSERT INTO outbox (lane, from_user_id, to_user_id, since, version, kind, flags, friends)
        SELECT $1, 1000000 + u, 1, 1, 1, 0, 0, 0 FROM generate_series(1, 2500) u""",
        lane_of(STAR),
    )
    without_redis = replace(storage_settings, redis_url="unix:///nowhere.sock")
    async with (
        running_gateway(without_redis) as writer,
        running_gateway(without_redis, LONG_WAIT) as reader,
    ):
        token = await token_of(writer, FAN, "followUser", STAR)
        assert await followers(reader) == []
        assert await followers(reader, token=token) == [str(FAN)]
        token = await token_of(writer, 3, "followUser", STAR)
        assert await followers(reader, token=token) == ["3", str(FAN)]
    assert await stores.jobs.lanes.progress.lanes_with_changes(), (
        "the cache updates are still pending"
    )


async def test_a_reader_updates_the_caches_that_a_gateway_could_not_update(
    storage_settings: StorageSettings, other_gateway: Gateway
) -> None:
    assert await followers(other_gateway) == []
    without_redis = replace(storage_settings, redis_url="unix:///nowhere.sock")
    async with running_gateway(without_redis) as gateway:
        token = await token_of(gateway, FAN, "followUser", STAR)
    query = """query ($t: String) { user(id: "2", atLeastAsFresh: $t) {
        followingCount following { nodes { id } } } }"""
    result = await other_gateway.data(query, READER, t=token)
    assert result["user"] == {"followingCount": 1, "following": {"nodes": [{"id": "1"}]}}
    assert await followers(other_gateway) == [str(FAN)]


async def test_a_cache_without_the_update_is_not_read_with_the_token(
    storage_settings: StorageSettings,
    gateway: Gateway,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Redis has the old lists, and is restored after the reader's wait and before its reads."""
    reach_token = CatchUp.reach
    async with proxy_to(storage_settings.redis_url, tmp_path) as (proxy, url):

        async def reach_and_restore(*given: Any) -> bool:
            result = await reach_token(*given)
            await proxy.restore()
            return result

        settings = replace(
            storage_settings,
            redis_url=url,
            connections=replace(storage_settings.connections, redis_retry_after_s=0),
        )
        async with running_gateway(settings, LONG_WAIT) as reader:
            assert await followers(reader) == []
            token = await token_of(gateway, FAN, "followUser", STAR)
            await proxy.cut()
            monkeypatch.setattr(CatchUp, "reach", reach_and_restore)
            assert await followers(reader, token=token) == [str(FAN)]
            assert await followers(reader) == [], "Redis does not have the update yet"
            assert await followers(reader, token=token) == [str(FAN)]
            assert await followers(reader) == [str(FAN)], "the second reader has updated Redis"


async def test_every_reader_sees_the_change_of_their_token(
    gateway: Gateway, other_gateway: Gateway, stores: Stores
) -> None:
    """20 users change one list concurrently, a worker drains it, and a local cache has it."""
    query = """query ($token: String) { user(id: "1", atLeastAsFresh: $token) {
        followers(first: 100) { nodes { id } } followerCount } }"""

    async def follow_and_unfollow(user: int) -> None:
        for turn in range(6):
            mutation = "unfollowUser" if turn % 2 else "followUser"
            token = await token_of(gateway, user, mutation, STAR)
            star = (await other_gateway.data(query, READER, token=token))["user"]
            found = {node["id"] for node in star["followers"]["nodes"]}
            assert (str(user) in found) is (turn % 2 == 0), f"{user} in turn {turn}"

    async def drain_repeatedly() -> None:
        while True:
            for lane in await stores.jobs.lanes.progress.lanes_with_changes():
                await stores.jobs.lanes.drain.lane(lane)
            await asyncio.sleep(0.005)

    worker = asyncio.create_task(drain_repeatedly())
    try:
        await asyncio.gather(*map(follow_and_unfollow, range(10, 30)))
    finally:
        worker.cancel()
        await asyncio.gather(worker, return_exceptions=True)
    token = await token_of(gateway, FAN, "followUser", STAR)
    assert await followers(other_gateway, token=token) == [str(FAN)]


async def test_the_local_cache_is_not_used_for_fresh_reads(
    storage_settings: StorageSettings,
) -> None:
    async with open_stores(with_local_cache(storage_settings)) as stores:
        with_token, with_watermarks = (Scope(stores, READER, Policy()) for _ in range(2))
        await reach(with_token, [A_MOMENT])
        await read_watermarks(with_watermarks)
        assert with_token.consistency is with_watermarks.consistency is Consistency.FRESH


async def test_a_token_in_the_header_of_a_mutation_applies_to_its_payload(
    gateway: Gateway, other_gateway: Gateway
) -> None:
    token = await token_of(gateway, FAN, "followUser", STAR)
    query = 'mutation { followUser(input: {userId: "1"}) { user { followerCount } } }'
    response = await other_gateway.http.post(
        "/graphql",
        json={"query": query},
        headers={"x-viewer": "9", "X-Consistency-Token": token},
    )
    assert response.json()["data"]["followUser"]["user"]["followerCount"] == 2


VALID_TOKEN = write_token(A_MOMENT)


@pytest.mark.parametrize(
    "token",
    [
        "",
        "garbage",
        VALID_TOKEN[:-1],
        "B" + VALID_TOKEN[1:],
        VALID_TOKEN + "=",
        VALID_TOKEN * 5000,
        "ü" * 20,
        "\0" * 20,
    ],
)
async def test_an_invalid_token_is_an_error_that_names_its_argument(
    gateway: Gateway, token: str
) -> None:
    error = await gateway.error(FOLLOWERS, READER, id="1", token=token)
    assert error["extensions"] == {"code": "BAD_USER_INPUT", "argument": "atLeastAsFresh"}
    assert len(error["message"]) < 200


@pytest.mark.parametrize(
    "header", [b"", b"garbage", b"\xff\xfe", b", ", VALID_TOKEN.encode() + b","]
)
async def test_an_invalid_token_in_the_header_is_an_error(gateway: Gateway, header: bytes) -> None:
    response = await gateway.http.post(
        "/graphql", json={"query": FOLLOWERS_OF_1}, headers=[(b"X-Consistency-Token", header)]
    )
    answer = response.json()
    assert answer["data"] is None
    (error,) = answer["errors"]
    assert error["extensions"] == {"code": "BAD_USER_INPUT", "argument": "X-Consistency-Token"}


async def test_more_than_16_tokens_are_rejected(gateway: Gateway) -> None:
    headers = {"X-Consistency-Token": ",".join([VALID_TOKEN] * 17)}
    response = await gateway.http.post("/graphql", json={"query": FOLLOWERS_OF_1}, headers=headers)
    assert "at most 16" in response.json()["errors"][0]["message"]
    fields = [f'u{n}: user(id: "1", atLeastAsFresh: "{VALID_TOKEN}") {{ id }}' for n in range(17)]
    error = await gateway.error(f"{{ {' '.join(fields)} }}")
    assert error["extensions"]["code"] == "BAD_USER_INPUT"


async def test_a_null_token_has_no_effect(gateway: Gateway) -> None:
    assert await followers(gateway, token=None) == []
    query = 'query ($t: String = null) { user(id: "1", atLeastAsFresh: $t) { id } }'
    assert await gateway.data(query) == {"user": {"id": "1"}}
    error = await gateway.error("query ($t: Int) { user(id: 1, atLeastAsFresh: $t) { id } }", t=1)
    assert error["extensions"]["code"] == "GRAPHQL_VALIDATION_FAILED"
    answer = await gateway.answer(FOLLOWERS, READER, id="1", token=7)
    assert answer["errors"][0]["extensions"]["code"] == "BAD_USER_INPUT"


async def test_tokens_of_changes_between_two_users_differ_only_in_time(
    gateway: Gateway, stores: Stores
) -> None:
    """Tokens do not contain which edges were written, or whether any was."""
    await follows(stores, (FAN, STAR))
    await drain_all(stores)
    tokens = [
        await token_of(gateway, STAR, *change)
        for change in (
            ("blockUser", FAN),  # writes both edges
            ("unblockUser", FAN),  # writes one
            ("unfollowUser", FAN),  # writes none
            ("removeFollower", FAN),  # writes none: the block has ended the follow
            ("muteUser", FAN),
        )
    ]
    moments = read_tokens("t", tokens)
    assert {moment.lane_groups for moment in moments} == {
        moment_of(as_pair(STAR, FAN), 1).lane_groups
    }
    times = [moment.at for moment in moments]
    assert times == sorted(times)


async def test_a_token_does_not_reveal_a_block(gateway: Gateway, stores: Stores) -> None:
    """A rejected change has no token. A change without effect has the time of its request, not the
    time of the block."""
    await follows(stores, (FAN, STAR))
    await token_of(gateway, STAR, "blockUser", FAN)
    after = (await stores.jobs.lanes.progress.watermarks()).now
    assert await change(gateway, FAN, "followUser", STAR) == ("REJECTED", None)
    outcome, token = await change(gateway, FAN, "unfollowUser", STAR)
    assert outcome == "NOT_FOLLOWING"
    assert token is not None
    (moment,) = read_tokens("t", [token])
    assert moment.at > after


def _microseconds(moment: datetime) -> int:
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
LAGGING_LISTS = {
    "followers",
    "friends",
    "followersYouKnow",
    "incomingFollowRequests",
    "suggestions",
}


def freshness_by_list(answer: dict[str, Any], user: int) -> dict[str, Any]:
    """The freshness of each list of a user, and of each of the viewer's own lists."""
    lists = {**answer["users"][user], **answer["viewer"]}
    return {name: page["freshness"] for name, page in lists.items()}


async def test_every_list_returns_its_freshness(gateway: Gateway, stores: Stores) -> None:
    before = datetime.now(UTC)
    answer = await gateway.data(LISTS, STAR, ids=["1"])
    for result in freshness_by_list(answer, 0).values():
        assert result["lagMs"] == 0
        assert result["degraded"] is False
        assert abs(datetime.fromisoformat(result["asOf"]) - before) < timedelta(minutes=1)
    await follows(stores, (FAN, STAR))
    oldest_pending = (await stores.jobs.lanes.progress.watermarks([lane_of(STAR)])).oldest[
        lane_of(STAR)
    ]
    assert oldest_pending is not None
    answer = await gateway.data(LISTS, STAR, ids=["1"])
    for name, result in freshness_by_list(answer, 0).items():
        as_of = _microseconds(datetime.fromisoformat(result["asOf"]))
        if name in LAGGING_LISTS:
            assert as_of == oldest_pending // 1000 * 1000, name
            assert result["lagMs"] > 0
        else:
            assert as_of > oldest_pending, name
            assert result["lagMs"] == 0
    await drain_all(stores)
    answer = await gateway.data(LISTS, STAR, ids=["1"])
    assert {result["lagMs"] for result in freshness_by_list(answer, 0).values()} == {0}


async def test_a_list_that_the_viewer_cannot_open_does_not_lag(
    gateway: Gateway, stores: Stores
) -> None:
    query = f'{{ user(id: "1") {{ followers {{ access {FRESHNESS} }} }} }}'
    hide = (
        "mutation { updateRelationshipSettings(input: { followersAudience: ONLY_ME }) { outcome } }"
    )
    await gateway.data(hide, STAR)
    await follows(stores, (FAN, STAR))
    found = (await gateway.data(query, READER))["user"]["followers"]
    assert (found["access"], found["freshness"]["lagMs"]) == ("HIDDEN_BY_OWNER", 0)
    found = (await gateway.data(query, STAR))["user"]["followers"]
    assert (found["access"], found["freshness"]["lagMs"] > 0) == ("VISIBLE", True)


async def test_the_closest_friends_lag_like_all_friends(gateway: Gateway, stores: Stores) -> None:
    query = f'{{ user(id: "1") {{ friends(orderBy: {{ field: AFFINITY }}) {{ {FRESHNESS} }} }} }}'
    await follows(stores, (FAN, STAR))
    found = (await gateway.data(query, STAR))["user"]["friends"]["freshness"]
    assert found["lagMs"] > 0
    await drain_all(stores)
    found = (await gateway.data(query, STAR))["user"]["friends"]["freshness"]
    assert found["lagMs"] == 0


async def test_freshness_without_redis_is_degraded(storage_settings: StorageSettings) -> None:
    query = f'{{ user(id: "1") {{ followers {{ {FRESHNESS} }} }} }}'
    without_redis = replace(storage_settings, redis_url="unix:///nowhere.sock")
    async with running_gateway(without_redis, LONG_WAIT) as gateway:
        result = (await gateway.data(query, READER))["user"]["followers"]["freshness"]
        assert result["degraded"] is True
        token = await token_of(gateway, FAN, "followUser", STAR)
        fresh = query.replace('"1"', f'"1", atLeastAsFresh: "{token}"')
        result = (await gateway.data(fresh, READER))["user"]["followers"]["freshness"]
        assert result["degraded"] is True


async def test_without_watermarks_freshness_is_null_and_the_list_is_returned(
    storage_settings: StorageSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_: object) -> None:
        raise Unavailable("PostgreSQL")

    query = f'{{ user(id: "1") {{ followers {{ totalCount {FRESHNESS} }} }} }}'
    async with running_gateway(storage_settings) as reader:
        await reader.data(query)
        monkeypatch.setattr("storage.postgres.lane_progress.PostgresLaneProgress.watermarks", fail)
        answer = await reader.answer(query)
        assert answer["data"]["user"]["followers"] == {"totalCount": 0, "freshness": None}
        (error,) = answer["errors"]
        assert error["extensions"] == {"code": "UNAVAILABLE", "part": "PostgreSQL"}
        assert error["path"] == ["user", "followers", "freshness"]
        rejected = await reader.error(FOLLOWERS, id="1", token=VALID_TOKEN)
        assert rejected["extensions"]["code"] == "UNAVAILABLE"


async def test_a_request_with_tokens_is_charged_for_them(gateway: Gateway) -> None:
    query = "query ($t: String) { user(id: 7, atLeastAsFresh: $t) { id } rateLimit { remaining } }"
    token = await token_of(gateway, FAN, "followUser", STAR)
    await gateway.data(query, 99, t=token)  # so that the new document is charged to another viewer
    without_token, with_token = [
        (await gateway.data(query, READER, t=given))["rateLimit"]["remaining"]
        for given in (None, token)
    ]
    assert with_token < without_token - REACH_COST
