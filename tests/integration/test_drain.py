"""Drains apply each change once, also if they are repeated, killed, or get changes out of order."""

import asyncio
import random
from collections.abc import AsyncIterator, Coroutine
from dataclasses import replace
from typing import Any

import asyncpg
import pytest

from graph.counts import NO_COUNTS, Counts
from graph.edge import UserId
from graph.errors import Unavailable
from graph.lane import LANES, Lane, lane_of
from graph.lists import ListKind
from graph.outcome import Outcome
from graph.page import Window
from graph.relation import followed_by
from graph.rules import follow, remove_follower, unfollow
from storage import catch_up
from storage import drain as draining
from storage.ports.reader import Check, Consistency, PagesOf, RelationsOf
from storage.postgres.connection import locks
from storage.settings import StorageSettings
from storage.stores import Stores, open_stores
from tests.support import citus
from tests.support.advisory_locks import LOCK_LANE, waiting
from tests.support.counts import Totals
from tests.support.graphs import PLENTY, as_pair, drain_all, follows, ids_of, unfollows, users
from tests.support.waiting import until
from workers import sweep as sweeping
from workers.sweep import sweep

DEADLINE_S = citus.deadline_s(30)
LANE = Lane(7)
STARS = [user for user in range(1, 2000) if lane_of(UserId(user)) == LANE][:6]
"""Users of one lane, so that all drainers of a test drain the same lane."""

ONE, TWO = users(1, 2)


@pytest.fixture
async def worker(storage_settings: StorageSettings) -> AsyncIterator[Stores]:
    """Stores as in a second process, a worker."""
    async with open_stores(
        replace(storage_settings, connections=replace(storage_settings.connections, pool_max=12))
    ) as opened:
        yield opened


async def assert_drained(stores: Stores) -> None:
    """Reverse rows equal forward rows, counts equal rows, and the outbox is empty."""
    columns = "from_user_id, to_user_id, kind, flags, since, version"
    forward = await stores.servers.postgres.fetch(f"SELECT {columns} FROM following")
    reverse = await stores.servers.postgres.fetch(f"SELECT {columns} FROM follower")
    assert set(forward) == set(reverse)
    assert len(forward) == len(reverse)
    edges = {(source, target) for source, target, kind, *_ in forward if kind == 1}
    everybody = {user for source, target, *_ in forward for user in (source, target)}
    expected = {
        user: Counts(
            following=sum(source == user for source, _ in edges),
            followers=sum(target == user for _, target in edges),
            friends=sum(source == user and (target, user) in edges for source, target in edges),
        )
        for user in everybody
    }
    assert (
        await Totals(stores.reads.reader, Consistency.ROWS).get_many(users(*everybody), None)
        == expected
    )
    assert await stores.servers.postgres.fetch("SELECT FROM outbox") == []


async def toggle(stores: Stores, source: int, target: int) -> None:
    """Follow, or unfollow if the follow exists."""
    pair = as_pair(source, target)
    made = await stores.writes.edges.change(pair, follow(PLENTY))
    if made.outcome is Outcome.ALREADY_FOLLOWING:
        await stores.writes.edges.change(pair, unfollow())


async def run_all(work: list[Coroutine[Any, Any, None]], at_once: int = 6) -> None:
    """Run all of `work`, `at_once` at a time."""
    slots = asyncio.Semaphore(at_once)

    async def run_in_slot(one: Coroutine[Any, Any, None]) -> None:
        async with slots:
            await one

    await asyncio.gather(*map(run_in_slot, work))


async def drain_until(stores: Stores, over: asyncio.Event, most: int) -> None:
    """Drain `LANE` in batches of at most `most` changes until `over` is set."""
    while not over.is_set():
        applied = await stores.jobs.lanes.outbox.apply(LANE, most)
        await stores.jobs.lanes.drain.publish(LANE, applied)


# Each change is applied once.


async def test_ten_drainers_of_one_lane_apply_every_change_once(
    stores: Stores, worker: Stores
) -> None:
    chance = random.Random(20)
    changes = [(chance.randint(3000, 3009), chance.choice(STARS)) for _ in range(500)]
    over = asyncio.Event()
    drainers = [asyncio.create_task(drain_until(worker, over, 1 + n)) for n in range(10)]
    async with asyncio.timeout(DEADLINE_S):
        await run_all([toggle(stores, *change) for change in changes])
        over.set()
        await asyncio.gather(*drainers)
    await drain_all(stores)
    await assert_drained(stores)


@pytest.mark.parametrize("seed", range(4))
async def test_friend_counts_are_exact_while_both_users_write_and_drains_run(
    stores: Stores, worker: Stores, seed: int
) -> None:
    chance = random.Random(seed)
    few = STARS[:4]
    changes = [tuple(chance.sample(few, 2)) for _ in range(120)]
    over = asyncio.Event()
    drainers = [asyncio.create_task(drain_until(worker, over, 1 + 3 * n)) for n in range(3)]
    async with asyncio.timeout(DEADLINE_S):
        await run_all([toggle(stores, source, target) for source, target in changes])
        over.set()
        await asyncio.gather(*drainers)
    await drain_all(stores)
    await assert_drained(stores)


async def test_a_batch_takes_the_oldest_changes_up_to_its_limit(stores: Stores) -> None:
    star = STARS[0]
    await follows(stores, *((fan, star) for fan in range(3000, 3010)))
    taken = []
    for _ in range(4):
        applied = await stores.jobs.lanes.outbox.apply(LANE, 4)
        taken.append([change.pair.source for change in applied.changes])
        await stores.jobs.lanes.outbox.acknowledge(LANE, applied)
    assert taken == [[3000, 3001, 3002, 3003], [3004, 3005, 3006, 3007], [3008, 3009], []]


async def test_unacknowledged_changes_are_returned_again_with_new_ones(
    stores: Stores,
) -> None:
    star = STARS[0]
    await follows(stores, (3000, star))
    first = await stores.jobs.lanes.outbox.apply(LANE, 4)
    await follows(stores, (3001, star))
    both = await stores.jobs.lanes.outbox.apply(LANE, 4)
    assert both.ids[:1] == first.ids
    assert [change.pair.source for change in both.changes] == [3000, 3001]
    counts = await Totals(stores.reads.reader, Consistency.ROWS).get_many(users(star), None)
    assert counts[UserId(star)].followers == 2


async def test_a_drain_ends_after_some_batches_and_its_lane_stays_dirty(
    stores: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(draining, "BATCH", 3)
    monkeypatch.setattr(draining, "BATCHES_MAX", 2)
    await follows(stores, *((fan, STARS[0]) for fan in range(3000, 3010)))
    await stores.jobs.lanes.drain.lane(LANE)
    assert (await stores.jobs.lanes.progress.backlog()).rows == 4
    assert list(await stores.jobs.lanes.progress.lanes_with_changes()) == [LANE]
    await stores.jobs.lanes.drain.lane(LANE)
    await assert_drained(stores)


async def test_many_pending_changes_of_one_pair_lead_to_the_last_state(stores: Stores) -> None:
    for _ in range(5):
        await follows(stores, (1, 2))
        await unfollows(stores, (1, 2))
    await follows(stores, (2, 1), (1, 2))
    await drain_all(stores)
    await assert_drained(stores)
    assert (await Totals(stores.reads.reader).get_many([TWO], None))[TWO] == Counts(1, 1, 1)


# Workers are killed at any step.


async def seen_by_others(stores: Stores, user: UserId, other: UserId) -> tuple[object, ...]:
    """The followers of a user, their count, and whether `other` is one, without a viewer."""
    pages = await stores.reads.reader.read(None, PagesOf(ListKind.FOLLOWERS, [user], Window(9)))
    counts = await Totals(stores.reads.reader).get_many([user], None)
    ((relation,),) = await stores.reads.reader.read(None, RelationsOf([Check(user, [other])]))
    return ids_of(pages[user].entries), counts[user].followers, followed_by(relation.kinds)


async def test_changes_that_a_killed_worker_applied_are_published_by_the_next(
    stores: Stores, worker: Stores
) -> None:
    assert await seen_by_others(stores, TWO, ONE) == ([], 0, False)
    await follows(stores, (1, 2))
    lane = lane_of(TWO)
    await worker.jobs.lanes.outbox.apply(lane, 1000)  # the worker is killed here
    assert await seen_by_others(stores, TWO, ONE) == ([], 0, False), (
        "the caches are not updated yet"
    )
    assert list(await stores.jobs.lanes.progress.lanes_with_changes()) == [lane]
    await stores.jobs.lanes.drain.lane(lane)
    assert await seen_by_others(stores, TWO, ONE) == ([1], 1, True)
    await assert_drained(stores)


async def test_published_changes_without_acknowledgement_are_published_again(
    stores: Stores, worker: Stores
) -> None:
    await follows(stores, (1, 2))
    lane = lane_of(TWO)
    old = await worker.jobs.lanes.outbox.apply(lane, 1000)
    await worker.caches.updates.update_after_drain(old.changes)  # the worker is killed here
    await unfollows(stores, (1, 2))
    await drain_all(stores)
    await stores.caches.updates.update_after_drain(
        old.changes
    )  # as if the worker was slow and not killed
    assert await seen_by_others(stores, TWO, ONE) == ([], 0, False)
    await assert_drained(stores)


async def test_an_acknowledgement_deletes_only_applied_changes_of_its_lane(stores: Stores) -> None:
    await follows(stores, (1, 2))
    lane, outbox = lane_of(TWO), stores.jobs.lanes.outbox
    applied = await outbox.apply(lane, 1000)
    await outbox.acknowledge(Lane((lane + 1) % LANES), applied)  # another lane
    await stores.servers.postgres.fetch("UPDATE outbox SET applied = false")
    await outbox.acknowledge(lane, applied)
    assert (await stores.jobs.lanes.progress.backlog()).rows == 1
    await drain_all(stores)
    await assert_drained(stores)


async def test_a_drain_that_is_cancelled_at_any_step_applies_no_change_twice(
    stores: Stores, worker: Stores
) -> None:
    star = STARS[0]
    for turn in range(12):
        await toggle(stores, 3000, star)
        await toggle(stores, star, 3000)
        await toggle(stores, 3000 + turn, star)
        task = asyncio.create_task(worker.jobs.lanes.drain.lane(LANE))
        for _ in range(3 * turn):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    await drain_all(stores)
    await assert_drained(stores)


async def test_without_redis_changes_are_applied_and_wait_to_be_published(
    stores: Stores, storage_settings: StorageSettings
) -> None:
    assert await seen_by_others(stores, TWO, ONE) == ([], 0, False)
    await follows(stores, (1, 2))
    lane = lane_of(TWO)
    async with open_stores(
        replace(storage_settings, redis_url="unix:///nowhere.sock")
    ) as without_redis:
        with pytest.raises(Unavailable):
            await without_redis.jobs.lanes.drain.lane(lane)
        assert await seen_by_others(without_redis, TWO, ONE) == ([1], 1, True)
    assert list(await stores.jobs.lanes.progress.lanes_with_changes()) == [lane]
    await drain_all(stores)
    assert await seen_by_others(stores, TWO, ONE) == ([1], 1, True)
    await assert_drained(stores)


async def test_without_redis_a_writer_sees_a_change_behind_several_pending_batches(
    storage_settings: StorageSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without Redis, no change is acknowledged: each batch has the oldest changes again."""
    monkeypatch.setattr(draining, "BATCH", 3)
    monkeypatch.setattr(catch_up, "BATCH", 3)
    star = UserId(STARS[0])
    unreachable = replace(storage_settings, redis_url="unix:///nowhere.sock")
    async with open_stores(unreachable) as without_redis:
        await follows(without_redis, *((fan, star) for fan in range(3000, 3010)))
        removed = await without_redis.writes.edges.change(as_pair(star, 3009), remove_follower())
        assert removed.outcome is Outcome.FOLLOWER_REMOVED
        pages = await without_redis.reads.reader.read(
            star, PagesOf(ListKind.FOLLOWERS, [star], Window(20))
        )
        assert sorted(ids_of(pages[star].entries)) == list(range(3000, 3009))


async def test_unavailable_caches_delay_neither_lanes_nor_events(
    stores: Stores, storage_settings: StorageSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The caches have a server of their own, and the broker is available."""
    monkeypatch.setattr(draining, "BATCH", 3)
    star, fans = UserId(STARS[0]), range(3000, 3008)
    after_all_follows = ([*reversed(fans)], len(fans), True)
    assert await seen_by_others(stores, star, UserId(3000)) == ([], 0, False)
    cursor = await stores.broker.events.open(star)
    unreachable = replace(
        storage_settings, cache=replace(storage_settings.cache, url="unix:///nowhere.sock")
    )
    async with open_stores(unreachable) as without_cache:
        await follows(without_cache, *((fan, star) for fan in fans))
        await drain_all(without_cache)
        assert await seen_by_others(without_cache, star, UserId(3000)) == after_all_follows
        result = (await without_cache.broker.events.after(star, cursor, 99)).events
        assert [one.event.source for one in result] == [*fans]
        assert (await without_cache.jobs.lanes.progress.backlog()).rows == len(fans)
    assert await seen_by_others(stores, star, UserId(3000)) == ([], 0, False)
    await sweep(stores)
    assert await seen_by_others(stores, star, UserId(3000)) == after_all_follows
    assert (await stores.broker.events.after(star, result[-1].cursor, 99)).events == []
    await assert_drained(stores)


# Changes arrive out of order.


async def test_a_late_change_is_ignored_where_a_newer_one_was_applied(
    stores: Stores,
) -> None:
    await follows(stores, (2, 1))
    await drain_all(stores)
    await follows(stores, (1, 2))
    (late,) = await stores.servers.postgres.fetch(
        "DELETE FROM outbox RETURNING lane, from_user_id, to_user_id, since, version, kind, flags,"
        " friends"
    )
    await unfollows(stores, (1, 2))
    await stores.jobs.lanes.drain.lane(lane_of(TWO))
    await stores.servers.postgres.fetch(
        "INSERT INTO outbox (lane, from_user_id, to_user_id, since, version, kind, flags, friends)"
        " VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
        *late,
    )
    assert list(await stores.jobs.lanes.progress.lanes_with_changes()) == [lane_of(TWO)]
    await drain_all(stores)
    await assert_drained(stores)
    assert await seen_by_others(stores, TWO, ONE) == ([], 0, False)


async def test_a_batch_with_changes_in_the_wrong_order_is_applied_correctly(stores: Stores) -> None:
    await follows(stores, (1, 2))
    await unfollows(stores, (1, 2))
    await follows(stores, (1, 2), (2, 1))
    await stores.servers.postgres.fetch(
        "UPDATE outbox o SET version = s.version, kind = s.kind, since = s.since"
        " FROM (SELECT version, kind, since, row_number() OVER (ORDER BY id DESC) AS place"
        "       FROM outbox WHERE to_user_id = 2) s"
        " JOIN (SELECT id, row_number() OVER (ORDER BY id) AS place"
        "       FROM outbox WHERE to_user_id = 2) t USING (place)"
        " WHERE o.id = t.id AND o.to_user_id = 2"
    )
    await drain_all(stores)
    await assert_drained(stores)


async def test_a_friendship_made_and_ended_before_a_drain_never_counts_below_zero(
    stores: Stores,
) -> None:
    await follows(stores, (1, 2))
    await drain_all(stores)
    await follows(stores, (2, 1))  # stays pending
    await unfollows(stores, (1, 2))
    for viewer in (None, ONE, TWO):
        counts = await Totals(stores.reads.reader, Consistency.ROWS).get_many([ONE, TWO], viewer)
        assert counts[ONE].friends == 0
        assert counts[TWO].friends >= 0
    await drain_all(stores)
    assert await Totals(stores.reads.reader).get_many([ONE], None) == {ONE: Counts(0, 1, 0)}
    await assert_drained(stores)


# Lanes and their wake-ups.


async def test_a_blocked_lane_does_not_delay_other_lanes(stores: Stores, database_url: str) -> None:
    other = next(user for user in range(1, 99) if lane_of(UserId(user)) != LANE)
    await follows(stores, (3000, STARS[0]), (3000, other))
    connection = await asyncpg.connect(database_url)
    try:
        async with connection.transaction():
            await connection.execute(LOCK_LANE, locks.LANE, LANE)
            blocked = asyncio.create_task(stores.jobs.lanes.drain.lane(LANE))

            async def it_waits() -> bool:
                return await waiting(stores.servers.postgres) == 1

            await until(it_waits)
            await stores.jobs.lanes.drain.lane(lane_of(UserId(other)))
            star, reached = UserId(STARS[0]), UserId(other)
            counts = await Totals(stores.reads.reader).get_many([star, reached], None)
            assert not blocked.done()
            assert (counts[star], counts[reached].followers) == (NO_COUNTS, 1)
        async with asyncio.timeout(DEADLINE_S):
            await blocked
    finally:
        await connection.close()
    await assert_drained(stores)


async def test_the_sweep_skips_a_lane_that_another_process_drains(
    stores: Stores,
    database_url: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    other = next(user for user in range(1, 99) if lane_of(UserId(user)) != LANE)
    await follows(stores, (3000, STARS[0]), (3000, other))
    monkeypatch.setattr(sweeping, "OVERDUE_S", 0)
    connection = await asyncpg.connect(database_url)
    try:
        async with connection.transaction():
            await connection.execute(LOCK_LANE, locks.LANE, LANE)
            await sweep(stores)
            assert list(await stores.jobs.lanes.progress.lanes_with_changes()) == [LANE]
    finally:
        await connection.close()
    assert "cannot be drained" not in caplog.text
    await sweep(stores)
    await assert_drained(stores)


async def test_the_sweep_wakes_lanes_whose_job_was_lost(stores: Stores) -> None:
    await follows(stores, (3000, STARS[0]), (3000, 1))

    async def both_lanes_are_queued() -> bool:
        return await stores.broker.lanes.queued() == 2

    await until(both_lanes_are_queued)
    await stores.servers.redis.pipe([("FLUSHDB",)])
    assert await stores.broker.lanes.queued() == 0
    await sweep(stores)
    await until(both_lanes_are_queued)
    assert (await stores.jobs.lanes.progress.backlog()).rows == 2


async def test_the_sweep_drains_overdue_lanes_itself(
    stores: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweeping, "OVERDUE_S", 0)
    await follows(stores, (3000, STARS[0]), (3000, 1), (1, 3000))
    await sweep(stores)
    await assert_drained(stores)


async def test_a_backlog_has_the_age_of_its_oldest_change(stores: Stores) -> None:
    backlog = await stores.jobs.lanes.progress.backlog()
    assert (backlog.rows, backlog.oldest_s) == (0, 0)
    await follows(stores, (1, 2), (1, 3))
    await stores.servers.postgres.fetch(
        "UPDATE outbox SET version = version - 90000000 WHERE to_user_id=3"
    )
    backlog = await stores.jobs.lanes.progress.backlog()
    assert backlog.rows == 2
    assert 90 <= backlog.oldest_s < 90 + DEADLINE_S
    ages = await stores.jobs.lanes.progress.lanes_with_changes()
    assert 90 <= ages[lane_of(UserId(3))] < 90 + DEADLINE_S
    assert ages.keys() == {lane_of(TWO), lane_of(UserId(3))}
