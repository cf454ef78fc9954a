"""The verification in slices finds the same drift as `verify`, and continues where it stopped."""

from collections.abc import Mapping

import pytest
from prometheus_client import generate_latest

from gateway.server.shared_metrics import SharedMetrics
from storage.postgres.verification import comparison
from storage.postgres.verification.run import Phase
from storage.stores import Stores
from tests.support.graphs import drain_all, follows
from workers import main
from workers.job_metrics import JobMetrics

DRIFT = """
UPDATE follower SET since = since + 1 WHERE to_user_id = 2;
UPDATE follower_count SET follows = follows + 7 WHERE user_id = 3;
DELETE FROM follower WHERE to_user_id = 4
"""


@pytest.fixture
async def small_parts(stores: Stores, monkeypatch: pytest.MonkeyPatch) -> None:
    """A graph of 40 edges, in parts of 5 rows and 3 users."""
    monkeypatch.setattr(comparison, "ROWS_AT_ONCE", 5)
    monkeypatch.setattr(comparison, "USERS_AT_ONCE", 3)
    await follows(stores, *((1 + edge // 4, 2 + edge // 4 + edge % 4) for edge in range(40)))
    await drain_all(stores)


async def run_a_pass(stores: Stores, rows: int) -> int:
    """Run slices until a pass is completed. Return their number."""
    slices = 1
    while not await stores.jobs.periodic.verification.slice(rows):
        slices += 1
        assert slices < 100, "the pass does not end"
    return slices


@pytest.mark.usefixtures("small_parts")
async def test_a_pass_has_as_many_slices_as_its_rows_need(stores: Stores) -> None:
    assert await run_a_pass(stores, 1_000) == 1
    few, many = await run_a_pass(stores, 20), await run_a_pass(stores, 5)
    assert few == -(-93 // 20)
    assert many > 2 * few
    state = await stores.jobs.periodic.verification.state()
    assert state.slices == 1 + few + many
    assert (state.completed_drifts, state.drifts, state.compared) == ({}, {}, 0)


@pytest.mark.usefixtures("small_parts")
async def test_a_slice_compares_few_counts_in_each_part(stores: Stores) -> None:
    assert not await stores.jobs.periodic.verification.slice(81)
    before = await stores.jobs.periodic.verification.state()
    assert before.position.phase is Phase.COUNTS
    assert not await stores.jobs.periodic.verification.slice(1)
    after = await stores.jobs.periodic.verification.state()
    assert after.position.phase is Phase.COUNTS
    assert after.compared == before.compared + 3


@pytest.mark.usefixtures("small_parts")
async def test_drift_is_found_across_slices_and_cleared_by_a_later_pass(stores: Stores) -> None:
    for statement in DRIFT.split(";"):
        await stores.servers.postgres.fetch(statement)
    await run_a_pass(stores, 5)
    state = await stores.jobs.periodic.verification.state()
    found: Mapping[str, int] | None = state.completed_drifts
    assert found == {
        "REVERSE_DIFFERS": 1,
        "REVERSE_MISSING": 3,
        "FOLLOWER_COUNT": 2,
    }
    metrics = SharedMetrics(stores)
    await metrics.update()
    text = generate_latest(metrics).decode()
    assert 'kith_verify_drift{kind="REVERSE_MISSING"} 3.0' in text
    assert 'kith_verify_drift{kind="MUTE_COUNT"} 0.0' in text
    assert f"kith_verify_slices_total {state.slices}.0" in text
    await stores.servers.postgres.fetch("UPDATE follower SET since = since - 1 WHERE to_user_id=2")
    await stores.servers.postgres.fetch(
        "INSERT INTO follower SELECT to_user_id, from_user_id, since, version, kind, flags"
        " FROM following WHERE to_user_id = 4"
    )
    await stores.servers.postgres.fetch(
        "UPDATE follower_count SET follows = follows - 7 WHERE user_id = 3"
    )
    await run_a_pass(stores, 1_000)
    assert (await stores.jobs.periodic.verification.state()).completed_drifts == {}


@pytest.mark.plain("its parts are as large as the counts of their users say")
@pytest.mark.usefixtures("small_parts")
async def test_another_worker_continues_where_one_has_stopped(stores: Stores) -> None:
    assert not await stores.jobs.periodic.verification.slice(5)
    first = await stores.jobs.periodic.verification.state()
    await main._verify({"metrics": JobMetrics(), "stores": stores, "verified_rows": 5})
    second = await stores.jobs.periodic.verification.state()
    assert second.position > first.position
    assert second.compared == first.compared + 5


async def test_the_verification_can_be_turned_off(stores: Stores) -> None:
    await main._verify({"metrics": JobMetrics(), "stores": stores, "verified_rows": 0})
    assert (await stores.jobs.periodic.verification.state()).slices == 0
