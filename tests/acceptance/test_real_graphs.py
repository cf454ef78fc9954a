"""Real social graphs, loaded and read through GraphQL: every response equals the oracle's.

The oracle is a separate program that computes the expected results from the files.
"""

import random
from typing import Any

import pytest

from storage.postgres.load.bulk_load import bulk_load
from storage.postgres.verification.verify import verify
from storage.settings import StorageSettings
from tests.support.gateway import Gateway
from tests.support.real_graphs import edges, graph, needs_data, oracle

USERS, PAIRS = 200, 400

PROFILES = """
query ($ids: [ID!]!) { users(ids: $ids) { id followingCount followerCount friendCount } }
"""
PAGE = """
query ($id: ID!, $after: String) { user(id: $id) { FIELD(first: 100, after: $after) {
  totalCount nodes { id } pageInfo { hasNextPage endCursor } } } }
"""
RELATION = """
query ($id: ID!, $others: [ID!]!) { user(id: $id) { relationWith(ids: $others) {
  state following followedBy followedAt followedByAt } } }
"""
STATES = {
    "none": "NONE",
    "following": "FOLLOWING",
    "followed_by": "FOLLOWED_BY",
    "mutual": "FRIENDS",
    "self": "SELF",
}
"""`state` by the oracle's name for it."""

pytestmark = needs_data


@pytest.mark.parametrize("name", ["nostr_follows", "slashdot0902"])
async def test_counts_lists_and_relations_of_a_real_graph_equal_the_oracles(
    gateway: Gateway, storage_settings: StorageSettings, name: str
) -> None:
    report = await bulk_load(storage_settings, graph(name))
    rows = list(edges(name))
    assert (report.loaded, report.bad) == (len(rows), 0)
    rng = random.Random(11)
    nodes = sorted({user for row in rows for user in row[:2]})
    users = rng.sample(nodes, USERS)
    pairs = [row[:2] for row in rng.sample(rows, PAIRS // 2)]
    pairs += [(rng.choice(nodes), rng.choice(nodes)) for _ in range(PAIRS // 2)]
    neighbours = oracle("neighbours")(rows, {*users, *(a for a, _ in pairs)})
    await check_counts(gateway, users, neighbours)
    for user in users:
        following, followers = neighbours[user]
        await check_list(gateway, user, "following", following)
        await check_list(gateway, user, "followers", followers)
        both = following.keys() & followers.keys()
        dates = {other: _later(following[other], followers[other]) for other in both}
        await check_list(gateway, user, "friends", dates)
    for a, b in pairs:
        await check_relation(gateway, a, b, neighbours)
    assert not (await verify(storage_settings)).drifts


async def check_counts(gateway: Gateway, users: list[int], neighbours: Any) -> None:
    for start in range(0, len(users), 100):
        batch = users[start : start + 100]
        answer = await gateway.data(PROFILES, ids=[str(user) for user in batch])
        for user, result in zip(batch, answer["users"], strict=True):
            expected = oracle("user")(user, neighbours)
            assert (result["followingCount"], result["followerCount"], result["friendCount"]) == (
                expected["following"],
                expected["followers"],
                expected["friends"],
            )


async def check_list(gateway: Gateway, user: int, field: str, dates: dict[int, int | None]) -> None:
    """The list contains each user of `dates` once, newest first, and its total is right."""
    result: list[int] = []
    after = None
    while True:
        answer = await gateway.data(PAGE.replace("FIELD", field), id=str(user), after=after)
        page = answer["user"][field]
        assert page["totalCount"] == len(dates)
        result += [int(node["id"]) for node in page["nodes"]]
        if not page["pageInfo"]["hasNextPage"]:
            break
        after = page["pageInfo"]["endCursor"]
    if None in dates.values():
        # Edges loaded without a date have the date of the load, so their order is not compared.
        assert sorted(result) == sorted(dates)
    else:
        assert result == sorted(dates, key=lambda other: (dates[other], other), reverse=True)


async def check_relation(gateway: Gateway, a: int, b: int, neighbours: Any) -> None:
    expected = oracle("pair")(a, b, neighbours)
    answer = await gateway.data(RELATION, id=str(a), others=[str(b)])
    (result,) = answer["user"]["relationWith"]
    assert result["state"] == STATES[expected["relation"]]
    if a != b:
        assert result["following"] == expected["a_follows_b"]
        assert result["followedBy"] == expected["b_follows_a"]
        assert (result["followedAt"] is None) == (not expected["a_follows_b"])


def _later(first: int | None, second: int | None) -> int | None:
    """The later date, or None if a date is unknown."""
    return None if first is None or second is None else max(first, second)
