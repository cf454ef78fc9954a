"""The results of reads, the same for every wiring and consistency."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import pytest

from graph.counts import NO_COUNTS, Counts
from graph.edge import Flags, UserId
from graph.errors import Unavailable
from graph.lists import ListKind
from graph.outcome import Outcome
from graph.page import Position, Window
from graph.relation import FRIENDS, STRANGERS, RelationColumn
from graph.relation import follows as follows_now
from graph.rules import follow, mute, unfollow
from storage.ports.reader import Check, Consistency
from storage.settings import CacheSettings, StorageSettings
from storage.stores import Stores, open_stores
from tests.support.databases import Caches, Databases, filled_database
from tests.support.graphs import PLENTY, as_pair, follows, ids_of, unfollows, users
from tests.support.readers import Reading, ReadingTogether


@dataclass(frozen=True)
class Reads:
    """One wiring of the reader with one consistency, and the stores to write through."""

    stores: Stores
    reading: Reading

    async def catch_up(self) -> None:
        """Wait until the local cache has received all invalidations."""
        if self.stores.caches.local is not None:
            with contextlib.suppress(Unavailable):
                await self.stores.caches.local.wait_for_invalidations()


WIRINGS: dict[str, dict[str, Any]] = {
    "one server": {},
    "small caches": {"cache": CacheSettings(relations_max=2, list_max=2, range_max=4)},
    "Redis is down": {"redis_url": "unix:///nowhere.sock"},
    "a cluster": {},
}

READS = [
    (wiring, consistency, reading)
    for consistency, wirings in {
        Consistency.ROWS: ["one server"],
        Consistency.FRESH: list(WIRINGS),
        Consistency.CACHED: ["one server", "small caches", "Redis is down"],
    }.items()
    for wiring in wirings
    for reading in (Reading, ReadingTogether)
]
"""A cluster has no local cache, and the tables are the same behind every wiring of Redis."""


ACQUIRE_TIMEOUT_S = 60

Wired = tuple[StorageSettings, Consistency, type[Reading]]


@pytest.fixture(params=READS, ids=lambda one: f"{one[0]}, {one[1].name}, {one[2].__name__}")
def wired(request: pytest.FixtureRequest, storage_settings: StorageSettings) -> Wired:
    wiring, consistency, reading = request.param
    settings = replace(storage_settings, **WIRINGS[wiring])
    # A hundred changes of one user wait for each other, on a busy machine for longer than usual.
    connections = replace(settings.connections, acquire_timeout_s=ACQUIRE_TIMEOUT_S)
    settings = replace(settings, connections=connections)
    if wiring == "a cluster":
        url = request.getfixturevalue("cluster").url
        settings = replace(settings, cache=CacheSettings(url=url))
    if consistency is Consistency.CACHED:
        local = replace(settings.local, ttl_ms=60_000, requests_to_copy=1)
        settings = replace(settings, local=local)
    return settings, consistency, reading


@pytest.fixture
async def reads(wired: Wired) -> AsyncIterator[Reads]:
    settings, consistency, reading = wired
    async with open_stores(settings) as stores:
        yield Reads(stores, reading(stores.reads.reader, consistency))


FANS = range(2, 13)


@pytest.fixture(scope="module")
def fans_database(databases: Databases, caches: Caches) -> Iterator[str]:
    """User 1 and each of FANS follow each other."""
    pairs = [*((1, fan) for fan in FANS), *((fan, 1) for fan in FANS)]
    with filled_database(databases, caches, lambda stores: follows(stores, *pairs)) as url:
        yield url


@pytest.fixture
async def reads_of_fans(wired: Wired, fans_database: str) -> AsyncIterator[Reads]:
    settings, consistency, reading = wired
    async with open_stores(replace(settings, database_url=fans_database)) as stores:
        reads = Reads(stores, reading(stores.reads.reader, consistency))
        await reads.catch_up()
        yield reads


async def drain(reads: Reads) -> None:
    """Apply and acknowledge all changes, also while the caches are unavailable."""
    for lane in await reads.stores.jobs.lanes.progress.lanes_with_changes():
        applied = await reads.stores.jobs.lanes.outbox.apply(lane, 1000)
        with contextlib.suppress(Unavailable):
            await reads.stores.caches.updates.update_after_drain(applied.changes)
        await reads.stores.jobs.lanes.outbox.acknowledge(lane, applied)
        sources = [change.pair.source for change in applied.changes]
        await reads.stores.caches.updates.invalidate_pending_writes(sources)
    await reads.catch_up()


class ReadResults(NamedTuple):
    """The results of all reads about some users."""

    lists: dict[ListKind, dict[int, list[int]]]
    counts: dict[int, Counts]
    relations: list[RelationColumn]


async def read_all(reads: Reads, *ids: int, viewer: int | None = None) -> ReadResults:
    """Counts, first pages and relations of some users: read to fill caches, and to compare.

    With a local cache, it reads twice, because the first read copies missing values.
    """
    if reads.stores.caches.local is not None:
        await _read_once(reads, *ids, viewer=viewer)
        await reads.stores.caches.local.wait_for_copies()
    return await _read_once(reads, *ids, viewer=viewer)


async def _read_once(reads: Reads, *ids: int, viewer: int | None) -> ReadResults:
    viewer_id = None if viewer is None else UserId(viewer)
    lists = {
        kind: {
            int(user): ids_of(page.entries)
            for user, page in (
                await reads.reading.pages(kind, users(*ids), Window(10), viewer_id)
            ).items()
        }
        for kind in ListKind
    }
    counts = await reads.reading.counts(users(*ids), viewer_id)
    checks = [Check(user, users(*ids)) for user in users(*ids)]
    totals = {int(user): count for user, count in counts.items()}
    return ReadResults(lists, totals, await reads.reading.relations(checks, viewer_id))


async def test_users_without_edges_have_empty_lists_totals_and_relations(reads: Reads) -> None:
    pages = await reads.reading.pages(ListKind.FOLLOWERS, users(7, 8), Window(5), None)
    assert all(page.entries == () and not page.more for page in pages.values())
    assert await reads.reading.counts(users(7, 8), None) == {7: NO_COUNTS, 8: NO_COUNTS}
    assert await reads.reading.relations([Check(UserId(7), users(8, 9))]) == [[STRANGERS] * 2]


async def test_all_reads_agree_after_a_write_was_acknowledged_by_the_drain(reads: Reads) -> None:
    await read_all(reads, 1, 2, 3)
    await follows(reads.stores, (1, 2), (2, 1), (3, 1), (3, 2), (1, 4))
    await drain(reads)
    lists, counts, relations = await read_all(reads, 1, 2, 3)
    assert lists == {
        ListKind.FOLLOWING: {1: [4, 2], 2: [1], 3: [2, 1]},
        ListKind.FOLLOWERS: {1: [3, 2], 2: [3, 1], 3: []},
        ListKind.FRIENDS: {1: [2], 2: [1], 3: []},
    }
    assert counts == {1: Counts(2, 2, 1), 2: Counts(1, 2, 1), 3: Counts(2, 0, 0)}
    kinds = [[(r.kind, r.reverse_kind) for r in row] for row in relations]
    none, both, ahead, behind = (0, 0), (1, 1), (1, 0), (0, 1)
    assert kinds == [[none, both, behind], [both, none, behind], [ahead, ahead, none]]


async def test_a_follow_and_an_unfollow_restore_the_earlier_results(reads: Reads) -> None:
    before = await read_all(reads, 1, 2)
    await follows(reads.stores, (1, 2), (2, 1))
    await drain(reads)
    assert await read_all(reads, 1, 2) != before
    await unfollows(reads.stores, (1, 2), (2, 1))
    await drain(reads)
    assert await read_all(reads, 1, 2) == before


@pytest.mark.parametrize("warm", [False, True], ids=["cold", "warm"])
async def test_the_writer_sees_a_write_in_all_reads_before_a_drain(
    reads: Reads, warm: bool
) -> None:
    await follows(reads.stores, (2, 1), (5, 2))
    await drain(reads)
    if warm:
        await read_all(reads, 1, 2, viewer=1)
    await follows(reads.stores, (1, 2))  # and no lane is drained
    lists, counts, _ = await read_all(reads, 1, 2, viewer=1)
    assert lists[ListKind.FOLLOWING][1] == [2]
    assert lists[ListKind.FOLLOWERS][2] == [1, 5]
    assert lists[ListKind.FRIENDS] == {1: [2], 2: [1]}
    assert counts == {1: Counts(1, 1, 1), 2: Counts(1, 2, 1)}
    await unfollows(reads.stores, (1, 2))
    lists, counts, _ = await read_all(reads, 1, 2, viewer=1)
    assert lists[ListKind.FOLLOWERS][2] == [5]
    assert lists[ListKind.FRIENDS] == {1: [], 2: []}
    assert counts == {1: Counts(0, 1, 0), 2: Counts(1, 1, 0)}


async def test_an_own_follow_is_counted_once_when_applied_but_not_published(reads: Reads) -> None:
    await read_all(reads, 1, 2, viewer=1)
    await follows(reads.stores, (2, 1), (1, 2))
    for lane in await reads.stores.jobs.lanes.progress.lanes_with_changes():
        await reads.stores.jobs.lanes.outbox.apply(lane, 1000)  # applied, but no cache was updated
    lists, counts, _ = await read_all(reads, 1, 2, viewer=1)
    assert lists[ListKind.FOLLOWERS][2] == [1]
    assert counts[2] == Counts(1, 1, 1)


@pytest.mark.parametrize("warm", [False, True], ids=["cold", "warm"])
async def test_a_follow_back_makes_friends_before_a_drain(reads: Reads, warm: bool) -> None:
    await follows(reads.stores, (1, 2))
    if warm:
        await read_all(reads, 1, 2, viewer=2)
    await follows(reads.stores, (2, 1))
    lists, counts, relations = await read_all(reads, 1, 2, viewer=2)
    assert lists[ListKind.FRIENDS] == {1: [2], 2: [1]}
    assert counts[2].friends == counts[1].friends == 1
    assert relations[1][0].kinds == FRIENDS
    await unfollows(reads.stores, (1, 2))
    await unfollows(reads.stores, (2, 1))
    await follows(reads.stores, (2, 1))
    lists, counts, relations = await read_all(reads, 1, 2, viewer=2)
    assert lists[ListKind.FRIENDS] == {1: [], 2: []}
    assert counts[2].friends == counts[1].friends == 0
    assert (relations[1][0].kind, relations[1][0].reverse_kind) == (1, 0)


async def test_others_do_not_see_pending_writes(reads: Reads) -> None:
    await read_all(reads, 2, viewer=1)
    await follows(reads.stores, (1, 2))
    await read_all(reads, 2, viewer=1)
    lists, counts, _ = await read_all(reads, 2, viewer=3)
    assert lists[ListKind.FOLLOWERS][2] == []
    assert counts[2] == NO_COUNTS


@pytest.mark.parametrize("size", [1, 2, 3, 7, 20])
@pytest.mark.parametrize("backward", [False, True], ids=["newest first", "oldest first"])
@pytest.mark.parametrize("kind", list(ListKind))
async def test_the_pages_of_a_list_have_every_entry_once_in_order(
    reads_of_fans: Reads, kind: ListKind, size: int, backward: bool
) -> None:
    entries: list[Position] = []
    window = Window(size, backward=backward)
    while True:
        page = (await reads_of_fans.reading.pages(kind, users(1), window, None))[UserId(1)]
        assert list(page.entries) == sorted(page.entries, reverse=True)
        entries = [*page.entries, *entries] if backward else [*entries, *page.entries]
        if not page.more:
            break
        end = page.entries[0] if backward else page.entries[-1]
        window = Window(size, before=end, backward=True) if backward else Window(size, after=end)
    assert ids_of(entries) == sorted(FANS, reverse=True)


async def test_a_window_may_have_both_ends(reads: Reads) -> None:
    await follows(reads.stores, *((1, fan) for fan in range(2, 12)))
    whole = (await reads.reading.pages(ListKind.FOLLOWING, users(1), Window(20), None))[UserId(1)]
    window = Window(2, after=whole.entries[2], before=whole.entries[7])
    page = (await reads.reading.pages(ListKind.FOLLOWING, users(1), window, None))[UserId(1)]
    assert (page.entries, page.more) == (whole.entries[3:5], True)
    window = window._replace(backward=True)
    page = (await reads.reading.pages(ListKind.FOLLOWING, users(1), window, None))[UserId(1)]
    assert (page.entries, page.more) == (whole.entries[5:7], True)


async def test_relations_are_in_the_order_of_the_checks(reads: Reads) -> None:
    await follows(reads.stores, (1, 2), (2, 3), (3, 1), (1, 3), (4, 1), (5, 1), (6, 1))
    await drain(reads)
    for _ in range(2):  # once to fill the caches, once from them
        checks = [
            Check(UserId(3), users(1, 9, 1)),
            Check(UserId(1), users(2, 3, 4, 5, 6)),
            Check(UserId(8), ()),
            Check(UserId(2), users(3)),
        ]
        found = await reads.reading.relations(checks)
        kinds = [[(int(r.kind), int(r.reverse_kind)) for r in row] for row in found]
        assert kinds == [
            [(1, 1), (0, 0), (1, 1)],
            [(1, 0), (1, 1), (0, 1), (0, 1), (0, 1)],
            [],
            [(1, 0)],
        ]
        preformatted = [
            check._replace(preformatted=list(map(str, check.others))) for check in checks
        ]
        assert await reads.reading.relations(preformatted) == found


async def test_relations_have_the_dates_of_both_edges(reads: Reads) -> None:
    ahead = await reads.stores.writes.edges.change(as_pair(1, 2), follow(PLENTY))
    behind = await reads.stores.writes.edges.change(as_pair(2, 1), follow(PLENTY))
    await drain(reads)
    ((relation,),) = await reads.reading.relations([Check(UserId(1), users(2))])
    assert relation.since == ahead.edge.since
    assert relation.reverse_since == behind.edge.since
    assert relation.kinds == FRIENDS


async def test_relations_have_the_flags_of_their_first_user(reads: Reads) -> None:
    """Also for a whale, whose reverse edges are read from the hashes of the other users."""
    await follows(reads.stores, (1, 2), *((other, 1) for other in range(2, 7)))
    await reads.stores.writes.edges.change(as_pair(1, 2), mute())
    await drain(reads)
    for _ in range(2):  # cold, then warm
        ((relation,), (reverse,)) = await reads.reading.relations(
            [Check(UserId(1), users(2)), Check(UserId(2), users(1))]
        )
        assert (relation.flags, reverse.flags) == (Flags.MUTED, Flags.PLAIN)


async def test_a_hundred_concurrent_changes_of_one_pair_leave_consistent_reads(
    reads: Reads,
) -> None:
    rules = [follow(PLENTY) if turn % 2 else unfollow() for turn in range(100)]
    pairs = [as_pair(1, 2) if turn % 3 else as_pair(2, 1) for turn in range(100)]
    outcomes = await asyncio.gather(
        *(
            reads.stores.writes.edges.change(pair, rule)
            for pair, rule in zip(pairs, rules, strict=True)
        )
    )
    await drain(reads)
    made = sum(o.outcome is Outcome.FOLLOWED for o in outcomes)
    undone = sum(o.outcome is Outcome.UNFOLLOWED for o in outcomes)
    lists, counts, relations = await read_all(reads, 1, 2)
    edges = len(lists[ListKind.FOLLOWING][1]) + len(lists[ListKind.FOLLOWING][2])
    assert made - undone == edges
    assert lists[ListKind.FOLLOWERS] == {
        1: lists[ListKind.FOLLOWING][2] and [2],
        2: lists[ListKind.FOLLOWING][1] and [1],
    }
    friends = int(edges == 2)
    for user, other in ((1, 2), (2, 1)):
        ahead, behind = len(lists[ListKind.FOLLOWING][user]), len(lists[ListKind.FOLLOWING][other])
        assert counts[user] == Counts(ahead, behind, friends)
        assert follows_now(relations[user - 1][other - 1].kinds) == bool(ahead)
