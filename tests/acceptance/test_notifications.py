"""Followers who ask to be notified: a private flag of their follow."""

from typing import Any

import pytest

from storage.stores import Stores
from tests.support.gateway import Gateway
from tests.support.graphs import drain_all
from tests.support.relationships import change, change_many, outcome, protect

NOTIFY = """
query ($from: ID!, $to: ID!) { user(id: $from) { relationWith(ids: [$to]) { following notify } } }
"""


async def notify(gateway: Gateway, viewer: int | None, source: int, target: int) -> Any:
    data = await gateway.data(NOTIFY, viewer, **{"from": str(source), "to": str(target)})
    return data["user"]["relationWith"][0]["notify"]


async def test_a_follow_begins_without_notifications(gateway: Gateway) -> None:
    await change(gateway, 1, "followUser", 2)
    assert await notify(gateway, 1, 1, 2) == "NONE"


async def test_notifications_are_turned_on_and_off(gateway: Gateway, stores: Stores) -> None:
    await change(gateway, 1, "followUser", 2, notify="ALL")
    assert await notify(gateway, 1, 1, 2) == "ALL"
    await drain_all(stores)
    assert await notify(gateway, 1, 1, 2) == "ALL"
    unchanged = ("UNCHANGED", "FOLLOWING")
    assert await outcome(gateway, 1, "updateFollow", 2, notify="ALL") == unchanged
    assert await outcome(gateway, 1, "updateFollow", 2, closeFollow=True) == (
        "UPDATED",
        "FOLLOWING",
    )
    assert await notify(gateway, 1, 1, 2) == "ALL", "an omitted field keeps its value"
    assert (await outcome(gateway, 1, "updateFollow", 2, notify="NONE"))[0] == "UPDATED"
    assert await notify(gateway, 1, 1, 2) == "NONE"


async def test_a_stranger_is_not_followed_for_notifications(gateway: Gateway) -> None:
    assert await outcome(gateway, 1, "updateFollow", 2, notify="ALL") == ("NOT_FOLLOWING", "NONE")


async def test_only_the_follower_and_services_see_it(gateway: Gateway, stores: Stores) -> None:
    await change(gateway, 1, "followUser", 2, notify="ALL")
    await change(gateway, 2, "followUser", 1)
    await drain_all(stores)
    assert await notify(gateway, 1, 1, 2) == "ALL"
    assert await notify(gateway.as_service, None, 1, 2) == "ALL"
    for viewer, source, target in ((2, 1, 2), (2, 2, 1), (1, 2, 1), (3, 1, 2), (None, 1, 2)):
        assert await notify(gateway, viewer, source, target) == "NONE"


async def test_it_ends_with_the_follow_and_returns_by_an_undo(gateway: Gateway) -> None:
    await change(gateway, 1, "followUser", 2, notify="ALL")
    token = (await change(gateway, 1, "unfollowUser", 2))["undoToken"]
    assert await notify(gateway, 1, 1, 2) == "NONE"
    await change(gateway, 1, "undoRelationshipChange", undoToken=token)
    assert await notify(gateway, 1, 1, 2) == "ALL"
    await change(gateway, 1, "unfollowUser", 2)
    await change(gateway, 1, "followUser", 2)
    assert await notify(gateway, 1, 1, 2) == "NONE", "a new follow begins anew"


async def test_it_is_kept_when_a_request_is_accepted(gateway: Gateway, stores: Stores) -> None:
    await protect(stores, 2)
    await change(gateway, 1, "followUser", 2, notify="ALL")
    assert await notify(gateway, 1, 1, 2) == "NONE"
    await change(gateway, 2, "acceptFollowRequest", 1)
    await drain_all(stores)
    assert await notify(gateway, 1, 1, 2) == "ALL"


async def test_a_mute_and_notifications_are_independent(gateway: Gateway) -> None:
    await change(gateway, 1, "followUser", 2, notify="ALL")
    await change(gateway, 1, "muteUser", 2)
    assert await notify(gateway, 1, 1, 2) == "ALL"
    await change(gateway, 1, "unmuteUser", 2)
    assert await notify(gateway, 1, 1, 2) == "ALL"


async def test_many_changes_ask_for_notifications(gateway: Gateway) -> None:
    await change_many(
        gateway,
        1,
        ("FOLLOW", 2, {"notify": "ALL"}),
        ("FOLLOW", 3),
        ("UPDATE_FOLLOW", 3, {"notify": "ALL"}),
        ("UPDATE_FOLLOW", 2, {"notify": "NONE"}),
    )
    assert [await notify(gateway, 1, 1, other) for other in (2, 3)] == ["NONE", "ALL"]


@pytest.mark.parametrize("mutation", ["followUser", "updateFollow"])
async def test_a_key_is_of_one_choice(gateway: Gateway, mutation: str) -> None:
    if mutation == "updateFollow":
        await change(gateway, 1, "followUser", 2)
    first = await change(gateway, 1, mutation, 2, notify="ALL", idempotencyKey="k")
    assert first["changed"]
    assert await change(gateway, 1, mutation, 2, notify="ALL", idempotencyKey="k") == first
    other = await change(gateway, 1, mutation, 2, idempotencyKey="k")
    assert [error["code"] for error in other["userErrors"]] == ["IDEMPOTENCY_KEY_REUSED"]
