"""Affinity ranks in PostgreSQL: their sums, concurrent batches, and the limit on their number."""

import asyncio
from math import inf, isclose, log
from random import Random

import pytest

from graph.affinity import added
from graph.edge import Pair, UserId
from storage.postgres import affinity
from storage.postgres.affinity import RANKS_KEPT, PostgresAffinity
from storage.postgres.connection.pool import Postgres
from storage.settings import StorageSettings
from storage.stores import Stores
from tests.support import citus
from tests.support.citus_databases import SHARDS
from tests.support.edge_files import execute, fetch
from tests.support.graphs import as_pair
from workers import main
from workers.job_metrics import JobMetrics

ONE = UserId(1)


@pytest.fixture
def store(postgres: Postgres) -> PostgresAffinity:
    return PostgresAffinity(postgres)


@pytest.mark.parametrize("apart", [0.0, 1e-9, 0.5, 30.0, 699.0, 800.0, 1e6])
@pytest.mark.parametrize("base", [-1e4, 0.0, 470.0, 3e5])
async def test_postgresql_adds_ranks_as_the_python_code_does(
    store: PostgresAffinity, base: float, apart: float
) -> None:
    for first, second in ((2, 3), (3, 2)):
        await store.record({as_pair(1, first): base, as_pair(1, second): base + apart})
    expected = added(base, base + apart)
    ranks = await store.closest(ONE)
    assert all(isclose(rank, expected, rel_tol=1e-12, abs_tol=1e-9) for rank in ranks.values())
    assert ranks.keys() == {2, 3}


async def test_an_empty_batch_sends_no_statement(
    store: PostgresAffinity, postgres: Postgres
) -> None:
    before = postgres.statements
    await store.record({})
    assert postgres.statements == before
    assert await store.closest(ONE) == {}


async def test_a_batch_is_one_statement_or_on_citus_one_for_each_shard(
    store: PostgresAffinity, postgres: Postgres
) -> None:
    before = postgres.statements
    await store.record({as_pair(user, user + 1): 1.0 for user in range(1, 501)})
    assert postgres.statements - before == (1 if citus.prefix() is None else 1 + SHARDS)


async def test_closest_returns_the_highest_ranks_first(store: PostgresAffinity) -> None:
    await store.record({as_pair(1, 2): 5.0, as_pair(1, 3): -7.0, as_pair(1, 4): 9.0})
    await store.record({as_pair(2, 1): 100.0})
    assert list((await store.closest(ONE)).items()) == [(4, 9.0), (2, 5.0), (3, -7.0)]


async def test_concurrent_batches_of_the_same_pairs_are_all_added_without_deadlock(
    store: PostgresAffinity, storage_settings: StorageSettings
) -> None:
    """Every batch has the same pairs in a different order."""
    pairs = [as_pair(user, other) for user in range(1, 21) for other in range(21, 36)]

    async def record(seed: int) -> None:
        shuffled = list(pairs)
        Random(seed).shuffle(shuffled)
        await store.record(dict.fromkeys(shuffled, 0.0))

    await asyncio.gather(*map(record, range(24)))
    ranks = await fetch(storage_settings, "SELECT rank FROM affinity")
    assert len(ranks) == len(pairs)
    assert all(isclose(rank, log(24), rel_tol=1e-9) for (rank,) in ranks)


async def count_of_others(settings: StorageSettings, user: int) -> int:
    ((others,),) = await fetch(
        settings, f"SELECT others FROM affinity_count WHERE user_id = {user}"
    )
    return others


async def test_a_pair_is_counted_once(
    store: PostgresAffinity, storage_settings: StorageSettings
) -> None:
    for _ in range(3):
        await store.record({as_pair(1, 2): 1.0, as_pair(1, 3): 1.0, as_pair(2, 3): 1.0})
    assert await count_of_others(storage_settings, 1) == 2
    assert await count_of_others(storage_settings, 2) == 1


async def record_ranks(store: PostgresAffinity, user: int, others: int) -> None:
    """Record ranks of a user for `others` users. The greater the other's id, the higher."""
    await store.record({as_pair(user, other): float(other) for other in range(10, 10 + others)})


async def test_prune_keeps_the_highest_ranks_of_a_user_with_too_many(
    store: PostgresAffinity, storage_settings: StorageSettings
) -> None:
    await record_ranks(store, 1, RANKS_KEPT + 250)
    await record_ranks(store, 2, RANKS_KEPT + 50)
    assert await store.prune() == 250
    assert await store.prune() == 0
    ((kept, least),) = await fetch(
        storage_settings, "SELECT count(*), min(other_id) FROM affinity WHERE user_id = 1"
    )
    assert (kept, least) == (RANKS_KEPT, 260)
    assert await count_of_others(storage_settings, 1) == RANKS_KEPT
    assert await count_of_others(storage_settings, 2) == RANKS_KEPT + 50  # pruned only above 2,200
    assert len(await store.closest(UserId(2))) == RANKS_KEPT


async def test_prune_handles_a_bounded_number_of_users_and_later_the_others(
    store: PostgresAffinity,
    storage_settings: StorageSettings,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(affinity, "CROWDED_BATCH", 2)
    await execute(
        storage_settings,
        f"INSERT INTO affinity SELECT u, 10 + o, o FROM generate_series(1, 5) u,"
        f" generate_series(1, {RANKS_KEPT + 1}) o",
        "INSERT INTO affinity_count SELECT u, 2201 FROM generate_series(1, 5) u",
    )
    assert await store.prune(limit=2) == 2
    assert await store.prune() == 3


async def test_prune_is_bounded_also_if_the_planner_expects_one_row(
    store: PostgresAffinity, storage_settings: StorageSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its plan is then a nested loop, which may run a subquery with a LIMIT for each row."""
    monkeypatch.setattr(affinity, "CROWDED_BATCH", 2)
    crowded = "INSERT INTO affinity_count SELECT u, 2201 FROM generate_series({}, {}) u"
    await execute(
        storage_settings, crowded.format(1, 1), "ANALYZE affinity_count", crowded.format(2, 6)
    )
    await store.prune(limit=2)
    left = "SELECT count(*) FROM affinity_count WHERE others > 2200"
    assert await fetch(storage_settings, left) == [(4,)]


async def test_the_purge_of_the_worker_prunes_affinity(
    stores: Stores, storage_settings: StorageSettings
) -> None:
    await record_ranks(stores.jobs.periodic.affinity, 1, RANKS_KEPT + 250)
    await main._purge(
        {"metrics": JobMetrics(), "stores": stores, "undo_s": 900, "webhooks_kept_s": 86_400}
    )
    assert await fetch(storage_settings, "SELECT count(*) FROM affinity") == [(RANKS_KEPT,)]


async def test_prune_skips_locked_rows(store: PostgresAffinity, postgres: Postgres) -> None:
    await record_ranks(store, 1, RANKS_KEPT + 250)
    async with postgres.connection() as other, other.transaction():
        await other.fetch("SELECT FROM affinity WHERE user_id = 1 AND other_id = 10 FOR UPDATE")
        async with asyncio.timeout(3):
            assert await store.prune() == 249


async def test_prune_during_concurrent_batches_keeps_the_highest_ranks(
    store: PostgresAffinity, storage_settings: StorageSettings
) -> None:
    await record_ranks(store, 1, RANKS_KEPT + 250)
    pairs: dict[Pair, float] = {as_pair(1, other): 5000.0 for other in range(10, 310)}
    await asyncio.gather(*(store.record(pairs) for _ in range(4)), store.prune(), store.prune())
    rows = await fetch(
        storage_settings, "SELECT rank FROM affinity WHERE user_id = 1 AND rank >= 5000"
    )
    assert len(rows) == 300
    assert max((await store.closest(ONE)).values(), default=-inf) > 5000


async def test_affinity_of_an_erased_user_is_deleted_in_both_directions_in_bounded_steps(
    store: PostgresAffinity, storage_settings: StorageSettings
) -> None:
    await record_ranks(store, 1, 25)
    await store.record({as_pair(user, 1): 1.0 for user in range(10, 25)})
    await store.record({as_pair(10, 11): 1.0})
    assert [await store.forget(ONE, limit=20) for _ in range(3)] == [20, 20, 0]
    assert await fetch(storage_settings, "SELECT user_id, other_id FROM affinity") == [(10, 11)]
    counted = await fetch(storage_settings, "SELECT user_id FROM affinity_count")
    assert (1,) not in counted


async def test_affinity_recorded_during_a_deletion_is_deleted_next_time(
    store: PostgresAffinity, storage_settings: StorageSettings
) -> None:
    pairs: dict[Pair, float] = {as_pair(1, other): 1.0 for other in range(10, 310)}
    reverse = {pair.reversed: 1.0 for pair in pairs}
    await asyncio.gather(
        *(store.record(pairs | reverse) for _ in range(4)),
        *(store.forget(ONE, 100) for _ in range(4)),
    )
    while await store.forget(ONE, 100) == 100:
        pass
    assert await fetch(storage_settings, "SELECT 1 FROM affinity") == []
