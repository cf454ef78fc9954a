"""Changes in batches have the results of single changes, in one transaction for many of them."""

import asyncio
from collections.abc import Awaitable, Callable
from uuid import uuid4

import pytest

from graph.account import PrivacyChange
from graph.decision_types import Decision, PairState, Rule
from graph.edge import Flags, Kind, Millis, Pair, UserId
from graph.errors import Unavailable
from graph.outcome import Outcome
from graph.pace import Pace, paced
from graph.receipt import ReceiptExists
from graph.rules import (
    accept_request,
    block,
    cancel_request,
    dismiss,
    follow,
    mute,
    remove_follower,
    unblock,
    unfollow,
    unmute,
    update_follow,
)
from storage.postgres.edge_batches import PostgresEdgeBatches
from storage.postgres.verification.verify import verify
from storage.settings import StorageSettings
from storage.stores import Stores
from storage.write_through import batched_edges
from tests.support.edges import edges
from tests.support.graphs import PLENTY, as_pair, drain_all, follows, with_receipt

RULES: dict[str, Callable[[], Rule]] = {
    "follow": lambda: follow(PLENTY),
    "mutual follow": lambda: follow(PLENTY, mutual=True),
    "unfollow": unfollow,
    "mutual unfollow": lambda: unfollow(mutual=True),
    "update": lambda: update_follow(Kind.WHISPER, close_follow=True),
    "remove": remove_follower,
    "block": lambda: block(PLENTY),
    "unblock": unblock,
    "mute": mute,
    "unmute": unmute,
    "accept": lambda: accept_request(PLENTY),
    "cancel": cancel_request,
    "dismiss": dismiss,
}
STATES = [
    (own, other)
    for own in (
        (Kind.NONE, Flags.PLAIN),
        (Kind.NONE, Flags.MUTED),
        *((k, Flags.PLAIN) for k in Kind if k),
    )
    for other in Kind
]
"""The kind and flags of the own edge, and the kind of the reverse edge, before a change."""
ROWS = """
SELECT from_user_id % 100000 AS f, to_user_id % 100000 AS t, kind, flags FROM following
WHERE from_user_id / 100000 = $1 ORDER BY 1, 2
"""
COUNTS = """
SELECT user_id % 100000 AS u, follows, friends, whispers, requests, blocks, specials, mutes
FROM following_count WHERE user_id / 100000 = $1 ORDER BY 1
"""


async def change_concurrently(stores: Stores, changes: list[tuple[Pair, Rule]]) -> list[Decision]:
    """Change all pairs at once, so that they share batches."""
    edges = stores.batched.writes.edges
    return list(await asyncio.gather(*(edges.change(pair, rule) for pair, rule in changes)))


@pytest.mark.parametrize("name", RULES)
async def test_a_batch_has_the_same_results_as_single_changes(
    stores: Stores, storage_settings: StorageSettings, name: str
) -> None:
    outcomes: list[list[Outcome]] = []
    for group in (1, 2):
        own_edges: dict[tuple[int, int], Kind | tuple[Kind, Flags]] = {}
        reverse_edges: dict[tuple[int, int], Kind | tuple[Kind, Flags]] = {}
        pairs = []
        for number, (own, other) in enumerate(STATES):
            pair = as_pair(100_000 * group + 2 * number + 1, 100_000 * group + 2 * number + 2)
            pairs.append(pair)
            if own != (Kind.NONE, Flags.PLAIN):
                own_edges[pair] = own
            if other:
                reverse_edges[pair.reversed] = (other, Flags.PLAIN)
        await edges(stores, own_edges)
        await edges(stores, reverse_edges)  # later, so that the same user counts a friendship
        changes = [(pair, RULES[name]()) for pair in pairs]
        if group == 1:
            outcomes.append(
                [(await stores.writes.edges.change(*change)).outcome for change in changes]
            )
        else:
            outcomes.append(
                [decision.outcome for decision in await change_concurrently(stores, changes)]
            )
    assert outcomes[0] == outcomes[1]
    await drain_all(stores)
    postgres = stores.servers.postgres
    for statement in (ROWS, COUNTS):
        one, many = [[tuple(row) for row in await postgres.fetch(statement, g)] for g in (1, 2)]
        assert one == many
    report = await verify(storage_settings)
    assert report.clean, report.drifts


@pytest.mark.plain("batches are for plain PostgreSQL")
async def test_a_batch_sends_two_statements(stores: Stores) -> None:
    postgres = stores.servers.postgres
    await change_concurrently(stores, [(as_pair(1, 2), follow(PLENTY))])
    before = postgres.statements
    changes = [(as_pair(user, user + 1000), follow(PLENTY)) for user in range(1, 51)]
    decisions = await change_concurrently(stores, changes)
    assert {decision.outcome for decision in decisions} == {Outcome.FOLLOWED}
    assert postgres.statements - before == 2


async def test_a_batch_does_not_exceed_the_limits_of_a_user(
    stores: Stores, storage_settings: StorageSettings
) -> None:
    changes = [(as_pair(1, other), follow(5)) for other in range(2, 12)]
    outcomes = [decision.outcome for decision in await change_concurrently(stores, changes)]
    assert outcomes.count(Outcome.FOLLOWED) == 5
    assert outcomes.count(Outcome.FOLLOWING_LIMIT_REACHED) == 5
    pace = Pace(interval_us=3_600_000_000, burst=3)
    changes = [(as_pair(50, o), paced(follow(PLENTY), pace, has_key=False)) for o in range(60, 70)]
    outcomes = [decision.outcome for decision in await change_concurrently(stores, changes)]
    assert outcomes.count(Outcome.FOLLOWED) == 3
    assert outcomes.count(Outcome.RATE_LIMITED) == 7
    await drain_all(stores)
    assert (await verify(storage_settings)).clean


@pytest.mark.plain("batches are for plain PostgreSQL")
@pytest.mark.parametrize("before", [0, 2])
async def test_changes_that_just_fit_a_limit_are_made_in_the_batch(
    stores: Stores, storage_settings: StorageSettings, before: int
) -> None:
    await follows(stores, *((1, other) for other in range(2, 2 + before)))
    postgres = stores.servers.postgres
    sent = postgres.statements
    changes = [(as_pair(1, other), follow(5)) for other in range(10, 15 - before)]
    outcomes = {decision.outcome for decision in await change_concurrently(stores, changes)}
    assert outcomes == {Outcome.FOLLOWED}
    assert postgres.statements - sent == 2
    more = [(as_pair(1, other), follow(5)) for other in range(20, 23)]
    assert {d.outcome for d in await change_concurrently(stores, more)} == {
        Outcome.FOLLOWING_LIMIT_REACHED
    }
    await drain_all(stores)
    assert (await verify(storage_settings)).clean


async def test_a_batch_does_not_exceed_the_limit_of_blocks(
    stores: Stores, storage_settings: StorageSettings
) -> None:
    await stores.writes.edges.change(as_pair(1, 2), block(3))
    changes = [(as_pair(1, other), block(3)) for other in range(3, 9)]
    outcomes = [decision.outcome for decision in await change_concurrently(stores, changes)]
    assert outcomes.count(Outcome.BLOCKED) == 2
    await drain_all(stores)
    assert (await verify(storage_settings)).clean


async def test_a_batch_uses_as_much_of_the_rate_limit_as_single_changes(stores: Stores) -> None:
    pace = Pace(interval_us=3_600_000_000, burst=100)
    rule = paced(follow(PLENTY), pace, has_key=False)
    for place, user in enumerate((1, 2)):
        changes = [(as_pair(user, other), rule) for other in range(10, 16)]
        if place == 0:
            for change in changes:
                await stores.writes.edges.change(*change)
        else:
            await change_concurrently(stores, changes[:1])
            await change_concurrently(stores, changes[1:])
    used = await stores.writes.usages.get_many([UserId(1), UserId(2)])
    paced_us = [used[UserId(user)].paced_until - used[UserId(user)].now for user in (1, 2)]
    assert all(5 * pace.interval_us < left <= 6 * pace.interval_us for left in paced_us)


async def test_a_batch_writes_request_messages_and_the_ends_of_mutes(stores: Stores) -> None:
    await stores.writes.accounts.set_privacy(UserId(9), PrivacyChange(protected=True))
    changes = [
        (as_pair(1, 9), follow(PLENTY, message="May I?")),
        (as_pair(1, 8), mute(Millis(4_000_000_000_000))),
    ]
    outcomes = [decision.outcome for decision in await change_concurrently(stores, changes)]
    assert outcomes == [Outcome.REQUESTED, Outcome.MUTED]
    pairs = [pair for pair, _ in changes]
    notes = await stores.reads.edge_notes.get_many(pairs)
    assert notes[pairs[0]].message == "May I?"
    assert notes[pairs[1]].muted_until == 4_000_000_000_000
    await change_concurrently(stores, [(pairs[0], mute(None)), (pairs[1], unmute())])
    notes = await stores.reads.edge_notes.get_many(pairs)
    assert notes[pairs[0]].message == "May I?"
    assert pairs[1] not in notes


async def test_changes_of_one_pair_are_made_one_after_the_other(stores: Stores) -> None:
    pair = as_pair(1, 2)
    changes = [(pair, follow(PLENTY)), (pair, unfollow()), (pair.reversed, follow(PLENTY))]
    outcomes = [decision.outcome for decision in await change_concurrently(stores, changes)]
    assert outcomes[0] is Outcome.FOLLOWED
    (row,) = await stores.servers.postgres.fetch(
        "SELECT count(*) FROM following WHERE from_user_id = 2 AND kind = 1"
    )
    assert (outcomes[2], row["count"]) == (Outcome.FOLLOWED, 1)


async def test_a_receipt_that_exists_fails_only_its_own_change(stores: Stores) -> None:
    used, new = uuid4(), uuid4()
    await stores.writes.edges.change(as_pair(1, 2), with_receipt(follow(PLENTY), used))
    batched = stores.batched.writes.edges
    results = await asyncio.gather(
        batched.change(as_pair(1, 2), with_receipt(follow(PLENTY), used)),
        batched.change(as_pair(1, 3), with_receipt(follow(PLENTY), new)),
        return_exceptions=True,
    )
    assert isinstance(results[0], ReceiptExists)
    assert isinstance(results[1], Decision)
    stored = await stores.writes.receipts.get_many(UserId(1), [used, new])
    assert stored.keys() == {used, new}


async def test_a_rule_that_fails_fails_only_its_own_change(stores: Stores) -> None:
    def failing(_: PairState) -> Decision:
        raise RuntimeError("a bug")

    batched = stores.batched.writes.edges
    results = await asyncio.gather(
        batched.change(as_pair(1, 2), failing),
        batched.change(as_pair(1, 3), follow(PLENTY)),
        return_exceptions=True,
    )
    assert isinstance(results[0], RuntimeError)
    assert isinstance(results[1], Decision)
    assert results[1].outcome is Outcome.FOLLOWED


@pytest.mark.plain("batches are for plain PostgreSQL")
async def test_a_pair_that_another_writer_has_changed_is_not_written(stores: Stores) -> None:
    async def write_meanwhile() -> None:
        await follows(stores, (1, 2))

    tables = PostgresEdgeBatches(stores.servers.postgres)
    changes = [(as_pair(1, 2), block(PLENTY)), (as_pair(1, 3), block(PLENTY))]
    first, second = await tables.change_many(changes, write_meanwhile)
    assert first is None
    assert isinstance(second, Decision)
    assert second.outcome is Outcome.BLOCKED
    kinds = await stores.servers.postgres.fetch(
        "SELECT to_user_id, kind FROM following WHERE from_user_id = 1 ORDER BY 1"
    )
    assert [tuple(row) for row in kinds] == [(2, Kind.FOLLOW), (3, Kind.BLOCK)]


async def test_the_changes_of_a_failed_batch_are_made_one_by_one(
    stores: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(*_: object) -> list[Decision | Exception | None]:
        raise ValueError("a bug")

    monkeypatch.setattr(PostgresEdgeBatches, "change_many", broken)
    changes = [(as_pair(user, user + 100), follow(PLENTY)) for user in range(1, 6)]
    outcomes = {decision.outcome for decision in await change_concurrently(stores, changes)}
    assert outcomes == {Outcome.FOLLOWED}


async def test_an_unavailable_postgresql_fails_the_whole_batch(
    stores: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def unavailable(*_: object) -> list[Decision | Exception | None]:
        raise Unavailable("PostgreSQL")

    monkeypatch.setattr(PostgresEdgeBatches, "change_many", unavailable)
    batched = stores.batched.writes.edges
    results = await asyncio.gather(
        *(batched.change(as_pair(1, other), follow(PLENTY)) for other in range(2, 5)),
        return_exceptions=True,
    )
    assert {type(result) for result in results} == {Unavailable}


async def test_batches_and_single_changes_of_the_same_users_do_not_deadlock(
    stores: Stores, storage_settings: StorageSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batched_edges, "BATCH", 7)
    users = range(1, 9)
    pairs = [as_pair(a, b) for a in users for b in users if a != b]
    kinds: list[Callable[[], Rule]] = [
        lambda: follow(PLENTY),
        remove_follower,
        lambda: block(PLENTY),
        unblock,
        lambda: follow(PLENTY, mutual=True),
        lambda: unfollow(mutual=True),
    ]

    async def singly(start: int) -> None:
        for place, pair in enumerate(pairs[start:] + pairs[:start]):
            await stores.writes.edges.change(pair, kinds[(place + start) % len(kinds)]())

    def batched(start: int) -> Awaitable[list[Decision]]:
        rotated = pairs[start:] + pairs[:start]
        return change_concurrently(
            stores,
            [(pair, kinds[(place * start) % len(kinds)]()) for place, pair in enumerate(rotated)],
        )

    for start in (5, 17, 31):
        await asyncio.gather(singly(start), singly(start + 9), batched(start), batched(start + 3))
    await drain_all(stores)
    report = await verify(storage_settings)
    assert report.clean, report.drifts


async def test_a_batch_is_visible_to_writers_at_once_and_to_others_after_a_drain(
    stores: Stores,
) -> None:
    changes = [(as_pair(user, 500), follow(PLENTY)) for user in range(1, 6)]
    await change_concurrently(stores, changes)
    relations = await stores.reads.edge_notes.own_edges(UserId(1), [UserId(500)])
    assert relations.keys() == {500}
    await drain_all(stores)
    rows = await stores.servers.postgres.fetch("SELECT 1 FROM follower WHERE to_user_id = 500")
    assert len(rows) == 5
