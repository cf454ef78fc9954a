"""A change that cannot be applied: it fails, its lane goes on, and an operator decides."""

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
from tests.integration.test_hot_lane import LANE, OTHERS, STAR, backlog, followers
from tests.support import citus
from tests.support.gateway import Gateway
from tests.support.graphs import drain_all, follows
from tests.support.own_writes import write
from workers.sweep import sweep

BAD = OTHERS[0]
FULL = 2**31 - 1


@pytest.fixture(autouse=True)
def no_pause_between_tries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(draining, "TRIES_PAUSE_S", 0)


async def spoil(stores: Stores, user: int, friends: int = FULL) -> None:
    """From now on no friend can be added to the user's count."""
    await stores.servers.postgres.fetch(
        "INSERT INTO follower_count (user_id, friends) VALUES ($1, $2)"
        " ON CONFLICT (user_id) DO UPDATE SET friends = excluded.friends",
        user,
        friends,
    )


async def befriend(stores: Stores, user: int, fan: int) -> None:
    """The fan follows back, which counts a friend of the user's."""
    await follows(stores, (user, fan))
    await drain_all(stores)
    await follows(stores, (fan, user))


@pytest.mark.parametrize("place", [0, 137, 300])
async def test_a_change_that_cannot_be_applied_leaves_its_lane_and_no_other_change_does(
    stores: Stores, place: int
) -> None:
    await follows(stores, (BAD, 9))
    await drain_all(stores)
    await spoil(stores, BAD)
    await backlog(stores, place)
    await follows(stores, (9, BAD))
    await backlog(stores, 300 - place, first=2_000_000)
    await follows(stores, (9, OTHERS[1]))
    await stores.jobs.lanes.drain.lane(LANE)
    assert (await followers(stores, STAR), await followers(stores, OTHERS[1])) == (300, 1)
    assert await followers(stores, BAD) == 0
    (change,) = await stores.jobs.lanes.failed_changes.first(9)
    assert (change.pair, change.tries) == ((9, BAD), draining.TRIES)
    assert "out of range" in change.error
    assert change.kind_name == "FOLLOW"
    assert not await stores.jobs.lanes.progress.dirty()
    await sweep(stores)
    assert await stores.jobs.lanes.failed_changes.count() == 1, "it is tried by nobody"


async def test_a_writer_learns_that_it_is_not_applied_yet(gateway: Gateway, stores: Stores) -> None:
    """A removed follower is in the list until the change is applied, and a repeat says so too."""
    await befriend(stores, 1, 2)
    await drain_all(stores)
    await spoil(stores, 1, -FULL - 1)  # nobody can be taken from the number of friends
    for outcome in ("FOLLOWER_REMOVED", "NOT_FOLLOWED"):
        payload = await write(gateway, 1, "removeFollower", {"userId": "2"})
        assert (payload["outcome"], payload["consistency"]) == (outcome, "DELAYED")
    assert await stores.jobs.lanes.failed_changes.count() == 1


async def test_it_is_found_while_the_lane_is_shared(
    stores: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(draining, "BATCH", 20)
    monkeypatch.setattr(draining, "SHARE", 5)
    await follows(stores, (BAD, 9))
    await drain_all(stores)
    await spoil(stores, BAD)
    await backlog(stores, 200)
    await follows(stores, (9, BAD), (9, OTHERS[1]))
    await drain_all(stores)
    assert (await followers(stores, STAR), await followers(stores, OTHERS[1])) == (200, 1)
    assert await stores.jobs.lanes.failed_changes.count() == 1


async def test_finding_it_costs_a_logarithm_of_the_batch(stores: Stores) -> None:
    await follows(stores, (BAD, 9))
    await drain_all(stores)
    await spoil(stores, BAD)
    await backlog(stores, 500)
    await follows(stores, (9, BAD))
    before = stores.servers.postgres.statements
    await stores.jobs.lanes.drain.batch(LANE)
    # 9 halves and 3 tries, of at most a lock, a change and an acknowledgement each. On Citus, the
    # changes are found and the rows of their targets are locked first.
    each = 3 if citus.prefix() is None else 5
    assert stores.servers.postgres.statements - before <= 4 + (9 + 3) * each
    assert await stores.jobs.lanes.failed_changes.count() == 1


async def test_neither_a_token_nor_the_watermark_waits_for_it(stores: Stores) -> None:
    await befriend(stores, BAD, 9)
    await spoil(stores, BAD)
    lane = lane_of(UserId(BAD))
    wanted = (await stores.jobs.lanes.progress.watermarks()).now
    assert await stores.changes.catch_up.reach({lane: wanted}, 30)
    assert (await stores.jobs.lanes.progress.watermarks()).oldest[lane] is None
    assert await stores.jobs.lanes.failed_changes.count() == 1


async def test_it_is_applied_when_its_cause_is_gone(
    stores: Stores, storage_settings: StorageSettings, capsys: pytest.CaptureFixture[str]
) -> None:
    await befriend(stores, BAD, 9)
    await spoil(stores, BAD)
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
    said = capsys.readouterr().out
    assert f"9 to {BAD}  FOLLOW  tried 3 times  NumericValueOutOfRangeError" in said
    assert "1 failed changes." in said
    assert await command.retry(config, [change.id, 0]) == command.NOT_FOUND
    assert "0 is not a failed change." in capsys.readouterr().err
    await drain_all(stores)
    (change,) = await stores.jobs.lanes.failed_changes.first(9)
    assert change.tries == 2 * draining.TRIES, "the cause is still there"
    await spoil(stores, BAD, friends=0)
    assert await command.retry(config, None) == 0
    await drain_all(stores)
    assert await followers(stores, BAD) == 1
    await command.show(config, 10)
    assert "No failed changes." in capsys.readouterr().out
    assert (await verify(storage_settings)).clean


async def test_a_dropped_change_is_what_verify_repairs(
    stores: Stores, storage_settings: StorageSettings
) -> None:
    await befriend(stores, BAD, 9)
    await spoil(stores, BAD)
    await drain_all(stores)
    (change,) = await stores.jobs.lanes.failed_changes.first(9)
    assert await stores.jobs.lanes.failed_changes.drop([change.id, 0]) == [change.id]
    assert await stores.jobs.lanes.failed_changes.count() == 0
    await spoil(stores, BAD, friends=0)
    assert not (await verify(storage_settings)).clean
    await verify(storage_settings, repair=True)
    assert (await verify(storage_settings)).clean
    assert await followers(stores, BAD) == 1


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


async def test_a_row_that_cannot_be_decoded_is_a_failed_change_too(stores: Stores) -> None:
    """A row that is older than the constraint, or was written without it."""
    await follows(stores, (9, BAD), (9, OTHERS[1]))
    await stores.servers.postgres.fetch("ALTER TABLE outbox DROP CONSTRAINT outbox_previous")
    await stores.servers.postgres.fetch("UPDATE outbox SET former = 9 WHERE to_user_id = $1", BAD)
    await drain_all(stores)
    assert await followers(stores, OTHERS[1]) == 1
    (change,) = await stores.jobs.lanes.failed_changes.first(9)
    assert (change.pair.target, change.error) == (BAD, "ValueError: 9 is not a valid Kind")
