"""Private notes about other users: only their author reads them."""

from typing import Any

import pytest

from graph.account_state import AccountState
from graph.edge import UserId
from graph.pace import Pace
from resolvers import private_notes
from resolvers.policy import Policy
from resolvers.scope import Scope
from storage.stores import Stores
from tests.acceptance.test_costs import cost_since, counters
from tests.support.gateway import Gateway
from tests.support.graphs import follows
from tests.support.relationships import change

NOTE = """query ($author: ID!, $others: [ID!]!) {
    user(id: $author) { relationWith(ids: $others) { note } } }"""


async def set_note(
    gateway: Gateway, author: int, other: int | str, **given: Any
) -> tuple[Any, Any]:
    """Set a note. Returns the outcome, and each error as a pair of code and field."""
    payload = await change(gateway, author, "setNote", other, **given)
    errors = [(error["code"], error["field"]) for error in payload["userErrors"]]
    assert payload["changed"] == (payload["outcome"] == "UPDATED")
    return payload["outcome"], errors


async def set_state(gateway: Gateway, mutation: str, user: int) -> None:
    """Change the state of an account by a mutation such as `deactivateAccount`."""
    query = f'mutation {{ {mutation}(input: {{userId: "{user}"}}) {{ changed }} }}'
    assert (await gateway.as_service.data(query))[mutation]["changed"]


async def notes(caller: Any, viewer: int | None, author: int, *others: int) -> list[str | None]:
    """The notes that `viewer` reads in the relations of `author` to `others`."""
    given = {"author": str(author), "others": [str(other) for other in others]}
    data = await caller.data(NOTE, viewer, **given)
    return [relation["note"] for relation in data["user"]["relationWith"]]


async def test_a_note_is_set_changed_and_deleted(gateway: Gateway) -> None:
    assert await set_note(gateway, 1, 2, note="Met in Lisbon ☕") == ("UPDATED", [])
    assert await set_note(gateway, 1, 2, note="Met in Lisbon ☕") == ("UNCHANGED", [])
    note = "Met in Lisbon ☕"
    assert await notes(gateway, 1, 1, 1, 2, 3, 2) == [None, note, None, note]
    assert await set_note(gateway, 1, 2, note="Runs a café") == ("UPDATED", [])
    assert await notes(gateway, 1, 1, 2) == ["Runs a café"]
    assert await set_note(gateway, 1, 2, note="") == ("UPDATED", [])
    assert await set_note(gateway, 1, 2) == ("UNCHANGED", [])
    assert await notes(gateway, 1, 1, 2) == [None]


async def test_the_payload_has_the_note_and_a_token(gateway: Gateway) -> None:
    query = """mutation { setNote(input: {userId: "2", note: "Tall"}) {
        relation { id note } user { id } undoToken consistency consistencyToken } }"""
    payload = (await gateway.data(query, 1))["setNote"]
    token = payload.pop("consistencyToken")
    assert payload == {
        "relation": {"id": "relation:1:2", "note": "Tall"},
        "user": {"id": "2"},
        "undoToken": None,
        "consistency": "IMMEDIATE",
    }
    read = """query ($token: String!) { user(id: "2", atLeastAsFresh: $token) {
        viewerRelation { note } } }"""
    assert await gateway.data(read, 1, token=token) == {
        "user": {"viewerRelation": {"note": "Tall"}}
    }


async def test_only_the_author_reads_a_note(gateway: Gateway) -> None:
    await set_note(gateway, 1, 2, note="Mine")
    assert await notes(gateway, 1, 1, 2) == ["Mine"]
    assert await notes(gateway, 1, 2, 1) == [None], (
        "the relation in the other direction has no note"
    )
    for viewer in (2, 3, None):
        assert await notes(gateway, viewer, 1, 2) == [None]
    assert await notes(gateway.as_service, None, 1, 2) == [None]
    assert await notes(gateway.as_service, 2, 1, 2) == [None]
    assert await notes(gateway.as_service, 1, 1, 2) == ["Mine"], (
        "a service that acts for the author"
    )


async def test_a_note_stays_when_relationships_change(gateway: Gateway, stores: Stores) -> None:
    await follows(stores, (1, 2), (2, 1))
    await set_note(gateway, 1, 2, note="Mine")
    for viewer, mutation, other in (
        (1, "unfollowUser", 2),
        (2, "blockUser", 1),
        (1, "blockUser", 2),
    ):
        await change(gateway, viewer, mutation, other)
        assert await notes(gateway, 1, 1, 2) == ["Mine"]


@pytest.mark.parametrize(
    ("other", "note", "code", "field"),
    [
        (2, "x" * 201, "INVALID_INPUT", "note"),
        (2, "two\nlines", "INVALID_INPUT", "note"),
        (2, "two\u2028lines", "INVALID_INPUT", "note"),
        (2, "a bell \u0007", "INVALID_INPUT", "note"),
        (2, "c1 \u0085", "INVALID_INPUT", "note"),
        (2, "null \u0000", "INVALID_INPUT", "note"),
        ("two", "x", "INVALID_INPUT", "userId"),
        (1, "x", "CANNOT_DO_TO_SELF", "userId"),
    ],
)
async def test_an_invalid_note_is_rejected(
    gateway: Gateway, other: int | str, note: str, code: str, field: str
) -> None:
    assert await set_note(gateway, 1, other, note=note) == ("REJECTED", [(code, ["input", field])])
    assert await notes(gateway, 1, 1, 2) == [None]


async def test_a_note_has_at_most_200_characters(gateway: Gateway) -> None:
    assert await set_note(gateway, 1, 2, note="é" * 200) == ("UPDATED", [])
    assert await notes(gateway, 1, 1, 2) == ["é" * 200]


async def test_setting_a_note_requires_a_viewer(gateway: Gateway) -> None:
    query = 'mutation { setNote(input: {userId: "2", note: "x"}) { outcome } }'
    for caller in (gateway, gateway.as_service):
        error = await caller.error(query, None)
        assert error["extensions"]["code"] == "UNAUTHENTICATED"


async def test_a_repeated_request_returns_the_first_outcome(gateway: Gateway) -> None:
    first = {"note": "First", "idempotencyKey": "a"}
    assert await set_note(gateway, 1, 2, **first) == ("UPDATED", [])
    await set_note(gateway, 1, 2, note="Second")
    assert await set_note(gateway, 1, 2, **first) == ("UPDATED", [])
    assert await notes(gateway, 1, 1, 2) == ["Second"]
    reused = ("IDEMPOTENCY_KEY_REUSED", ["input", "idempotencyKey"])
    assert await set_note(gateway, 1, 2, note="Other", idempotencyKey="a") == ("REJECTED", [reused])


async def test_notes_behave_the_same_for_a_blocker_and_a_deactivated_account(
    gateway: Gateway,
) -> None:
    for other in (2, 3):
        await set_note(gateway, 1, other, note="Before")
    await gateway.data('mutation { blockUser(input: {userId: "1"}) { outcome } }', 2)
    await set_state(gateway, "deactivateAccount", 3)
    for other in (2, 3):
        assert await notes(gateway, 1, 1, other) == ["Before"]
        assert await set_note(gateway, 1, other, note="After") == ("UPDATED", [])
        assert await notes(gateway, 1, 1, other) == ["After"]
        assert await set_note(gateway, 1, other) == ("UPDATED", [])


async def test_a_note_about_a_deleted_account_can_only_be_deleted(gateway: Gateway) -> None:
    await set_note(gateway, 1, 2, note="Before")
    await set_state(gateway, "deleteAccount", 2)
    not_allowed = ("NOT_ALLOWED", ["input", "userId"])
    assert await set_note(gateway, 1, 2, note="After") == ("REJECTED", [not_allowed])
    assert await set_note(gateway, 1, 2) == ("UPDATED", [])


async def test_an_inactive_author_cannot_set_a_note(gateway: Gateway, stores: Stores) -> None:
    await stores.writes.account_states.change(UserId(1), AccountState.DEACTIVATED)
    assert await set_note(gateway, 1, 2, note="x") == ("REJECTED", [("ACCOUNT_NOT_ACTIVE", None)])


async def test_notes_are_rate_limited_and_repeats_are_free(stores: Stores) -> None:
    scope = Scope(stores, UserId(1), Policy(pace=Pace(interval_us=60_000_000, burst=2)))

    async def outcome(other: int, note: str | None) -> tuple[str, bool]:
        result = await private_notes.set_note(scope, UserId(other), note)
        return result.outcome.name, result.retry_at is not None

    assert await outcome(2, "a") == ("UPDATED", False)
    assert await outcome(2, "a") == ("UNCHANGED", False)
    assert await outcome(2, "b") == ("UPDATED", False)
    assert await outcome(3, "c") == ("RATE_LIMITED", True)
    assert await outcome(2, None) == ("RATE_LIMITED", True)
    found = await stores.own_data.private_notes.get_many(UserId(1), [UserId(2), UserId(3)])
    assert found == {UserId(2): "b"}


async def test_reading_many_notes_costs_one_statement(gateway: Gateway) -> None:
    for other in (2, 3):
        await set_note(gateway, 1, other, note="x")
    query = """query ($ids: [ID!]!) { user(id: "1") { relationWith(ids: $ids) { %s } } }"""
    ids = [str(other) for other in range(2, 60)]
    await gateway.data(query % "state", 1, ids=ids)
    costs = []
    for field in ("state", "state note"):
        before = await counters(gateway)
        await gateway.data(query % field, 1, ids=ids)
        costs.append(await cost_since(gateway, before))
    assert costs[1].statements == costs[0].statements + 1
    assert costs[1].round_trips == costs[0].round_trips
