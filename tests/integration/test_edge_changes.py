"""A change is decided first and locked later: what comes in between is never overlooked."""

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


class Asked:
    """A rule that remembers what it was asked."""

    def __init__(self, rule: Rule) -> None:
        self._rule = rule
        self.about: list[PairState] = []

    def __call__(self, state: PairState) -> Decision:
        self.about.append(state)
        return self._rule(state)


@pytest.fixture
def before_it_is_written(monkeypatch: pytest.MonkeyPatch) -> Callable[[Meanwhile], None]:
    """Something that happens once, after the next decision and before its write."""

    def arrange(meanwhile: Meanwhile) -> None:
        really = edges._write

        async def late(
            connection: Connection, pair: Pair, state: PairState, decision: Decision
        ) -> bool:
            monkeypatch.setattr(edges, "_write", really)
            await meanwhile()
            return await really(connection, pair, state, decision)

        monkeypatch.setattr(edges, "_write", late)

    return arrange


async def test_the_same_follow_that_came_first_makes_this_one_a_repeat(
    stores: Stores, before_it_is_written: Callable[[Meanwhile], None]
) -> None:
    before_it_is_written(lambda: follows(stores, (1, 2)))
    decision = await stores.writes.edges.change(as_pair(1, 2), follow(PLENTY))
    assert decision.outcome is Outcome.ALREADY_FOLLOWING
    assert (await stores.jobs.lanes.progress.backlog()).waiting == 1


async def test_a_tombstone_that_came_first_is_an_older_version(
    stores: Stores, before_it_is_written: Callable[[Meanwhile], None]
) -> None:
    async def twice() -> None:
        await follows(stores, (1, 2))
        await unfollows(stores, (1, 2))

    before_it_is_written(twice)
    rule = Asked(follow(PLENTY))
    decision = await stores.writes.edges.change(as_pair(1, 2), rule)
    assert decision.outcome is Outcome.FOLLOWED
    assert decision.steps
    assert [state.edge.version > 0 for state in rule.about] == [False, True]
    assert decision.edge.version > rule.about[1].edge.version


async def test_a_follow_back_that_came_first_makes_friends(
    stores: Stores, before_it_is_written: Callable[[Meanwhile], None]
) -> None:
    before_it_is_written(lambda: follows(stores, (2, 1)))
    decision = await stores.writes.edges.change(as_pair(1, 2), follow(PLENTY))
    assert decision.steps
    assert decision.steps[0].friends == 1


async def test_a_limit_that_was_reached_meanwhile_holds(
    stores: Stores, before_it_is_written: Callable[[Meanwhile], None]
) -> None:
    await follows(stores, (1, 3))
    before_it_is_written(lambda: follows(stores, (1, 4)))
    decision = await stores.writes.edges.change(as_pair(1, 2), follow(2))
    assert decision.outcome is Outcome.FOLLOWING_LIMIT_REACHED
    assert (await stores.jobs.lanes.progress.backlog()).waiting == 2


async def test_concurrent_changes_to_other_users_do_not_repeat_a_decision(
    stores: Stores, before_it_is_written: Callable[[Meanwhile], None]
) -> None:
    await follows(stores, (1, 3))

    async def others() -> None:
        await follows(stores, (1, 4), (1, 5))
        await unfollows(stores, (1, 3))

    before_it_is_written(others)
    rule = Asked(follow(4))
    assert (await stores.writes.edges.change(as_pair(1, 2), rule)).outcome is Outcome.FOLLOWED
    assert len(rule.about) == 1
    row = await stores.servers.postgres.row("SELECT follows FROM following_count WHERE user_id = 1")
    assert row is not None
    assert row["follows"] == 3


async def test_many_follows_of_one_actor_at_once_never_pass_the_limit(stores: Stores) -> None:
    limit = 7
    decisions = await asyncio.gather(
        *(stores.writes.edges.change(as_pair(1, other), follow(limit)) for other in range(2, 42))
    )
    made = [one for one in decisions if one.outcome is Outcome.FOLLOWED]
    assert len(made) == limit
    assert {one.outcome for one in decisions if one not in made} == {
        Outcome.FOLLOWING_LIMIT_REACHED
    }


async def test_a_change_that_never_comes_first_gives_up(
    stores: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def never(*_: object) -> bool:
        return False

    monkeypatch.setattr(edges, "_write", never)
    rule = Asked(follow(PLENTY))
    with pytest.raises(Overloaded):
        await stores.writes.edges.change(as_pair(1, 2), rule)
    assert len(rule.about) == edges.TRIES


async def test_a_change_is_made_although_the_other_user_always_comes_first(
    stores: Stores, storage_settings: StorageSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On Citus, a writer that found its decision outdated took so many round trips to decide again
    that the other user's next change was always earlier."""
    really, rival = edges._write, itertools.cycle([follow(PLENTY), unfollow()])
    made: list[Decision] = []

    async def late(
        connection: Connection, pair: Pair, state: PairState, decision: Decision
    ) -> bool:
        if pair.source == 1:
            ((is_free,),) = await stores.servers.postgres.fetch(IS_FREE)
            if is_free:
                made.append(await stores.writes.edges.change(as_pair(2, 1), next(rival)))
        return await really(connection, pair, state, decision)

    monkeypatch.setattr(edges, "_write", late)
    decision = await stores.writes.edges.change(as_pair(1, 2), follow(PLENTY))
    assert decision.outcome is Outcome.FOLLOWED
    assert len(made) == edges.UNLOCKED_TRIES
    await drain_all(stores)
    await assert_whole(storage_settings)


async def test_the_changes_of_one_user_leave_connections_to_others(
    stores: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process may hold a lock of the user: all connections waited for it."""
    really, released = edges._write, asyncio.Event()
    held: list[Pair] = []

    async def late(
        connection: Connection, pair: Pair, state: PairState, decision: Decision
    ) -> bool:
        if pair.source == 1:
            held.append(pair)
            await released.wait()
        return await really(connection, pair, state, decision)

    async def some_are_held() -> bool:
        return len(held) >= 2

    monkeypatch.setattr(edges, "_write", late)
    changes = [
        asyncio.ensure_future(stores.writes.edges.change(as_pair(1, other), follow(PLENTY)))
        for other in range(3, 43)
    ]
    try:
        await until(some_are_held)
        await follows(stores, (2, 1))
        assert len(held) == 2
    finally:
        released.set()
        results = await asyncio.gather(*changes, return_exceptions=True)
    # The later ones may have waited for too long.
    assert all(isinstance(result, Decision | Overloaded) for result in results), results
