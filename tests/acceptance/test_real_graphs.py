"""Real social graphs, loaded and read through GraphQL: every response is the expected one."""

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

pytestmark = needs_data


@pytest.mark.parametrize("name", ["nostr_follows", "slashdot0902"])
async def test_a_real_graph_answers_as_the_oracle_does(
    gateway: Gateway, storage_settings: StorageSettings, name: str
) -> None:
    report = await bulk_load(storage_settings, graph(name))
    rows = list(edges(name))
    assert (report.loaded, report.bad) == (len(rows), 0)
    chance = random.Random(11)
    nodes = sorted({user for row in rows for user in row[:2]})
    users = chance.sample(nodes, USERS)
    pairs = [row[:2] for row in chance.sample(rows, PAIRS // 2)]
    pairs += [(chance.choice(nodes), chance.choice(nodes)) for _ in range(PAIRS // 2)]
    truth = oracle("neighbours")(rows, {*users, *(a for a, _ in pairs)})
    await counts_are_true(gateway, users, truth)
    for user in users:
        following, followers = truth[user]
        await list_is_true(gateway, user, "following", following)
        await list_is_true(gateway, user, "followers", followers)
        both = following.keys() & followers.keys()
        dates = {other: _later(following[other], followers[other]) for other in both}
        await list_is_true(gateway, user, "friends", dates)
    for a, b in pairs:
        await relation_is_true(gateway, a, b, truth)
    assert not (await verify(storage_settings)).drifts


async def counts_are_true(gateway: Gateway, users: list[int], truth: Any) -> None:
    for start in range(0, len(users), 100):
        asked = users[start : start + 100]
        answer = await gateway.data(PROFILES, ids=[str(user) for user in asked])
        for user, result in zip(asked, answer["users"], strict=True):
            known = oracle("user")(user, truth)
            assert (result["followingCount"], result["followerCount"], result["friendCount"]) == (
                known["following"],
                known["followers"],
                known["friends"],
            )


async def list_is_true(
    gateway: Gateway, user: int, field: str, dates: dict[int, int | None]
) -> None:
    """Everybody in the list once, newest first, ties by id; and as many as it says."""
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
        assert sorted(result) == sorted(dates)  # loaded without dates: they share the load's
    else:
        assert result == sorted(dates, key=lambda other: (dates[other], other), reverse=True)


async def relation_is_true(gateway: Gateway, a: int, b: int, truth: Any) -> None:
    known = oracle("pair")(a, b, truth)
    answer = await gateway.data(RELATION, id=str(a), others=[str(b)])
    (result,) = answer["user"]["relationWith"]
    assert result["state"] == STATES[known["relation"]]
    if a != b:
        assert result["following"] == known["a_follows_b"]
        assert result["followedBy"] == known["b_follows_a"]
        assert (result["followedAt"] is None) == (not known["a_follows_b"])


def _later(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else max(one, other)
