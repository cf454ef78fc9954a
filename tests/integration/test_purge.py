"""The purge deletes old tombstones in bounded batches, except those with pending changes."""

import asyncio

import pytest

from graph.edge import Pair, UserId
from graph.outcome import Outcome
from graph.rules import dismiss, follow, mute, unfollow, unmute
from storage.postgres import purge as purging
from storage.postgres.connection.pool import Postgres
from storage.postgres.edges import PostgresEdges
from storage.postgres.outbox import Outbox
from storage.postgres.purge import Purged, purge
from storage.settings import StorageSettings
from tests.support import citus
from tests.support.citus_databases import SHARDS
from tests.support.edge_files import assert_whole, drain_reverse, execute, fetch

PLENTY = 1_000_000
DAY_S = 86_400
NOTHING = Purged(0, 0)
ROWS = "SELECT from_user_id, to_user_id, kind FROM {} ORDER BY 1, 2"


def pair(source: int, target: int) -> Pair:
    return Pair(UserId(source), UserId(target))


async def publish_all(postgres: Postgres) -> None:
    """Apply all changes to the reverse rows, and empty the outbox."""
    await drain_reverse(Outbox(postgres))
    await postgres.fetch("DELETE FROM outbox")


@pytest.fixture
async def unfollowed(postgres: Postgres) -> Postgres:
    """A graph where user 1 follows 2, and has unfollowed 3 and 4."""
    edges = PostgresEdges(postgres)
    for other in (2, 3, 4):
        await edges.change(pair(1, other), follow(PLENTY))
    for other in (3, 4):
        await edges.change(pair(1, other), unfollow())
    await publish_all(postgres)
    return postgres


async def age(settings: StorageSettings, condition: str = "true") -> None:
    """Make the tombstones that meet the condition two days old."""
    for table in ("following", "follower"):
        await execute(
            settings,
            f"UPDATE {table} SET version = version - {2 * DAY_S * 1_000_000}"
            f" WHERE kind = 0 AND {condition}",
        )


async def test_a_mute_or_dismissal_without_a_follow_is_kept(
    postgres: Postgres, storage_settings: StorageSettings
) -> None:
    edges = PostgresEdges(postgres)
    await edges.change(pair(1, 2), mute())
    await edges.change(pair(1, 3), dismiss())
    await publish_all(postgres)
    await age(storage_settings)
    assert (await purge(postgres, DAY_S)).forward == 0
    assert (await edges.change(pair(1, 2), mute())).outcome is Outcome.ALREADY_MUTED
    assert (await edges.change(pair(1, 3), dismiss())).outcome is Outcome.ALREADY_DISMISSED
    await edges.change(pair(1, 2), unmute())
    await publish_all(postgres)
    await age(storage_settings)
    assert (await purge(postgres, DAY_S)).forward == 1
    await assert_whole(storage_settings)


async def test_group_members_are_deleted_with_the_tombstones_of_their_follows(
    unfollowed: Postgres, storage_settings: StorageSettings
) -> None:
    for member in (2, 3, 4):
        await execute(
            storage_settings,
            "INSERT INTO follow_group_member (user_id, target_id, group_id, since)"
            f" VALUES (1, {member}, 7, 1), (2, {member + 1}, 7, 1)",
        )
    await age(storage_settings, "to_user_id = 3")
    assert await purge(unfollowed, DAY_S) == Purged(1, 1)
    assert await fetch(
        storage_settings, "SELECT user_id, target_id FROM follow_group_member ORDER BY 1, 2"
    ) == [(1, 2), (1, 4), (2, 3), (2, 4), (2, 5)]


async def test_old_tombstones_are_deleted_from_both_edge_tables(
    unfollowed: Postgres, storage_settings: StorageSettings
) -> None:
    await age(storage_settings, "to_user_id = 3")
    assert await purge(unfollowed, DAY_S) == Purged(1, 1)
    for table in ("following", "follower"):
        assert await fetch(storage_settings, ROWS.format(table)) == [(1, 2, 1), (1, 4, 0)]
    assert await purge(unfollowed, DAY_S) == NOTHING
    await assert_whole(storage_settings)


async def test_forward_tombstones_can_be_kept_for_longer(
    unfollowed: Postgres, storage_settings: StorageSettings
) -> None:
    await age(storage_settings)
    assert await purge(unfollowed, DAY_S, forward_s=3 * DAY_S) == Purged(0, 2)
    assert await purge(unfollowed, DAY_S, forward_s=3 * DAY_S) == NOTHING
    assert await purge(unfollowed, DAY_S) == Purged(2, 0)
    await assert_whole(storage_settings)


async def test_an_old_edge_that_is_no_tombstone_is_kept(
    unfollowed: Postgres, storage_settings: StorageSettings
) -> None:
    await execute(storage_settings, "UPDATE following SET version = 1 WHERE to_user_id = 2")
    await execute(storage_settings, "UPDATE follower SET version = 1 WHERE to_user_id = 2")
    assert await purge(unfollowed, DAY_S) == NOTHING


@pytest.mark.parametrize("applied", [False, True])
async def test_a_tombstone_with_a_change_in_the_outbox_is_kept(
    unfollowed: Postgres, storage_settings: StorageSettings, applied: bool
) -> None:
    await age(storage_settings)
    await execute(
        storage_settings,
        "INSERT INTO outbox (lane, from_user_id, to_user_id, since, version, kind, flags, friends,"
        f" applied) VALUES (1, 1, 3, 1, 1, 0, 0, 0, {applied})",
    )
    assert await purge(unfollowed, DAY_S) == Purged(1, 1)
    assert (1, 3, 0) in await fetch(storage_settings, ROWS.format("following"))
    assert (1, 3, 0) in await fetch(storage_settings, ROWS.format("follower"))


async def test_a_follow_after_half_a_purge_replaces_the_remaining_tombstone(
    unfollowed: Postgres, storage_settings: StorageSettings
) -> None:
    await age(storage_settings)
    await execute(storage_settings, "DELETE FROM following WHERE kind = 0")  # half of a purge
    decision = await PostgresEdges(unfollowed).change(pair(1, 3), follow(PLENTY))
    assert decision.outcome is Outcome.FOLLOWED
    await publish_all(unfollowed)
    assert (1, 3, 1) in await fetch(storage_settings, ROWS.format("follower"))
    await assert_whole(storage_settings)


async def test_a_purge_deletes_in_batches_up_to_its_limit(
    postgres: Postgres, storage_settings: StorageSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(purging, "BATCH", 10)
    await execute(
        storage_settings,
        "INSERT INTO following SELECT 1, u, 1, 1, 0 FROM generate_series(2, 96) u",
        "INSERT INTO follower SELECT u, 1, 1, 1, 0 FROM generate_series(2, 96) u",
    )
    before = postgres.statements
    assert await purge(postgres, DAY_S, limit=40) == Purged(40, 40)
    each = 1 if citus.prefix() is None else 3  # find, group by shard, delete
    forward = 4 * each  # rows of one user
    reverse = postgres.statements - before - forward
    assert reverse == 4 if citus.prefix() is None else reverse <= 4 * (2 + SHARDS)
    assert await purge(postgres, DAY_S) == Purged(55, 55)


async def test_a_purge_skips_locked_rows(
    unfollowed: Postgres, storage_settings: StorageSettings
) -> None:
    await age(storage_settings)
    async with unfollowed.connection() as other, other.transaction():
        await other.fetch(
            "SELECT 1 FROM following WHERE from_user_id = 1 AND to_user_id = 3 FOR UPDATE"
        )
        async with asyncio.timeout(3):
            assert await purge(unfollowed, DAY_S) == Purged(1, 2)
    assert await purge(unfollowed, DAY_S) == Purged(1, 0)
