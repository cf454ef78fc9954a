"""A receipt is written in the transaction of its change, and only its actor finds it."""

import asyncio
from dataclasses import replace
from uuid import UUID, uuid4

import pytest

from graph.account import PrivacyChange
from graph.decision_types import Decision, PairState, Rule
from graph.edge import Pair, UserId
from graph.outcome import Outcome
from graph.receipt import Receipt, ReceiptConsumed, ReceiptExists
from graph.rules import block, cancel_request, decline_request, follow
from graph.undo import undo, undo_record
from storage.postgres.purge import purge_messages, purge_receipts
from storage.stores import Stores
from tests.support.graphs import PLENTY, as_pair, follows, users, with_receipt

DAY_S = 86_400


async def count_receipts(stores: Stores) -> int:
    row = await stores.servers.postgres.row("SELECT count(*) FROM receipt")
    assert row is not None
    return int(row["count"])


async def test_a_receipt_is_found_as_it_was_written(stores: Stores) -> None:
    await follows(stores, (1, 2), (2, 1))
    receipt_id = uuid4()
    states: list[PairState] = []
    rule = with_receipt(block(PLENTY), receipt_id)

    def recording_rule(state: PairState) -> Decision:
        states.append(state)
        return rule(state)

    decision = await stores.writes.edges.change(as_pair(1, 2), recording_rule)
    stored = (await stores.writes.receipts.get_many(UserId(1), [receipt_id, uuid4()]))[receipt_id]
    record = undo_record(states[-1], decision)
    assert stored.receipt == Receipt(receipt_id, b"asked", Outcome.BLOCKED, record)
    assert (stored.other, 0 <= stored.age_us < 60_000_000) == (2, True)
    assert await stores.writes.receipts.get_many(UserId(2), [receipt_id]) == {}


async def test_a_receipt_keeps_the_messages_of_requests(stores: Stores) -> None:
    await stores.writes.accounts.set_privacy(UserId(2), PrivacyChange(protected=True))
    receipt_id = uuid4()
    await stores.writes.edges.change(as_pair(1, 2), follow(PLENTY, message="Please!"))
    await stores.writes.edges.change(as_pair(2, 1), with_receipt(block(PLENTY), receipt_id))
    record = (await stores.writes.receipts.get_many(UserId(2), [receipt_id]))[
        receipt_id
    ].receipt.undo
    assert record is not None
    assert (record.message, record.other_message) == (None, "Please!")


async def test_a_change_without_effect_may_have_a_receipt(stores: Stores) -> None:
    await follows(stores, (1, 2))
    receipt_id = uuid4()
    await stores.writes.edges.change(as_pair(1, 2), with_receipt(follow(PLENTY), receipt_id))
    stored = (await stores.writes.receipts.get_many(UserId(1), [receipt_id]))[receipt_id]
    assert stored.receipt == Receipt(receipt_id, b"asked", Outcome.ALREADY_FOLLOWING)


async def test_a_change_is_not_made_if_its_receipt_id_exists(stores: Stores) -> None:
    receipt_id = uuid4()
    await stores.writes.edges.change(as_pair(1, 2), with_receipt(follow(PLENTY), receipt_id))
    with pytest.raises(ReceiptExists):
        await stores.writes.edges.change(as_pair(1, 3), with_receipt(follow(PLENTY), receipt_id))
    assert await count_receipts(stores) == (await stores.jobs.lanes.progress.backlog()).rows == 1
    row = await stores.servers.postgres.row("SELECT follows FROM following_count WHERE user_id = 1")
    assert row is not None
    assert row["follows"] == 1


async def test_of_concurrent_changes_with_one_receipt_id_one_is_made(stores: Stores) -> None:
    receipt_id = uuid4()
    result = await asyncio.gather(
        *(
            stores.writes.edges.change(as_pair(1, other), with_receipt(follow(PLENTY), receipt_id))
            for other in (*range(2, 10), *[30] * 4)
        ),
        return_exceptions=True,
    )
    assert sum(isinstance(one, Decision) for one in result) == 1
    assert sum(isinstance(one, ReceiptExists) for one in result) == 11
    assert await count_receipts(stores) == (await stores.jobs.lanes.progress.backlog()).rows == 1


async def test_concurrent_changes_beyond_a_limit_leave_no_receipts(stores: Stores) -> None:
    result = await asyncio.gather(
        *(
            stores.writes.edges.change(
                as_pair(1, other), _with_receipt_if_changed(follow(3), uuid4())
            )
            for other in range(2, 32)
        )
    )
    assert sum(one.outcome is Outcome.FOLLOWED for one in result) == 3
    assert await count_receipts(stores) == 3


def _with_receipt_if_changed(rule: Rule, receipt_id: UUID) -> Rule:
    def decide(state: PairState) -> Decision:
        decision = with_receipt(rule, receipt_id)(state)
        return decision if decision.steps else replace(decision, receipt=None)

    return decide


async def test_concurrent_undos_consume_a_receipt_once(stores: Stores) -> None:
    receipt_id = uuid4()
    await stores.writes.accounts.set_privacy(UserId(1), PrivacyChange(protected=True))
    await stores.writes.edges.change(as_pair(2, 1), follow(PLENTY, message="Please!"))
    await stores.writes.edges.change(as_pair(1, 2), with_receipt(decline_request(), receipt_id))

    record = (await stores.writes.receipts.get_many(UserId(1), [receipt_id]))[
        receipt_id
    ].receipt.undo
    assert record is not None

    async def undo_once() -> Outcome:
        rule = undo(PLENTY, record)  # the record was read before any undo

        def decide(state: PairState) -> Decision:
            decision = rule(state)
            return replace(decision, consumes=receipt_id if decision.steps else None)

        return (await stores.writes.edges.change(as_pair(1, 2), decide)).outcome

    result = await asyncio.gather(*(undo_once() for _ in range(10)), return_exceptions=True)
    assert result.count(Outcome.RESTORED) == 1
    assert {type(one) for one in result if one is not Outcome.RESTORED} <= {
        Outcome,
        ReceiptConsumed,
    }
    consumed = (await stores.writes.receipts.get_many(UserId(1), [receipt_id]))[
        receipt_id
    ].receipt.undo
    assert consumed is not None
    assert (consumed.version, consumed.other_message) == (-1, None)
    await stores.writes.edges.change(as_pair(2, 1), cancel_request())
    waiting = (await stores.jobs.lanes.progress.backlog()).rows
    with pytest.raises(ReceiptConsumed):
        await undo_once()
    assert (await stores.jobs.lanes.progress.backlog()).rows == waiting


async def test_old_receipts_are_purged_in_batches(
    stores: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("storage.postgres.purge.BATCH", 2)
    for other in users(2, 3, 4, 5, 6):
        await stores.writes.edges.change(
            Pair(UserId(1), other), with_receipt(follow(PLENTY), uuid4())
        )
    assert await purge_receipts(stores.servers.postgres, DAY_S) == 0
    await stores.servers.postgres.fetch(
        f"UPDATE receipt SET made_at = made_at - {DAY_S + 60} * 1000000::bigint WHERE other_id < 6"
    )
    assert await purge_receipts(stores.servers.postgres, DAY_S, limit=2) == 2
    assert await purge_receipts(stores.servers.postgres, DAY_S) == 2
    assert await count_receipts(stores) == 1


async def test_messages_of_requests_are_purged_before_their_receipts(stores: Stores) -> None:
    for requester in users(2, 3):
        await stores.writes.accounts.set_privacy(UserId(1), PrivacyChange(protected=True))
        await stores.writes.edges.change(
            Pair(requester, UserId(1)), follow(PLENTY, message="Please!")
        )
        await stores.writes.edges.change(
            Pair(UserId(1), requester), with_receipt(decline_request(), uuid4())
        )
    assert await purge_messages(stores.servers.postgres, 900) == 0
    await stores.servers.postgres.fetch(
        "UPDATE receipt SET made_at = made_at - 901 * 1000000::bigint WHERE other_id = 2"
    )
    assert await purge_messages(stores.servers.postgres, 900) == 1
    assert await purge_messages(stores.servers.postgres, 900) == 0
    rows = await stores.servers.postgres.fetch("SELECT messages FROM receipt ORDER BY other_id")
    assert [row["messages"] for row in rows] == [None, [None, "Please!"]]
