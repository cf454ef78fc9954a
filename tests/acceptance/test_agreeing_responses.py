"""A relation that is taken from a list in the same response is complete."""

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
RELATIONS = Keys("public").relations(UserId(2))

Change = tuple[str, dict[str, Any]]
FOLLOW: Change = ("followUser", {})
CLOSE_FOLLOW: Change = ("followUser", {"closeFollow": True})
UNFOLLOW: Change = ("unfollowUser", {})


async def made(stores: Stores, gateway: Gateway, *changes: Change) -> None:
    """User 2 changes the relation to user 1, and a service reads it."""
    for mutation, given in changes:
        await relationships.change(gateway, 2, mutation, 1, **given)
    await drain_all(stores)
    await gateway.as_service.data(LIST_AND_RELATION)


async def shown_late(
    stores: Stores, gateway: Gateway, before: list[Change], after: list[Change]
) -> Any:
    """The relation that a service sees after all changes, while an earlier one is cached."""
    await made(stores, gateway, *before)
    (outdated,) = await stores.servers.redis.pipe([("DUMP", RELATIONS)])
    await made(stores, gateway, *after)
    await stores.servers.redis.pipe([("RESTORE", RELATIONS, 0, outdated, "REPLACE")])
    shown = await gateway.as_service.data(LIST_AND_RELATION)
    (relation,), (edge,) = shown["follower"]["relationWith"], shown["user"]["followers"]["edges"]
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
async def test_a_follow_that_only_a_list_shows_has_its_flags(
    stores: Stores, gateway: Gateway, given: dict[str, Any], expected: tuple[bool, str]
) -> None:
    relation = await shown_late(stores, gateway, [], [("followUser", given)])
    assert (relation["closeFollow"], relation["notify"]) == expected


async def test_a_renewed_follow_has_no_flags_of_the_earlier_one(
    stores: Stores, gateway: Gateway
) -> None:
    relation = await shown_late(stores, gateway, [CLOSE_FOLLOW], [UNFOLLOW, FOLLOW])
    assert relation["closeFollow"] is False
