"""The viewer's friends ordered by affinity, as front ends request them."""

from typing import Any

import pytest

from graph.edge import Kind
from storage.stores import Stores
from tests.support.edges import edges
from tests.support.gateway import Gateway
from tests.support.graphs import drain_all, follows
from tests.support.interactions import interaction, record

FRIENDS_BY_AFFINITY = """
query ($ids: [ID!]!, $first: Int, $after: String, $last: Int, $before: String,
       $direction: OrderDirection! = DESC) {
  users(ids: $ids) {
    friends(first: $first, after: $after, last: $last, before: $before,
            orderBy: {field: AFFINITY, direction: $direction}) {
      totalCount access nodes { id } edges { cursor friendsSince }
      pageInfo { hasNextPage hasPreviousPage startCursor endCursor }
    }
  }
}
"""


@pytest.fixture
async def graph(gateway: Gateway, stores: Stores) -> None:
    """User 1 has friends 2 to 6, and interacted with 4 three times and with 2 once."""
    friends = range(2, 7)
    await follows(stores, *((1, friend) for friend in friends), *((f, 1) for f in friends))
    await drain_all(stores)
    await record(gateway, interaction(1, 4, count=3), interaction(1, 2), interaction(1, 99))


async def closest_friends(gateway: Gateway, **paging: Any) -> Any:
    return (await gateway.data(FRIENDS_BY_AFFINITY, 1, ids=["1"], **paging))["users"][0]["friends"]


def ids(page: Any) -> list[int]:
    return [int(node["id"]) for node in page["nodes"]]


@pytest.mark.usefixtures("graph")
async def test_friends_are_read_from_either_end_and_in_either_direction(gateway: Gateway) -> None:
    order = [4, 2, 6, 5, 3]
    for direction, whole in (("DESC", order), ("ASC", order[::-1])):
        page = await closest_friends(gateway, direction=direction)
        assert (ids(page), page["totalCount"], page["access"]) == (whole, 5, "VISIBLE")
        ends = page["edges"][0]["cursor"], page["edges"][-1]["cursor"]
        assert (page["pageInfo"]["startCursor"], page["pageInfo"]["endCursor"]) == ends
        page = await closest_friends(gateway, direction=direction, first=2)
        assert (ids(page), page["pageInfo"]["hasNextPage"]) == (whole[:2], True)
        end = page["pageInfo"]["endCursor"]
        page = await closest_friends(gateway, direction=direction, first=3, after=end)
        assert (ids(page), page["pageInfo"]["hasNextPage"]) == (whole[2:], False)
        start = page["pageInfo"]["startCursor"]
        page = await closest_friends(gateway, direction=direction, last=1, before=start)
        assert (ids(page), page["pageInfo"]["hasPreviousPage"]) == (whole[1:2], True)


@pytest.mark.usefixtures("graph")
async def test_only_the_viewers_own_friends_can_be_ordered_by_affinity(gateway: Gateway) -> None:
    answer = await gateway.answer(FRIENDS_BY_AFFINITY, 1, ids=["2", "1", "3"])
    assert answer["data"]["users"][0] is None
    assert [error["extensions"] for error in answer["errors"]] == [
        {"code": "BAD_USER_INPUT", "argument": "orderBy"}
    ] * 2
    assert ids(answer["data"]["users"][1]["friends"]) == [4, 2, 6, 5, 3]


@pytest.mark.usefixtures("graph")
async def test_a_service_gets_closest_friends_only_when_it_acts_for_a_user(
    gateway: Gateway,
) -> None:
    for caller in (gateway, gateway.as_service):
        error = await caller.error(FRIENDS_BY_AFFINITY, ids=["1"])
        assert error["extensions"] == {"code": "UNAUTHENTICATED"}
    data = await gateway.as_service.data(FRIENDS_BY_AFFINITY, 1, ids=["1"])
    assert ids(data["users"][0]["friends"]) == [4, 2, 6, 5, 3]


@pytest.mark.usefixtures("graph")
async def test_whispered_and_blocking_users_are_not_among_the_closest_friends(
    gateway: Gateway, stores: Stores
) -> None:
    await edges(stores, {(1, 4): Kind.WHISPER, (2, 1): Kind.BLOCK, (1, 2): Kind.NONE})
    assert ids(await closest_friends(gateway)) == [6, 5, 3]
    await drain_all(stores)
    page = await closest_friends(gateway)
    assert (ids(page), page["totalCount"]) == ([6, 5, 3], 3)


@pytest.mark.usefixtures("graph")
async def test_the_error_names_the_invalid_paging_argument(gateway: Gateway) -> None:
    by_date = "{ viewer { user { friends { edges { cursor } } } } }"
    friends = (await gateway.data(by_date, 1))["viewer"]["user"]["friends"]
    for given, argument in (
        ({"first": 101}, "first"),
        ({"first": 1, "last": 1}, "first"),
        ({"after": friends["edges"][0]["cursor"]}, "after"),
    ):
        error = await gateway.error(FRIENDS_BY_AFFINITY, 1, ids=["1"], **given)
        assert error["extensions"] == {"code": "BAD_USER_INPUT", "argument": argument}
