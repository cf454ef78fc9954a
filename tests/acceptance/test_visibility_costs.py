"""The cost of the visibility rules: their round trips do not depend on the number of users."""

import pytest

from storage.stores import Stores
from tests.acceptance.test_costs import Cost, cost_since, counters
from tests.support.gateway import Gateway

pytestmark = pytest.mark.usefixtures("circle")

THIRD, NOBODY = 60, None

WITH = "query ($ids: [ID!]!) { user(id: 1) { %s } }"
STATES = WITH % "relationWith(ids: $ids) { state }"
MASK = WITH % "relationMask(ids: $ids)"
BUTTONS = """
query ($ids: [ID!]!) { users(ids: $ids) {
  viewerIsFollowing isFollowingViewer viewerCanFollow viewerFollowEligibility { code message }
} }
"""
PAIRS = "query ($pairs: [UserPair!]!) { relationsBetween(pairs: $pairs) { state } }"


async def warm_cost(gateway: Gateway, query: str, viewer: int | None, **variables: object) -> Cost:
    """The cost of a query when it runs for the second time."""
    await gateway.data(query, viewer, **variables)
    before = await counters(gateway)
    await gateway.data(query, viewer, **variables)
    return await cost_since(gateway, before)


def ids(count: int) -> list[str]:
    return [str(user) for user in range(1, count + 1)]


@pytest.mark.parametrize("query", [STATES, MASK])
async def test_a_viewers_own_relations_are_one_round_trip_and_read_no_account(
    query: str, gateway: Gateway, stores: Stores
) -> None:
    for count in (2, 1000):
        assert await warm_cost(gateway, query, 1, ids=ids(count)) == Cost(0, 1)
    (keys,) = await stores.servers.redis.pipe([("KEYS", "*:profile:*")])
    assert keys == []


@pytest.mark.parametrize("query", [STATES, MASK])
async def test_relations_that_a_viewer_is_no_end_of_cost_two_batches_more(
    query: str, gateway: Gateway
) -> None:
    for count in (2, 1000):
        of_third = await warm_cost(gateway, query, THIRD, ids=ids(count))
        of_nobody = await warm_cost(gateway, query, NOBODY, ids=ids(count))
        of_service = await warm_cost(gateway.as_service, query, None, ids=ids(count))
        assert (of_third.statements, of_nobody.statements, of_service.statements) == (0, 0, 0)
        assert of_third.round_trips <= 3
        assert of_nobody.round_trips <= 2
        assert of_service.round_trips == 1


async def test_strangers_need_no_account(gateway: Gateway, stores: Stores) -> None:
    strangers = [str(user) for user in range(100, 1100)]
    assert await warm_cost(gateway, STATES, THIRD, ids=strangers) == Cost(0, 1)


async def test_a_hundred_buttons_cost_what_two_do(gateway: Gateway) -> None:
    costs = [await warm_cost(gateway, BUTTONS, 1, ids=ids(count)) for count in (2, 100)]
    assert costs[0] == costs[1]
    assert costs[0].statements == 0
    assert costs[0].round_trips <= 2


async def test_buttons_without_a_cache_are_a_constant_number_of_statements(
    gateway: Gateway, stores: Stores
) -> None:
    await gateway.data(BUTTONS, 1, ids=["1"])
    for count in (2, 100):
        await stores.servers.redis.pipe([("FLUSHDB",)])
        before = await counters(gateway)
        await gateway.data(BUTTONS, 1, ids=ids(count))
        assert (await cost_since(gateway, before)).statements <= 5


async def test_five_hundred_pairs_cost_what_two_do(gateway: Gateway, stores: Stores) -> None:
    for count in (2, 500):
        pairs = [{"from": str(u % 50 + 1), "to": str(50 - u % 7)} for u in range(count)]
        await stores.servers.redis.pipe([("FLUSHDB",)])
        before = await counters(gateway)
        await gateway.as_service.data(PAIRS, pairs=pairs)
        assert (await cost_since(gateway, before)).statements == 1
        assert await warm_cost(gateway.as_service, PAIRS, None, pairs=pairs) == Cost(0, 1)
