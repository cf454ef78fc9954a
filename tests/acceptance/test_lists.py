"""Every list equals the list of a simple model, for every kind of viewer and page by page."""

from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from random import Random
from typing import Any

import pytest

from graph.account import PrivacyChange
from graph.edge import FOLLOWS, Flags, Kind, UserId
from graph.lists import ListKind
from graph.privacy import Audience, Privacy
from graph.relation import kinds_of
from graph.visibility import Access, ViewerRole, access, viewer_role_of
from storage.settings import StorageSettings
from storage.stores import Stores
from tests.support.databases import Caches, Databases, filled_database
from tests.support.edges import edges
from tests.support.gateway import Gateway, running_gateway
from tests.support.graphs import drain_all, follows

USERS = range(1, 9)
ANONYMOUS, SERVICE = None, -1
VIEWERS = (ANONYMOUS, SERVICE, *USERS, 99)
"""User 99 has no edges."""

LISTS = """
query ($ids: [ID!]!, $other: ID!) { users(ids: $ids) {
  id followingCount followerCount friendCount
  following(first: 100) { ...following }
  followers(first: 100) { ...followers }
  friends(first: 100) { access totalCount nodes { id } }
  followersYouKnow(first: 100) { ...followers }
  commonFollowing(with: $other, first: 100) { ...following }
  known: followers(first: 100, filter: {viewerFollows: %(known)s}) { ...followers }
} }
fragment following on FollowingConnection { access totalCount nodes { id } }
fragment followers on FollowerConnection { access totalCount nodes { id } }
"""

PAGE = """
query (
  $id: ID!, $first: Int, $after: String, $last: Int, $before: String, $direction: OrderDirection!
) {
  user(id: $id) { page: %s(
    first: $first, after: $after, last: $last, before: $before, %s
  ) {
    access totalCount nodes { id } edges { cursor node { id } }
    pageInfo { hasNextPage hasPreviousPage startCursor endCursor }
  } }
}
"""
ORDER_BY = "orderBy: {direction: $direction}"
LISTS_WITH_PAGES = {
    "following": ("following", ORDER_BY),
    "followers": ("followers", ORDER_BY),
    "friends": ("friends", ORDER_BY),
    "followersYouKnow": ("followersYouKnow", ORDER_BY),
    "commonFollowing": ("commonFollowing", f'{ORDER_BY}, with: "2"'),
    "followers not followed": ("followers", f"{ORDER_BY}, filter: {{viewerFollows: false}}"),
    "followers since": ("followers", f'{ORDER_BY}, filter: {{since: "2001-01-01T00:00:00Z"}}'),
}
"""The field and the other arguments of `PAGE` for each list."""


@dataclass(frozen=True)
class GraphModel:
    """The relationships and privacy settings of all users."""

    kinds: Mapping[tuple[int, int], Kind]
    privacy: Mapping[int, Privacy]

    def kind(self, source: int, target: int) -> Kind:
        return self.kinds.get((source, target), Kind.NONE)

    def has_block(self, viewer: int | None, user: int) -> bool:
        """Whether one of the two blocks the other."""
        if viewer is None:
            return False
        return Kind.BLOCK in (self.kind(viewer, user), self.kind(user, viewer))

    def viewer_role_of(self, viewer: int | None, owner: int) -> ViewerRole:
        if viewer == SERVICE:
            return ViewerRole.SERVICE
        if viewer == owner:
            return ViewerRole.OWNER
        if viewer is None:
            return ViewerRole.STRANGER
        return viewer_role_of(kinds_of(self.kind(viewer, owner), self.kind(owner, viewer)))

    def access(self, kind: ListKind, viewer: int | None, owner: int) -> Access:
        return access(kind, self.privacy[owner], self.viewer_role_of(viewer, owner))

    def entries(self, kind: ListKind, viewer: int | None, owner: int) -> set[int]:
        """The users whom a list shows to this viewer."""
        counted = self.counted_users(kind, viewer, owner)
        return {user for user in counted if not self.has_block(viewer, user)}

    def counted_users(self, kind: ListKind, viewer: int | None, owner: int) -> set[int]:
        """The users in the count of a list: its entries, and those hidden by a block between them
        and the viewer."""
        if self.access(kind, viewer, owner) is not Access.VISIBLE:
            return set()
        visible = FOLLOWS if viewer in (owner, SERVICE) else {Kind.FOLLOW}
        match kind:
            case ListKind.FOLLOWING:
                found = {u for u in USERS if self.kind(owner, u) in visible}
            case ListKind.FOLLOWERS:
                found = {u for u in USERS if self.kind(u, owner) in visible}
            case ListKind.FRIENDS:
                both = {Kind.FOLLOW}
                found = {u for u in USERS if {self.kind(owner, u), self.kind(u, owner)} == both}
        return found

    def follows(self, viewer: int | None, user: int) -> bool:
        return viewer is not None and self.kind(viewer, user) in FOLLOWS


async def random_graph(stores: Stores, seed: int) -> GraphModel:
    """Write a small graph with all kinds of edges, flags and privacy settings."""
    random = Random(seed)
    kinds: dict[tuple[int, int], Kind] = {}
    choices = [Kind.FOLLOW] * 8 + [Kind.WHISPER] * 3 + [Kind.REQUEST, Kind.BLOCK] + [Kind.NONE] * 6
    for source, target in product(USERS, USERS):
        if source != target:
            kinds[source, target] = random.choice(choices)
    for (source, target), kind in kinds.items():
        if kind is Kind.BLOCK and kinds[target, source] is not Kind.BLOCK:
            kinds[target, source] = Kind.NONE  # a block ends the edge in the other direction
    flags = [Flags.PLAIN, Flags.CLOSE_FOLLOW, Flags.MUTED, Flags.CLOSE_FOLLOW | Flags.MUTED]
    await edges(stores, {ends: (kind, random.choice(flags)) for ends, kind in kinds.items()})
    privacy = {user: Privacy() for user in USERS}
    for user in USERS[::2]:
        settings = (
            random.random() < 0.3,
            random.choice(list(Audience)),
            random.choice(list(Audience)),
        )
        privacy[user] = Privacy(*settings)
        await stores.writes.accounts.set_privacy(UserId(user), PrivacyChange(*settings))
    await drain_all(stores)
    return GraphModel(kinds, privacy)


async def ask(gateway: Gateway, viewer: int | None, query: str, **variables: Any) -> Any:
    if viewer == SERVICE:
        return await gateway.as_service.data(query, **variables)
    return await gateway.data(query, viewer, **variables)


def ids(page: Any) -> set[int]:
    found = [int(node["id"]) for node in page["nodes"]]
    assert len(found) == len(set(found)) == page["totalCount"]
    return set(found)


@pytest.mark.parametrize("seed", range(4))
async def test_every_list_and_count_equals_the_models_for_every_viewer(
    gateway: Gateway, stores: Stores, seed: int
) -> None:
    model = await random_graph(stores, seed)
    other = 1 + seed
    fields = {
        "following": (ListKind.FOLLOWING, "followingCount"),
        "followers": (ListKind.FOLLOWERS, "followerCount"),
        "friends": (ListKind.FRIENDS, "friendCount"),
    }
    for viewer in VIEWERS:
        signed_in = viewer not in (ANONYMOUS, SERVICE)
        query = LISTS % {"known": "true" if signed_in else "null"}
        variables = {"ids": list(map(str, USERS)), "other": str(other)}
        for user in (await ask(gateway, viewer, query, **variables))["users"]:
            owner = int(user["id"])
            for field, (kind, count) in fields.items():
                entries = model.entries(kind, viewer, owner)
                expected = model.access(kind, viewer, owner)
                assert user[field]["access"] == expected.name, (viewer, owner, field)
                assert ids(user[field]) == entries, (viewer, owner, field)
                counted = model.counted_users(kind, viewer, owner)
                assert user[count] == (len(counted) if expected is Access.VISIBLE else None)
            followers = model.entries(ListKind.FOLLOWERS, viewer, owner)
            if signed_in:
                known = {u for u in followers if model.follows(viewer, u)}
                assert ids(user["followersYouKnow"]) == ids(user["known"]) == known
            else:
                assert user["followersYouKnow"] is None
            common = model.entries(ListKind.FOLLOWING, viewer, owner)
            common &= model.entries(ListKind.FOLLOWING, viewer, other)
            assert ids(user["commonFollowing"]) == common, (viewer, owner)


@pytest.fixture(scope="module")
def filled_database_url(databases: Databases, caches: Caches) -> Iterator[str]:
    """The URL of a database with a random graph, shared by the tests of this module."""
    with filled_database(databases, caches, partial(random_graph, seed=7)) as url:
        yield url


@pytest.fixture
async def filled_gateway(
    filled_database_url: str, storage_settings: StorageSettings
) -> AsyncIterator[Gateway]:
    """A gateway with empty caches and the filled database."""
    settings = replace(storage_settings, database_url=filled_database_url)
    async with running_gateway(settings) as gateway:
        yield gateway


@pytest.mark.parametrize("name", list(LISTS_WITH_PAGES))
@pytest.mark.parametrize("direction", ["ASC", "DESC"])
@pytest.mark.parametrize("backward", [False, True], ids=["first", "last"])
async def test_pages_of_two_entries_return_the_same_list_as_one_large_page(
    filled_gateway: Gateway, name: str, direction: str, backward: bool
) -> None:
    query = PAGE % LISTS_WITH_PAGES[name]
    needs_viewer = name in ("followersYouKnow", "followers not followed")
    for viewer in (1, 2, 99) if needs_viewer else (SERVICE, 1, 2, 99):
        for owner in USERS:
            given: dict[str, Any] = {"id": str(owner), "direction": direction}
            whole = (await ask(filled_gateway, viewer, query, first=100, **given))["user"]
            expected = [edge["node"]["id"] for edge in whole["page"]["edges"]]
            assert len(expected) == whole["page"]["totalCount"]
            entries: list[str] = []
            cursor: dict[str, Any] = {"last": 2} if backward else {"first": 2}
            while True:
                data = await ask(filled_gateway, viewer, query, **given, **cursor)
                page = data["user"]["page"]
                found = [edge["node"]["id"] for edge in page["edges"]]
                entries = [*found, *entries] if backward else [*entries, *found]
                info = page["pageInfo"]
                has_more = info["hasPreviousPage"] if backward else info["hasNextPage"]
                has_earlier = info["hasNextPage"] if backward else info["hasPreviousPage"]
                assert has_earlier == (len(cursor) > 1)
                if not has_more:
                    break
                assert len(found) == 2, "only the last page may be shorter"
                if backward:
                    cursor = {"last": 2, "before": info["startCursor"]}
                else:
                    cursor = {"first": 2, "after": info["endCursor"]}
            assert entries == expected, (viewer, owner)


async def test_followers_of_a_user_requested_twice_are_returned_twice(
    gateway: Gateway, stores: Stores
) -> None:
    """Regression: with empty caches, this was an internal error."""
    await edges(stores, {(3, 7): Kind.FOLLOW})
    await drain_all(stores)
    query = 'query { users(ids: ["7", "7"]) { followers(first: 5) { nodes { id } } } }'
    for viewer in (ANONYMOUS, 5):
        users = (await gateway.data(query, viewer))["users"]
        assert users == [{"followers": {"nodes": [{"id": "3"}]}}] * 2


@pytest.mark.parametrize(
    ("name", "cursor_list"),
    {
        "following": "following",
        "followersYouKnow": "followers",
        "commonFollowing": "following",
    }.items(),
)
async def test_descending_order_is_the_reverse_of_ascending_which_rejects_its_cursors(
    gateway: Gateway, stores: Stores, name: str, cursor_list: str
) -> None:
    followers = {(user, 1): Kind.FOLLOW for user in range(3, 9)}
    following = {(source, user): Kind.FOLLOW for source in (1, 2) for user in range(3, 9)}
    await edges(stores, followers | following)
    await drain_all(stores)
    query = PAGE % LISTS_WITH_PAGES[name]
    newest, oldest = [
        (await gateway.data(query, 2, id="1", first=100, direction=direction))["user"]["page"]
        for direction in ("DESC", "ASC")
    ]
    assert len(newest["nodes"]) == 6
    assert oldest["nodes"] == newest["nodes"][::-1]
    cursor = newest["edges"][2]["cursor"]
    error = await gateway.error(query, 2, id="1", direction="ASC", after=cursor)
    assert f"does not belong to this {cursor_list} list" in error["message"]


async def test_all_lists_of_a_user_requested_twice_are_returned_twice(
    gateway: Gateway, stores: Stores
) -> None:
    """At first the caches hold no list of these users."""
    await random_graph(stores, 11)
    users_asked = USERS[:4]
    for viewer in VIEWERS:
        query = LISTS % {"known": "null" if viewer in (ANONYMOUS, SERVICE) else "false"}
        variables = {"ids": list(map(str, [*users_asked, *users_asked])), "other": "1"}
        users = (await ask(gateway, viewer, query, **variables))["users"]
        assert users[: len(users_asked)] == users[len(users_asked) :]


@pytest.mark.parametrize("caller", [ANONYMOUS, SERVICE])
async def test_without_a_viewer_the_filter_viewer_follows_matches_no_follower(
    gateway: Gateway, stores: Stores, caller: int | None
) -> None:
    """It is not an error. Likewise, `followersYouKnow` is null and `viewerIsFollowing` is false."""
    await follows(stores, (1, 9), (2, 9), (3, 9))
    await drain_all(stores)
    query = """{ user(id: "9") { followersYouKnow { totalCount }
      known: followers(filter: {viewerFollows: true}) { ...page }
      others: followers(first: 2, filter: {viewerFollows: false}) { ...page }
      since: followers(filter: {viewerFollows: false, since: "2020-01-01T00:00:00Z"}) { ...page }
    } } fragment page on FollowerConnection {
      access totalCount nodes { id viewerIsFollowing } pageInfo { hasNextPage } }"""
    user = (await ask(gateway, caller, query))["user"]
    not_followed = [{"id": str(fan), "viewerIsFollowing": False} for fan in (3, 2, 1)]
    page = {"access": "VISIBLE", "totalCount": 3, "nodes": not_followed}
    assert user == {
        "followersYouKnow": None,
        "known": {**page, "totalCount": 0, "nodes": [], "pageInfo": {"hasNextPage": False}},
        "others": {**page, "nodes": not_followed[:2], "pageInfo": {"hasNextPage": True}},
        "since": {**page, "pageInfo": {"hasNextPage": False}},
    }
