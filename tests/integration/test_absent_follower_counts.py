"""The stored absent follower counts equal a count of the rows, after any changes."""

import asyncio
import random
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from graph.account_state import AccountState
from graph.counts import Counts
from graph.edge import Flags, Kind, UserId
from graph.lane import ALL_LANES
from storage.ports.reader import ProfilesOf
from storage.postgres import absent_follower_counts
from storage.postgres.absent_follower_counts import AbsentFollowerCounts
from storage.postgres.connection import locks
from storage.postgres.load.bulk_load import bulk_load
from storage.postgres.profiles import PostgresProfiles
from storage.postgres.verification.drift import DriftKind
from storage.postgres.verification.verify import verify
from storage.redis.keys import Keys
from storage.settings import StorageSettings
from storage.stores import Stores
from tests.support.edge_files import write_edges
from tests.support.edges import edges
from tests.support.graphs import drain_all
from workers.absent_follower_counts import update_absent_follower_counts
from workers.erasures import erase

USERS = [UserId(user) for user in range(1, 8)]
KINDS = [Kind.NONE, Kind.FOLLOW, Kind.FOLLOW, Kind.WHISPER, Kind.REQUEST, Kind.BLOCK]
ALL_LISTS_ARE_SHORT = 1_000_000
"""Followers of a short list, at most: with this limit, absent followers are looked up in all."""


async def totals(stores: Stores, followers_max: int = -1) -> Mapping[UserId, Counts]:
    """The totals of all users without absent accounts, from the tables.

    By default, they are computed with the stored absent follower counts only.
    """
    found = await PostgresProfiles(stores.servers.postgres, followers_max).get_many(USERS, None)
    return {user: profile.counts.without_absent for user, profile in found.items()}


async def totals_by_lookups(stores: Stores) -> Mapping[UserId, Counts]:
    """The same totals with a lookup of each follower, which an uncounted absent account causes."""
    await stores.servers.postgres.fetch("INSERT INTO account (user_id, state) VALUES (99, 1)")
    found = await totals(stores, ALL_LISTS_ARE_SHORT)
    await stores.servers.postgres.fetch("DELETE FROM account WHERE user_id = 99")
    return found


async def change_at_random(stores: Stores, chance: random.Random) -> None:
    """Change an edge or the state of an account, drain all lanes, or count an absent account."""
    choice = chance.random()
    one, other = chance.sample(USERS, 2)
    if choice < 0.5:
        flags = chance.choice([Flags.PLAIN, Flags.CLOSE_FOLLOW])
        await edges(stores, {(one, other): (chance.choice(KINDS), flags)})
    elif choice < 0.8:
        state = chance.choice([AccountState.ACTIVE, AccountState.DEACTIVATED])
        await stores.writes.account_states.change(one, state)
    elif choice < 0.9:
        await asyncio.gather(*map(stores.jobs.lanes.drain.lane, ALL_LANES))
    else:
        await stores.jobs.accounts.absent_follower_counts.update(1)


@pytest.mark.parametrize("seed", range(12))
async def test_absent_follower_counts_equal_a_count_row_by_row(
    stores: Stores, storage_settings: StorageSettings, seed: int
) -> None:
    chance = random.Random(seed)
    for _ in range(60):
        await change_at_random(stores, chance)
    if seed % 3 == 0:
        deleted = chance.choice(USERS)
        await stores.writes.account_states.change(deleted, AccountState.DELETED)
        await update_absent_follower_counts(stores)
        while await erase(stores, deleted):
            pass
    await drain_all(stores)
    await update_absent_follower_counts(stores)
    assert await totals(stores) == await totals_by_lookups(stores)
    assert (await verify(storage_settings)).clean


async def test_counts_are_exact_when_drains_and_counting_run_concurrently(
    stores: Stores, storage_settings: StorageSettings
) -> None:
    chance = random.Random(1)
    for _ in range(8):
        await asyncio.gather(
            *(change_at_random(stores, chance) for _ in range(8)),
            update_absent_follower_counts(stores),
        )
    await drain_all(stores)
    await update_absent_follower_counts(stores)
    assert await totals(stores) == await totals_by_lookups(stores)
    assert (await verify(storage_settings)).clean


async def test_a_batch_has_several_accounts_with_few_edges_or_one_with_many(
    stores: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(absent_follower_counts, "EDGES_MAX", 3)
    follows = {1: (4, 5), 2: (4,), 3: (4, 5, 6, 7), 4: (5,)}
    await edges(stores, {(a, b): Kind.FOLLOW for a, others in follows.items() for b in others})
    await drain_all(stores)
    for user in follows:
        await stores.writes.account_states.change(UserId(user), AccountState.DEACTIVATED)
    batches = [
        (await stores.jobs.accounts.absent_follower_counts.update(5)).accounts for _ in range(4)
    ]
    assert batches == [2, 1, 1, 0]


async def test_nothing_is_counted_while_another_process_counts(stores: Stores) -> None:
    await stores.writes.account_states.change(USERS[0], AccountState.DEACTIVATED)
    async with stores.servers.postgres.connection() as other, other.transaction():
        await other.row("SELECT lock_at(0, $1, 0)", locks.ABSENT_FOLLOWER_COUNTS)
        assert (await stores.jobs.accounts.absent_follower_counts.update(5)).accounts == 0
    assert (await stores.jobs.accounts.absent_follower_counts.update(5)).accounts == 1


async def test_uncounted_absent_followers_are_looked_up_in_short_lists_only(stores: Stores) -> None:
    await edges(stores, {(2, 1): Kind.FOLLOW, (3, 1): Kind.FOLLOW})
    await drain_all(stores)
    await stores.writes.account_states.change(UserId(2), AccountState.DEACTIVATED)
    assert (await totals(stores, 2))[USERS[0]].followers == 1
    assert (await totals(stores, 1))[USERS[0]].followers == 2, "long lists need the stored counts"
    await update_absent_follower_counts(stores)
    assert (await totals(stores, 1))[USERS[0]].followers == 1


async def test_counting_deletes_the_cached_totals_of_long_lists_only(
    stores: Stores, storage_settings: StorageSettings
) -> None:
    await edges(stores, {(2, 1): Kind.FOLLOW, (3, 1): Kind.FOLLOW})
    await drain_all(stores)
    counts = AbsentFollowerCounts(stores.servers.postgres, followers_max=1)
    accounts = replace(stores.jobs.accounts, absent_follower_counts=counts)
    with_long_list = replace(stores, jobs=replace(stores.jobs, accounts=accounts))
    key = Keys(storage_settings.space).profile(USERS[0])
    for store, state, cached in (
        (with_long_list, AccountState.DEACTIVATED, 0),
        (stores, AccountState.ACTIVE, 1),  # its limit makes the list a short one
    ):
        await stores.writes.account_states.change(UserId(2), state)
        await stores.reads.reader.read(None, ProfilesOf(USERS[:1]))
        assert await update_absent_follower_counts(store) == 1
        assert await stores.servers.redis.pipe([("EXISTS", key)]) == [cached]
        assert await update_absent_follower_counts(store) == 0


async def test_follows_loaded_for_an_absent_account_are_counted(
    stores: Stores, storage_settings: StorageSettings, tmp_path: Path
) -> None:
    await stores.writes.account_states.change(UserId(2), AccountState.DEACTIVATED)
    await update_absent_follower_counts(stores)
    await bulk_load(storage_settings, write_edges(tmp_path / "edges.csv", [(2, 1, 5), (3, 1, 6)]))
    assert (await totals(stores))[USERS[0]].followers == 1
    assert (await verify(storage_settings)).clean


async def test_verify_finds_and_repairs_wrong_absent_follower_counts(
    stores: Stores, storage_settings: StorageSettings
) -> None:
    await edges(stores, {(2, 1): Kind.FOLLOW, (3, 1): Kind.WHISPER, (4, 1): Kind.REQUEST})
    await drain_all(stores)
    await asyncio.gather(
        *(
            stores.writes.account_states.change(UserId(user), AccountState.DEACTIVATED)
            for user in (2, 3, 4)
        )
    )
    await update_absent_follower_counts(stores)
    expected = await totals(stores)
    await stores.servers.postgres.fetch(
        "UPDATE follower_count SET absent_follows = 7, absent_whispers = 0, absent_requests = 2"
    )
    found = await verify(storage_settings, repair=True)
    assert [(drift.kind, drift.count) for drift in found.drifts] == [(DriftKind.ABSENT_COUNT, 3)]
    assert (await verify(storage_settings)).clean
    assert await totals(stores) == expected
    await stores.servers.postgres.fetch("DELETE FROM follower WHERE from_user_id = 3")
    assert not (await verify(storage_settings, repair=True)).clean
    assert (await verify(storage_settings)).clean
    assert await totals(stores) == expected
