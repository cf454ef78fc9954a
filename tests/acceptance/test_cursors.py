"""Cursors and page info work the same in all lists."""

from collections.abc import Iterator
from typing import Any

import pytest

from graph.edge import Flags, Kind
from storage.stores import Stores
from tests.support.databases import Caches, Databases, filled_database
from tests.support.edges import edges
from tests.support.gateway import Gateway

USER_LISTS = {
    "following": "following(%s)",
    "followers": "followers(%s)",
    "followers, oldest first": "followers(%s orderBy: {direction: ASC})",
    "followers whom the viewer follows": "followers(%s filter: {viewerFollows: true})",
    "followers whom the viewer does not follow": "followers(%s filter: {viewerFollows: false})",
    "followers since": 'followers(%s filter: {since: "2020-01-01T00:00:00Z"})',
    "friends": "friends(%s)",
    "followers you know": "followersYouKnow(%s)",
    "common following": 'commonFollowing(%s with: "3")',
}
VIEWER_LISTS = {
    "close follows": "closeFollows(%s)",
    "muted": "mutedUsers(%s)",
    "blocked": "blockedUsers(%s)",
    "incoming requests": "incomingFollowRequests(%s)",
    "outgoing requests": "outgoingFollowRequests(%s)",
    "suggestions": "suggestions(%s)",
    "closest friends": "user { page: friends(%s orderBy: {field: AFFINITY}) { ...page } }",
}
LISTS = {**USER_LISTS, **VIEWER_LISTS}
PAGE = "totalCount edges { cursor } pageInfo { hasNextPage hasPreviousPage startCursor endCursor }"
OWNERS = (1, 2)


@pytest.fixture(scope="module")
def database_url(databases: Databases, caches: Caches) -> Iterator[str]:
    with filled_database(databases, caches, graph) as url:
        yield url


async def graph(stores: Stores) -> None:
    """Every list of users 1 and 2 has at least three entries, and both users have the same."""
    new_edges: dict[tuple[int, int], Any] = {(3, friend): Kind.FOLLOW for friend in range(10, 14)}
    for owner in OWNERS:
        for friend in range(10, 14):
            new_edges[owner, friend] = Kind.FOLLOW, Flags.CLOSE_FOLLOW
            new_edges[friend, owner] = Kind.FOLLOW
        for n in range(4):
            new_edges[owner, 20 + n] = Kind.NONE, Flags.MUTED
            new_edges[owner, 30 + n] = Kind.BLOCK
            new_edges[owner, 40 + n] = Kind.REQUEST
            new_edges[50 + n, owner] = Kind.REQUEST
            new_edges[60 + n, owner] = Kind.FOLLOW
    await edges(stores, new_edges)


def query(name: str, owner: int, paging: str) -> str:
    field = LISTS[name] % paging
    if "page:" not in field:
        field = f"page: {field} {{ {PAGE} }}"
    field = field.replace("...page", PAGE)
    return (
        f'{{ user(id: "{owner}") {{ {field} }} }}'
        if name in USER_LISTS
        else (f"{{ viewer {{ {field} }} }}")
    )


async def page(gateway: Gateway, name: str, owner: int, paging: str) -> Any:
    """A page of one of the owner's lists. The viewer is user 1, or the owner for VIEWER_LISTS."""
    viewer = 1 if name in USER_LISTS else owner
    data = await gateway.data(query(name, owner, paging), viewer)
    found = data["user" if name in USER_LISTS else "viewer"]
    return found["page"] if "page" in found else found["user"]["page"]


@pytest.mark.parametrize("name", LISTS)
async def test_a_cursor_is_rejected_in_the_list_of_another_owner(
    gateway: Gateway, name: str
) -> None:
    cursor = (await page(gateway, name, 1, "first: 2"))["edges"][0]["cursor"]
    assert len((await page(gateway, name, 1, f'first: 2 after: "{cursor}"'))["edges"]) == 2
    for paging in (f'first: 2 after: "{cursor}"', f'last: 2 before: "{cursor}"'):
        viewer = 1 if name in USER_LISTS else 2
        error = await gateway.error(query(name, 2, paging), viewer)
        assert error["extensions"]["code"] == "BAD_USER_INPUT"
        assert error["extensions"]["argument"] in ("after", "before")
        assert "does not belong" in error["message"]


def page_info(page: Any) -> tuple[bool, bool, str | None, str | None]:
    found = page["pageInfo"]
    return (
        found["hasPreviousPage"],
        found["hasNextPage"],
        found["startCursor"],
        found["endCursor"],
    )


@pytest.mark.parametrize("name", LISTS)
async def test_page_info_of_an_empty_page_leads_to_the_next_and_previous_pages(
    gateway: Gateway, name: str
) -> None:
    whole = await page(gateway, name, 1, "first: 100")
    cursors = [edge["cursor"] for edge in whole["edges"]]
    assert len(cursors) >= 3
    first, last = cursors[0], cursors[-1]
    for paging, expected in {
        "first: 0": (False, True, None, None),
        f'first: 0 after: "{first}"': (True, True, None, first),
        f'first: 2 after: "{last}"': (True, False, None, last),
        "last: 0": (True, False, None, None),
        f'last: 0 before: "{last}"': (True, True, last, None),
        f'last: 2 before: "{first}"': (False, True, first, None),
    }.items():
        empty = await page(gateway, name, 1, paging)
        assert empty["edges"] == []
        assert empty["totalCount"] == whole["totalCount"]
        assert page_info(empty) == expected, paging
