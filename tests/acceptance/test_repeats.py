"""A mutation repeated with its idempotency key returns the first outcome and changes nothing."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextvars import Context
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest

from graph.decision_types import Decision
from graph.edge import Kind, Millis, Pair, UserId
from graph.errors import KithError, Overloaded, Stale, Unavailable
from graph.outcome import Outcome
from graph.pace import Pace
from graph.receipt import StoredReceipt, keyed_id
from resolvers import actions
from resolvers.policy import Policy
from storage.postgres.connection import locks
from storage.postgres.connection.session import session
from storage.postgres.edges import PostgresEdges
from storage.postgres.receipts import PostgresReceipts
from storage.settings import StorageSettings
from storage.stores import Stores
from tests.support.gateway import Gateway, running_gateway
from tests.support.graphs import as_pair, drain_all, follows
from tests.support.relationships import change, change_many, outcome, protect


async def overtaken(
    monkeypatch: pytest.MonkeyPatch,
    request: Callable[[], Coroutine[Any, Any, Any]],
    lookups: int = 1,
    other: Callable[[], Coroutine[Any, Any, Any]] | None = None,
) -> tuple[Any, Any]:
    """Send a request, and a copy of it or an `other` one. The latter runs from beginning to end
    after the first one has looked up receipts `lookups` times. Returns both payloads, that of the
    latter last."""
    get_many, done, copies = PostgresReceipts.get_many, 0, list[Any]()

    async def look_up(
        receipts: PostgresReceipts, actor: UserId, ids: Sequence[UUID]
    ) -> Mapping[UUID, StoredReceipt]:
        nonlocal done
        found = await get_many(receipts, actor, ids)
        done += 1
        if done == lookups:
            copies.append(await asyncio.create_task((other or request)(), context=Context()))
        return found

    monkeypatch.setattr(PostgresReceipts, "get_many", look_up)
    late = await request()
    (first,) = copies
    return late, first


@pytest.mark.parametrize(
    ("mutation", "given"),
    [
        ("followUser", {}),
        ("followUser", {"visibility": "WHISPER", "closeFollow": True, "message": "hello"}),
        ("blockUser", {}),
        ("muteUser", {"until": "2999-01-01T00:00:00Z"}),
        ("dismissSuggestion", {}),
    ],
)
async def test_a_repeat_returns_the_same_payload(
    gateway: Gateway, mutation: str, given: dict[str, object]
) -> None:
    first = await change(gateway, 1, mutation, 2, idempotencyKey="k", **given)
    assert first["changed"]
    assert await change(gateway, 1, mutation, 2, idempotencyKey="k", **given) == first


async def test_a_repeat_changes_nothing_and_returns_the_current_state(gateway: Gateway) -> None:
    first = await change(gateway, 1, "followUser", 2, idempotencyKey="k")
    await change(gateway, 1, "unfollowUser", 2)
    again = await change(gateway, 1, "followUser", 2, idempotencyKey="k")
    assert (again["outcome"], again["relation"]["state"]) == (first["outcome"], "NONE")


async def test_a_repeat_of_a_change_without_effect_has_no_effect_in_another_state(
    gateway: Gateway,
) -> None:
    await change(gateway, 1, "followUser", 2)
    result = await outcome(gateway, 1, "followUser", 2, idempotencyKey="k")
    assert result == ("ALREADY_FOLLOWING", "FOLLOWING")
    await change(gateway, 1, "unfollowUser", 2)
    result = await outcome(gateway, 1, "followUser", 2, idempotencyKey="k")
    assert result == ("ALREADY_FOLLOWING", "NONE")


async def test_a_rejection_does_not_use_up_the_idempotency_key(gateway: Gateway) -> None:
    await change(gateway, 2, "blockUser", 1)
    assert (await outcome(gateway, 1, "followUser", 2, idempotencyKey="k"))[0] == "REJECTED"
    await change(gateway, 2, "unblockUser", 1)
    assert (await outcome(gateway, 1, "followUser", 2, idempotencyKey="k"))[0] == "FOLLOWED"


@pytest.mark.parametrize(
    ("mutation", "target", "given"),
    [
        ("followUser", 3, {}),
        ("followUser", 2, {"closeFollow": True}),
        ("muteUser", 2, {}),
    ],
)
async def test_an_idempotency_key_with_another_input_is_rejected(
    gateway: Gateway, mutation: str, target: int, given: dict[str, object]
) -> None:
    await change(gateway, 1, "followUser", 2, idempotencyKey="k")
    payload = await change(gateway, 1, mutation, target, idempotencyKey="k", **given)
    (error,) = payload["userErrors"]
    assert (payload["outcome"], payload["changed"]) == ("REJECTED", False)
    assert error["__typename"] == "IdempotencyKeyReused"
    assert error["field"] == ["input", "idempotencyKey"]


async def test_two_users_may_use_the_same_idempotency_key(gateway: Gateway) -> None:
    await change(gateway, 1, "followUser", 2, idempotencyKey="k")
    assert (await outcome(gateway, 3, "muteUser", 4, idempotencyKey="k"))[0] == "MUTED"


async def test_concurrent_repeats_make_one_change(gateway: Gateway, stores: Stores) -> None:
    await follows(stores, (1, 2))
    await drain_all(stores)
    payloads = await asyncio.gather(
        *(change(gateway, 1, "unfollowUser", 2, idempotencyKey="k") for _ in range(12))
    )
    assert payloads[0]["outcome"] == "UNFOLLOWED"
    assert all(payload == payloads[0] for payload in payloads)
    assert (await stores.jobs.lanes.progress.backlog()).rows == 1


async def test_only_one_of_concurrent_inputs_with_the_same_key_is_executed(
    gateway: Gateway, stores: Stores
) -> None:
    payloads = await asyncio.gather(
        *(change(gateway, 1, "followUser", target, idempotencyKey="k") for target in range(2, 14))
    )
    outcomes = sorted(payload["outcome"] for payload in payloads)
    assert outcomes == ["FOLLOWED", *["REJECTED"] * 11]
    codes = {error["code"] for payload in payloads for error in payload["userErrors"]}
    assert codes == {"IDEMPOTENCY_KEY_REUSED"}
    assert (await stores.jobs.lanes.progress.backlog()).rows == 1


async def test_a_copy_that_is_overtaken_after_its_look_up_returns_the_result_of_the_other(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    query = '{ user(id: "2") { viewerRelation { version } } }'
    await change(gateway, 1, "followUser", 2)
    version = (await gateway.data(query, 1))["user"]["viewerRelation"]["version"]

    def unfollow() -> Coroutine[Any, Any, Any]:
        return change(gateway, 1, "unfollowUser", 2, idempotencyKey="k", ifVersion=version)

    late, first = await overtaken(monkeypatch, unfollow)
    assert first["outcome"] == "UNFOLLOWED"
    assert late == first


@pytest.mark.parametrize(
    ("mutation", "given"),
    [
        ("followUser", {"userId": "2"}),
        ("setNote", {"userId": "2", "note": "met in Rome"}),
        ("createFollowGroup", {"name": "Friends"}),
        ("setPinnedFollowing", {"userIds": []}),
        ("updateRelationshipSettings", {"protected": True}),
        ("markFollowersSeen", {}),
    ],
)
async def test_a_copy_is_not_rate_limited_by_the_change_that_it_repeats(
    storage_settings: StorageSettings,
    monkeypatch: pytest.MonkeyPatch,
    mutation: str,
    given: dict[str, object],
) -> None:
    kind = mutation[0].upper() + mutation[1:]
    query = f"""mutation ($input: {kind}Input!) {{
        payload: {mutation}(input: $input) {{ outcome userErrors {{ code }} }} }}"""
    policy = Policy(pace=Pace(interval_us=3_600_000_000, burst=1))
    async with running_gateway(storage_settings, policy) as gateway:

        def request() -> Coroutine[Any, Any, Any]:
            return gateway.data(query, 1, input={**given, "idempotencyKey": "k"})

        late, first = await overtaken(monkeypatch, request)
    assert first["payload"]["userErrors"] == []
    assert late == first


async def test_change_relationships_returns_a_result_for_each_change(
    gateway: Gateway, stores: Stores
) -> None:
    await protect(stores, 3)
    payload = await change_many(
        gateway,
        1,
        ("FOLLOW", 2, {"visibility": "WHISPER"}),
        ("FOLLOW", "nobody"),
        ("FOLLOW", 3, {"message": "x" * 501}),
        ("FOLLOW", 3, {"message": "please"}),
        ("FOLLOW", 1),
        ("BLOCK", 4),
        ("FOLLOW", 4),
        ("UNBLOCK", 4),
        ("MUTE", 5, {"until": "2999-01-01T00:00:00Z"}),
        ("UPDATE_FOLLOW", 2, {"closeFollow": True}),
    )
    assert payload["userErrors"] == []
    assert [one["outcome"] for one in payload["changes"]] == [
        "FOLLOWED",
        "REJECTED",
        "REJECTED",
        "REQUESTED",
        "REJECTED",
        "BLOCKED",
        "REJECTED",
        "UNBLOCKED",
        "MUTED",
        "UPDATED",
    ]
    errors = [[e["code"] for e in one["userErrors"]] for one in payload["changes"]]
    assert [error for error in errors if error] == [
        ["INVALID_INPUT"],
        ["INVALID_INPUT"],
        ["CANNOT_FOLLOW_SELF"],
        ["UNBLOCK_FIRST"],
    ]
    assert payload["changes"][2]["userErrors"][0]["field"] == ["input", "changes", "2", "message"]


async def test_a_repeat_of_change_relationships_returns_the_first_outcomes(
    gateway: Gateway,
) -> None:
    changes = [("FOLLOW", target) for target in range(2, 10)]
    first = await change_many(gateway, 1, *changes, ("UNFOLLOW", 2), key="k")
    assert await change_many(gateway, 1, *changes, ("UNFOLLOW", 2), key="k") == {
        **first,
        "changes": [
            {**one, "relation": again["relation"]}
            for one, again in zip(
                first["changes"],
                [first["changes"][-1], *first["changes"][1:]],
                strict=True,
            )
        ],
    }


def results(payload: Any) -> list[str]:
    """The outcome of each change, or the code of its rejection."""
    return [
        one["userErrors"][0]["code"] if one["userErrors"] else one["outcome"]
        for one in payload["changes"]
    ]


async def test_a_repeat_of_change_relationships_does_not_make_a_rejected_change(
    gateway: Gateway,
) -> None:
    await change(gateway, 1, "blockUser", 2)
    changes = [("FOLLOW", 2), ("UNBLOCK", 2)]
    for _ in range(2):
        payload = await change_many(gateway, 1, *changes, key="k")
        assert results(payload) == ["UNBLOCK_FIRST", "UNBLOCKED"]
    assert (await outcome(gateway, 1, "unfollowUser", 2))[0] == "NOT_FOLLOWING"


async def test_a_repeat_of_change_relationships_returns_each_kind_of_rejection(
    storage_settings: StorageSettings,
) -> None:
    async with running_gateway(storage_settings, Policy(following_max=1, blocks_max=1)) as gateway:
        await change(gateway, 1, "blockUser", 2)
        await change(gateway, 1, "followUser", 3)
        changes = [
            ("UPDATE_FOLLOW", 3, {"ifVersion": "AAAAAAAAAAAAAAAA"}),
            ("BLOCK", 4),
            ("FOLLOW", 5),
        ]
        first = await change_many(gateway, 1, *changes, key="k")
        assert results(first) == ["CONFLICT", "BLOCK_LIMIT_REACHED", "FOLLOWING_LIMIT_REACHED"]
        assert await change_many(gateway, 1, *changes, key="k") == first
        await change(gateway, 1, "unblockUser", 2)
        await change(gateway, 1, "unfollowUser", 3)
        again = await change_many(gateway, 1, *changes, key="k")
        assert results(again) == results(first)
        (error,) = again["changes"][2]["userErrors"]
        assert (error["limit"], error["current"]) == (1, 0)


@pytest.mark.parametrize(
    ("before", "actions", "expected"),
    [
        ("unblockUser", ["FOLLOW", "BLOCK"], ["FOLLOWED", "BLOCKED"]),
        ("blockUser", ["FOLLOW", "UNBLOCK"], ["UNBLOCK_FIRST", "UNBLOCKED"]),
    ],
)
async def test_a_copy_of_change_relationships_does_not_see_the_later_changes_of_the_other(
    gateway: Gateway,
    monkeypatch: pytest.MonkeyPatch,
    before: str,
    actions: list[str],
    expected: list[str],
) -> None:
    await change(gateway, 1, before, 2)

    def request() -> Coroutine[Any, Any, Any]:
        return change_many(gateway, 1, *((action, 2) for action in actions), key="k")

    # The first look-up is for the whole list, the second one for the first change.
    late, first = await overtaken(monkeypatch, request, lookups=2)
    assert results(late) == results(first) == expected


async def test_rejections_with_a_receipt_are_rate_limited_and_rate_limited_changes_are_tried_again(
    storage_settings: StorageSettings,
) -> None:
    policy = Policy(pace=Pace(interval_us=3_600_000_000, burst=3))
    changes = [("FOLLOW", 2)] * 4
    async with running_gateway(storage_settings, policy) as gateway:
        await change(gateway, 1, "blockUser", 2)
        first = await change_many(gateway, 1, *changes, key="k")
    assert results(first) == ["UNBLOCK_FIRST", "UNBLOCK_FIRST", "RATE_LIMITED", "RATE_LIMITED"]
    async with running_gateway(storage_settings) as gateway:
        await change(gateway, 1, "unblockUser", 2)
        again = await change_many(gateway, 1, *changes, key="k")
    assert results(again) == ["UNBLOCK_FIRST", "UNBLOCK_FIRST", "FOLLOWED", "ALREADY_FOLLOWING"]


async def test_change_relationships_makes_no_change_if_its_key_was_used_with_other_changes(
    gateway: Gateway,
) -> None:
    await change_many(gateway, 1, ("FOLLOW", 2), ("FOLLOW", 3), key="k")
    for others in ((("UNFOLLOW", 2), ("FOLLOW", 3)), (("FOLLOW", 2), ("BLOCK", 3), ("MUTE", 4))):
        payload = await change_many(gateway, 1, *others, ("FOLLOW", 9), key="k")
        (error,) = payload["userErrors"]
        assert (payload["changes"], error["field"]) == ([], ["input", "idempotencyKey"])
        assert error["code"] == "IDEMPOTENCY_KEY_REUSED"
    now = [await outcome(gateway, 1, "unfollowUser", target) for target in (2, 3, 9)]
    assert [one for one, _ in now] == ["UNFOLLOWED", "UNFOLLOWED", "NOT_FOLLOWING"]


KEY_REUSED = ("IDEMPOTENCY_KEY_REUSED", ["input", "idempotencyKey"])


def reasons(errors: Any) -> list[tuple[str, list[str]]]:
    """The codes and fields of rejections."""
    return [(error["code"], error["field"]) for error in errors]


async def followed(gateway: Gateway, viewer: int = 1) -> list[int]:
    """The ids of the users whom the viewer follows."""
    query = "{ viewer { user { following(first: 50) { nodes { id } } } } }"
    nodes = (await gateway.data(query, viewer))["viewer"]["user"]["following"]["nodes"]
    return sorted(int(node["id"]) for node in nodes)


TOO_LONG = {"message": "x" * 501}


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ([("FOLLOW", 2)], [("FOLLOW", 2), ("FOLLOW", 3)]),
        ([("FOLLOW", 2), ("FOLLOW", 3)], [("FOLLOW", 2)]),
        ([("FOLLOW", 2), ("FOLLOW", 3)], [("FOLLOW", 3), ("FOLLOW", 2)]),
        ([("FOLLOW", "nobody"), ("FOLLOW", 2)], [("FOLLOW", 3), ("FOLLOW", 2)]),
        ([("FOLLOW", "nobody"), ("FOLLOW", 2)], [("FOLLOW", 3)]),
        ([("FOLLOW", "nobody"), ("FOLLOW", 2)], [("FOLLOW", "no one"), ("FOLLOW", 2)]),
        ([("FOLLOW", 2), ("FOLLOW", 3, TOO_LONG)], [("FOLLOW", 2), ("FOLLOW", 3)]),
        ([("FOLLOW", 1), ("FOLLOW", 2)], [("FOLLOW", 3), ("FOLLOW", 2)]),
        ([*[("FOLLOW", "nobody")] * 49, ("FOLLOW", 2)], [("FOLLOW", 3)]),
    ],
)
async def test_change_relationships_notices_each_difference_from_the_first_use_of_its_key(
    gateway: Gateway, first: Sequence[Any], second: Sequence[Any]
) -> None:
    before = await change_many(gateway, 1, *first, key="k")
    following = await followed(gateway)
    payload = await change_many(gateway, 1, *second, key="k")
    assert (payload["changes"], reasons(payload["userErrors"])) == ([], [KEY_REUSED])
    assert await followed(gateway) == following
    assert await change_many(gateway, 1, *first, key="k") == before


@pytest.mark.parametrize("lookups", [1, 2])
@pytest.mark.parametrize(
    ("late", "other"),
    [
        ([("FOLLOW", 2), ("FOLLOW", 3)], [("FOLLOW", 4), ("FOLLOW", 5), ("FOLLOW", 6)]),
        ([("FOLLOW", 2), ("FOLLOW", 3)], [("FOLLOW", 2), ("FOLLOW", 4)]),
        ([("FOLLOW", 1), ("FOLLOW", 2), ("FOLLOW", 3)], [("FOLLOW", 4), ("FOLLOW", 5)]),
        ([("FOLLOW", 2), ("UNFOLLOW", 2), ("FOLLOW", 3)], [("BLOCK", 9), ("FOLLOW", 4)]),
    ],
)
async def test_of_two_lists_at_once_with_one_key_one_is_made(
    gateway: Gateway,
    monkeypatch: pytest.MonkeyPatch,
    late: Sequence[Any],
    other: Sequence[Any],
    lookups: int,
) -> None:
    rejected, made = await overtaken(
        monkeypatch,
        lambda: change_many(gateway, 1, *late, key="k"),
        lookups,
        lambda: change_many(gateway, 1, *other, key="k"),
    )
    assert (rejected["changes"], reasons(rejected["userErrors"])) == ([], [KEY_REUSED])
    assert made["userErrors"] == []
    assert await followed(gateway) == [target for action, target in other if action == "FOLLOW"]


async def test_of_two_lists_through_two_gateways_with_one_key_one_is_made(
    storage_settings: StorageSettings,
) -> None:
    lists = [list(range(100, 110)), list(range(110, 120))]
    async with running_gateway(storage_settings) as one, running_gateway(storage_settings) as two:
        for viewer in range(1, 9):
            payloads = await asyncio.gather(
                *(
                    change_many(gateway, viewer, *(("FOLLOW", user) for user in users), key="k")
                    for gateway, users in zip((one, two), lists, strict=True)
                )
            )
            (made,) = [n for n in (0, 1) if not payloads[n]["userErrors"]]
            assert results(payloads[made]) == ["FOLLOWED"] * 10
            rejected = payloads[1 - made]
            assert (rejected["changes"], reasons(rejected["userErrors"])) == ([], [KEY_REUSED])
            assert await followed(one, viewer) == lists[made]


async def test_a_place_that_another_list_has_used_meanwhile_is_rejected(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    late, other = await overtaken(
        monkeypatch,
        lambda: change_many(gateway, 1, ("FOLLOW", 2), ("FOLLOW", 3), ("UNFOLLOW", 3), key="k"),
        lookups=1,
        other=lambda: change_many(gateway, 1, ("FOLLOW", "nobody"), ("FOLLOW", 4), key="k"),
    )
    assert results(other) == ["INVALID_INPUT", "FOLLOWED"]
    assert results(late) == ["FOLLOWED", *["IDEMPOTENCY_KEY_REUSED"] * 2]
    assert [reasons(one["userErrors"]) for one in late["changes"][1:]] == [[KEY_REUSED]] * 2
    assert await followed(gateway) == [2, 4]


async def test_a_repeat_whose_mute_would_have_ended_is_not_another_request(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    changes = [("MUTE", 2, {"until": "2999-01-01T00:00:00Z"}), ("FOLLOW", 3)]
    assert results(await change_many(gateway, 1, *changes, key="k")) == ["MUTED", "FOLLOWED"]
    monkeypatch.setattr("schema.mutations.blocks.time.time", lambda: 40_000_000_000)
    again = await change_many(gateway, 1, *changes, key="k")
    assert results(again) == ["INVALID_INPUT", "FOLLOWED"]


async def test_the_receipts_of_the_previous_release_are_recognized(
    gateway: Gateway, stores: Stores
) -> None:
    changes = [("FOLLOW", 2, {"visibility": "WHISPER"}), ("MUTE", 3), ("BLOCK", 3)]
    first = await change_many(gateway, 1, *changes, key="k")
    policy = Policy()
    alone = [
        actions.follow(policy, Kind.WHISPER).digest(UserId(2)),
        actions.mute(None).digest(UserId(3)),
        actions.block(policy).digest(UserId(3)),
    ]
    for place, digest in enumerate(alone):
        await stores.servers.postgres.fetch(
            "UPDATE receipt SET asked = $1 WHERE id = $2", digest, keyed_id(f"k\n{place}")
        )
    again = await change_many(gateway, 1, *changes, key="k")
    assert results(again) == results(first) == ["FOLLOWED", "MUTED", "BLOCKED"]
    for others in (changes[:2], [*changes[:2], ("BLOCK", 4)]):
        payload = await change_many(gateway, 1, *others, key="k")
        assert (payload["changes"], reasons(payload["userErrors"])) == ([], [KEY_REUSED])


ORDERS = [
    ("blockUser", ["UNBLOCK", "BLOCK"], ["UNBLOCKED", "BLOCKED"]),
    ("unblockUser", ["FOLLOW", "UNFOLLOW"], ["FOLLOWED", "UNFOLLOWED"]),
    ("muteUser", ["UNMUTE", "MUTE", "UNMUTE"], ["UNMUTED", "MUTED", "UNMUTED"]),
]
"""A mutation before, the actions of a list on the same user, and their outcomes."""


@pytest.mark.parametrize("key", [None, "k"])
@pytest.mark.parametrize(
    "failure",
    [lambda: Unavailable("PostgreSQL"), lambda: Overloaded("PostgreSQL"), lambda: Stale(50)],
    ids=["unavailable", "overloaded", "stale"],
)
@pytest.mark.parametrize(("before", "actions", "expected"), ORDERS)
async def test_after_an_error_later_changes_of_the_same_user_wait_for_a_repeat(
    gateway: Gateway,
    monkeypatch: pytest.MonkeyPatch,
    before: str,
    actions: list[str],
    expected: list[str],
    failure: Callable[[], KithError],
    key: str | None,
) -> None:
    await change(gateway, 1, before, 2)
    write, error = PostgresEdges.change, failure()
    failures = [error]

    async def fail_once(edges: PostgresEdges, pair: Pair, *given: Any) -> Decision:
        if pair.target == 2 and failures:
            raise failures.pop()
        return await write(edges, pair, *given)

    monkeypatch.setattr(PostgresEdges, "change", fail_once)
    given = [{"action": action, "userId": "2"} for action in actions]
    given.insert(1, {"action": "FOLLOW", "userId": "3"})
    query = """mutation ($input: ChangeRelationshipsInput!) {
        payload: changeRelationships(input: $input) { outcome changes { outcome } } }"""
    answer = await gateway.answer(query, 1, input={"changes": given, "idempotencyKey": key})
    failed = [0, *range(2, len(given))]
    assert answer["data"]["payload"] == {
        "outcome": "PARTIALLY_COMPLETED",
        "changes": [None, {"outcome": "FOLLOWED"}, *[None] * (len(failed) - 1)],
    }
    assert [one["path"] for one in answer["errors"]] == [["payload", "changes", n] for n in failed]
    assert {one["extensions"]["code"] for one in answer["errors"]} == {error.code}
    again = await gateway.data(query, 1, input={"changes": given, "idempotencyKey": key})
    outcomes = [one["outcome"] for one in again["payload"]["changes"]]
    assert [outcomes[place] for place in failed] == expected


@pytest.mark.parametrize("rejection", [Outcome.RATE_LIMITED, Outcome.ACCOUNT_NOT_ACTIVE])
@pytest.mark.parametrize(("before", "actions", "expected"), ORDERS)
async def test_after_a_rejection_without_a_receipt_later_changes_of_the_same_user_are_rejected_too(
    gateway: Gateway,
    monkeypatch: pytest.MonkeyPatch,
    before: str,
    actions: list[str],
    expected: list[str],
    rejection: Outcome,
) -> None:
    await change(gateway, 1, before, 2)
    write, rejected = PostgresEdges.change, list[Pair]()

    async def reject_once(edges: PostgresEdges, pair: Pair, *given: Any) -> Decision:
        if pair.target == 2 and not rejected:
            rejected.append(pair)
            return replace(await edges.read(pair), outcome=rejection, retry_at=Millis(1))
        return await write(edges, pair, *given)

    monkeypatch.setattr(PostgresEdges, "change", reject_once)
    changes = [(action, 2) for action in actions]
    first = await change_many(gateway, 1, *changes, ("FOLLOW", 3), key="k")
    assert results(first) == [*[rejection.name] * len(actions), "FOLLOWED"]
    again = await change_many(gateway, 1, *changes, ("FOLLOW", 3), key="k")
    assert results(again) == [*expected, "FOLLOWED"]


async def test_more_than_50_changes_are_rejected_as_a_whole(
    gateway: Gateway, stores: Stores
) -> None:
    payload = await change_many(gateway, 1, *[("FOLLOW", target) for target in range(2, 53)])
    assert payload["changes"] == []
    assert [error["field"] for error in payload["userErrors"]] == [["input", "changes"]]
    assert (await stores.jobs.lanes.progress.backlog()).rows == 0
    payload = await change_many(gateway, 1, *[("FOLLOW", target) for target in range(2, 52)])
    assert [one["outcome"] for one in payload["changes"]] == ["FOLLOWED"] * 50


async def test_changes_with_new_keys_are_rate_limited_even_without_effect(
    storage_settings: StorageSettings, stores: Stores
) -> None:
    policy = Policy(pace=Pace(interval_us=60_000_000, burst=3))
    async with running_gateway(storage_settings, policy) as gateway:
        result = [
            (await outcome(gateway, 1, "followUser", 2, idempotencyKey=key))[0]
            for key in ("a", "b", "c", "d", "c")
        ]
        assert result == [
            "FOLLOWED",
            "ALREADY_FOLLOWING",
            "ALREADY_FOLLOWING",
            "REJECTED",
            result[2],
        ]
    row = await stores.servers.postgres.row("SELECT count(*) FROM receipt")
    assert row is not None
    assert row["count"] == 3


async def test_a_change_that_times_out_does_not_affect_the_other_changes(
    storage_settings: StorageSettings,
) -> None:
    settings = replace(
        storage_settings, connections=replace(storage_settings.connections, statement_timeout_s=0.5)
    )
    query = """mutation ($input: ChangeRelationshipsInput!) {
        payload: changeRelationships(input: $input) { changes { outcome } userErrors { code } } }"""
    changes = [{"action": "FOLLOW", "userId": str(target)} for target in (2, 3, 4)]
    async with (
        session(storage_settings, "test") as blocking,
        blocking.transaction(),
        running_gateway(settings) as gateway,
    ):
        key = locks.pair_key(as_pair(1, 3))
        await blocking.execute("SELECT lock_at(1, $1, $2)", locks.PAIR, key)
        answer = await gateway.answer(query, 1, input={"changes": changes})
    followed = {"outcome": "FOLLOWED"}
    assert answer["data"]["payload"]["changes"] == [followed, None, followed]
    (error,) = answer["errors"]
    assert error["path"] == ["payload", "changes", 1]
    assert error["extensions"] == {"code": "UNAVAILABLE", "part": "PostgreSQL"}
