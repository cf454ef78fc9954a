"""Transactions that PostgreSQL cancels because of a deadlock or a conflict are run again."""

import asyncio

import pytest

from graph.account import PrivacyChange
from graph.edge import UserId
from graph.errors import Unavailable
from graph.lane import lane_of
from graph.outcome import Outcome
from graph.rules import follow
from storage.postgres.connection import transactions
from storage.settings import StorageSettings
from storage.stores import Stores
from tests.support.edge_files import assert_whole
from tests.support.gateway import Gateway
from tests.support.graphs import PLENTY, as_pair, drain_all, follows

pytestmark = pytest.mark.plain("it plants triggers, which distributed tables cannot have")

DEADLOCK, CONFLICT = "40P01", "40001"
ALWAYS = 1_000
USER = UserId(7)
LANE = lane_of(USER)

CREATE_SEQUENCE = "CREATE SEQUENCE cancelled"
CREATE_FUNCTION = """
CREATE FUNCTION cancel() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF nextval('cancelled') <= TG_ARGV[0]::bigint THEN
        RAISE EXCEPTION 'cancelled' USING ERRCODE = TG_ARGV[1];
    END IF;
    RETURN NULL;
END $$
"""
"""A rollback does not reset the sequence, so it counts the tries."""
TRIES = "SELECT last_value FROM cancelled"
OUTBOX = "SELECT count(*) FILTER (WHERE NOT applied), max(tries) FROM outbox"


async def cancel(stores: Stores, event: str, times: int, code: str = DEADLOCK) -> None:
    """Cancel the next `times` transactions with `event`, such as INSERT ON follower."""
    trigger = (
        f"CREATE TRIGGER cancelled AFTER {event} FOR EACH STATEMENT"
        f" EXECUTE FUNCTION cancel({times}, '{code}')"
    )
    for statement in (CREATE_SEQUENCE, CREATE_FUNCTION, trigger):
        await stores.servers.postgres.fetch(statement)


async def tries(stores: Stores) -> int:
    ((count,),) = await stores.servers.postgres.fetch(TRIES)
    return int(count)


@pytest.fixture(autouse=True)
def _no_pause_between_tries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transactions, "PAUSE_S", 0)


@pytest.mark.parametrize("code", [DEADLOCK, CONFLICT])
@pytest.mark.parametrize("event", ["INSERT ON follower", "UPDATE ON outbox", "DELETE ON outbox"])
async def test_a_cancelled_drain_is_run_again(
    stores: Stores, storage_settings: StorageSettings, event: str, code: str
) -> None:
    await follows(stores, (1, USER), (2, USER))
    await cancel(stores, event, 2, code)
    await stores.jobs.lanes.drain.lane(LANE)
    assert await tries(stores) == 3
    assert await stores.jobs.lanes.failed_changes.count() == 0
    await assert_whole(storage_settings)


async def test_a_drain_that_is_always_cancelled_fails_and_its_changes_stay_pending(
    stores: Stores,
) -> None:
    """They do not become failed changes, unlike changes that cannot be applied."""
    await follows(stores, (1, USER))
    await cancel(stores, "INSERT ON follower", ALWAYS)
    with pytest.raises(Unavailable):
        await stores.jobs.lanes.drain.lane(LANE)
    assert await tries(stores) == transactions.TRIES
    assert await stores.jobs.lanes.failed_changes.count() == 0
    assert [tuple(row) for row in await stores.servers.postgres.fetch(OUTBOX)] == [(1, 0)]


@pytest.mark.parametrize("code", [DEADLOCK, CONFLICT])
async def test_a_cancelled_change_is_decided_again(
    stores: Stores, storage_settings: StorageSettings, code: str
) -> None:
    await cancel(stores, "INSERT ON outbox", 2, code)
    await follows(stores, (1, USER))
    assert await tries(stores) == 3
    await drain_all(stores)
    await assert_whole(storage_settings)


async def test_a_cancelled_batch_of_changes_is_decided_again(
    stores: Stores, storage_settings: StorageSettings
) -> None:
    await cancel(stores, "INSERT ON outbox", 2)
    edges = stores.batched.writes.edges
    changes = [edges.change(as_pair(source, USER), follow(PLENTY)) for source in (1, 2, 3)]
    made = await asyncio.gather(*changes)
    assert {decision.outcome for decision in made} == {Outcome.FOLLOWED}
    assert await tries(stores) == 3, "all changes are in one transaction"
    await drain_all(stores)
    await assert_whole(storage_settings)


async def test_a_cancelled_change_of_settings_is_made_again(stores: Stores) -> None:
    await cancel(stores, "UPDATE ON account", 2)
    saved = await stores.writes.accounts.set_privacy(USER, PrivacyChange(protected=True))
    assert saved.outcome is Outcome.UPDATED
    assert await tries(stores) == 3


async def test_a_change_that_is_always_cancelled_is_unavailable(
    gateway: Gateway, stores: Stores
) -> None:
    await cancel(stores, "INSERT ON outbox", ALWAYS)
    error = await gateway.error(
        'mutation { followUser(input: {userId: "7"}) { outcome } }', viewer=1
    )
    assert error["extensions"]["code"] == "UNAVAILABLE"
    assert await tries(stores) == transactions.TRIES
