"""The viewer's friends, closest first: every friend once, for any page size."""

from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from itertools import combinations

import pytest

from graph.affinity import DEFAULT_SCALE
from graph.cursor import read_cursor, write_cursor
from graph.edge import Millis, UserId
from graph.errors import BadCursor, Unauthenticated
from graph.lists import ListKind, ListOf, Ranking
from graph.page import (
    EMPTY_PAGE,
    NEWEST,
    OLDEST,
    Page,
    Position,
    Window,
)
from resolvers import closest_friends as resolver
from resolvers.closest_friends import closest_friends
from resolvers.policy import Policy
from resolvers.scope import Scope
from storage.settings import StorageSettings
from storage.stores import Stores, open_stores
from tests.support.databases import Caches, Databases, filled_database
from tests.support.graphs import as_pair, drain_all, follows, ids_of, unfollows

ONE = UserId(1)
FRIENDS = range(2, 12)
CLOSENESS = {4: 9.0, 7: 3.0, 2: 1.0, 99: 50.0}
CLOSEST_FIRST = [4, 7, 2, 11, 10, 9, 8, 6, 5, 3]
"""The friends with a score, closest first, then the others, newest first."""


async def write_graph(stores: Stores) -> None:
    await follows(stores, *((1, friend) for friend in FRIENDS), *((f, 1) for f in FRIENDS))
    await stores.jobs.periodic.affinity.record(
        {as_pair(1, other): r for other, r in CLOSENESS.items()}
    )


@pytest.fixture(scope="module")
def filled(databases: Databases, caches: Caches) -> Iterator[str]:
    with filled_database(databases, caches, write_graph) as url:
        yield url


@pytest.fixture
async def scope(filled: str, storage_settings: StorageSettings) -> AsyncIterator[Scope]:
    async with open_stores(replace(storage_settings, database_url=filled)) as stores:
        yield Scope(stores, ONE, Policy())


@pytest.fixture
async def own_scope(stores: Stores) -> Scope:
    """A scope with the same graph, which the test may change."""
    await write_graph(stores)
    await drain_all(stores)
    return Scope(stores, ONE, Policy())


async def closest(scope: Scope, size: int, after: Position = NEWEST) -> Page:
    return await closest_friends(scope, Window(size, after))


async def read_forward(scope: Scope, size: int) -> list[int]:
    friends: list[int] = []
    after = NEWEST
    while True:
        page = await closest(scope, size, after)
        friends += ids_of(page.entries)
        if not page.more:
            return friends
        assert len(page.entries) == size
        after = page.entries[-1]


async def read_backward(scope: Scope, size: int) -> list[int]:
    friends: list[int] = []
    before = OLDEST
    while True:
        page = await closest_friends(scope, Window(size, before=before, backward=True))
        friends = ids_of(page.entries) + friends
        if not page.more:
            return friends
        assert len(page.entries) == size
        before = page.entries[0]


@pytest.mark.parametrize("size", [1, 3, 9, 10, 11])
async def test_the_closest_come_first_then_the_newest(scope: Scope, size: int) -> None:
    assert await read_forward(scope, size) == await read_backward(scope, size) == CLOSEST_FIRST


@pytest.mark.parametrize("size", [1, 2, 3, 4, 7, 10])
@pytest.mark.parametrize("ordered_max", [1, 3, 9, 10])
async def test_friends_beyond_the_ordered_limit_come_last_by_date(
    scope: Scope, monkeypatch: pytest.MonkeyPatch, size: int, ordered_max: int
) -> None:
    monkeypatch.setattr(resolver, "ORDERED_MAX", ordered_max)
    newest = list(reversed(FRIENDS))[:ordered_max]
    head = [friend for friend in CLOSEST_FIRST if friend in newest]
    rest = [friend for friend in reversed(FRIENDS) if friend not in newest]
    assert await read_forward(scope, size) == await read_backward(scope, size) == head + rest


@pytest.mark.parametrize("ordered_max", [3, 10])
@pytest.mark.parametrize("backward", [True, False])
async def test_a_window_has_the_friends_between_its_two_cursors(
    scope: Scope, monkeypatch: pytest.MonkeyPatch, ordered_max: int, backward: bool
) -> None:
    monkeypatch.setattr(resolver, "ORDERED_MAX", ordered_max)
    friends = (await closest(scope, 10)).entries
    for start, end in combinations(range(10), 2):
        between = friends[start + 1 : end]
        for size in (1, 3, 10):
            window = Window(size, friends[start], friends[end], backward)
            kept = between[-size:] if backward else between[:size]
            assert await closest_friends(scope, window) == Page(kept, len(between) > size)


async def test_the_cursor_of_a_friend_stays_valid_after_an_unfollow(
    own_scope: Scope, stores: Stores
) -> None:
    last = (await closest(own_scope, 2)).entries[-1]
    assert ids_of([last]) == [7]
    await unfollows(stores, (1, 7))
    assert ids_of((await closest(own_scope, 3, last)).entries) == [2, 11, 10]


async def test_a_user_without_friends_has_an_empty_page(stores: Stores) -> None:
    assert await closest(Scope(stores, ONE, Policy()), 3) == EMPTY_PAGE


async def test_an_anonymous_viewer_gets_no_closest_friends(scope: Scope) -> None:
    with pytest.raises(Unauthenticated):
        await closest(Scope(scope.stores, None, Policy()), 3)


async def test_a_page_costs_one_statement_and_two_round_trips_to_redis(
    own_scope: Scope, stores: Stores
) -> None:
    await closest(own_scope, 3)
    await stores.broker.lanes.wait_until_queued()
    before = (stores.servers.postgres.statements, stores.servers.redis.round_trips)
    await closest(own_scope, 3)
    assert stores.servers.postgres.statements - before[0] == 1
    # The viewer's own writes, and the list.
    assert stores.servers.redis.round_trips - before[1] <= 2


async def test_positions_do_not_reveal_closeness(own_scope: Scope, stores: Stores) -> None:
    before = set((await closest(own_scope, 20)).entries)
    await stores.jobs.periodic.affinity.record({as_pair(1, 5): DEFAULT_SCALE.half_life_days * 1e3})
    after = (await closest(own_scope, 20)).entries
    assert ids_of(after[:1]) == [5]
    assert set(after) == before


def test_a_cursor_is_rejected_in_a_list_with_another_order() -> None:
    position = Position(Millis(1_700_000_000_000), UserId(7))
    ranked, dated = ListOf(Ranking.FRIENDS, ONE), ListOf(ListKind.FRIENDS, ONE)
    for own_list, other_list in (
        (ranked, dated),
        (dated, ranked),
        (ranked, ranked._replace(oldest_first=True)),
    ):
        cursor = write_cursor(position, own_list)
        assert read_cursor("after", cursor, own_list) == position
        with pytest.raises(BadCursor, match="does not belong to this friends list"):
            read_cursor("after", cursor, other_list)
