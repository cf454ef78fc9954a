"""Every list, read by every kind of viewer, equals the result of plain rules, page by page."""

from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from random import Random
from typing import Any

import pytest

from graph.account import PrivacyChange
from graph.edge import FOLLOWS, Flags, Kind, UserId
from graph.list_kind import ListKind
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
NOBODY, SERVICE = None, -1
VIEWERS = (NOBODY, SERVICE, *USERS, 99)

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
query ($id: ID!, $first: Int, $after: String, $last: Int, $before: String, $way: OrderDirection!) {
  user(id: $id) { page: %s(
    first: $first, after: $after, last: $last, before: $before, %s
  ) {
    access totalCount nodes { id } edges { cursor node { id } }
    pageInfo { hasNextPage hasPreviousPage startCursor endCursor }
  } }
}
"""
ORDERED = "orderBy: {direction: $way}"
PAGED = {
    "following": ("following", ORDERED),
    "followers": ("followers", ORDERED),
    "friends": ("friends", ORDERED),
    "known": ("followersYouKnow", ORDERED),
    "common": ("commonFollowing", f'{ORDERED}, with: "2"'),
    "strangers": ("followers", f"{ORDERED}, filter: {{viewerFollows: false}}"),
    "since": ("followers", f'{ORDERED}, filter: {{since: "2001-01-01T00:00:00Z"}}'),
}


@dataclass(frozen=True)
class World:
    """The relationships and privacy settings of all users."""

    kinds: Mapping[tuple[int, int], Kind]
    privacy: Mapping[int, Privacy]

    def kind(self, source: int, target: int) -> Kind:
        return self.kinds.get((source, target), Kind.NONE)

    def blocked_counts(self, viewer: int | None, user: int) -> bool:
        """Whether there is a block between a viewer and somebody."""
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
        found = self.counted(kind, viewer, owner)
        return {user for user in found if not self.blocked_counts(viewer, user)}

    def counted(self, kind: ListKind, viewer: int | None, owner: int) -> set[int]:
        """The same for the count, which the viewer's blocks do not change."""
        if self.access(kind, viewer, owner) is not Access.VISIBLE:
            return set()
        shown = FOLLOWS if viewer in (owner, SERVICE) else {Kind.FOLLOW}
        match kind:
            case ListKind.FOLLOWING:
                found = {u for u in USERS if self.kind(owner, u) in shown}
            case ListKind.FOLLOWERS:
                found = {u for u in USERS if self.kind(u, owner) in shown}
            case ListKind.FRIENDS:
                both = {Kind.FOLLOW}
                found = {u for u in USERS if {self.kind(owner, u), self.kind(u, owner)} == both}
        return found

    def followed(self, viewer: int | None, user: int) -> bool:
        return viewer is not None and self.kind(viewer, user) in FOLLOWS


async def random_world(stores: Stores, seed: int) -> World:
    """A small world with everything in it."""
    random = Random(seed)
    kinds: dict[tuple[int, int], Kind] = {}
    choices = [Kind.FOLLOW] * 8 + [Kind.WHISPER] * 3 + [Kind.REQUEST, Kind.BLOCK] + [Kind.NONE] * 6
    for source, target in product(USERS, USERS):
        if source != target:
            kinds[source, target] = random.choice(choices)
    for (source, target), kind in kinds.items():
        if kind is Kind.BLOCK and kinds[target, source] is not Kind.BLOCK:
            kinds[target, source] = Kind.NONE  # a block ends whatever there was
    flags = [Flags.PLAIN, Flags.CLOSE_FOLLOW, Flags.MUTED, Flags.CLOSE_FOLLOW | Flags.MUTED]
    await edges(stores, {ends: (kind, random.choice(flags)) for ends, kind in kinds.items()})
    privacy = {user: Privacy() for user in USERS}
    for user in USERS[::2]:
        said = random.random() < 0.3, random.choice(list(Audience)), random.choice(list(Audience))
        privacy[user] = Privacy(*said)
        await stores.writes.accounts.set_privacy(UserId(user), PrivacyChange(*said))
    await drain_all(stores)
    return World(kinds, privacy)


async def ask(gateway: Gateway, viewer: int | None, query: str, **variables: Any) -> Any:
    if viewer == SERVICE:
        return await gateway.as_service.data(query, **variables)
    return await gateway.data(query, viewer, **variables)


def ids(page: Any) -> set[int]:
    found = [int(node["id"]) for node in page["nodes"]]
    assert len(found) == len(set(found)) == page["totalCount"]
    return set(found)


@pytest.mark.parametrize("seed", range(4))
async def test_everybody_finds_in_every_list_what_the_rules_say(
    gateway: Gateway, stores: Stores, seed: int
) -> None:
    world = await random_world(stores, seed)
    other = 1 + seed
    fields = {
        "following": (ListKind.FOLLOWING, "followingCount"),
        "followers": (ListKind.FOLLOWERS, "followerCount"),
        "friends": (ListKind.FRIENDS, "friendCount"),
    }
    for viewer in VIEWERS:
        signed_in = viewer not in (NOBODY, SERVICE)
        query = LISTS % {"known": "true" if signed_in else "null"}
        variables = {"ids": list(map(str, USERS)), "other": str(other)}
        for user in (await ask(gateway, viewer, query, **variables))["users"]:
            owner = int(user["id"])
            for field, (kind, count) in fields.items():
                entries = world.entries(kind, viewer, owner)
                seen = world.access(kind, viewer, owner)
                assert user[field]["access"] == seen.name, (viewer, owner, field)
                assert ids(user[field]) == entries, (viewer, owner, field)
                counted = world.counted(kind, viewer, owner)
                assert user[count] == (len(counted) if seen is Access.VISIBLE else None)
            followers = world.entries(ListKind.FOLLOWERS, viewer, owner)
            if signed_in:
                known = {u for u in followers if world.followed(viewer, u)}
                assert ids(user["followersYouKnow"]) == ids(user["known"]) == known
            else:
                assert user["followersYouKnow"] is None
            common = world.entries(ListKind.FOLLOWING, viewer, owner)
            common &= world.entries(ListKind.FOLLOWING, viewer, other)
            assert ids(user["commonFollowing"]) == common, (viewer, owner)


@pytest.fixture(scope="module")
def one_world(databases: Databases, caches: Caches) -> Iterator[str]:
    with filled_database(databases, caches, partial(random_world, seed=7)) as url:
        yield url


@pytest.fixture
async def gateway_of_one_world(
    one_world: str, storage_settings: StorageSettings
) -> AsyncIterator[Gateway]:
    """Its caches are empty."""
    async with running_gateway(replace(storage_settings, database_url=one_world)) as gateway:
        yield gateway


@pytest.mark.parametrize("what", list(PAGED))
@pytest.mark.parametrize("way", ["ASC", "DESC"])
@pytest.mark.parametrize("backward", [False, True], ids=["first", "last"])
async def test_every_list_ends_after_as_many_entries_as_it_says(
    gateway_of_one_world: Gateway, what: str, way: str, backward: bool
) -> None:
    gateway = gateway_of_one_world
    query = PAGE % PAGED[what]
    for viewer in (1, 2, 99) if what in ("known", "strangers") else (SERVICE, 1, 2, 99):
        for owner in USERS:
            whole = (await ask(gateway, viewer, query, id=str(owner), first=100, way=way))["user"]
            expected = [edge["node"]["id"] for edge in whole["page"]["edges"]]
            assert len(expected) == whole["page"]["totalCount"]
            walked: list[str] = []
            cursor: dict[str, Any] = {"last": 2} if backward else {"first": 2}
            while True:
                data = await ask(gateway, viewer, query, id=str(owner), way=way, **cursor)
                page = data["user"]["page"]
                found = [edge["node"]["id"] for edge in page["edges"]]
                walked = [*found, *walked] if backward else [*walked, *found]
                info = page["pageInfo"]
                more = info["hasPreviousPage"] if backward else info["hasNextPage"]
                behind = info["hasNextPage"] if backward else info["hasPreviousPage"]
                assert behind == (len(cursor) > 1)
                if not more:
                    break
                assert len(found) == 2, "a page is short only at the end"
                if backward:
                    cursor = {"last": 2, "before": info["startCursor"]}
                else:
                    cursor = {"first": 2, "after": info["endCursor"]}
            assert walked == expected, (viewer, owner)


async def test_a_user_who_is_asked_for_twice_is_answered_twice(
    gateway: Gateway, stores: Stores
) -> None:
    """Once this was an internal error, wherever the caches knew nothing yet."""
    await edges(stores, {(3, 7): Kind.FOLLOW})
    await drain_all(stores)
    query = 'query { users(ids: ["7", "7"]) { followers(first: 5) { nodes { id } } } }'
    for viewer in (NOBODY, 5):
        users = (await gateway.data(query, viewer))["users"]
        assert users == [{"followers": {"nodes": [{"id": "3"}]}}] * 2


@pytest.mark.parametrize(
    ("what", "kind"),
    {"following": "following", "known": "followers", "common": "following"}.items(),
)
async def test_the_two_orders_are_each_others_reverse_and_share_no_cursor(
    gateway: Gateway, stores: Stores, what: str, kind: str
) -> None:
    fans = {(user, 1): Kind.FOLLOW for user in range(3, 9)}
    follows = {(source, user): Kind.FOLLOW for source in (1, 2) for user in range(3, 9)}
    await edges(stores, fans | follows)
    await drain_all(stores)
    query = PAGE % PAGED[what]
    newest, oldest = [
        (await gateway.data(query, 2, id="1", first=100, way=way))["user"]["page"]
        for way in ("DESC", "ASC")
    ]
    assert len(newest["nodes"]) == 6
    assert oldest["nodes"] == newest["nodes"][::-1]
    error = await gateway.error(query, 2, id="1", way="ASC", after=newest["edges"][2]["cursor"])
    assert f"does not belong to this {kind} list" in error["message"]


async def test_a_user_who_is_requested_twice_is_in_the_response_twice(
    gateway: Gateway, stores: Stores
) -> None:
    """The caches have no list of theirs at first."""
    await random_world(stores, 11)
    some = USERS[:4]
    for viewer in VIEWERS:
        query = LISTS % {"known": "null" if viewer in (NOBODY, SERVICE) else "false"}
        variables = {"ids": list(map(str, [*some, *some])), "other": "1"}
        users = (await ask(gateway, viewer, query, **variables))["users"]
        assert users[: len(some)] == users[len(some) :]


@pytest.mark.parametrize("asker", [NOBODY, SERVICE])
async def test_without_a_viewer_no_follower_is_one_whom_the_viewer_follows(
    gateway: Gateway, stores: Stores, asker: int | None
) -> None:
    """The filter is no error then, like `followersYouKnow` and `viewerIsFollowing`."""
    await follows(stores, (1, 9), (2, 9), (3, 9))
    await drain_all(stores)
    query = """{ user(id: "9") { followersYouKnow { totalCount }
      known: followers(filter: {viewerFollows: true}) { ...page }
      others: followers(first: 2, filter: {viewerFollows: false}) { ...page }
      since: followers(filter: {viewerFollows: false, since: "2020-01-01T00:00:00Z"}) { ...page }
    } } fragment page on FollowerConnection {
      access totalCount nodes { id viewerIsFollowing } pageInfo { hasNextPage } }"""
    user = (await ask(gateway, asker, query))["user"]
    strangers = [{"id": str(fan), "viewerIsFollowing": False} for fan in (3, 2, 1)]
    page = {"access": "VISIBLE", "totalCount": 3, "nodes": strangers}
    assert user == {
        "followersYouKnow": None,
        "known": {**page, "totalCount": 0, "nodes": [], "pageInfo": {"hasNextPage": False}},
        "others": {**page, "nodes": strangers[:2], "pageInfo": {"hasNextPage": True}},
        "since": {**page, "pageInfo": {"hasNextPage": False}},
    }
