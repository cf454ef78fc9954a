"""The cost of the visibility rules: their round trips do not depend on the number of users."""

import pytest

from storage.stores import Stores
from tests.acceptance.test_costs import Cost, cost_since, counters
from tests.support.gateway import Gateway

pytestmark = pytest.mark.usefixtures("circle")

UNINVOLVED, ANONYMOUS = 60, None

OF_USER_1 = "query ($ids: [ID!]!) { user(id: 1) { %s } }"
STATES = OF_USER_1 % "relationWith(ids: $ids) { state }"
MASK = OF_USER_1 % "relationMask(ids: $ids)"
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
async def test_own_relations_cost_one_round_trip_and_read_no_profile(
    query: str, gateway: Gateway, stores: Stores
) -> None:
    for count in (2, 1000):
        assert await warm_cost(gateway, query, 1, ids=ids(count)) == Cost(0, 1)
    (keys,) = await stores.servers.redis.pipe([("KEYS", "*:profile:*")])
    assert keys == []


@pytest.mark.parametrize("query", [STATES, MASK])
async def test_relations_between_other_users_cost_at_most_two_more_round_trips(
    query: str, gateway: Gateway
) -> None:
    for count in (2, 1000):
        for_uninvolved = await warm_cost(gateway, query, UNINVOLVED, ids=ids(count))
        for_anonymous = await warm_cost(gateway, query, ANONYMOUS, ids=ids(count))
        for_service = await warm_cost(gateway.as_service, query, None, ids=ids(count))
        assert for_uninvolved.statements == for_anonymous.statements == 0
        assert for_service.statements == 0
        assert for_uninvolved.round_trips <= 3
        assert for_anonymous.round_trips <= 2
        assert for_service.round_trips == 1


async def test_empty_relations_between_other_users_read_no_profile(
    gateway: Gateway, stores: Stores
) -> None:
    unrelated = [str(user) for user in range(100, 1100)]
    assert await warm_cost(gateway, STATES, UNINVOLVED, ids=unrelated) == Cost(0, 1)


async def test_a_hundred_follow_buttons_cost_as_much_as_two(gateway: Gateway) -> None:
    costs = [await warm_cost(gateway, BUTTONS, 1, ids=ids(count)) for count in (2, 100)]
    assert costs[0] == costs[1]
    assert costs[0].statements == 0
    assert costs[0].round_trips <= 2


async def test_follow_buttons_with_empty_caches_cost_at_most_five_statements(
    gateway: Gateway, stores: Stores
) -> None:
    await gateway.data(BUTTONS, 1, ids=["1"])
    for count in (2, 100):
        await stores.servers.redis.pipe([("FLUSHDB",)])
        before = await counters(gateway)
        await gateway.data(BUTTONS, 1, ids=ids(count))
        assert (await cost_since(gateway, before)).statements <= 5


async def test_five_hundred_pairs_cost_as_much_as_two(gateway: Gateway, stores: Stores) -> None:
    for count in (2, 500):
        pairs = [{"from": str(u % 50 + 1), "to": str(50 - u % 7)} for u in range(count)]
        await stores.servers.redis.pipe([("FLUSHDB",)])
        before = await counters(gateway)
        await gateway.as_service.data(PAIRS, pairs=pairs)
        assert (await cost_since(gateway, before)).statements == 1
        assert await warm_cost(gateway.as_service, PAIRS, None, pairs=pairs) == Cost(0, 1)
