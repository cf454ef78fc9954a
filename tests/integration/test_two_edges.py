"""Concurrent changes of both edges of a pair: atomic, without deadlock, within the rate limit."""

import asyncio
from collections.abc import Sequence
from itertools import permutations
from random import Random
from uuid import uuid4

import pytest

from graph.decision_types import Decision, Rule
from graph.edge import Kind, Pair
from graph.outcome import Outcome
from graph.pace import Pace, paced
from graph.rules import (
    accept_request,
    block,
    decline_request,
    follow,
    mute,
    remove_follower,
    unblock,
    unfollow,
)
from graph.undo import undo
from storage.postgres.connection.pool import Postgres
from storage.postgres.connection.session import session
from storage.postgres.edges import PostgresEdges
from storage.settings import StorageSettings
from storage.stores import Stores
from tests.support.edge_files import assert_whole
from tests.support.graphs import PLENTY, as_pair, drain_all, follows, with_receipt
from tests.support.relationships import protect
from tests.support.waiting import until

ALL_PAIRS = list(permutations((1, 2, 3), 2))


async def change_concurrently(
    postgres: Postgres, changes: Sequence[tuple[tuple[int, int], Rule]]
) -> list[Decision]:
    edges = PostgresEdges(postgres)
    return list(
        await asyncio.gather(*(edges.change(as_pair(*pair), rule) for pair, rule in changes))
    )


async def test_three_users_who_block_each_other_concurrently_cause_no_deadlock(
    postgres: Postgres, storage_settings: StorageSettings
) -> None:
    """A deadlock would raise Unavailable."""
    ring = [(1, 2), (2, 3), (3, 1)]
    for _ in range(50):
        follow_all = [(pair, follow(PLENTY)) for pair in ALL_PAIRS]
        assert {one.outcome for one in await change_concurrently(postgres, follow_all)} == {
            Outcome.FOLLOWED
        }
        blocked = await change_concurrently(postgres, [(pair, block(PLENTY)) for pair in ring])
        assert {one.outcome for one in blocked} == {Outcome.BLOCKED}
        assert all(len(one.steps) == 2 for one in blocked)
        await change_concurrently(postgres, [(pair, unblock()) for pair in ring])
    await postgres.fetch("DELETE FROM outbox")


LOCK = "SELECT FROM following_count WHERE user_id = $1 FOR UPDATE"
IS_WAITING = "SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted)"


@pytest.mark.plain("its locks are those of several machines")
@pytest.mark.parametrize("pair", [(1, 2), (2, 1)])
async def test_the_count_of_the_smaller_user_is_locked_first(
    postgres: Postgres, storage_settings: StorageSettings, pair: tuple[int, int]
) -> None:
    """Either user can act: two writers that lock the same counts then never deadlock."""
    await change_concurrently(postgres, [((1, 2), follow(PLENTY)), ((2, 1), follow(PLENTY))])
    async with session(storage_settings, "test") as holder:
        async with holder.transaction():
            await holder.execute(LOCK, 1)
            blocking = asyncio.create_task(change_concurrently(postgres, [(pair, block(PLENTY))]))

            async def is_waiting() -> bool:
                return bool(await holder.fetchval(IS_WAITING))

            await until(is_waiting)
            await holder.execute(f"{LOCK} NOWAIT", 2)
        assert [decision.outcome for decision in await blocking] == [Outcome.BLOCKED]


async def test_concurrent_random_changes_leave_a_consistent_graph(
    stores: Stores, storage_settings: StorageSettings
) -> None:
    await protect(stores, 1, 2)
    chance = Random(7)
    rules = [
        follow(PLENTY),
        follow(PLENTY),
        unfollow(mutual=True),
        remove_follower(mutual=True),
        accept_request(PLENTY, mutual=True),
        decline_request(),
        block(PLENTY),
        unblock(),
        mute(),
    ]
    pairs = list(permutations((1, 2, 3, 4), 2))
    for _ in range(40):
        changes = [(chance.choice(pairs), chance.choice(rules)) for _ in range(50)]
        await change_concurrently(stores.servers.postgres, changes)
    await drain_all(stores)
    await assert_whole(storage_settings)


@pytest.mark.parametrize("is_reverse", [False, True], ids=["own edges", "edges of others"])
async def test_concurrent_changes_do_not_exceed_the_rate_limit(
    stores: Stores, is_reverse: bool
) -> None:
    others = range(2, 42)
    if is_reverse:
        await follows(stores, *((other, 1) for other in others))
    rule = paced(remove_follower() if is_reverse else follow(PLENTY), Pace(3_600_000_000, burst=7))
    result = await change_concurrently(
        stores.servers.postgres, [((1, other), rule) for other in others]
    )
    outcomes = [one.outcome for one in result]
    done = Outcome.FOLLOWER_REMOVED if is_reverse else Outcome.FOLLOWED
    assert outcomes.count(done) == 7
    assert outcomes.count(Outcome.RATE_LIMITED) == 33


@pytest.mark.parametrize("ending", [unfollow(mutual=True), remove_follower(), block(PLENTY)])
@pytest.mark.parametrize("is_batched", [False, True], ids=["alone", "in a batch"])
async def test_concurrent_undos_do_not_exceed_the_limit_of_the_other_user(
    stores: Stores, storage_settings: StorageSettings, ending: Rule, is_batched: bool
) -> None:
    """Three users restore their friendships with user 1 at once, who may follow one user."""
    pairs = [as_pair(user, 1) for user in (2, 3, 4)]
    await follows(stores, *pairs, *(pair.reversed for pair in pairs))
    rules = []
    for pair in pairs:
        receipt_id = uuid4()
        await stores.writes.edges.change(pair, with_receipt(ending, receipt_id))
        stored = await stores.writes.receipts.get_many(pair.source, [receipt_id])
        record = stored[receipt_id].receipt.undo
        assert record is not None
        rules.append(undo(1, record))
    all_have_read = asyncio.Barrier(len(pairs))
    waited = set()

    async def restore(pair: Pair, rule: Rule) -> Decision:
        async def wait_once() -> None:
            if pair not in waited:
                waited.add(pair)
                await all_have_read.wait()

        if is_batched:
            return await stores.batched.writes.edges.change(pair, rule)
        return await PostgresEdges(stores.servers.postgres).change(pair, rule, wait_once)

    result = await asyncio.gather(*map(restore, pairs, rules))
    assert [decision.reverse.kind for decision in result].count(Kind.FOLLOW) == 1
    row = await stores.servers.postgres.row("SELECT follows FROM following_count WHERE user_id = 1")
    assert row is not None
    assert row["follows"] == 1
    await drain_all(stores)
    await assert_whole(storage_settings)


async def test_a_block_ends_a_concurrent_follow(stores: Stores) -> None:
    """In either order, the block is made and the follow does not remain."""
    for _ in range(50):
        result = await change_concurrently(
            stores.servers.postgres, [((1, 2), follow(PLENTY)), ((2, 1), block(PLENTY))]
        )
        assert result[1].outcome is Outcome.BLOCKED
        row = await stores.servers.postgres.row(
            "SELECT kind FROM following WHERE from_user_id = 1 AND to_user_id = 2"
        )
        assert row is None or row["kind"] == 0
        await change_concurrently(stores.servers.postgres, [((2, 1), unblock())])


async def test_a_removed_follower_is_not_counted_after_the_change_without_a_worker(
    stores: Stores,
) -> None:
    await follows(stores, (2, 1))
    await drain_all(stores)
    await stores.writes.edges.change(as_pair(1, 2), remove_follower())
    row = await stores.servers.postgres.row("SELECT follows FROM follower_count WHERE user_id = 1")
    assert row is not None
    assert row["follows"] == 0
