"""A lane with a long backlog for one star: changes for other targets do not wait for it."""

from collections.abc import Sequence
from typing import NamedTuple

import pytest

from graph.edge import UserId
from graph.lane import Lane, lane_of
from storage import drain as draining
from storage.ports.edges import EdgeChange
from storage.ports.reader import Consistency
from storage.postgres.outbox import Applied
from storage.stores import Stores
from tests.integration.test_drain import assert_drained
from tests.support.counts import Totals
from tests.support.graphs import drain_all, follows, unfollows

LANE = Lane(7)
STAR, *OTHERS = [user for user in range(1, 20_000) if lane_of(UserId(user)) == LANE][:600]
FIRST_FAN = 1_000_000
BACKLOG = 50_000
AT_ONCE = 10_000

FOLLOW_STAR = """
WITH edge AS (
    INSERT INTO following (from_user_id, to_user_id, since, version, kind)
    SELECT fan, $1, 1, 1, 1 FROM generate_series($2::bigint, $2 + $3::bigint - 1) fan
    RETURNING from_user_id, to_user_id, since, version, kind
), count AS (
    INSERT INTO following_count (user_id, follows) SELECT from_user_id, 1 FROM edge
)
INSERT INTO outbox (lane, from_user_id, to_user_id, since, version, kind, flags, friends)
SELECT $4, from_user_id, to_user_id, since, version, kind, 0, 0 FROM edge ORDER BY from_user_id
"""


async def add_follows_of_star(stores: Stores, changes: int, first: int = FIRST_FAN) -> None:
    """Add `changes` follows of the star to its lane. They are pending."""
    for begin in range(0, changes, AT_ONCE):
        count = min(AT_ONCE, changes - begin)
        await stores.servers.postgres.fetch(FOLLOW_STAR, STAR, first + begin, count, LANE)


class Batches(NamedTuple):
    """The changes of each batch that a store has published, in their order."""

    published: list[Sequence[EdgeChange]]

    def targets(self) -> list[set[int]]:
        return [{change.pair.target for change in batch} for batch in self.published]


@pytest.fixture
def batches(stores: Stores, monkeypatch: pytest.MonkeyPatch) -> Batches:
    batches = Batches([])
    publish = stores.jobs.lanes.drain.publish

    async def record_and_publish(lane: Lane, applied: Applied) -> None:
        batches.published.append(applied.changes)
        await publish(lane, applied)

    monkeypatch.setattr(stores.jobs.lanes.drain, "publish", record_and_publish)
    return batches


async def followers(stores: Stores, user: int) -> int:
    counts = await Totals(stores.reads.reader, Consistency.ROWS).get_many([UserId(user)], None)
    return counts[UserId(user)].followers


async def test_a_change_behind_fifty_thousand_for_a_star_is_in_the_second_batch(
    stores: Stores, batches: Batches
) -> None:
    await add_follows_of_star(stores, BACKLOG)
    await follows(stores, (FIRST_FAN, OTHERS[0]))
    for _ in range(2):
        await stores.jobs.lanes.drain.batch(LANE)
    assert OTHERS[0] in batches.targets()[1]
    assert await followers(stores, OTHERS[0]) == 1
    assert sum(map(len, batches.published)) <= 2 * draining.BATCH
    # A change of another target, added now, is in the next batch.
    await follows(stores, (FIRST_FAN, OTHERS[1]))
    await stores.jobs.lanes.drain.batch(LANE)
    assert OTHERS[1] in batches.targets()[2]


async def test_more_targets_than_fit_in_a_batch_are_drained_in_turns(
    stores: Stores, batches: Batches, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(draining, "BATCH", 100)
    monkeypatch.setattr(draining, "SHARE", 10)
    await add_follows_of_star(stores, 2_000)
    await follows(stores, *((FIRST_FAN, other) for other in OTHERS[:120]))
    for _ in range(1 + 4):
        await stores.jobs.lanes.drain.batch(LANE)
    assert set(OTHERS[:120]) <= set().union(*batches.targets())
    assert await followers(stores, STAR) < 2_000
    await drain_all(stores)
    await assert_drained(stores)


async def test_changes_of_each_target_keep_their_order(
    stores: Stores, batches: Batches, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(draining, "BATCH", 20)
    monkeypatch.setattr(draining, "SHARE", 3)
    await add_follows_of_star(stores, 100)
    await add_follows_of_star(stores, 100, first=FIRST_FAN + 1000)
    for other in OTHERS[:5]:
        for _ in range(4):
            await follows(stores, (FIRST_FAN, other))
            await unfollows(stores, (FIRST_FAN, other))
        await follows(stores, (FIRST_FAN, other), (FIRST_FAN + 1, other))
    await drain_all(stores)
    for target in (STAR, *OTHERS[:5]):
        order = [
            (change.edge.version, change.pair.source)
            for batch in batches.published
            for change in batch
            if change.pair.target == target
        ]
        assert len(order) == (200 if target == STAR else 10), target
        assert order == sorted(order), target
    await assert_drained(stores)


async def test_a_lane_without_a_star_is_drained_from_its_oldest_change(
    stores: Stores, batches: Batches, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(draining, "BATCH", 10)
    await follows(stores, *((FIRST_FAN, other) for other in reversed(OTHERS[:40])))
    await stores.jobs.lanes.drain.lane(LANE)
    assert [len(batch) for batch in batches.published] == [10, 10, 10, 10]
    drained = [change.pair.target for batch in batches.published for change in batch]
    assert drained == [*reversed(OTHERS[:40])]


async def test_a_token_waits_for_changes_that_other_targets_have_overtaken(stores: Stores) -> None:
    """Skipped changes stay at the head of the lane, so no watermark passes them."""
    await add_follows_of_star(stores, 5_000)
    await follows(stores, (FIRST_FAN, OTHERS[0]))
    for _ in range(2):
        await stores.jobs.lanes.drain.batch(LANE)
    assert await followers(stores, OTHERS[0]) == 1
    watermarks = await stores.jobs.lanes.progress.watermarks([LANE])
    assert watermarks.oldest[LANE] == 1
    assert await stores.changes.catch_up.reach({LANE: watermarks.now}, 30)
    assert await followers(stores, STAR) == 5_000
