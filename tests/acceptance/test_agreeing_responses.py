"""A relation agrees with a list in the same response, also if the cached relation is outdated."""

from typing import Any

import pytest

from graph.edge import UserId
from storage.redis.keys import Keys
from storage.stores import Stores
from tests.support import relationships
from tests.support.gateway import Gateway
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
