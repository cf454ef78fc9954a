"""Deleted accounts are erased completely, in batches that may be interrupted at any step."""

import asyncio
from dataclasses import replace
from uuid import uuid4

import pytest

from graph.account import PrivacyChange
from graph.account_state import AccountState
from graph.decision_types import Decision, PairState, Rule
from graph.edge import Flags, Kind, Millis, Pair, UserId
from graph.event import event_type_for
from graph.follow_group import AddMembers, CreateGroup, GroupId
from graph.outcome import Outcome
from graph.pace import Pace
from graph.receipt import IdempotentRequest
from graph.rules import among_active, block, decline_request, end_mute, follow, mute
from storage import erasure
from storage.erasure import BatchResult, Erasure
from storage.ports.edges import Edges
from storage.ports.events import FeedBatch
from storage.ports.reader import AccountsOf
from storage.postgres.verification.drift import DriftKind
from storage.postgres.verification.verify import verify
from storage.settings import StorageSettings
from storage.stores import Stores
from tests.support.counts import Totals
from tests.support.edges import Edges as WrittenEdges
from tests.support.edges import edges
from tests.support.graphs import PLENTY, as_pair, drain_all, drain_waiting, follows, with_receipt
from workers.erasures import erase, wake_erasures

DELETED = UserId(50)
EDGES: WrittenEdges = {
    (1, 2): Kind.FOLLOW,
    (2, 1): Kind.FOLLOW,
    (DELETED, 1): Kind.FOLLOW,
    (1, DELETED): (Kind.FOLLOW, Flags.CLOSE_FOLLOW | Flags.MUTED),
    (DELETED, 2): (Kind.WHISPER, Flags.CLOSE_FOLLOW),
    (2, DELETED): Kind.WHISPER,
    (DELETED, 3): Kind.REQUEST,
    (4, DELETED): Kind.REQUEST,
    (DELETED, 5): Kind.BLOCK,
    (6, DELETED): Kind.BLOCK,
    (DELETED, 7): (Kind.NONE, Flags.MUTED),
    (8, DELETED): (Kind.NONE, Flags.DISMISSED | Flags.MUTED),
    (9, DELETED): Kind.FOLLOW,
}
ROWS_LEFT = """
SELECT 'following' FROM following
WHERE $1 IN (from_user_id, to_user_id)
  AND (kind <> 0 OR flags <> 0 OR message IS NOT NULL OR muted_until IS NOT NULL
       OR from_user_id = $1)
UNION ALL SELECT 'follower' FROM follower
WHERE $1 IN (from_user_id, to_user_id) AND (kind <> 0 OR flags <> 0)
UNION ALL SELECT 'following_count' FROM following_count WHERE user_id = $1
UNION ALL SELECT 'follower_count' FROM follower_count WHERE user_id = $1
UNION ALL SELECT 'affinity' FROM affinity WHERE $1 IN (user_id, other_id)
UNION ALL SELECT 'private_note' FROM private_note WHERE $1 IN (author_id, other_id)
UNION ALL SELECT 'follow_group' FROM follow_group WHERE user_id = $1
UNION ALL SELECT 'follow_group_member' FROM follow_group_member WHERE $1 IN (user_id, target_id)
UNION ALL SELECT 'pinned_following' FROM pinned_following WHERE $1 IN (user_id, other_id)
UNION ALL SELECT 'receipt' FROM receipt
WHERE actor_id = $1 OR (other_id = $1 AND messages IS NOT NULL)
"""


@pytest.fixture
def immediate_eraser(stores: Stores) -> Erasure:
    """An erasure that does not wait for writes in flight, because there are none."""
    return eraser(stores)


def eraser(stores: Stores, edges: Edges | None = None, in_flight_s: float = 0.0) -> Erasure:
    return Erasure(
        edges or stores.writes.edges,
        stores.jobs.accounts.erasures,
        stores.jobs.lanes.drain,
        stores.caches.updates,
        stores.jobs.periodic.affinity,
        in_flight_s,
    )


async def new_group(stores: Stores, owner: UserId, *members: UserId) -> GroupId:
    groups, pace = stores.own_data.follow_groups, Pace(60, 10)
    made = await groups.change(owner, CreateGroup("Work"), pace, 900)
    assert made.created is not None
    added = await groups.change(owner, AddMembers(made.created, members), pace, 900)
    assert added.outcome is Outcome.UPDATED
    return made.created


async def delete(stores: Stores, user: UserId = DELETED) -> None:
    change = await stores.writes.account_states.change(user, AccountState.DELETED)
    assert change.outcome is Outcome.DELETED


async def erase_all(stores: Stores, eraser: Erasure, user: UserId = DELETED) -> list[BatchResult]:
    """Erase batches until nothing is left. Drain the lanes when the erasure waits for them."""
    results = []
    for _ in range(200):
        results.append(await eraser.erase_batch(user))
        if results[-1] is BatchResult.DONE:
            return results
        if results[-1] is BatchResult.WAIT:
            await drain_waiting(stores)  # a second worker may be erasing
    raise AssertionError("the erasure does not end")


async def tables_with_rows(stores: Stores, user: UserId = DELETED) -> list[str]:
    """The tables that still have rows of the user."""
    return [row[0] for row in await stores.servers.postgres.fetch(ROWS_LEFT, user)]


async def test_nothing_is_left_of_a_deleted_account(
    stores: Stores, storage_settings: StorageSettings, immediate_eraser: Erasure
) -> None:
    await edges(stores, EDGES)
    await stores.writes.edges.change(as_pair(8, DELETED), mute())
    await stores.jobs.periodic.affinity.record({as_pair(1, DELETED): 5.0, as_pair(DELETED, 1): 5.0})
    for pair in (as_pair(1, DELETED), as_pair(DELETED, 1), as_pair(1, 2)):
        await stores.own_data.private_notes.set_note(pair, "Met at work")
    for owner, members in ((UserId(1), (UserId(2), DELETED)), (DELETED, (UserId(1),))):
        await new_group(stores, owner, *members)
    for user, pinned in ((1, [2, DELETED]), (DELETED, [2])):
        await stores.own_data.pinned_following.replace(UserId(user), list(map(UserId, pinned)))
    await drain_all(stores)
    assert {"private_note", "pinned_following"} < {*await tables_with_rows(stores)}
    assert {"follow_group", "follow_group_member"} < {*await tables_with_rows(stores)}
    await delete(stores)
    await erase_all(stores, immediate_eraser)
    await drain_all(stores)
    assert await tables_with_rows(stores) == []
    assert await stores.own_data.private_notes.get_many(UserId(1), [UserId(2), DELETED]) == {
        UserId(2): "Met at work"
    }
    (remaining,) = await stores.own_data.follow_groups.get_many(UserId(1))
    assert await stores.own_data.follow_groups.counts(UserId(1), [remaining.id]) == {
        remaining.id: 1
    }
    assert await stores.own_data.pinned_following.pinned_by(UserId(1)) == [2]
    report = await verify(storage_settings)
    assert report.clean, report.drifts
    counts = await Totals(stores.reads.reader).get_many(
        [UserId(u) for u in (1, 2, 3, 4, 5, 6, 8, 9)], None
    )
    assert counts[UserId(1)].numbers[:3] == counts[UserId(2)].numbers[:3] == (1, 1, 1)
    assert not any(any(counts[UserId(u)].numbers) for u in (3, 4, 5, 6, 8, 9))
    (status,) = (await stores.writes.account_states.get_many([DELETED])).values()
    assert status.state is AccountState.DELETED
    assert status.deletion
    assert (status.deletion.edges_left, bool(status.deletion.finished_at)) == (0, True)
    assert DELETED not in await stores.reads.absences.now(), (
        "an erased account has no edges to hide"
    )


async def test_messages_of_a_deleted_account_are_erased_everywhere(
    stores: Stores, immediate_eraser: Erasure, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("storage.postgres.erasures.BATCH_ROWS", 2)
    for other in (1, 2, 3, 4, 5):
        await stores.writes.accounts.set_privacy(UserId(other), PrivacyChange(protected=True))
        await stores.writes.edges.change(as_pair(DELETED, other), follow(PLENTY, message="Please!"))
    for other in (1, 2, 3):
        await stores.writes.edges.change(
            as_pair(other, DELETED), with_receipt(decline_request(), uuid4())
        )
    await stores.writes.edges.change(as_pair(4, DELETED), with_receipt(block(PLENTY), uuid4()))
    await stores.writes.edges.change(as_pair(4, 5), follow(PLENTY, message="And me!"))
    await stores.writes.edges.change(as_pair(5, 4), with_receipt(decline_request(), uuid4()))
    await delete(stores)
    await erase_all(stores, immediate_eraser)
    assert await tables_with_rows(stores) == []
    remaining = await stores.servers.postgres.fetch(
        "SELECT messages FROM receipt ORDER BY actor_id"
    )
    assert [row["messages"] for row in remaining] == [None] * 4 + [[None, "And me!"]]


EVENTS: dict[int, list[str]] = {
    1: ["UNFOLLOWED 1 50", "UNFOLLOWED 50 1", "UNMUTED 1 50"],
    2: ["UNFOLLOWED 2 50", "UNFOLLOWED 50 2"],
    3: ["REQUEST_CANCELLED 50 3"],
    4: ["REQUEST_DECLINED 4 50"],
    5: [],
    6: ["UNBLOCKED 6 50"],
    7: [],
    8: ["UNMUTED 8 50"],
    9: ["UNFOLLOWED 9 50"],
}
"""The events that each user gets when the account is erased, as if each edge had been ended."""


async def test_each_user_gets_events_for_the_edges_that_they_could_see(
    stores: Stores, immediate_eraser: Erasure
) -> None:
    await edges(stores, EDGES)
    await drain_all(stores)
    opened = {user: await stores.broker.events.open(UserId(user)) for user in EVENTS}
    await delete(stores)
    await erase_all(stores, immediate_eraser)
    await drain_all(stores)
    for user, cursor in opened.items():
        batch = await stores.broker.events.after(UserId(user), cursor, 20)
        assert not batch.lost
        assert sorted(events_for(batch, UserId(user))) == EVENTS[user]


def events_for(batch: FeedBatch, viewer: UserId) -> list[str]:
    """The events that a viewer may see, each as its type, source and target."""
    events = {one.event.id: one.event for one in batch.events}.values()
    return [
        f"{event_type.name} {event.source} {event.target}"
        for event in events
        if (event_type := event_type_for(event, viewer))
    ]


class StopError(Exception):
    """Ends an erasure, as if its worker was killed."""


class StoppingEdges:
    """Makes `more` changes. Raises StopError after the last one, and instead of later ones."""

    def __init__(self, inner: Edges, more: int) -> None:
        self._inner, self.more = inner, more

    async def change(self, pair: Pair, rule: Rule) -> Decision:
        self.more -= 1
        if self.more < 0:
            raise StopError
        decision = await self._inner.change(pair, rule)
        if self.more == 0:
            raise StopError
        return decision

    async def read(self, pair: Pair) -> Decision:
        return await self._inner.read(pair)


@pytest.mark.parametrize("drained", [True, False], ids=["drained", "lanes lag"])
@pytest.mark.parametrize("batch", range(1, 4))
async def test_an_erasure_that_is_killed_after_any_step_can_be_continued(
    stores: Stores,
    storage_settings: StorageSettings,
    monkeypatch: pytest.MonkeyPatch,
    batch: int,
    drained: bool,
) -> None:
    monkeypatch.setattr(erasure, "BATCH", batch)
    monkeypatch.setattr(erasure, "AT_ONCE", 1)
    await edges(stores, EDGES)
    if drained:
        await drain_all(stores)
    await delete(stores)
    kills = 0
    for _ in range(200):
        killed = eraser(stores, StoppingEdges(stores.writes.edges, 1))
        try:
            result = await killed.erase_batch(DELETED)
        except StopError:
            kills += 1
            continue
        if result is BatchResult.DONE:
            break
        await drain_all(stores)
    assert (
        kills >= len([ends for ends in EDGES if DELETED in ends]) - 2
    )  # one change ends both edges of two pairs
    await drain_all(stores)
    assert await tables_with_rows(stores) == []
    assert (await verify(storage_settings)).clean


async def test_two_workers_may_erase_the_same_account(
    stores: Stores, storage_settings: StorageSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(erasure, "BATCH", 20)
    fans = [(fan, DELETED) for fan in range(100, 180)]
    await follows(stores, *fans, *((DELETED, star) for star in range(200, 240)))
    await drain_all(stores)
    await delete(stores)
    erasers = [eraser(stores), eraser(stores)]
    await asyncio.gather(*(erase_all(stores, one) for one in erasers))
    await drain_all(stores)
    assert await tables_with_rows(stores) == []
    assert (await verify(storage_settings)).clean


async def test_a_follower_in_a_lane_that_is_not_drained_is_erased(
    stores: Stores, immediate_eraser: Erasure
) -> None:
    await follows(stores, (1, DELETED))
    await delete(stores)
    assert await stores.jobs.lanes.progress.lanes_with_changes()
    assert await immediate_eraser.erase_batch(DELETED) is BatchResult.MORE
    await erase_all(stores, immediate_eraser)
    await drain_all(stores)
    assert await tables_with_rows(stores) == []


async def test_a_change_decided_before_a_deletion_is_decided_again(stores: Stores) -> None:
    """A write that has read the account before its deletion decides again."""
    await delete(stores)
    decisions = 0

    def decided_before(state: PairState) -> Decision:
        nonlocal decisions
        decisions += 1
        if decisions == 1:
            return follow(PLENTY)(replace(state, both_active=True, deleted=False))
        return among_active(follow(PLENTY))(state)

    decision = await stores.writes.edges.change(as_pair(1, DELETED), decided_before)
    assert (decision.outcome, decisions) == (Outcome.NOT_ALLOWED, 2)
    assert await tables_with_rows(stores) == []


async def test_an_erasure_is_not_done_while_a_write_may_be_in_flight(stores: Stores) -> None:
    await follows(stores, (1, DELETED))
    await drain_all(stores)
    await delete(stores)
    waiting_eraser = eraser(stores, in_flight_s=3600)
    assert await waiting_eraser.erase_batch(DELETED) is BatchResult.MORE
    assert await waiting_eraser.erase_batch(DELETED) is BatchResult.WAIT
    # A write that began before the account was deleted.
    await edges(stores, {(2, DELETED): (Kind.NONE, Flags.PLAIN)})
    await stores.servers.postgres.fetch(
        "UPDATE following SET kind = 1 WHERE from_user_id = 2 AND to_user_id = $1", DELETED
    )
    await stores.servers.postgres.fetch("UPDATE outbox SET kind = 1 WHERE from_user_id = 2")
    await stores.servers.postgres.fetch("UPDATE following_count SET follows = 1 WHERE user_id = 2")
    assert await waiting_eraser.erase_batch(DELETED) is BatchResult.MORE
    await drain_all(stores)
    assert await waiting_eraser.erase_batch(DELETED) is BatchResult.WAIT
    await erase_all(stores, eraser(stores))
    assert await tables_with_rows(stores) == []


async def test_a_timed_mute_of_a_deleted_account_is_ended(stores: Stores) -> None:
    await follows(stores, (1, DELETED))
    await stores.writes.edges.change(as_pair(1, DELETED), mute(Millis(1)))
    await drain_all(stores)
    await delete(stores)
    decision = await stores.writes.edges.change(as_pair(1, DELETED), end_mute())
    assert decision.outcome is Outcome.UNMUTED
    assert not await stores.jobs.periodic.mutes.expired(10)


async def test_an_erasure_waits_until_a_reverse_row_without_forward_row_is_repaired(
    stores: Stores, storage_settings: StorageSettings, immediate_eraser: Erasure
) -> None:
    await stores.servers.postgres.fetch("INSERT INTO follower VALUES ($1, 1, 1, 1, 1)", DELETED)
    await stores.servers.postgres.fetch(
        "INSERT INTO follower_count (user_id, follows) VALUES ($1, 1)", DELETED
    )
    await delete(stores)
    assert await immediate_eraser.erase_batch(DELETED) is BatchResult.WAIT
    assert (await verify(storage_settings, repair=True)).repaired
    assert await erase_all(stores, immediate_eraser) == [BatchResult.DONE]


async def test_verify_finds_rows_of_an_erased_account(
    stores: Stores, storage_settings: StorageSettings, immediate_eraser: Erasure
) -> None:
    await delete(stores)
    assert await erase_all(stores, immediate_eraser) == [BatchResult.DONE]
    await edges(stores, {(2, 3): Kind.FOLLOW})
    await stores.servers.postgres.fetch("UPDATE account SET state = 0 WHERE user_id = $1", DELETED)
    await edges(stores, {(1, DELETED): Kind.FOLLOW})
    await stores.servers.postgres.fetch("UPDATE account SET state = 2 WHERE user_id = $1", DELETED)
    await drain_all(stores)
    (drift,) = (await verify(storage_settings)).drifts
    assert (drift.kind, drift.examples) == (DriftKind.ERASED_ACCOUNT, (str(DELETED),))
    assert await immediate_eraser.erase_batch(DELETED) is BatchResult.DONE, (
        "the account is not marked for another erasure"
    )
    await verify(storage_settings, repair=True)
    await erase_all(stores, immediate_eraser)
    await drain_all(stores)
    assert (await verify(storage_settings)).clean
    assert await tables_with_rows(stores) == []


async def test_writes_for_an_erased_account_store_nothing(
    stores: Stores, storage_settings: StorageSettings, immediate_eraser: Erasure
) -> None:
    await delete(stores)
    await erase_all(stores, immediate_eraser)
    ranks = {as_pair(1, DELETED): 5.0, as_pair(DELETED, 1): 5.0, as_pair(1, 2): 5.0}
    assert await stores.jobs.periodic.affinity.record(ranks) == {as_pair(1, 2)}
    change, key = PrivacyChange(protected=True), IdempotentRequest(DELETED, uuid4(), b"asked")
    saved = await stores.writes.accounts.set_privacy(DELETED, change, key, Pace(60, 10))
    assert saved.outcome is Outcome.ACCOUNT_NOT_ACTIVE
    saved = await stores.writes.accounts.set_following_limit(DELETED, 5)
    assert saved.outcome is Outcome.ACCOUNT_DELETED
    assert (await stores.reads.reader.read(None, AccountsOf([DELETED])))[
        DELETED
    ].following_limit is None
    assert await tables_with_rows(stores) == []
    assert (await verify(storage_settings)).clean


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO affinity (user_id, other_id, rank) VALUES (1, 50, 1)",
        "INSERT INTO affinity (user_id, other_id, rank) VALUES (50, 1, 1)",
        "INSERT INTO affinity_count (user_id, others) VALUES (50, 1)",
        "INSERT INTO following_count (user_id, paced_until) VALUES (50, 1)",
        "INSERT INTO follower_count (user_id) VALUES (50)",
        "INSERT INTO receipt (actor_id, id, asked, other_id, outcome, made_at) "
        "VALUES (50, gen_random_uuid(), '', 1, 'UPDATED', 1)",
        "INSERT INTO receipt (actor_id, id, asked, other_id, outcome, made_at, messages) "
        "VALUES (1, gen_random_uuid(), '', 50, 'REQUEST_DECLINED', 1, '{NULL, Please!}')",
        "INSERT INTO private_note (author_id, other_id, note) VALUES (50, 1, 'Tall')",
        "INSERT INTO private_note (author_id, other_id, note) VALUES (1, 50, 'Tall')",
        "INSERT INTO follow_group (user_id, group_id, name) VALUES (50, 1, 'Work')",
        "WITH made AS (INSERT INTO follow_group (user_id, group_id, name) VALUES (1, 1, 'Work')) "
        "INSERT INTO follow_group_member (user_id, target_id, group_id, since) "
        "VALUES (1, 50, 1, 1)",
        "INSERT INTO pinned_following (user_id, position, other_id, since) VALUES (50, 0, 1, 1)",
        "INSERT INTO pinned_following (user_id, position, other_id, since) VALUES (1, 3, 50, 1)",
        "UPDATE account SET protected = true WHERE user_id = 50",
        "UPDATE account SET followers_audience = 1 WHERE user_id = 50",
        "UPDATE account SET following_limit = 5 WHERE user_id = 50",
    ],
)
async def test_rows_written_after_an_erasure_are_found_and_erased(
    stores: Stores, storage_settings: StorageSettings, immediate_eraser: Erasure, statement: str
) -> None:
    await delete(stores)
    await erase_all(stores, immediate_eraser)
    assert (await verify(storage_settings)).clean
    await stores.servers.postgres.fetch(statement)
    (drift,) = (await verify(storage_settings, repair=True)).drifts
    assert (drift.kind, drift.examples) == (DriftKind.ERASED_ACCOUNT, (str(DELETED),))
    assert await erase_all(stores, immediate_eraser) == [BatchResult.DONE]
    assert (await verify(storage_settings)).clean
    assert await tables_with_rows(stores) == []


async def test_a_job_erases_a_limited_number_of_batches(
    stores: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(erasure, "BATCH", 1)
    await follows(stores, *((DELETED, star) for star in range(1, 8)))
    await drain_all(stores)
    await delete(stores)
    assert await erase(stores, DELETED)
    (status,) = (await stores.writes.account_states.get_many([DELETED])).values()
    assert status.deletion
    assert status.deletion.edges_left == 7 - 4
    assert not await erase(stores, DELETED), "nothing is left, but a write may be in flight"
    assert not await erase(stores, UserId(51)), "an active account is not erased"


async def test_unfinished_deletions_are_found_and_queued_once(stores: Stores) -> None:
    await delete(stores)
    await delete(stores, UserId(51))
    for _ in range(2):
        await wake_erasures(stores)
        assert await stores.broker.lanes.queued() == 2


async def test_others_can_write_while_an_account_with_many_followers_is_erased(
    stores: Stores, storage_settings: StorageSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """400 followers are erased in four batches. No writer waits for all of them."""
    monkeypatch.setattr(erasure, "BATCH", 100)
    await stores.servers.postgres.fetch(
        "INSERT INTO following (from_user_id, to_user_id, kind, flags, since, version) "
        "SELECT u, $1, 1, 0, u, 1 FROM generate_series(1000, 1399) u",
        DELETED,
    )
    await stores.servers.postgres.fetch(
        "INSERT INTO follower (to_user_id, from_user_id, kind, flags, since, version) "
        "SELECT to_user_id, from_user_id, kind, flags, since, version FROM following"
    )
    await stores.servers.postgres.fetch(
        "INSERT INTO following_count (user_id, follows) "
        "SELECT u, 1 FROM generate_series(1000, 1399) u"
    )
    await stores.servers.postgres.fetch(
        "INSERT INTO follower_count (user_id, follows) VALUES ($1, 400)", DELETED
    )
    await delete(stores)
    erasing = asyncio.create_task(erase_all(stores, eraser(stores)))
    written = 0
    while not erasing.done():
        await follows(stores, (1000 + written, 60))
        written += 1
        await asyncio.sleep(0)
    assert len(await erasing) >= 4 + 1
    assert written > 10
    await drain_all(stores)
    assert await tables_with_rows(stores) == []
    assert (await verify(storage_settings)).clean
