"""The number of PostgreSQL statements and Redis round trips of reads and changes."""

import asyncio
from dataclasses import dataclass, replace

import pytest

from graph.edge import Kind, UserId
from graph.lane import lane_of
from storage.cache.lease import Leases
from storage.settings import StorageSettings
from storage.stores import Stores
from tests.support.edges import edges
from tests.support.gateway import Gateway, running_gateway
from tests.support.graphs import drain_all, follows
from tests.support.relationships import change, change_many, protect

EVERYTHING = """
query Everything($ids: [ID!]!, $others: [ID!]!) {
  users(ids: $ids) {
    id followingCount followerCount friendCount
    following(first: 3) {
      totalCount edges { cursor node { id followerCount viewerRelation { state } } }
    }
    followers(first: 3) { totalCount edges { node { id } } }
    friends(first: 3) { totalCount nodes { id } }
    relationWith(ids: $others) { state to { id } }
    viewerRelation { state }
  }
}
"""


@dataclass(frozen=True)
class Cost:
    statements: int
    round_trips: int


METRICS_COST = Cost(statements=4, round_trips=2)
"""The cost of reading the counters from /metrics."""
WARM_MAX = Cost(statements=0, round_trips=4)
COLD_MAX = Cost(statements=15, round_trips=30)
UNCACHED_MAX = Cost(statements=15, round_trips=0)
"""Limits on the cost of EVERYTHING for any number of users: from the caches, with empty caches, and
without Redis. They include the users' privacy settings and the viewer's numbers of blocks. Of
relations between others, the visibility takes one round trip more than the relations."""


async def cost_of_everything(gateway: Gateway, users: int) -> Cost:
    """The cost of reading EVERYTHING about this number of users."""
    before = await counters(gateway)
    ids = [str(user) for user in range(1, users + 1)]
    data = await gateway.data(EVERYTHING, viewer=1, ids=ids, others=ids[:20])
    assert len(data["users"]) == users
    return await cost_since(gateway, before)


async def cost_since(gateway: Gateway, before: Cost) -> Cost:
    """The cost since `before`, which `counters` returned."""
    after = await counters(gateway)
    return Cost(
        after.statements - before.statements - METRICS_COST.statements,
        after.round_trips - before.round_trips - METRICS_COST.round_trips,
    )


REDIS_ROUND_TRIPS = "kith_redis_round_trips_total{"


async def counters(gateway: Gateway) -> Cost:
    """The cost since the start of the gateway."""
    text = (await gateway.http.get("/metrics")).text
    values = dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
    return Cost(
        int(float(values["kith_postgres_statement_duration_seconds_count"])),
        sum(int(float(values[name])) for name in values if name.startswith(REDIS_ROUND_TRIPS)),
    )


@pytest.mark.usefixtures("circle")
async def test_everything_about_fifty_users_has_the_same_limits_as_about_two(
    gateway: Gateway, stores: Stores
) -> None:
    await gateway.data(EVERYTHING, viewer=1, ids=["1"], others=["1"])
    costs = []
    for users in (2, 50):
        await stores.servers.redis.pipe([("FLUSHDB",)])
        costs.append(
            (await cost_of_everything(gateway, users), await cost_of_everything(gateway, users))
        )
    (cold_of_two, warm_of_two), (cold_of_fifty, warm_of_fifty) = costs
    # Cold costs vary: if two branches miss the same key, one waits until the other fills it.
    assert max(cold_of_two.statements, cold_of_fifty.statements) <= COLD_MAX.statements
    assert max(cold_of_two.round_trips, cold_of_fifty.round_trips) <= COLD_MAX.round_trips
    assert max(warm_of_two.round_trips, warm_of_fifty.round_trips) <= WARM_MAX.round_trips
    assert warm_of_two.statements == warm_of_fifty.statements == WARM_MAX.statements


FOLLOWERS_FIELD, COUNT_FIELD = "followers(first: 3) { nodes { id } }", "followerCount"


@pytest.mark.usefixtures("circle")
@pytest.mark.parametrize(
    "fields",
    [FOLLOWERS_FIELD, f"{FOLLOWERS_FIELD} {COUNT_FIELD}", f"{COUNT_FIELD} {FOLLOWERS_FIELD}"],
)
async def test_a_cold_page_reads_its_owner_once_for_all_fields(
    gateway: Gateway, stores: Stores, monkeypatch: pytest.MonkeyPatch, fields: str
) -> None:
    waits, wait = [], Leases.wait

    async def counted_wait(leases: Leases) -> None:
        waits.append(leases)
        await wait(leases)

    query = f'query {{ user(id: "2") {{ {fields} }} }}'
    await gateway.data(query, 1)
    monkeypatch.setattr(Leases, "wait", counted_wait)
    await stores.servers.redis.pipe([("FLUSHDB",)])
    before = await counters(gateway)
    await gateway.data(query, 1)
    # One for the viewer's own writes, one for the list, one for the profiles of both users.
    assert (await cost_since(gateway, before)).statements == 3
    assert not waits, "the request must not wait for a key that it fills itself"


@pytest.mark.plain("some statements are sent once per user")
@pytest.mark.usefixtures("circle")
async def test_without_redis_everything_about_fifty_users_has_the_same_limit_as_about_two(
    storage_settings: StorageSettings,
) -> None:
    settings = replace(storage_settings, redis_url="unix:///nowhere.sock")
    async with running_gateway(settings) as gateway:
        await cost_of_everything(gateway, 1)
        costs = [await cost_of_everything(gateway, users) for users in (2, 50)]
    assert max(one.statements for one in costs) <= UNCACHED_MAX.statements


READ, WRITE, FIND, DRAIN = 1, 1, 1, 4
"""Statements of a change. READ reads both edges, WRITE writes them, FIND looks for a receipt of the
same request. DRAIN applies a change of the other user's edge to the actor's own lists: it locks the
lane, applies a batch, acknowledges it, and looks for further changes."""

CHANGE_COSTS = [
    ("followUser", 5, {}, "FOLLOWED", READ + WRITE),
    ("followUser", 5, {"idempotencyKey": "k"}, "FOLLOWED", FIND + READ + WRITE),
    ("followUser", 2, {}, "ALREADY_FOLLOWING", READ),
    ("followUser", 2, {"idempotencyKey": "k"}, "ALREADY_FOLLOWING", FIND + READ + WRITE),
    ("updateFollow", 2, {"visibility": "WHISPER", "closeFollow": True}, "UPDATED", READ + WRITE),
    ("unfollowUser", 2, {}, "UNFOLLOWED", READ + WRITE),
    ("removeFollower", 3, {}, "FOLLOWER_REMOVED", READ + WRITE + DRAIN),
    ("blockUser", 5, {}, "BLOCKED", READ + WRITE + DRAIN),
    ("blockUser", 3, {}, "BLOCKED", READ + WRITE + 2 * DRAIN),
    ("muteUser", 5, {}, "MUTED", READ + WRITE),
    ("acceptFollowRequest", 4, {}, "REQUEST_ACCEPTED", READ + WRITE + DRAIN),
    ("declineFollowRequest", 4, {}, "REQUEST_DECLINED", READ + WRITE + DRAIN),
    ("cancelFollowRequest", 6, {}, "REQUEST_CANCELLED", READ + WRITE),
]


@pytest.mark.plain("a drain sends more statements")
@pytest.mark.parametrize(("mutation", "target", "given", "outcome", "statements"), CHANGE_COSTS)
async def test_a_change_sends_the_listed_number_of_statements(
    gateway: Gateway,
    stores: Stores,
    mutation: str,
    target: int,
    given: dict[str, object],
    outcome: str,
    statements: int,
) -> None:
    await protect(stores, 1, 6)
    await change(gateway, 1, "followUser", 2)
    await change(gateway, 1, "followUser", 6)
    await change(gateway, 4, "followUser", 1)
    await change(gateway, 3, "followUser", 1)
    await change(gateway, 1, "acceptFollowRequest", 3)
    await drain_all(stores)
    query = f"""mutation ($input: {mutation[0].upper()}{mutation[1:]}Input!) {{
        payload: {mutation}(input: $input) {{
            outcome relation {{ state }} undoToken consistencyToken }} }}"""
    before = await counters(gateway)
    answer = await gateway.data(query, viewer=1, input={"userId": str(target), **given})
    assert answer["payload"]["outcome"] == outcome
    assert (await cost_since(gateway, before)).statements == statements


async def test_an_undo_sends_three_statements(gateway: Gateway) -> None:
    await change(gateway, 1, "followUser", 2)
    token = (await change(gateway, 1, "unfollowUser", 2))["undoToken"]
    query = "mutation ($t: String!) { undoRelationshipChange(input: {undoToken: $t}) { outcome } }"
    before = await counters(gateway)
    await gateway.data(query, viewer=1, t=token)
    assert (await cost_since(gateway, before)).statements == FIND + READ + WRITE


async def test_fifty_changes_send_as_many_statements_as_fifty_mutations(gateway: Gateway) -> None:
    await change(gateway, 1, "followUser", 99)
    before = await counters(gateway)
    await change_many(gateway, 1, *[("FOLLOW", target) for target in range(2, 52)])
    assert (await cost_since(gateway, before)).statements == 50 * (READ + WRITE)


async def test_a_thousand_checks_take_one_round_trip(gateway: Gateway, stores: Stores) -> None:
    await follows(stores, (1, 2))
    query = 'query ($ids: [ID!]!) { user(id: "1") { relationWith(ids: $ids) { state } } }'
    ids = [str(user) for user in range(2, 1002)]
    await gateway.data(query, 1, ids=ids)
    before = await counters(gateway)
    answer = await gateway.data(query, 1, ids=ids)
    assert answer["user"]["relationWith"][0]["state"] == "FOLLOWING"
    assert (await cost_since(gateway, before)).round_trips == 1


PAGE = """
query ($id: ID!) { user(id: $id) { followers(first: 20) {
  access%s pageInfo { hasNextPage } edges { cursor node { id } }
} } }
"""


@pytest.mark.usefixtures("circle")
@pytest.mark.parametrize("viewer", [None, 1, 9])
async def test_a_cached_page_with_total_and_access_takes_one_round_trip(
    gateway: Gateway, viewer: int | None
) -> None:
    page = PAGE % " totalCount"
    await gateway.data(page, viewer, id="9")
    before = await counters(gateway)
    assert len((await gateway.data(page, viewer, id="9"))["user"]["followers"]["edges"]) == 3
    assert await cost_since(gateway, before) == Cost(statements=0, round_trips=1)


@pytest.mark.usefixtures("circle")
@pytest.mark.parametrize(("viewer", "own"), [(None, Cost(0, 0)), (1, Cost(1, 2))])
async def test_an_uncached_page_takes_two_statements_and_three_round_trips(
    gateway: Gateway, stores: Stores, viewer: int | None, own: Cost
) -> None:
    """The round trips: a read, the leases, and the fills. `own`: for the viewer's own writes."""
    page = PAGE % " totalCount"
    await gateway.data(page, viewer, id="9")
    await stores.servers.redis.pipe([("FLUSHDB",)])
    before = await counters(gateway)
    assert len((await gateway.data(page, viewer, id="9"))["user"]["followers"]["edges"]) == 3
    assert await cost_since(gateway, before) == Cost(2 + own.statements, 3 + own.round_trips)


@pytest.mark.usefixtures("circle")
async def test_a_page_for_a_viewer_with_blocks_takes_at_most_four_round_trips(
    gateway: Gateway, stores: Stores
) -> None:
    await edges(stores, {(1, 9): Kind.BLOCK, (10, 1): Kind.BLOCK})
    await drain_all(stores)
    page = PAGE % ""
    await gateway.data(page, 1, id="2")
    before = await counters(gateway)
    found = (await gateway.data(page, 1, id="2"))["user"]["followers"]["edges"]
    assert "9" not in {edge["node"]["id"] for edge in found}
    page_cost = await cost_since(gateway, before)
    assert page_cost.statements == 0
    assert page_cost.round_trips <= 4


@pytest.mark.plain("the statement is sent once per user")
@pytest.mark.usefixtures("circle")
async def test_known_followers_of_thirty_users_take_one_statement(gateway: Gateway) -> None:
    query = """query ($ids: [ID!]!) { users(ids: $ids) {
      followersYouKnow(first: 3) { totalCount nodes { id } }
    } }"""
    ids = [str(user) for user in range(2, 32)]
    await gateway.data(query, 1, ids=ids)
    before = await counters(gateway)
    await gateway.data(query, 1, ids=ids)
    assert (await cost_since(gateway, before)).statements == 1


FRESHNESS = "freshness { asOf lagMs degraded }"
EVERY_FRESHNESS = EVERYTHING.replace("(first: 3) {", f"(first: 3) {{ {FRESHNESS}")


@pytest.mark.usefixtures("circle")
async def test_the_freshness_of_all_lists_takes_one_statement(gateway: Gateway) -> None:
    ids = [str(user) for user in range(1, 51)]
    costs = {}
    for query in (EVERYTHING, EVERYTHING, EVERY_FRESHNESS):
        before = await counters(gateway)
        data = await gateway.data(query, viewer=1, ids=ids, others=ids[:20])
        costs[query] = await cost_since(gateway, before)
    lists = [user[name] for user in data["users"] for name in ("following", "followers", "friends")]
    assert len({page["freshness"]["asOf"] for page in lists}) == 1
    with_freshness, without = costs[EVERY_FRESHNESS], costs[EVERYTHING]
    assert without.statements == 0
    assert with_freshness.statements == 1
    # They are not compared: on a busy machine, two reads may or may not share a round trip.
    assert max(with_freshness.round_trips, without.round_trips) <= WARM_MAX.round_trips


@pytest.mark.usefixtures("circle")
async def test_tokens_of_many_requests_share_statements(gateway: Gateway, stores: Stores) -> None:
    query = 'mutation { followUser(input: {userId: "60"}) { consistencyToken } }'
    token = (await gateway.data(query, 59))["followUser"]["consistencyToken"]
    await drain_all(stores)
    query = "query ($t: String) { user(id: 60, atLeastAsFresh: $t) { id } }"
    await gateway.data(query, t=token)
    before = await counters(gateway)
    await asyncio.gather(*(gateway.data(query, t=token) for _ in range(60)))
    assert (await cost_since(gateway, before)).statements <= 20


@pytest.mark.usefixtures("circle")
async def test_a_token_of_an_applied_change_takes_one_statement(
    gateway: Gateway, stores: Stores, storage_settings: StorageSettings
) -> None:
    query = 'mutation { followUser(input: {userId: "60"}) { consistencyToken } }'
    async with running_gateway(storage_settings) as other:  # it queues the lane until it is closed
        token = (await other.data(query, 59))["followUser"]["consistencyToken"]
    await drain_all(stores)
    page = (PAGE % " totalCount").replace("$id: ID!", "$id: ID!, $t: String")
    page = page.replace("id: $id", "id: $id, atLeastAsFresh: $t")
    for given, statements in ((None, 0), (token, 1)):
        await gateway.data(page, 1, id="9", t=given)
        before = await counters(gateway)
        await gateway.data(page, 1, id="9", t=given)
        assert await cost_since(gateway, before) == Cost(statements, round_trips=1)


@pytest.mark.plain("a drain sends more statements")
@pytest.mark.usefixtures("circle")
async def test_a_reader_with_a_token_of_a_pending_change_drains_once(gateway: Gateway) -> None:
    query = 'mutation { followUser(input: {userId: "60"}) { consistencyToken } }'
    token = (await gateway.data(query, 59))["followUser"]["consistencyToken"]
    assert lane_of(UserId(59)) != lane_of(UserId(60))
    before = await counters(gateway)
    await gateway.data(f'{{ user(id: "60", atLeastAsFresh: "{token}") {{ id }} }}')
    read_watermarks = 1
    assert (await cost_since(gateway, before)).statements == read_watermarks + DRAIN
