"""Budgets are spent in portions, shared by all processes, and enforced without Redis too."""

from dataclasses import replace
from pathlib import Path

import pytest

from gateway.graphql.budgets import CALLERS_MAX, Budgets, Exhausted
from graph.rate_limit import Bucket, Grant
from storage.settings import StorageSettings
from storage.stores import Stores, open_stores
from tests.support.redis_proxy import proxy_to

SIZE = 1_000
PORTION = SIZE // 20
AN_HOUR_S = 3_600
BUCKET = Bucket(SIZE, full_after_s=AN_HOUR_S)
"""It refills so slowly that it gains no token during a test."""


class Clock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


async def spend(budgets: Budgets, cost: int, caller: int | str = 1) -> None:
    waiting = budgets.charge(caller, cost)
    if waiting is not None:
        await waiting


async def spend_all(budgets: Budgets, cost: int = 10, caller: int | str = 1) -> int:
    """Spend until the budget is used up. Return the sum of the costs."""
    spent = 0
    while True:
        try:
            await spend(budgets, cost, caller)
        except Exhausted:
            return spent
        spent += cost


async def test_a_bucket_grants_what_it_has_and_when_empty_the_time_to_wait(stores: Stores) -> None:
    take = stores.caches.budgets.take
    assert await take("a", BUCKET, 0, 10, 60) == Grant(60, 940, 0)
    assert await take("a", BUCKET, 40, 10, 60) == Grant(60, 840, 0)
    assert await take("a", BUCKET, 0, 840, 2_000) == Grant(840, 0, 0)
    granted, remaining, wait_ms = await take("a", BUCKET, 0, 10, 60)
    assert (granted, remaining) == (0, 0)
    assert 0.9 < wait_ms / (10 / SIZE * AN_HOUR_S * 1_000) <= 1
    assert await take("b", BUCKET, 0, 10, 60) == Grant(60, 940, 0)


async def test_a_bucket_refills_with_time(stores: Stores) -> None:
    take = stores.caches.budgets.take
    fast = Bucket(SIZE, full_after_s=1)
    await take("a", fast, 0, SIZE, SIZE)
    waits = []
    while not (grant := await take("a", fast, 0, SIZE // 10, SIZE // 10)).granted:
        waits.append(grant.wait_ms)
    assert grant.granted == SIZE // 10
    assert all(0 < wait <= 100 for wait in waits)


async def test_a_bucket_expires_when_it_is_full_again(stores: Stores) -> None:
    key = "kith:public:budget:a"
    await stores.caches.budgets.take("a", BUCKET, 0, SIZE // 2, SIZE // 2)
    (expires_ms,) = await stores.servers.redis.pipe([("PTTL", key)])
    assert 0.9 < expires_ms / (AN_HOUR_S * 500) < 1.1


async def test_most_charges_need_no_round_trip_to_redis(stores: Stores) -> None:
    budgets = Budgets(stores.caches.budgets, BUCKET)
    before = stores.servers.redis.round_trips
    assert await spend_all(budgets, cost=1) == SIZE
    assert stores.servers.redis.round_trips - before <= SIZE // PORTION + 1


async def test_redis_is_not_asked_before_the_first_portion_is_spent(stores: Stores) -> None:
    budgets = Budgets(stores.caches.budgets, BUCKET)
    assert [budgets.charge(1, 1) for _ in range(PORTION)] == [None] * PORTION
    waiting = budgets.charge(1, 1)
    assert waiting is not None
    await waiting


async def test_processes_share_a_budget(stores: Stores) -> None:
    processes = [Budgets(stores.caches.budgets, BUCKET) for _ in range(3)]
    spent = [await spend_all(budgets) for budgets in processes]
    # Each process may spend one portion before it asks.
    assert SIZE <= sum(spent) <= SIZE + (len(processes) - 1) * PORTION
    assert await spend_all(processes[0], caller=2) == SIZE


async def test_an_operation_may_cost_a_whole_budget(stores: Stores) -> None:
    budgets = Budgets(stores.caches.budgets, BUCKET)
    await spend(budgets, SIZE)
    with pytest.raises(Exhausted):
        await spend(budgets, 1)


async def test_debits_without_a_check_are_charged_to_later_requests(stores: Stores) -> None:
    budgets = Budgets(stores.caches.budgets, BUCKET)
    for _ in range(10 * SIZE):
        budgets.debit(1, 1)
    with pytest.raises(Exhausted):
        await spend(budgets, 1)
    budgets.debit(2, SIZE // 2)
    assert await spend_all(budgets, caller=2) == SIZE // 2


async def test_the_remaining_budget_is_reported(stores: Stores) -> None:
    clock = Clock()
    budgets = Budgets(stores.caches.budgets, BUCKET, clock)
    assert budgets.rate_limit(1, 7) == (7, SIZE, SIZE, None)
    for spent in range(10, SIZE, 10):
        await spend(budgets, 10)
        limit = budgets.rate_limit(1, 10)
        assert limit.remaining is not None
        assert 0 <= limit.remaining - (SIZE - spent) <= 1
    assert limit.reset_at is not None
    assert limit.reset_at / 1_000 - clock.now == pytest.approx(AN_HOUR_S, rel=0.05)
    clock.now += AN_HOUR_S / 2
    later = budgets.rate_limit(1, 10).remaining
    assert later == pytest.approx(SIZE / 2, rel=0.05)


async def test_concurrent_charges_take_one_portion_from_redis(stores: Stores) -> None:
    budgets = Budgets(stores.caches.budgets, BUCKET)
    await spend(budgets, PORTION)
    await stores.servers.redis.ping()  # connect before the round trips are counted
    before = stores.servers.redis.round_trips
    waiting = [budgets.charge(1, 1) for _ in range(20)]
    for one in waiting:
        assert one is not None
        await one
    assert stores.servers.redis.round_trips - before == 1


async def test_a_process_remembers_a_bounded_number_of_callers(stores: Stores) -> None:
    budgets = Budgets(stores.caches.budgets, BUCKET)
    for caller in range(CALLERS_MAX + 10):
        assert budgets.charge(caller, 1) is None
    assert len(budgets._callers) == CALLERS_MAX


async def test_without_redis_each_process_has_a_bucket_of_its_own(
    storage_settings: StorageSettings, tmp_path: Path
) -> None:
    clock = Clock()
    async with (
        proxy_to(storage_settings.redis_url, tmp_path) as (proxy, near),
        open_stores(replace(storage_settings, redis_url=near)) as stores,
    ):
        budgets = Budgets(stores.caches.budgets, BUCKET, clock)
        await proxy.cut()
        assert await spend_all(budgets) == PORTION + SIZE
        clock.now += AN_HOUR_S / 10
        assert await spend_all(budgets) == SIZE / 10
