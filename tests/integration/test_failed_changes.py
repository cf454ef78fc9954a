"""A change that cannot be applied leaves its lane. An operator retries or drops it."""

from pathlib import Path

import asyncpg
import pytest

from gateway.commands import outbox as command
from gateway.settings.config import read_config
from graph.edge import UserId
from graph.lane import lane_of
from storage import drain as draining
from storage.postgres.verification.verify import verify
from storage.settings import StorageSettings
from storage.stores import Stores
from tests.integration.test_hot_lane import LANE, OTHERS, STAR, add_follows_of_star, followers
from tests.support import citus
from tests.support.gateway import Gateway
from tests.support.graphs import drain_all, follows
from tests.support.own_writes import write
from workers.sweep import sweep

FULL_USER = OTHERS[0]
COUNT_MAX = 2**31 - 1


@pytest.fixture(autouse=True)
def no_pause_between_tries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(draining, "TRIES_PAUSE_S", 0)


async def set_friends(stores: Stores, user: int, friends: int = COUNT_MAX) -> None:
    """Set a user's number of friends, by default so high that none can be added."""
    await stores.servers.postgres.fetch(
        "INSERT INTO follower_count (user_id, friends) VALUES ($1, $2)"
        " ON CONFLICT (user_id) DO UPDATE SET friends = excluded.friends",
        user,
        friends,
    )


async def follow_each_other(stores: Stores, user: int, fan: int) -> None:
    """The user follows the fan. The follow back is pending, and adds one to the user's friends."""
    await follows(stores, (user, fan))
    await drain_all(stores)
    await follows(stores, (fan, user))


@pytest.mark.parametrize("before", [0, 137, 300])
async def test_a_change_that_cannot_be_applied_leaves_its_lane_and_no_other_change_does(
    stores: Stores, before: int
) -> None:
    await follows(stores, (FULL_USER, 9))
    await drain_all(stores)
    await set_friends(stores, FULL_USER)
    await add_follows_of_star(stores, before)
    await follows(stores, (9, FULL_USER))
    await add_follows_of_star(stores, 300 - before, first=2_000_000)
    await follows(stores, (9, OTHERS[1]))
    await stores.jobs.lanes.drain.lane(LANE)
    assert (await followers(stores, STAR), await followers(stores, OTHERS[1])) == (300, 1)
    assert await followers(stores, FULL_USER) == 0
    (change,) = await stores.jobs.lanes.failed_changes.first(9)
    assert (change.pair, change.tries) == ((9, FULL_USER), draining.TRIES)
    assert "out of range" in change.error
    assert change.kind_name == "FOLLOW"
    assert not await stores.jobs.lanes.progress.lanes_with_changes()
    await sweep(stores)
    assert await stores.jobs.lanes.failed_changes.count() == 1, "the sweep does not retry it"


async def test_a_mutation_whose_change_has_failed_is_delayed(
    gateway: Gateway, stores: Stores
) -> None:
    """The removed follower stays in the list until the change is applied, also after a repeat."""
    await follow_each_other(stores, 1, 2)
    await drain_all(stores)
    await set_friends(stores, 1, -COUNT_MAX - 1)  # so low that none can be subtracted
    for outcome in ("FOLLOWER_REMOVED", "NOT_FOLLOWED"):
        payload = await write(gateway, 1, "removeFollower", {"userId": "2"})
        assert (payload["outcome"], payload["consistency"]) == (outcome, "DELAYED")
    assert await stores.jobs.lanes.failed_changes.count() == 1


async def test_a_failed_change_is_found_in_a_batch_that_targets_share(
    stores: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(draining, "BATCH", 20)
    monkeypatch.setattr(draining, "SHARE", 5)
    await follows(stores, (FULL_USER, 9))
    await drain_all(stores)
    await set_friends(stores, FULL_USER)
    await add_follows_of_star(stores, 200)
    await follows(stores, (9, FULL_USER), (9, OTHERS[1]))
    await drain_all(stores)
    assert (await followers(stores, STAR), await followers(stores, OTHERS[1])) == (200, 1)
    assert await stores.jobs.lanes.failed_changes.count() == 1


async def test_a_failed_change_is_found_by_bisection(stores: Stores) -> None:
    await follows(stores, (FULL_USER, 9))
    await drain_all(stores)
    await set_friends(stores, FULL_USER)
    await add_follows_of_star(stores, 500)
    await follows(stores, (9, FULL_USER))
    before = stores.servers.postgres.statements
    await stores.jobs.lanes.drain.batch(LANE)
    # 9 bisections and 3 tries, each of at most a lock, a change and an acknowledgement. On Citus,
    # the changes are found and the rows of their targets are locked first.
    each = 3 if citus.prefix() is None else 5
    assert stores.servers.postgres.statements - before <= 4 + (9 + 3) * each
    assert await stores.jobs.lanes.failed_changes.count() == 1


async def test_tokens_and_watermarks_do_not_wait_for_a_failed_change(stores: Stores) -> None:
    await follow_each_other(stores, FULL_USER, 9)
    await set_friends(stores, FULL_USER)
    lane = lane_of(UserId(FULL_USER))
    wanted = (await stores.jobs.lanes.progress.watermarks()).now
    assert await stores.changes.catch_up.reach({lane: wanted}, 30)
    assert (await stores.jobs.lanes.progress.watermarks()).oldest[lane] is None
    assert await stores.jobs.lanes.failed_changes.count() == 1


async def test_a_retry_applies_a_failed_change_after_its_cause_is_removed(
    stores: Stores, storage_settings: StorageSettings, capsys: pytest.CaptureFixture[str]
) -> None:
    await follow_each_other(stores, FULL_USER, 9)
    await set_friends(stores, FULL_USER)
    await drain_all(stores)
    config = read_config(
        state=Path("nowhere"),
        space="public",
        environ={
            "DATABASE_URL": storage_settings.database_url,
            "REDIS_URL": storage_settings.redis_url,
        },
        development=True,
    )
    await command.show(config, 10)
    (change,) = await stores.jobs.lanes.failed_changes.first(9)
    output = capsys.readouterr().out
    assert f"9 to {FULL_USER}  FOLLOW  tried 3 times  NumericValueOutOfRangeError" in output
    assert "1 failed changes." in output
    assert await command.retry(config, [change.id, 0]) == command.NOT_FOUND
    assert "0 is not a failed change." in capsys.readouterr().err
    await drain_all(stores)
    (change,) = await stores.jobs.lanes.failed_changes.first(9)
    assert change.tries == 2 * draining.TRIES, "the cause is still there"
    await set_friends(stores, FULL_USER, friends=0)
    assert await command.retry(config, None) == 0
    await drain_all(stores)
    assert await followers(stores, FULL_USER) == 1
    await command.show(config, 10)
    assert "No failed changes." in capsys.readouterr().out
    assert (await verify(storage_settings)).clean


async def test_verify_repairs_the_drift_of_a_dropped_change(
    stores: Stores, storage_settings: StorageSettings
) -> None:
    await follow_each_other(stores, FULL_USER, 9)
    await set_friends(stores, FULL_USER)
    await drain_all(stores)
    (change,) = await stores.jobs.lanes.failed_changes.first(9)
    assert await stores.jobs.lanes.failed_changes.drop([change.id, 0]) == [change.id]
    assert await stores.jobs.lanes.failed_changes.count() == 0
    await set_friends(stores, FULL_USER, friends=0)
    assert not (await verify(storage_settings)).clean
    await verify(storage_settings, repair=True)
    assert (await verify(storage_settings)).clean
    assert await followers(stores, FULL_USER) == 1


@pytest.mark.parametrize(
    "column",
    [
        *("kind = 5", "kind = -1", "since = -1", "flags = -1", "former = 5", "friends = 2"),
        *("to_user_id = 0", "to_user_id = from_user_id", "to_user_id = -1"),
    ],
)
async def test_a_row_that_no_drain_could_apply_violates_a_constraint(
    stores: Stores, column: str
) -> None:
    await follows(stores, (1, 2))
    with pytest.raises(asyncpg.CheckViolationError):
        await stores.servers.postgres.fetch(f"UPDATE outbox SET {column}")


async def test_a_row_that_cannot_be_decoded_becomes_a_failed_change(stores: Stores) -> None:
    """Such a row was written before the constraint existed."""
    await follows(stores, (9, FULL_USER), (9, OTHERS[1]))
    await stores.servers.postgres.fetch("ALTER TABLE outbox DROP CONSTRAINT outbox_previous")
    await stores.servers.postgres.fetch(
        "UPDATE outbox SET former = 9 WHERE to_user_id = $1", FULL_USER
    )
    await drain_all(stores)
    assert await followers(stores, OTHERS[1]) == 1
    (change,) = await stores.jobs.lanes.failed_changes.first(9)
    assert (change.pair.target, change.error) == (FULL_USER, "ValueError: 9 is not a valid Kind")
