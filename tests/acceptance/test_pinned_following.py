"""Users whom the viewer has pinned: private, ordered, and pinned as long as the follow lasts."""

import asyncio
from typing import Any

import pytest

from graph.account_state import AccountState
from graph.edge import UserId
from graph.outcome import Outcome
from graph.pace import Pace
from resolvers import pinned_following
from resolvers.policy import Policy
from resolvers.scope import Scope
from storage.settings import StorageSettings
from storage.stores import Stores
from tests.acceptance.test_costs import cost_since, counters
from tests.acceptance.test_private_notes import set_state
from tests.support.gateway import Gateway, running_gateway
from tests.support.graphs import drain_all, follows
from tests.support.relationships import change, protect

SET_PINNED = """mutation ($input: SetPinnedFollowingInput!) { setPinnedFollowing(input: $input) {
  outcome changed viewer { pinnedFollowing { id } } userErrors { code field } clientMutationId
} }"""
PINNED = "{ viewer { pinnedFollowing { id } } }"


async def pin(gateway: Gateway, viewer: int, *users: object, **given: Any) -> tuple[str, Any]:
    """Replace the pins. Returns the outcome, and each error as a pair of code and field."""
    mutation_input = {"userIds": list(map(str, users)), **given}
    payload = (await gateway.data(SET_PINNED, viewer, input=mutation_input))["setPinnedFollowing"]
    assert payload["changed"] == (payload["outcome"] == "UPDATED")
    assert payload["clientMutationId"] == given.get("clientMutationId")
    if payload["changed"]:
        assert payload["viewer"]["pinnedFollowing"] == [
            {"id": user} for user in mutation_input["userIds"]
        ]
    return payload["outcome"], [(error["code"], error["field"]) for error in payload["userErrors"]]


async def pinned(caller: Any, viewer: int = 1) -> list[int]:
    users = (await caller.data(PINNED, viewer))["viewer"]["pinnedFollowing"]
    return [int(user["id"]) for user in users]


async def test_users_are_pinned_reordered_and_unpinned(gateway: Gateway, stores: Stores) -> None:
    await follows(stores, (1, 2), (1, 3), (1, 4))
    assert await pinned(gateway) == []
    for users in ((4, 2), (2, 4), (3,), (2, 3, 4)):
        assert await pin(gateway, 1, *users, clientMutationId="c") == ("UPDATED", [])
        assert await pinned(gateway) == [*users]
        assert await pin(gateway, 1, *users) == ("UNCHANGED", [])
    assert await pin(gateway, 1) == ("UPDATED", [])
    assert await pin(gateway, 1) == ("UNCHANGED", [])
    assert await pinned(gateway) == []


async def test_invalid_users_are_rejected_and_nothing_changes(
    gateway: Gateway, stores: Stores
) -> None:
    await protect(stores, 4)
    await follows(stores, (1, 2), (1, 3), (5, 1))
    await change(gateway, 1, "followUser", 4)
    await change(gateway, 1, "blockUser", 6)
    await pin(gateway, 1, 2)
    for users, field in (
        ((3, "two"), ["userIds"]),
        ((3, 0), ["userIds"]),
        ((3, 2, 3), ["userIds", "2"]),
        ((3, 4), ["userIds", "1"]),
        ((3, 5), ["userIds", "1"]),
        ((6, 3), ["userIds", "0"]),
        ((3, 1), ["userIds", "1"]),
        (range(1, 12), ["userIds"]),
    ):
        rejected = ("REJECTED", [("INVALID_INPUT", ["input", *field])])
        assert await pin(gateway, 1, *users) == rejected, users
    empty = ("REJECTED", [("INVALID_INPUT", ["input", "idempotencyKey"])])
    assert await pin(gateway, 1, 3, idempotencyKey="") == empty
    assert await pinned(gateway) == [2]


async def test_ten_users_can_be_pinned(gateway: Gateway, stores: Stores) -> None:
    ten = range(11, 1, -1)
    await follows(stores, *((1, user) for user in ten))
    assert await pin(gateway, 1, *ten) == ("UPDATED", [])
    assert await pinned(gateway) == [*ten]


async def test_a_user_who_is_not_followed_cannot_be_pinned(gateway: Gateway) -> None:
    assert await pin(gateway, 1) == ("UNCHANGED", [])
    rejected = ("REJECTED", [("INVALID_INPUT", ["input", "userIds", "0"])])
    assert await pin(gateway, 1, 2) == rejected


async def test_only_the_viewer_reads_their_pins(gateway: Gateway, stores: Stores) -> None:
    await follows(stores, (1, 2), (2, 1))
    await pin(gateway, 1, 2)
    assert await pinned(gateway.as_service, 1) == [2], "a service that acts for the viewer"
    assert await pinned(gateway, 2) == await pinned(gateway, 3) == []
    for caller in (gateway, gateway.as_service):
        assert (await caller.data(PINNED, None))["viewer"] is None
        error = await caller.error(SET_PINNED, None, input={"userIds": ["2"]})
        assert error["extensions"]["code"] == "UNAUTHENTICATED"


@pytest.mark.parametrize("mutation", ["unfollowUser", "blockUser", "removeFollower"])
async def test_a_pin_ends_with_the_follow_and_an_undo_restores_it(
    gateway: Gateway, stores: Stores, mutation: str
) -> None:
    await follows(stores, (1, 2), (1, 3))
    await pin(gateway, 1, 2, 3)
    await drain_all(stores)
    actor, other = (2, 1) if mutation == "removeFollower" else (1, 2)
    token = (await change(gateway, actor, mutation, other))["undoToken"]
    assert await pinned(gateway) == [3]
    await change(gateway, actor, "undoRelationshipChange", undoToken=token)
    assert await pinned(gateway) == [2, 3]


async def test_a_new_follow_of_a_user_who_was_pinned_is_not_pinned(
    gateway: Gateway, stores: Stores
) -> None:
    await follows(stores, (1, 2))
    await pin(gateway, 1, 2)
    # An older date, because the new follow may begin in the same millisecond.
    await stores.servers.postgres.fetch("UPDATE following SET since = since - 1")
    await stores.servers.postgres.fetch("UPDATE pinned_following SET since = since - 1")
    assert await pinned(gateway) == [2]
    await change(gateway, 1, "unfollowUser", 2)
    await change(gateway, 1, "followUser", 2)
    assert await pinned(gateway) == []
    assert await pin(gateway, 1, 2) == ("UPDATED", [])
    assert await pinned(gateway) == [2]


async def test_a_pin_stays_when_the_follow_changes(gateway: Gateway, stores: Stores) -> None:
    await follows(stores, (1, 2))
    await pin(gateway, 1, 2)
    for mutation, given in (
        ("updateFollow", {"visibility": "WHISPER"}),
        ("updateFollow", {"closeFollow": True, "notify": "ALL"}),
        ("muteUser", {}),
        ("updateFollow", {"visibility": "PUBLIC"}),
    ):
        assert (await change(gateway, 1, mutation, 2, **given))["changed"]
        assert await pinned(gateway) == [2]


async def test_absent_users_are_hidden_and_cannot_be_pinned(
    gateway: Gateway, stores: Stores
) -> None:
    await follows(stores, (1, 2), (1, 3))
    await pin(gateway, 1, 2, 3)
    await set_state(gateway, "deactivateAccount", 2)
    assert await pinned(gateway) == [3]
    rejected = ("REJECTED", [("INVALID_INPUT", ["input", "userIds", "1"])])
    assert await pin(gateway, 1, 3, 2) == rejected
    await set_state(gateway, "reactivateAccount", 2)
    assert await pinned(gateway) == [2, 3]


async def test_an_inactive_user_cannot_pin(gateway: Gateway, stores: Stores) -> None:
    await follows(stores, (1, 2))
    await stores.writes.account_states.change(UserId(1), AccountState.DEACTIVATED)
    assert await pin(gateway, 1, 2) == ("REJECTED", [("ACCOUNT_NOT_ACTIVE", None)])


async def test_a_repeated_request_returns_the_first_outcome(
    gateway: Gateway, stores: Stores
) -> None:
    await follows(stores, (1, 2), (1, 3))
    assert await pin(gateway, 1, 2, idempotencyKey="a") == ("UPDATED", [])
    await pin(gateway, 1, 3)
    mutation_input = {"userIds": ["2"], "idempotencyKey": "a"}
    repeated = (await gateway.data(SET_PINNED, 1, input=mutation_input))["setPinnedFollowing"]
    assert (repeated["outcome"], repeated["viewer"]) == (
        "UPDATED",
        {"pinnedFollowing": [{"id": "3"}]},
    )
    reused = ("IDEMPOTENCY_KEY_REUSED", ["input", "idempotencyKey"])
    assert await pin(gateway, 1, 3, idempotencyKey="a") == ("REJECTED", [reused])


async def test_pins_are_rate_limited_and_repeats_are_free(stores: Stores) -> None:
    await follows(stores, (1, 2), (1, 3))
    scope = Scope(stores, UserId(1), Policy(pace=Pace(interval_us=60_000_000, burst=1)))

    async def set_pinned(*users: int) -> tuple[Outcome, bool]:
        result = await pinned_following.set_pinned_following(scope, list(map(UserId, users)))
        return result.outcome, result.retry_at is not None

    assert await set_pinned(2) == (Outcome.UPDATED, False)
    assert await set_pinned(2) == (Outcome.UNCHANGED, False)
    assert await set_pinned(3, 2) == (Outcome.RATE_LIMITED, True)
    assert await pinned_following.pinned_by(scope, UserId(1)) == [2]


async def test_concurrent_replacements_leave_one_of_the_lists_complete(stores: Stores) -> None:
    followed = [UserId(user) for user in range(2, 8)]
    await follows(stores, *((1, user) for user in followed))
    lists = [followed[start:] + followed[:start] for start in range(6)]
    results = await asyncio.gather(
        *(stores.own_data.pinned_following.replace(UserId(1), users) for users in lists)
    )
    assert [result.outcome for result in results] == [Outcome.UPDATED] * 6
    assert await stores.own_data.pinned_following.pinned_by(UserId(1)) in lists


async def test_every_gateway_sees_a_change_immediately(
    gateway: Gateway, stores: Stores, storage_settings: StorageSettings
) -> None:
    await follows(stores, (1, 2), (1, 3))
    async with running_gateway(storage_settings) as other:
        for users in ((2, 3), (3, 2), ()):
            await pin(gateway, 1, *users)
            assert await pinned(other) == [*users]


async def test_reading_pins_costs_one_statement(gateway: Gateway, stores: Stores) -> None:
    await follows(stores, *((1, user) for user in range(2, 12)))
    await pin(gateway, 1, *range(2, 12))
    await pinned(gateway)
    before = await counters(gateway)
    assert len(await pinned(gateway)) == 10
    assert (await cost_since(gateway, before)).statements == 1
