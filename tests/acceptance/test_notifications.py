"""`notify`: the flag of a follow by which the follower asks for notifications. It is private."""

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


async def test_a_follow_is_created_without_notifications(gateway: Gateway) -> None:
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


async def test_turning_on_notifications_does_not_follow_the_user(gateway: Gateway) -> None:
    assert await outcome(gateway, 1, "updateFollow", 2, notify="ALL") == ("NOT_FOLLOWING", "NONE")


async def test_only_the_follower_and_services_see_the_flag(
    gateway: Gateway, stores: Stores
) -> None:
    await change(gateway, 1, "followUser", 2, notify="ALL")
    await change(gateway, 2, "followUser", 1)
    await drain_all(stores)
    assert await notify(gateway, 1, 1, 2) == "ALL"
    assert await notify(gateway.as_service, None, 1, 2) == "ALL"
    for viewer, source, target in ((2, 1, 2), (2, 2, 1), (1, 2, 1), (3, 1, 2), (None, 1, 2)):
        assert await notify(gateway, viewer, source, target) == "NONE"


async def test_the_flag_ends_with_the_follow_and_an_undo_restores_it(gateway: Gateway) -> None:
    await change(gateway, 1, "followUser", 2, notify="ALL")
    token = (await change(gateway, 1, "unfollowUser", 2))["undoToken"]
    assert await notify(gateway, 1, 1, 2) == "NONE"
    await change(gateway, 1, "undoRelationshipChange", undoToken=token)
    assert await notify(gateway, 1, 1, 2) == "ALL"
    await change(gateway, 1, "unfollowUser", 2)
    await change(gateway, 1, "followUser", 2)
    assert await notify(gateway, 1, 1, 2) == "NONE", "a new follow does not restore the flag"


async def test_the_flag_of_a_request_is_visible_after_the_request_is_accepted(
    gateway: Gateway, stores: Stores
) -> None:
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


async def test_change_relationships_sets_notifications(gateway: Gateway) -> None:
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
async def test_an_idempotency_key_without_the_same_notify_value_is_rejected(
    gateway: Gateway, mutation: str
) -> None:
    if mutation == "updateFollow":
        await change(gateway, 1, "followUser", 2)
    first = await change(gateway, 1, mutation, 2, notify="ALL", idempotencyKey="k")
    assert first["changed"]
    assert await change(gateway, 1, mutation, 2, notify="ALL", idempotencyKey="k") == first
    other = await change(gateway, 1, mutation, 2, idempotencyKey="k")
    assert [error["code"] for error in other["userErrors"]] == ["IDEMPOTENCY_KEY_REUSED"]
