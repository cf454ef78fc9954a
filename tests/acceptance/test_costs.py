"""What reads cost, counted in statements and round trips, never in seconds."""

from dataclasses import dataclass, replace

import pytest

from graph.edge import Kind
from storage.settings import StorageSettings
from storage.stores import Stores
from tests.edges import edges
from tests.gateway import Gateway, running_gateway
from tests.graphs import drain_all, follows

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


METRICS = Cost(statements=1, round_trips=1)
"""What asking /metrics for the counters costs itself."""
WARM = Cost(statements=0, round_trips=6)
COLD = Cost(statements=15, round_trips=30)
UNCACHED = Cost(statements=15, round_trips=0)
"""The most that everything of any number of users may cost: with what their accounts say, and with
the viewer's counts, which tell of blocks. Of other people's relations, what the viewer may know
takes one round trip more than the relations do."""


async def cost(gateway: Gateway, users: int) -> Cost:
    """What asking everything of so many users costs PostgreSQL and Redis."""
    before = await counters(gateway)
    ids = [str(user) for user in range(1, users + 1)]
    data = await gateway.data(EVERYTHING, viewer=1, ids=ids, others=ids[:20])
    assert len(data["users"]) == users
    return await since(gateway, before)


async def since(gateway: Gateway, before: Cost) -> Cost:
    after = await counters(gateway)
    return Cost(
        after.statements - before.statements - METRICS.statements,
        after.round_trips - before.round_trips - METRICS.round_trips,
    )


async def counters(gateway: Gateway) -> Cost:
    text = (await gateway.http.get("/metrics")).text
    values = dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
    return Cost(
        int(float(values["kith_postgres_statements"])),
        int(float(values["kith_redis_round_trips"])),
    )


@pytest.fixture
async def graph(stores: Stores) -> None:
    """Fifty users who follow one another, some both ways."""
    circle = [(u, (u + step) % 50 + 1) for u in range(1, 51) for step in (0, 7, 47)]
    await follows(stores, *(pair for pair in circle if pair[0] != pair[1]))
    await drain_all(stores)


@pytest.mark.usefixtures("graph")
async def test_everything_of_fifty_users_costs_no_more_than_of_two(
    gateway: Gateway, stores: Stores
) -> None:
    await gateway.data(EVERYTHING, viewer=1, ids=["1"], others=["1"])
    costs = []
    for users in (2, 50):
        await stores.redis.pipe([("FLUSHDB",)])
        costs.append((await cost(gateway, users), await cost(gateway, users)))
    (cold_of_two, warm_of_two), (cold_of_fifty, warm_of_fifty) = costs
    # Cold ones vary a little: of two branches that miss one key, one waits for the other's fill.
    assert max(cold_of_two.statements, cold_of_fifty.statements) <= COLD.statements
    assert max(cold_of_two.round_trips, cold_of_fifty.round_trips) <= COLD.round_trips
    assert max(warm_of_two.round_trips, warm_of_fifty.round_trips) <= WARM.round_trips
    # Of the warm ones, PostgreSQL hears nothing.
    assert warm_of_two.statements == warm_of_fifty.statements == WARM.statements


@pytest.mark.usefixtures("graph")
async def test_without_redis_everything_of_fifty_users_is_a_constant_number_of_statements(
    storage_settings: StorageSettings,
) -> None:
    settings = replace(storage_settings, redis_url="unix:///nowhere.sock")
    async with running_gateway(settings) as gateway:
        costs = [await cost(gateway, users) for users in (2, 50)]
    assert max(of_some.statements for of_some in costs) <= UNCACHED.statements


async def test_a_follow_is_two_statements(gateway: Gateway) -> None:
    follow = "mutation ($id: ID!) { followUser(input: { userId: $id }) { outcome } }"
    await gateway.data(follow, viewer=1, id="2")
    before = await counters(gateway)
    answer = await gateway.data(follow, viewer=1, id="3")
    assert answer["followUser"]["outcome"] == "FOLLOWED"
    assert (await since(gateway, before)).statements == 2


async def test_a_thousand_checks_are_one_round_trip(gateway: Gateway, stores: Stores) -> None:
    await follows(stores, (1, 2))
    query = 'query ($ids: [ID!]!) { user(id: "1") { relationWith(ids: $ids) { state } } }'
    ids = [str(user) for user in range(2, 1002)]
    await gateway.data(query, 1, ids=ids)
    before = await counters(gateway)
    answer = await gateway.data(query, 1, ids=ids)
    assert answer["user"]["relationWith"][0]["state"] == "FOLLOWING"
    assert (await since(gateway, before)).round_trips == 1


PAGE = """
query ($id: ID!) { user(id: $id) { followers(first: 20) {
  access pageInfo { hasNextPage } edges { cursor node { id } }
} } }
"""


@pytest.mark.usefixtures("graph")
@pytest.mark.parametrize("viewer", [None, 1, 9])
async def test_who_may_open_a_list_is_read_in_the_round_trip_of_its_page(
    gateway: Gateway, viewer: int | None
) -> None:
    await gateway.data(PAGE, viewer, id="9")
    before = await counters(gateway)
    assert len((await gateway.data(PAGE, viewer, id="9"))["user"]["followers"]["edges"]) == 3
    assert await since(gateway, before) == Cost(statements=0, round_trips=1)


@pytest.mark.usefixtures("graph")
async def test_a_viewer_with_blocks_pays_two_round_trips_more(
    gateway: Gateway, stores: Stores
) -> None:
    await edges(stores, {(1, 9): Kind.BLOCK, (10, 1): Kind.BLOCK})
    await drain_all(stores)
    await gateway.data(PAGE, 1, id="2")
    before = await counters(gateway)
    found = (await gateway.data(PAGE, 1, id="2"))["user"]["followers"]["edges"]
    assert "9" not in {edge["node"]["id"] for edge in found}
    spent = await since(gateway, before)
    assert spent.statements == 0
    assert spent.round_trips <= 4


@pytest.mark.usefixtures("graph")
async def test_known_followers_of_fifty_users_are_one_statement(gateway: Gateway) -> None:
    query = """query ($ids: [ID!]!) { users(ids: $ids) {
      followersYouKnow(first: 3) { totalCount nodes { id } }
    } }"""
    ids = [str(user) for user in range(2, 51)]
    await gateway.data(query, 1, ids=ids)
    before = await counters(gateway)
    await gateway.data(query, 1, ids=ids)
    assert (await since(gateway, before)).statements == 1
