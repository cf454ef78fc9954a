"""A relation agrees with a list in the same response, also if the cached relation is outdated."""

from collections.abc import Sequence
from typing import Any

import pytest

from graph.edge import UserId
from graph.lane import lane_of
from resolvers.policy import Policy
from storage.ports.reader import Check
from storage.postgres.relations import PostgresRelations
from storage.redis.keys import Keys
from storage.settings import StorageSettings
from storage.stores import Stores
from tests.support import relationships
from tests.support.gateway import Gateway, running_gateway
from tests.support.graphs import drain_all

LIST_AND_RELATION = """query {
  user(id: "1") { followers { edges { followedAt node { id } } } }
  follower: user(id: "2") {
    relationWith(ids: ["1"]) { state followedAt closeFollow notify whispering } }
}"""
RELATIONS_KEY = Keys("public").relations(UserId(2))

Change = tuple[str, dict[str, Any]]
FOLLOW: Change = ("followUser", {})
CLOSE_FOLLOW: Change = ("followUser", {"closeFollow": True})
UNFOLLOW: Change = ("unfollowUser", {})


async def change_and_read(stores: Stores, gateway: Gateway, *changes: Change) -> None:
    """User 2 sends mutations about user 1, and a service reads the relation."""
    for mutation, more_input in changes:
        await relationships.change(gateway, 2, mutation, 1, **more_input)
    await drain_all(stores)
    await gateway.as_service.data(LIST_AND_RELATION)


async def relation_from_list(
    stores: Stores, gateway: Gateway, before: list[Change], after: list[Change]
) -> Any:
    """The relation that a service reads after all changes, while the cached relation lacks those
    of `after` and the list has them."""
    await change_and_read(stores, gateway, *before)
    (outdated,) = await stores.servers.redis.pipe([("DUMP", RELATIONS_KEY)])
    await change_and_read(stores, gateway, *after)
    await stores.servers.redis.pipe([("RESTORE", RELATIONS_KEY, 0, outdated, "REPLACE")])
    data = await gateway.as_service.data(LIST_AND_RELATION)
    (relation,), (edge,) = data["follower"]["relationWith"], data["user"]["followers"]["edges"]
    assert (relation["state"], relation["followedAt"]) == ("FOLLOWING", edge["followedAt"])
    return relation


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, (False, "NONE")),
        ({"closeFollow": True}, (True, "NONE")),
        ({"notify": "ALL"}, (False, "ALL")),
    ],
)
async def test_a_follow_that_the_cached_relation_lacks_has_its_flags(
    stores: Stores, gateway: Gateway, given: dict[str, Any], expected: tuple[bool, str]
) -> None:
    relation = await relation_from_list(stores, gateway, [], [("followUser", given)])
    assert (relation["closeFollow"], relation["notify"]) == expected


async def test_a_follow_after_an_unfollow_does_not_have_the_flags_of_the_ended_follow(
    stores: Stores, gateway: Gateway
) -> None:
    relation = await relation_from_list(stores, gateway, [CLOSE_FOLLOW], [UNFOLLOW, FOLLOW])
    assert relation["closeFollow"] is False


OWN_USER = """query ($withFollows: Boolean!) {
  viewer { user {
    following @include(if: $withFollows) { edges { followedAt node { id } } }
    followers @include(if: $withFollows) { edges { followedAt node { id } } }
    friends { edges { friendsSince node { id } } }
    followerCount friendCount
    relationWith(ids: ["2"]) { state followedBy followedByAt friendsSince }
  } }
}"""


async def own_user(gateway: Gateway, *, with_follows: bool = True) -> Any:
    """User 1 with lists, counts and the relation to user 2, as user 1 sees them."""
    return (await gateway.data(OWN_USER, 1, withFollows=with_follows))["viewer"]["user"]


async def test_a_pending_whisper_that_a_complete_list_lacks_is_in_no_relation(
    gateway: Gateway,
) -> None:
    """The viewer's own followers show whispers. The mute brings the whisper into the cached
    relation before a worker brings it into the list."""
    await own_user(gateway)
    await relationships.change(gateway, 2, "followUser", 1, visibility="WHISPER")
    await relationships.change(gateway, 1, "muteUser", 2)
    shown = await own_user(gateway)
    (relation,) = shown["relationWith"]
    assert (shown["followers"]["edges"], shown["followerCount"]) == ([], 0)
    assert (relation["state"], relation["followedBy"]) == ("NONE", False)


FOLLOWING_AND_RELATION = """{ user(id: "2") {
    following { nodes { id } } viewerRelation { state followedBy }
} }"""


async def following_and_relation(gateway: Gateway) -> tuple[Any, Any]:
    """Whom user 2 follows, and the relation of user 1 to user 2, as user 1 sees them."""
    shown = (await gateway.data(FOLLOWING_AND_RELATION, 1))["user"]
    return shown["following"]["nodes"], shown["viewerRelation"]


async def test_a_follow_that_becomes_a_whisper_stays_a_follow_for_its_target(
    stores: Stores, gateway: Gateway
) -> None:
    """The public list of the follower, which is exact, lacks it at once. Its target may see it."""
    await relationships.change(gateway, 2, "followUser", 1)
    await drain_all(stores)
    expected = {"state": "FOLLOWED_BY", "followedBy": True}
    assert await following_and_relation(gateway) == ([{"id": "1"}], expected)
    await relationships.change(gateway, 2, "updateFollow", 1, visibility="WHISPER")
    assert await following_and_relation(gateway) == ([], expected)
    await drain_all(stores)
    assert await following_and_relation(gateway) == ([], expected)


async def test_a_follow_that_ends_is_no_follow_for_its_target_while_the_change_is_pending(
    stores: Stores, gateway: Gateway
) -> None:
    await relationships.change(gateway, 2, "followUser", 1)
    await drain_all(stores)
    await following_and_relation(gateway)
    await relationships.change(gateway, 2, "unfollowUser", 1)
    expected = {"state": "NONE", "followedBy": False}
    assert await following_and_relation(gateway) == ([], expected)


async def test_a_follow_that_becomes_a_whisper_ends_for_its_target_if_whispers_are_hidden(
    storage_settings: StorageSettings, stores: Stores, gateway: Gateway
) -> None:
    async with running_gateway(storage_settings, Policy(whispers_hidden=True)) as hiding:
        await relationships.change(gateway, 2, "followUser", 1)
        await drain_all(stores)
        await following_and_relation(hiding)
        await relationships.change(gateway, 2, "updateFollow", 1, visibility="WHISPER")
        expected = {"state": "NONE", "followedBy": False}
        assert await following_and_relation(hiding) == ([], expected)


async def test_follows_that_lists_lack_are_read_from_their_rows_at_once(
    stores: Stores, gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A response whose lists and relations agree reads no rows of relations."""
    query = """{ users(ids: ["2", "3", "4"]) {
        following { nodes { id } } viewerRelation { state } } }"""
    for user in (2, 3, 4):
        await relationships.change(gateway, user, "followUser", 1)
    await drain_all(stores)
    await gateway.data(query, 1)
    between, reads = PostgresRelations.between, []

    async def counted_between(relations: PostgresRelations, checks: Sequence[Check]) -> Any:
        reads.append([(check.user, *check.others) for check in checks])
        return await between(relations, checks)

    monkeypatch.setattr(PostgresRelations, "between", counted_between)
    await gateway.data(query, 1)
    assert not reads
    for user in (2, 3):
        await relationships.change(gateway, user, "updateFollow", 1, visibility="WHISPER")
    reads.clear()
    shown = (await gateway.data(query, 1))["users"]
    assert [user["viewerRelation"]["state"] for user in shown] == ["FOLLOWED_BY"] * 3
    assert reads == [[(2, 1), (3, 1)]]


@pytest.mark.parametrize("with_follows", [True, False])
async def test_users_in_the_list_of_friends_are_friends_while_a_whisper_is_pending(
    stores: Stores, gateway: Gateway, with_follows: bool
) -> None:
    await own_user(gateway)
    await relationships.change(gateway, 2, "followUser", 1)
    await drain_all(stores)
    await relationships.change(gateway, 2, "updateFollow", 1, visibility="WHISPER")
    await relationships.change(gateway, 1, "followUser", 2)
    await stores.jobs.lanes.drain.lane(lane_of(UserId(2)))
    shown = await own_user(gateway, with_follows=with_follows)
    (relation,), (friend,) = shown["relationWith"], shown["friends"]["edges"]
    assert (relation["state"], shown["friendCount"]) == ("FRIENDS", 1)
    assert relation["friendsSince"] == friend["friendsSince"]


@pytest.mark.parametrize("with_follows", [True, False])
async def test_users_missing_from_the_list_of_friends_are_not_friends_while_a_follow_is_pending(
    stores: Stores, gateway: Gateway, with_follows: bool
) -> None:
    """The follow was a whisper, and is public now. The list of followers shows both."""
    await relationships.change(gateway, 2, "followUser", 1, visibility="WHISPER")
    await relationships.change(gateway, 1, "followUser", 2)
    await drain_all(stores)
    (whisper,) = (await own_user(gateway))["followers"]["edges"]
    await relationships.change(gateway, 2, "updateFollow", 1, visibility="PUBLIC")
    await relationships.change(gateway, 1, "muteUser", 2)
    await stores.jobs.lanes.drain.lane(lane_of(UserId(2)))
    shown = await own_user(gateway, with_follows=with_follows)
    (relation,) = shown["relationWith"]
    assert (shown["friends"]["edges"], shown["friendCount"]) == ([], 0)
    assert (relation["state"], relation["friendsSince"]) == ("FOLLOWING", None)
    assert relation["followedByAt"] == whisper["followedAt"]
