"""Pages and totals of lists in which many entries in a row are hidden from the viewer."""

from typing import Any

import pytest

from graph.edge import Kind
from resolvers import pages
from storage.stores import Stores
from tests.acceptance.test_account_states import change_state
from tests.support.edges import edges
from tests.support.gateway import Gateway
from tests.support.graphs import drain_all

OWNER, VIEWER, BLOCKED = 1, 2, 3
VISIBLE = range(100, 105)
HIDDEN = range(200, 230)
OTHERS = range(10, 18)
"""Owners of further lists in the request, each with a hidden entry."""

QUERY = """
query ($ids: [ID!]!, $after: String) { users(ids: $ids) {
  followerCount
  followers(first: 3, after: $after) { totalCount nodes { id } pageInfo { hasNextPage endCursor } }
} }
"""


@pytest.fixture(autouse=True)
def _few_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each list may read 9 entries; the lists together make 18 further reads."""
    monkeypatch.setattr(pages, "EXTRA", 1)
    monkeypatch.setattr(pages, "READS_PER_LIST", 2)
    monkeypatch.setattr(pages, "SHARED_READS", 18)


@pytest.fixture
async def graph(gateway: Gateway, stores: Stores) -> None:
    """The newest followers of the owner are hidden."""
    await edges(stores, {(VIEWER, BLOCKED): Kind.BLOCK})
    await edges(stores, {(user, OWNER): Kind.FOLLOW for user in VISIBLE})
    await drain_all(stores)
    await edges(stores, {(user, OWNER): Kind.FOLLOW for user in HIDDEN})
    await edges(stores, {(HIDDEN[0], owner): Kind.FOLLOW for owner in OTHERS})
    await drain_all(stores)
    for user in HIDDEN:
        await change_state(gateway, "deactivateAccount", user)
    await drain_all(stores)


async def pages_of_owner(
    gateway: Gateway, ids: list[int], viewer: int | None
) -> list[dict[str, Any]]:
    """All pages of the owner's followers, the first read together with those of the other users."""
    found: list[dict[str, Any]] = []
    after = None
    while len(found) < 10:
        users = ids if after is None else [OWNER]  # a cursor belongs to one list
        data = await gateway.data(QUERY, viewer, ids=list(map(str, users)), after=after)
        found.append(data["users"][0])
        info = found[-1]["followers"]["pageInfo"]
        if not info["hasNextPage"]:
            return found
        assert info["endCursor"] is not None
        after = info["endCursor"]
    raise AssertionError("the pages do not end")


@pytest.mark.usefixtures("graph")
@pytest.mark.parametrize("viewer", [VIEWER, None])
async def test_a_list_behind_many_hidden_entries_is_complete_beside_other_lists(
    gateway: Gateway, viewer: int | None
) -> None:
    for ids in ([OWNER], [OWNER, *OTHERS]):
        found = await pages_of_owner(gateway, ids, viewer)
        nodes = [node["id"] for page in found for node in page["followers"]["nodes"]]
        assert sorted(nodes) == list(map(str, VISIBLE))
        assert [page["followers"]["totalCount"] for page in found] == [len(VISIBLE)] * len(found)
        assert {page["followerCount"] for page in found} == {len(VISIBLE)}


@pytest.mark.usefixtures("graph")
async def test_a_list_that_was_not_read_to_its_end_keeps_its_total(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages, "SHARED_READS", 0)
    monkeypatch.setattr(pages, "SHARED_READS_OF_EMPTY", 0, raising=False)
    data = await gateway.data(QUERY, VIEWER, ids=[str(OWNER), *map(str, OTHERS)], after=None)
    followers = data["users"][0]["followers"]
    assert followers["nodes"] == []
    assert followers["pageInfo"] == {"hasNextPage": True, "endCursor": None}
    assert followers["totalCount"] == len(VISIBLE)
