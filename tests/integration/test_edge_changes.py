"""A change is decided before it is locked: writes by others in between are never overlooked."""

import asyncio
import itertools
from collections.abc import Awaitable, Callable

import pytest

from graph.decision_types import Decision, PairState, Rule
from graph.edge import Pair
from graph.errors import Overloaded
from graph.outcome import Outcome
from graph.rules import follow, unfollow
from storage.postgres import edges
from storage.postgres.connection.acquired import Connection
from storage.settings import StorageSettings
from storage.stores import Stores
from tests.support.edge_files import assert_whole
from tests.support.graphs import PLENTY, as_pair, drain_all, follows, unfollows
from tests.support.waiting import until

IS_FREE = "SELECT try_lock_at(1, 1, pair_slot(1, 2))"
"""Whether no transaction holds the lock of users 1 and 2."""

Meanwhile = Callable[[], Awaitable[object]]


class RecordingRule:
    """A rule that records the states that it decides on."""

    def __init__(self, rule: Rule) -> None:
        self._rule = rule
        self.states: list[PairState] = []

    def __call__(self, state: PairState) -> Decision:
        self.states.append(state)
        return self._rule(state)


@pytest.fixture
def before_the_write(monkeypatch: pytest.MonkeyPatch) -> Callable[[Meanwhile], None]:
    """A function that makes a given call happen after the next decision and before its write."""

    def arrange(meanwhile: Meanwhile) -> None:
        write = edges._write

        async def delayed_write(
            connection: Connection, pair: Pair, state: PairState, decision: Decision
        ) -> bool:
            monkeypatch.setattr(edges, "_write", write)
            await meanwhile()
            return await write(connection, pair, state, decision)

        monkeypatch.setattr(edges, "_write", delayed_write)

    return arrange


async def test_an_equal_follow_before_the_write_makes_this_one_a_repeat(
    stores: Stores, before_the_write: Callable[[Meanwhile], None]
) -> None:
    before_the_write(lambda: follows(stores, (1, 2)))
    decision = await stores.writes.edges.change(as_pair(1, 2), follow(PLENTY))
    assert decision.outcome is Outcome.ALREADY_FOLLOWING
    assert (await stores.jobs.lanes.progress.backlog()).rows == 1


async def test_a_tombstone_written_before_the_write_is_replaced_by_a_newer_version(
    stores: Stores, before_the_write: Callable[[Meanwhile], None]
) -> None:
    async def follow_and_unfollow() -> None:
        await follows(stores, (1, 2))
        await unfollows(stores, (1, 2))

    before_the_write(follow_and_unfollow)
    rule = RecordingRule(follow(PLENTY))
    decision = await stores.writes.edges.change(as_pair(1, 2), rule)
    assert decision.outcome is Outcome.FOLLOWED
    assert decision.steps
    assert [state.edge.version > 0 for state in rule.states] == [False, True]
    assert decision.edge.version > rule.states[1].edge.version


async def test_a_follow_back_before_the_write_counts_a_friendship(
    stores: Stores, before_the_write: Callable[[Meanwhile], None]
) -> None:
    before_the_write(lambda: follows(stores, (2, 1)))
    decision = await stores.writes.edges.change(as_pair(1, 2), follow(PLENTY))
    assert decision.steps
    assert decision.steps[0].friends == 1


async def test_a_limit_that_is_reached_before_the_write_is_enforced(
    stores: Stores, before_the_write: Callable[[Meanwhile], None]
) -> None:
    await follows(stores, (1, 3))
    before_the_write(lambda: follows(stores, (1, 4)))
    decision = await stores.writes.edges.change(as_pair(1, 2), follow(2))
    assert decision.outcome is Outcome.FOLLOWING_LIMIT_REACHED
    assert (await stores.jobs.lanes.progress.backlog()).rows == 2


async def test_concurrent_changes_to_other_users_do_not_repeat_a_decision(
    stores: Stores, before_the_write: Callable[[Meanwhile], None]
) -> None:
    await follows(stores, (1, 3))

    async def others() -> None:
        await follows(stores, (1, 4), (1, 5))
        await unfollows(stores, (1, 3))

    before_the_write(others)
    rule = RecordingRule(follow(4))
    assert (await stores.writes.edges.change(as_pair(1, 2), rule)).outcome is Outcome.FOLLOWED
    assert len(rule.states) == 1
    row = await stores.servers.postgres.row("SELECT follows FROM following_count WHERE user_id = 1")
    assert row is not None
    assert row["follows"] == 3


async def test_concurrent_follows_of_one_user_never_exceed_the_limit(stores: Stores) -> None:
    limit = 7
    decisions = await asyncio.gather(
        *(stores.writes.edges.change(as_pair(1, other), follow(limit)) for other in range(2, 42))
    )
    made = [one for one in decisions if one.outcome is Outcome.FOLLOWED]
    assert len(made) == limit
    assert {one.outcome for one in decisions if one not in made} == {
        Outcome.FOLLOWING_LIMIT_REACHED
    }


async def test_a_change_whose_decision_is_always_outdated_fails_after_all_tries(
    stores: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def never(*_: object) -> bool:
        return False

    monkeypatch.setattr(edges, "_write", never)
    rule = RecordingRule(follow(PLENTY))
    with pytest.raises(Overloaded):
        await stores.writes.edges.change(as_pair(1, 2), rule)
    assert len(rule.states) == edges.TRIES


async def test_a_change_is_made_although_the_other_user_always_writes_first(
    stores: Stores, storage_settings: StorageSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On Citus, a writer that found its decision outdated took so many round trips to decide again
    that the other user's next change was always earlier."""
    write, rules_of_other = edges._write, itertools.cycle([follow(PLENTY), unfollow()])
    made: list[Decision] = []

    async def delayed_write(
        connection: Connection, pair: Pair, state: PairState, decision: Decision
    ) -> bool:
        if pair.source == 1:
            ((is_free,),) = await stores.servers.postgres.fetch(IS_FREE)
            if is_free:
                made.append(await stores.writes.edges.change(as_pair(2, 1), next(rules_of_other)))
        return await write(connection, pair, state, decision)

    monkeypatch.setattr(edges, "_write", delayed_write)
    decision = await stores.writes.edges.change(as_pair(1, 2), follow(PLENTY))
    assert decision.outcome is Outcome.FOLLOWED
    assert len(made) == edges.UNLOCKED_TRIES
    await drain_all(stores)
    await assert_whole(storage_settings)


async def test_the_changes_of_one_user_leave_connections_to_others(
    stores: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise, all connections wait while another process holds a lock of the user."""
    write, released = edges._write, asyncio.Event()
    waiting: list[Pair] = []

    async def delayed_write(
        connection: Connection, pair: Pair, state: PairState, decision: Decision
    ) -> bool:
        if pair.source == 1:
            waiting.append(pair)
            await released.wait()
        return await write(connection, pair, state, decision)

    async def two_wait() -> bool:
        return len(waiting) >= 2

    monkeypatch.setattr(edges, "_write", delayed_write)
    changes = [
        asyncio.ensure_future(stores.writes.edges.change(as_pair(1, other), follow(PLENTY)))
        for other in range(3, 43)
    ]
    try:
        await until(two_wait)
        await follows(stores, (2, 1))
        assert len(waiting) == 2
    finally:
        released.set()
        results = await asyncio.gather(*changes, return_exceptions=True)
    # The last changes may have waited for a connection for too long.
    assert all(isinstance(result, Decision | Overloaded) for result in results), results
