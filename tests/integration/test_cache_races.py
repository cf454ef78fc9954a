"""Races of the caches, step by step: stale reads, late updates, lost invalidations."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence, Set
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from graph.account import PrivacyChange
from graph.account_state import AccountState
from graph.counts import NO_COUNTS, Counts
from graph.decision_types import Decision
from graph.edge import Pair, UserId
from graph.errors import Unavailable
from graph.lists import ListKind
from graph.outcome import Outcome
from graph.page import Page, Window
from graph.privacy import OPEN
from graph.profile import Profile
from graph.relation import RelationColumn
from graph.rules import follow, unfollow
from storage.cache.codec.relations import FORWARD, MARKER, REVERSE, sides_of
from storage.cache.lease import Leases
from storage.cache.marks import Mark
from storage.cache.reader import CacheReader, CountingRedis
from storage.ports.edges import EdgeChange
from storage.ports.reader import AccountsOf, Check, PagesOf, ProfilesOf, RelationsOf
from storage.postgres.edges import PostgresEdges
from storage.postgres.lists import PostgresLists
from storage.postgres.pending_edges import PostgresPending
from storage.postgres.profiles import PostgresProfiles
from storage.postgres.relations import PostgresRelations, UserRelations
from storage.redis import connection
from storage.redis.connection import GuardedRedis, KeyKind, Redis
from storage.redis.keys import Keys, closing, lease
from storage.redis.multiplexed import MultiplexedWire
from storage.redis.wire import Command, Reply, Wire
from storage.settings import LeaseSettings, StorageSettings
from storage.shielded_tasks import ShieldedTasks
from storage.stores import Stores, open_stores
from storage.wiring.caches import tables_of
from storage.write_through.edges import WriteThroughEdges
from tests.support import citus
from tests.support.counts import Totals
from tests.support.graphs import PLENTY, as_pair, drain_all, follows, ids_of, unfollows, users
from tests.support.proxy import Proxy
from tests.support.readers import Reading
from tests.support.redis_proxy import proxy_to
from tests.support.tls import server_over_tls

DEADLINE_S = citus.deadline_s(20)
LEASE_MS = 60_000  # longer than any test, so that no lease expires
TTL_S = 3600
KEYS = Keys("public")
ONE, TWO = users(1, 2)


class Gate:
    """Holds calls back until the test opens it."""

    def __init__(self) -> None:
        self._reached = asyncio.Event()
        self._open = asyncio.Event()

    async def wait_until_open(self) -> None:
        self._reached.set()
        async with asyncio.timeout(DEADLINE_S):
            await self._open.wait()

    async def wait_until_reached(self) -> None:
        async with asyncio.timeout(DEADLINE_S):
            await self._reached.wait()

    def open(self) -> None:
        self._open.set()


class GatedRelations(PostgresRelations):
    """Reads at once, and returns when the gate opens. Counts the two kinds of reads."""

    gate: Gate | None = None
    fills = 0
    direct_reads = 0

    async def get_many(self, users: Sequence[UserId], limit: int) -> Mapping[UserId, UserRelations]:
        self.fills += 1
        found = await super().get_many(users, limit)
        if self.gate is not None:
            await self.gate.wait_until_open()
        return found

    async def between(self, checks: Sequence[Check]) -> list[RelationColumn]:
        self.direct_reads += 1
        return await super().between(checks)


class GatedLists(PostgresLists):
    gate: Gate | None = None

    async def pages(
        self, kind: ListKind, users: Sequence[UserId], window: Window, viewer: UserId | None
    ) -> Mapping[UserId, Page]:
        found = await super().pages(kind, users, window, viewer)
        if self.gate is not None:
            await self.gate.wait_until_open()
        return found


class GatedProfiles(PostgresProfiles):
    gate: Gate | None = None

    async def get_many(
        self, users: Sequence[UserId], viewer: UserId | None
    ) -> Mapping[UserId, Profile]:
        found = await super().get_many(users, viewer)
        if self.gate is not None:
            await self.gate.wait_until_open()
        return found


@dataclass(frozen=True)
class GatedStores:
    """Stores, and readers of their caches over tables that a test can hold back."""

    stores: Stores
    settings: StorageSettings
    relations_max: int

    def relations(self, leases: Leases | None = None) -> tuple[Reading, GatedRelations]:
        tables = GatedRelations(self.stores.servers.postgres)
        return self.reading(relations=tables, leases=leases), tables

    def reading(
        self,
        *,
        redis: CountingRedis | None = None,
        leases: Leases | None = None,
        list_max: int = 5000,
        **replaced: Any,
    ) -> Reading:
        """A reader over the tables, with those in `replaced` instead of the usual ones."""
        tables = replace(tables_of(self.stores.servers.postgres), **replaced)
        settings = replace(
            self.settings,
            cache=replace(
                self.settings.cache,
                lease=LeaseSettings(ms=LEASE_MS),
                relations_max=self.relations_max,
                list_max=list_max,
            ),
        )
        redis = redis or self.stores.servers.redis
        return Reading(CacheReader(settings, redis, tables, leases=leases))

    async def hash_sides(self, user: int) -> int | None:
        """The directions of edges in a user's relation hash, as bits. None if there is no hash."""
        key = KEYS.relations(UserId(user))
        (marker,) = await self.stores.servers.redis.pipe([("HGET", key, MARKER)])
        return None if marker is None else sides_of(marker)

    async def hash_fields(self, user: int) -> int:
        """The number of fields of a user's relation hash."""
        (fields,) = await self.stores.servers.redis.pipe([("HLEN", KEYS.relations(UserId(user)))])
        return int(fields)


@pytest.fixture
async def gated(stores: Stores, storage_settings: StorageSettings) -> GatedStores:
    return GatedStores(stores, storage_settings, 5000)


@pytest.fixture
async def small(storage_settings: StorageSettings) -> AsyncIterator[GatedStores]:
    """Stores where a user with more than three edges in one direction is a whale."""
    async with open_stores(
        replace(storage_settings, cache=replace(storage_settings.cache, relations_max=3))
    ) as stores:
        yield GatedStores(stores, storage_settings, 3)


async def kinds_between(relations: Reading, user: int, *others: int) -> list[tuple[int, int]]:
    """The kinds of the edges from `user` to each of `others`, and of the reverse edges."""
    (found,) = await relations.relations([Check(UserId(user), users(*others))])
    return [(int(r.kind), int(r.reverse_kind)) for r in found]


class UncachedWrites:
    """Writes to the tables only. The test updates the caches."""

    def __init__(self, stores: Stores) -> None:
        self._edges = PostgresEdges(stores.servers.postgres)

    async def follow(self, source: int, target: int) -> Decision:
        decision = await self._edges.change(as_pair(source, target), follow(PLENTY))
        assert decision.steps
        return decision

    async def unfollow(self, source: int, target: int) -> Decision:
        decision = await self._edges.change(as_pair(source, target), unfollow())
        assert decision.steps
        return decision


# Stale reads never overwrite newer writes.


async def test_a_relation_fill_that_began_before_a_write_is_discarded(gated: GatedStores) -> None:
    relations, tables = gated.relations()
    tables.gate = Gate()
    early_read = asyncio.create_task(kinds_between(relations, 1, 2))
    await tables.gate.wait_until_reached()
    await follows(gated.stores, (1, 2))
    tables.gate.open()
    await early_read
    assert await kinds_between(relations, 1, 2) == [(1, 0)]


async def test_a_relation_fill_that_began_before_a_drain_is_discarded(gated: GatedStores) -> None:
    await follows(gated.stores, (1, 2))
    relations, tables = gated.relations()
    tables.gate = Gate()
    early_read = asyncio.create_task(kinds_between(relations, 2, 1))
    await tables.gate.wait_until_reached()
    await drain_all(gated.stores)
    tables.gate.open()
    assert await early_read == [(0, 1)], "a reader that has lost its lease reads the tables again"
    assert await kinds_between(relations, 2, 1) == [(0, 1)]


@pytest.mark.parametrize("kind", list(ListKind))
async def test_a_list_fill_that_began_before_a_change_is_discarded(
    gated: GatedStores, kind: ListKind
) -> None:
    await follows(gated.stores, (1, 2))
    await drain_all(gated.stores)
    tables = GatedLists(gated.stores.servers.postgres)
    lists = gated.reading(lists=tables)
    tables.gate = Gate()
    owner = TWO if kind is not ListKind.FOLLOWERS else ONE
    early_read = asyncio.create_task(lists.pages(kind, [owner], Window(5), None))
    await tables.gate.wait_until_reached()
    await follows(gated.stores, (2, 1))
    if kind is ListKind.FOLLOWERS:
        await drain_all(gated.stores)
    tables.gate.open()
    assert (await early_read)[owner].entries == ()
    found = (await lists.pages(kind, [owner], Window(5), None))[owner]
    assert len(found.entries) == 1


@pytest.mark.parametrize("backward", [False, True], ids=["forward", "backward"])
@pytest.mark.parametrize(
    "filled_meanwhile", [False, True], ids=["filled before", "filled meanwhile"]
)
async def test_an_unfollow_removes_the_follower_from_a_cached_page_range(
    gated: GatedStores, filled_meanwhile: bool, backward: bool
) -> None:
    await follows(gated.stores, *((fan, 1) for fan in range(2, 20)))
    await drain_all(gated.stores)
    tables = GatedLists(gated.stores.servers.postgres)
    lists = gated.reading(lists=tables, list_max=3)
    await lists.pages(ListKind.FOLLOWERS, [ONE], Window(2), None)  # fills the list head
    followers = (await tables.pages(ListKind.FOLLOWERS, [ONE], Window(20), None))[ONE].entries
    window = Window(20, after=followers[1])
    if backward:
        window = Window(20, before=followers[-1], backward=True)
    early_read = asyncio.create_task(lists.pages(ListKind.FOLLOWERS, [ONE], window, None))
    tables.gate = Gate() if filled_meanwhile else None
    if tables.gate is not None:
        await tables.gate.wait_until_reached()
    assert filled_meanwhile or 5 in ids_of((await early_read)[ONE].entries)
    await unfollows(gated.stores, (5, 1))
    own_read = asyncio.create_task(lists.pages(ListKind.FOLLOWERS, [ONE], window, UserId(5)))
    if tables.gate is not None:
        tables.gate.open()
    assert 5 not in ids_of((await own_read)[ONE].entries), "the user who unfollowed sees it at once"
    await drain_all(gated.stores)
    await early_read
    for read_window in (Window(2), window):  # the list head is cached again first
        found = (await lists.pages(ListKind.FOLLOWERS, [ONE], read_window, None))[ONE]
        assert 5 not in ids_of(found.entries)


@pytest.mark.parametrize("drained", [False, True], ids=["by the write", "by the drain"])
async def test_a_fill_of_totals_that_began_before_a_change_is_discarded(
    gated: GatedStores, drained: bool
) -> None:
    tables = GatedProfiles(gated.stores.servers.postgres)
    counts = gated.reading(profiles=tables)
    tables.gate = Gate()
    owner = TWO if drained else ONE
    early_read = asyncio.create_task(counts.counts([owner], None))
    await tables.gate.wait_until_reached()
    await follows(gated.stores, (1, 2))
    if drained:
        await drain_all(gated.stores)
    tables.gate.open()
    assert (await early_read)[owner] == NO_COUNTS
    now = (await counts.counts([owner], None))[owner]
    assert now == (Counts(0, 1, 0) if drained else Counts(1, 0, 0))


async def test_only_the_newest_holder_of_a_lease_fills_the_cache(gated: GatedStores) -> None:
    relations, tables = gated.relations()
    tables.gate = Gate()
    early_read = asyncio.create_task(kinds_between(relations, 1, 2))
    await tables.gate.wait_until_reached()
    await follows(gated.stores, (1, 2))
    newer, _ = gated.relations()
    assert await kinds_between(newer, 1, 2) == [(1, 0)]
    await follows(gated.stores, (1, 3))
    tables.gate.open()
    await early_read
    assert await kinds_between(newer, 1, 2, 3) == [(1, 0), (1, 0)]


# Updates that come late, twice, or in the wrong order.


@pytest.mark.parametrize("order", list(permutations(range(3))), ids=str)
@pytest.mark.parametrize("filled_before", [False, True], ids=["filled after", "filled before"])
@pytest.mark.parametrize("side", ["forward", "reverse"])
async def test_updates_in_any_order_and_twice_leave_the_newest_state(
    gated: GatedStores, order: tuple[int, ...], filled_before: bool, side: str
) -> None:
    relations, _ = gated.relations()
    write = UncachedWrites(gated.stores)
    user, other = (1, 2) if side == "forward" else (2, 1)
    if filled_before:
        await kinds_between(relations, user, other)
    changes = [await write.follow(1, 2), await write.unfollow(1, 2), await write.follow(1, 2)]
    for lane in await gated.stores.jobs.lanes.progress.lanes_with_changes():
        await gated.stores.jobs.lanes.outbox.apply(lane, 100)
    if not filled_before:
        await kinds_between(relations, user, other)
    for step in (*order, *order):
        if side == "forward":
            await gated.stores.caches.updates.update_after_write(as_pair(1, 2), changes[step])
        else:
            await gated.stores.caches.updates.update_after_drain(
                [EdgeChange(as_pair(1, 2), changes[step].edge)]
            )
        if not filled_before or {2} <= set(order[: order.index(step) + 1]):
            assert await kinds_between(relations, user, other) == [(1, 0) if user == 1 else (0, 1)]
    assert await kinds_between(relations, user, other) == [(1, 0) if user == 1 else (0, 1)]


async def test_an_update_of_a_cached_relation_reads_nothing_from_postgresql(
    gated: GatedStores,
) -> None:
    relations, tables = gated.relations()
    await kinds_between(relations, 1, 2)
    await follows(gated.stores, (1, 2))
    assert await kinds_between(relations, 1, 2) == [(1, 0)]
    await unfollows(gated.stores, (1, 2))
    assert await kinds_between(relations, 1, 2) == [(0, 0)]
    await follows(gated.stores, (2, 1))
    await drain_all(gated.stores)
    assert await kinds_between(relations, 1, 2) == [(0, 1)]
    assert (tables.fills, tables.direct_reads) == (1, 0)


@pytest.mark.parametrize("side", ["forward", "reverse"])
async def test_a_late_update_by_a_follow_does_not_undo_a_newer_unfollow(
    gated: GatedStores, side: str
) -> None:
    relations, _ = gated.relations()
    write = UncachedWrites(gated.stores)
    made, _undone = await write.follow(1, 2), await write.unfollow(1, 2)
    for lane in await gated.stores.jobs.lanes.progress.lanes_with_changes():
        await gated.stores.jobs.lanes.outbox.apply(lane, 100)
    user, other = (1, 2) if side == "forward" else (2, 1)
    assert await kinds_between(relations, user, other) == [(0, 0)]
    if side == "forward":
        await gated.stores.caches.updates.update_after_write(as_pair(1, 2), made)
    else:
        await gated.stores.caches.updates.update_after_drain([EdgeChange(as_pair(1, 2), made.edge)])
    assert await kinds_between(relations, user, other) == [(0, 0)]


async def test_a_late_update_by_an_unfollow_does_not_delete_the_relation_hash(
    gated: GatedStores,
) -> None:
    relations, tables = gated.relations()
    write = UncachedWrites(gated.stores)
    await write.follow(1, 2)
    undone = await write.unfollow(1, 2)
    await kinds_between(relations, 1, 2)
    await gated.stores.caches.updates.update_after_write(as_pair(1, 2), undone)
    assert await kinds_between(relations, 1, 2) == [(0, 0)]
    assert tables.fills == 1


async def test_an_older_follow_does_not_replace_a_cached_tombstone(gated: GatedStores) -> None:
    relations, tables = gated.relations()
    write = UncachedWrites(gated.stores)
    await kinds_between(relations, 1, 2)
    made, undone = await write.follow(1, 2), await write.unfollow(1, 2)
    await gated.stores.caches.updates.update_after_write(as_pair(1, 2), undone)
    await gated.stores.caches.updates.update_after_write(as_pair(1, 2), made)
    assert await kinds_between(relations, 1, 2) == [(0, 0)]
    assert tables.fills == 1


async def test_an_update_of_one_direction_keeps_the_other_direction(gated: GatedStores) -> None:
    relations, tables = gated.relations()
    await follows(gated.stores, (1, 2), (2, 1))
    await drain_all(gated.stores)
    assert await kinds_between(relations, 1, 2) == [(1, 1)]
    await unfollows(gated.stores, (1, 2))
    assert await kinds_between(relations, 1, 2) == [(0, 1)]
    await unfollows(gated.stores, (2, 1))
    await drain_all(gated.stores)
    assert await kinds_between(relations, 1, 2) == [(0, 0)]
    assert tables.fills == 1


# A viewer's own writes, while a drain runs at the same time as the read.


class DrainsMeanwhile:
    """Implements `PendingRows`. Drains all lanes before each read."""

    def __init__(self, stores: Stores) -> None:
        self._stores = stores

    async def get_many(self, users: Sequence[UserId]) -> Mapping[UserId, Collection[UserId]]:
        await drain_all(self._stores)
        return await PostgresPending(self._stores.servers.postgres).get_many(users)


async def test_a_viewer_sees_their_own_follow_once_in_a_list_during_a_drain(
    gated: GatedStores,
) -> None:
    stores = gated.stores
    assert (await stores.reads.reader.read(None, PagesOf(ListKind.FOLLOWERS, [TWO], Window(5))))[
        TWO
    ].entries == ()
    await follows(stores, (1, 2))
    lists = gated.reading(pending=DrainsMeanwhile(stores))
    page = (await lists.pages(ListKind.FOLLOWERS, [TWO], Window(5), ONE))[TWO]
    assert ids_of(page.entries) == [1]


async def test_a_viewer_sees_their_own_follow_once_in_a_total_during_a_drain(
    gated: GatedStores,
) -> None:
    stores = gated.stores
    assert (await Totals(stores.reads.reader).get_many([TWO], None))[TWO] == NO_COUNTS
    await follows(stores, (1, 2))
    counts = gated.reading(pending=DrainsMeanwhile(stores))
    assert (await counts.counts([TWO], ONE))[TWO] == Counts(0, 1, 0)


class DrainsBetween:
    """Implements `Redis`. After each command of a pipeline, it drains all lanes, and user 1 reads:
    the cache then has no pending writes of user 1."""

    def __init__(self, stores: Stores) -> None:
        self._stores = stores
        self.failures = 0

    async def pipe(self, commands: Sequence[Command]) -> list[Reply]:
        replies: list[Reply] = []
        for command in commands:
            replies += await self._stores.servers.redis.pipe([command])
            await drain_all(self._stores)
            await self._stores.reads.reader.read(ONE, ProfilesOf(users(9)))
        return replies

    def partly(self, commands: Sequence[Command]) -> Awaitable[list[Reply]]:
        return self.pipe(commands)

    def after(self, first: Command, commands: Sequence[Command]) -> Awaitable[list[Reply]]:
        return self.pipe([first, *commands])

    def scan(self, pattern: str, most: int) -> AsyncIterator[list[bytes]]:
        raise NotImplementedError

    def add_pending(self, keys: Collection[str], kind: KeyKind = KeyKind.EDGES) -> None:
        raise NotImplementedError

    async def reachable(self) -> Callable[[str], bool]:
        raise NotImplementedError


async def test_a_pipeline_reads_own_writes_before_the_list(gated: GatedStores) -> None:
    stores = gated.stores
    await stores.reads.reader.read(ONE, PagesOf(ListKind.FOLLOWERS, [TWO], Window(5)))
    await follows(stores, (1, 2))
    await stores.reads.reader.read(
        ONE, PagesOf(ListKind.FOLLOWERS, [TWO], Window(5))
    )  # caches the pending follow
    lists = gated.reading(redis=DrainsBetween(stores))
    page = (await lists.pages(ListKind.FOLLOWERS, [TWO], Window(5), ONE))[TWO]
    assert ids_of(page.entries) == [1]


async def test_a_pipeline_reads_own_writes_before_the_totals(gated: GatedStores) -> None:
    stores = gated.stores
    await Totals(stores.reads.reader).get_many([TWO], ONE)
    await follows(stores, (1, 2))
    await Totals(stores.reads.reader).get_many([TWO], ONE)  # caches the pending follow
    counts = gated.reading(redis=DrainsBetween(stores))
    assert (await counts.counts([TWO], ONE))[TWO] == Counts(0, 1, 0)


class GatedCaches:
    """Implements `Caches`, and waits before it updates them."""

    def __init__(self, stores: Stores) -> None:
        self._caches = stores.caches.updates
        self.gate = Gate()
        self.updated = asyncio.Event()

    async def update_after_write(
        self, pair: Pair, decision: Decision, mark: Mark | None = None
    ) -> bool:
        await self.gate.wait_until_open()
        is_updated = await self._caches.update_after_write(pair, decision, mark)
        self.updated.set()
        return is_updated

    async def applied(self, changes: Sequence[EdgeChange]) -> Set[UserId]:
        raise NotImplementedError


async def test_a_write_that_is_cancelled_after_the_commit_updates_the_caches(
    gated: GatedStores,
) -> None:
    stores = gated.stores
    relations, tables = gated.relations()
    assert await kinds_between(relations, 1, 2) == [(0, 0)]
    caches = GatedCaches(stores)
    edges = WriteThroughEdges(
        PostgresEdges(stores.servers.postgres), caches, stores.broker.lanes, ShieldedTasks()
    )
    writer = asyncio.create_task(edges.change(as_pair(1, 2), follow(PLENTY)))
    await caches.gate.wait_until_reached()
    writer.cancel()
    with pytest.raises(asyncio.CancelledError):
        await writer
    caches.gate.open()
    async with asyncio.timeout(DEADLINE_S):
        await caches.updated.wait()
    assert await kinds_between(relations, 1, 2) == [(1, 0)]
    assert tables.fills == 1


@pytest.mark.parametrize("what", ["an edge", "settings", "a state"])
async def test_a_process_that_ends_updates_the_caches_for_disconnected_clients(
    gated: GatedStores,
    storage_settings: StorageSettings,
    monkeypatch: pytest.MonkeyPatch,
    what: str,
) -> None:
    seen, gate, send = gated.stores, Gate(), GuardedRedis.pipe
    relations, _ = gated.relations()
    assert await kinds_between(relations, 1, 2) == [(0, 0)]
    assert (await seen.reads.reader.read(None, AccountsOf([ONE])))[ONE].privacy == OPEN

    async def gated_send(redis: GuardedRedis, commands: Sequence[Command]) -> list[Reply]:
        if redis is not seen.servers.redis and any(command[0] == "UNLINK" for command in commands):
            await gate.wait_until_open()
        return await send(redis, commands)

    for method in ("pipe", "partly"):
        monkeypatch.setattr(GuardedRedis, method, gated_send)
    async with open_stores(storage_settings) as ending:

        async def write() -> None:
            if what == "an edge":
                await ending.writes.edges.change(as_pair(1, 2), follow(PLENTY))
            elif what == "settings":
                await ending.writes.accounts.set_privacy(ONE, PrivacyChange(protected=True))
            else:
                await ending.writes.account_states.change(ONE, AccountState.DEACTIVATED)

        writer = asyncio.create_task(write())
        await gate.wait_until_reached()
        writer.cancel()
        await asyncio.gather(writer, return_exceptions=True)
        asyncio.get_running_loop().call_later(0.05, gate.open)
    if what == "an edge":
        assert await kinds_between(relations, 1, 2) == [(1, 0)]
    else:
        privacy = (await seen.reads.reader.read(None, AccountsOf([ONE])))[ONE].privacy
        assert (privacy.protected, privacy.present) == (what == "settings", what == "settings")


# One fill for many readers.


class SharedLeases(Leases):
    """Holds the fill back until all readers have asked for the lease. The others wait for it."""

    def __init__(self, redis: Redis, readers: int) -> None:
        super().__init__(redis, LEASE_MS, 0)
        self.all_asked = Gate()
        self.filled = asyncio.Event()
        self._missing = readers

    async def take(self, keys: Sequence[str]) -> dict[str, str]:
        taken = await super().take(keys)
        self._missing -= 1
        if not self._missing:
            self.all_asked.open()
        return taken

    async def wait(self) -> None:
        async with asyncio.timeout(DEADLINE_S):
            await self.filled.wait()


async def test_many_concurrent_misses_cause_one_fill(gated: GatedStores) -> None:
    await follows(gated.stores, (1, 2))
    readers = 40
    leases = SharedLeases(gated.stores.servers.redis, readers)
    relations, tables = gated.relations(leases)
    tables.gate = leases.all_asked

    async def read() -> list[tuple[int, int]]:
        found = await kinds_between(relations, 1, 2, 3)
        leases.filled.set()
        return found

    before = gated.stores.servers.postgres.statements
    found = await asyncio.gather(*(read() for _ in range(readers)))
    assert found == [[(1, 0), (0, 0)]] * readers
    assert (tables.fills, tables.direct_reads) == (1, 0)
    # One reads the user's edges, one the reverse edge of the pending follow.
    assert gated.stores.servers.postgres.statements - before == 2


async def test_a_reader_that_waits_too_long_for_a_fill_reads_the_tables(gated: GatedStores) -> None:
    await follows(gated.stores, (1, 2))
    holder, slow_tables = gated.relations()
    slow_tables.gate = Gate()
    filling = asyncio.create_task(kinds_between(holder, 1, 2))
    await slow_tables.gate.wait_until_reached()
    relations, tables = gated.relations()
    assert await kinds_between(relations, 1, 2) == [(1, 0)]
    assert (tables.fills, tables.direct_reads) == (0, 1)
    assert await gated.hash_sides(1) is None
    slow_tables.gate.open()
    assert await filling == [(1, 0)]
    assert await gated.hash_sides(1) == FORWARD | REVERSE


async def test_no_checks_have_no_relations(gated: GatedStores) -> None:
    relations, _ = gated.relations()
    assert await relations.relations([]) == []


# Whales.


async def test_the_hash_of_a_user_at_the_whale_limit_has_both_directions(
    small: GatedStores,
) -> None:
    relations, tables = small.relations()
    await follows(small.stores, *((fan, 1) for fan in (2, 3, 4)), (1, 2))
    await drain_all(small.stores)
    assert await kinds_between(relations, 1, 2, 3, 4, 5) == [(1, 1), (0, 1), (0, 1), (0, 0)]
    assert await small.hash_sides(1) == FORWARD | REVERSE
    assert (tables.fills, tables.direct_reads) == (1, 0)


async def test_the_hash_of_a_whale_has_one_direction_and_its_relations_are_correct(
    small: GatedStores,
) -> None:
    relations, tables = small.relations()
    await follows(small.stores, *((fan, 1) for fan in (2, 3, 4, 5)), (1, 2), (1, 9))
    await drain_all(small.stores)
    expected = [(1, 1), (0, 1), (0, 1), (0, 1), (0, 0), (1, 0)]
    assert await kinds_between(relations, 1, 2, 3, 4, 5, 6, 9) == expected
    assert await small.hash_sides(1) == FORWARD
    assert await small.hash_fields(1) == 1 + 2
    for other in (2, 3, 4, 5, 6, 9):
        await kinds_between(relations, other, 1)
    direct_reads = tables.direct_reads
    assert await kinds_between(relations, 1, 2, 3, 4, 5, 6, 9) == expected
    assert tables.direct_reads == direct_reads, (
        "the hashes of the other users have the reverse edges"
    )
    await unfollows(small.stores, (3, 1), (1, 9))
    await drain_all(small.stores)
    assert await kinds_between(relations, 1, 2, 3, 9) == [(1, 1), (0, 0), (0, 0)]


async def test_new_followers_of_a_whale_do_not_change_its_hash(small: GatedStores) -> None:
    relations, tables = small.relations()
    await follows(small.stores, *((fan, 1) for fan in (2, 3, 4, 5)), (1, 2))
    await drain_all(small.stores)
    await kinds_between(relations, 1, 2)
    await follows(small.stores, *((fan, 1) for fan in range(20, 30)))
    await drain_all(small.stores)
    assert await small.hash_fields(1) == 1 + 1
    assert await kinds_between(relations, 1, 2, 20, 30) == [(1, 1), (0, 1), (0, 0)]
    assert tables.fills == 1


async def test_relations_have_the_order_of_the_checks_with_and_without_whales(
    small: GatedStores,
) -> None:
    await follows(small.stores, *((fan, 1) for fan in (2, 3, 4, 5)), (1, 2))
    await follows(small.stores, *((fan, 6) for fan in (2, 3, 4, 5)), (1, 6), (7, 6), (8, 2))
    await drain_all(small.stores)
    for warm in ((), (1, 6), (2, 3, 7)):
        relations, _ = small.relations()
        for user in warm:
            await kinds_between(relations, user, 99)
        found = await relations.relations(
            [
                Check(UserId(8), users(2)),
                Check(UserId(6), users(1, 8, 5)),
                Check(UserId(1), ()),
                Check(UserId(1), users(6, 2, 2)),
            ]
        )
        kinds = [[(int(r.kind), int(r.reverse_kind)) for r in row] for row in found]
        assert kinds == [
            [(1, 0)],
            [(0, 1), (0, 0), (0, 1)],
            [],
            [(1, 0), (1, 1), (1, 1)],
        ]


async def test_relations_stay_correct_while_a_user_becomes_a_whale(small: GatedStores) -> None:
    relations, _ = small.relations()
    most_fields = 2 * small.relations_max + 1
    fans = list(range(2, 14))
    sides: list[int | None] = []
    for grown in range(len(fans)):
        await follows(small.stores, (fans[grown], 1))
        await drain_all(small.stores)
        assert await small.hash_fields(1) <= most_fields
        expected = [(0, int(index <= grown)) for index in range(len(fans))]
        assert await kinds_between(relations, 1, *fans) == expected
        sides.append(await small.hash_sides(1))
    assert sides[0] == FORWARD | REVERSE
    assert sides[-1] == FORWARD
    await unfollows(small.stores, (fans[0], 1), (fans[-1], 1))
    await drain_all(small.stores)
    assert await kinds_between(relations, 1, fans[0], fans[1], fans[-1]) == [(0, 0), (0, 1), (0, 0)]


async def test_relations_of_a_user_with_more_follows_than_a_hash_holds_are_correct(
    small: GatedStores,
) -> None:
    relations, _ = small.relations()
    await follows(small.stores, *((1, star) for star in (2, 3, 4, 5)), (2, 1))
    await drain_all(small.stores)
    for _ in range(2):
        assert await kinds_between(relations, 1, 2, 3, 4, 5, 6) == [(1, 1), *[(1, 0)] * 3, (0, 0)]
    assert await small.hash_sides(1) == REVERSE
    await unfollows(small.stores, (1, 3), (2, 1))
    await drain_all(small.stores)
    assert await kinds_between(relations, 1, 2, 3) == [(1, 0), (0, 0)]


# Redis becomes unavailable, and is restored.


@dataclass(frozen=True)
class Cuttable:
    """Stores whose connection to Redis can be cut."""

    stores: Stores
    proxy: Proxy

    async def restore(self) -> None:
        """Restore the proxy, and wait until the circuit breaker has noticed it."""
        await self.proxy.restore()
        async with asyncio.timeout(DEADLINE_S):
            while True:
                try:
                    await self.stores.servers.redis.ping()
                except Unavailable:
                    await asyncio.sleep(0.001)
                else:
                    return


@pytest.fixture
async def cuttable(storage_settings: StorageSettings, tmp_path: Path) -> AsyncIterator[Cuttable]:
    async with proxy_to(storage_settings.redis_url, tmp_path) as (proxy, url):
        settings = replace(
            storage_settings,
            redis_url=url,
            connections=replace(
                storage_settings.connections, redis_timeout_s=0.1, redis_retry_after_s=0.01
            ),
        )
        async with open_stores(settings) as stores:
            yield Cuttable(stores, proxy)


async def read_all(stores: Stores, viewer: int | None, *ids: int) -> object:
    reader = None if viewer is None else UserId(viewer)
    lists = [
        await stores.reads.reader.read(reader, PagesOf(kind, users(*ids), Window(9)))
        for kind in ListKind
    ]
    counts = await Totals(stores.reads.reader).get_many(users(*ids), reader)
    checks = [Check(user, users(*ids)) for user in users(*ids)]
    return lists, counts, await stores.reads.reader.read(None, RelationsOf(checks))


async def test_invalidations_missed_by_redis_are_flushed_when_it_is_back(
    cuttable: Cuttable,
) -> None:
    stores = cuttable.stores
    await read_all(stores, 1, 1, 2)
    await cuttable.proxy.cut()
    decision = await stores.writes.edges.change(as_pair(1, 2), follow(PLENTY))
    assert decision.outcome is Outcome.FOLLOWED
    from_tables = await read_all(stores, 1, 1, 2)
    assert ids_of(
        (await stores.reads.reader.read(None, PagesOf(ListKind.FOLLOWING, [ONE], Window(9))))[
            ONE
        ].entries
    )
    await cuttable.restore()
    assert await read_all(stores, 1, 1, 2) == from_tables  # although no drain has run


async def test_pending_invalidations_that_no_drain_repeats_are_kept_beyond_the_limit(
    cuttable: Cuttable, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Meanwhile, changes of other users need more pending invalidations than the limit."""
    stores, most = cuttable.stores, 12
    monkeypatch.setattr(connection, "PENDING_MAX", dict.fromkeys(KeyKind, most))
    monkeypatch.setattr(connection, "FLUSHED_AT_ONCE", 5)
    await follows(stores, (1, 2), (3, 2))
    await drain_all(stores)
    assert (await stores.reads.reader.read(None, AccountsOf([TWO])))[TWO].privacy == OPEN
    assert (await Totals(stores.reads.reader).get_many([ONE], None))[ONE].following == 1
    await cuttable.proxy.cut()
    await follows(stores, *((100, other) for other in range(101, 101 + most)))
    await stores.writes.accounts.set_privacy(TWO, PrivacyChange(protected=True))
    await stores.writes.account_states.change(TWO, AccountState.DEACTIVATED)
    await follows(stores, *((200, other) for other in range(201, 201 + most)))
    await cuttable.restore()
    account = (await stores.reads.reader.read(None, AccountsOf([TWO])))[TWO]
    assert account.privacy.protected
    assert not account.privacy.present
    assert (await Totals(stores.reads.reader).get_many([ONE], None))[
        ONE
    ].without_absent.following == 0


async def test_a_fill_that_began_before_a_write_without_redis_is_discarded(
    cuttable: Cuttable, gated: GatedStores
) -> None:
    """The reader of another gateway holds the lease the whole time."""
    relations, tables = gated.relations()
    tables.gate = Gate()
    early_read = asyncio.create_task(kinds_between(relations, 1, 2))
    await tables.gate.wait_until_reached()
    await cuttable.proxy.cut()
    await follows(cuttable.stores, (1, 2))
    await cuttable.restore()
    tables.gate.open()
    await early_read
    assert await kinds_between(relations, 1, 2) == [(1, 0)]


class BusyWire:
    """Implements `Wire`. While it flushes an invalidation, the same one is added again."""

    def __init__(self, inner: Wire) -> None:
        self._inner = inner
        self.round_trips = 0
        self.redis: GuardedRedis | None = None

    async def send(self, commands: Sequence[Command]) -> list[Reply]:
        replies = await self._inner.send(commands)
        if self.redis is not None and commands[0][0] == "UNLINK":
            await self._inner.send([("SET", "kith:old", "old again")])
            self.redis.add_pending(["kith:old"])
            self.redis = None
        return replies

    async def close(self) -> None:
        await self._inner.close()


async def test_an_invalidation_added_while_it_is_flushed_is_flushed_again(
    storage_settings: StorageSettings,
) -> None:
    wire = BusyWire(MultiplexedWire(storage_settings.redis_url, timeout_s=5))
    redis = GuardedRedis(wire, retry_after_s=0)
    try:
        wire.redis = redis
        redis.add_pending(["kith:old"])
        await redis.ping()
        assert await redis.pipe([("GET", "kith:old")]) == [None]
    finally:
        await redis.close()


@pytest.mark.parametrize("failure", ["cut", "silent"])
async def test_reads_and_writes_succeed_when_redis_fails_during_them(
    cuttable: Cuttable, failure: str
) -> None:
    stores = cuttable.stores
    await follows(stores, (1, 2), (2, 1), (3, 1))
    await drain_all(stores)
    expected = await read_all(stores, None, 1, 2, 3)
    reads = [asyncio.create_task(read_all(stores, None, 1, 2, 3)) for _ in range(20)]
    await asyncio.sleep(0)  # the reads have begun
    if failure == "cut":
        await cuttable.proxy.cut()
    else:
        cuttable.proxy.stop_answering()
    async with asyncio.timeout(DEADLINE_S):
        for found in await asyncio.gather(*reads):
            assert found == expected
        await follows(stores, (1, 3))
        assert await read_all(stores, 1, 1, 3) == await read_all(stores, 1, 1, 3)
        (page,) = (
            await stores.reads.reader.read(None, PagesOf(ListKind.FOLLOWING, [ONE], Window(9)))
        ).values()
        assert ids_of(page.entries) == [3, 2]
    await cuttable.restore()
    await drain_all(stores)
    (page,) = (
        await stores.reads.reader.read(None, PagesOf(ListKind.FRIENDS, [ONE], Window(9)))
    ).values()
    assert ids_of(page.entries) == [3, 2]
    assert await Totals(stores.reads.reader).get_many([ONE], None) == {ONE: Counts(2, 2, 2)}


@pytest.mark.parametrize("transport", ["unix socket", "TLS"])
async def test_cancelled_readers_leave_no_reply_to_later_readers(
    redis_url: str, tmp_path: Path, transport: str
) -> None:
    async with AsyncExitStack() as stack:
        if transport == "TLS":
            redis_url = await stack.enter_async_context(server_over_tls(redis_url, tmp_path))
        redis = GuardedRedis(MultiplexedWire(redis_url, timeout_s=5), retry_after_s=0)
        stack.push_async_callback(redis.close)

        async def read(number: int) -> None:
            replies = await redis.pipe([("GET", f"kith:{number}"), ("GET", f"kith:{number}")])
            assert replies == [b"%d" % number] * 2

        await redis.pipe([("SET", f"kith:{n}", n) for n in range(50)])
        for turn in range(30):
            readers = [asyncio.create_task(read(number)) for number in range(50)]
            for _ in range(turn % 10):
                await asyncio.sleep(0)
            for reader in readers[turn % 2 :: 2]:
                reader.cancel()
            for ended in await asyncio.gather(*readers, return_exceptions=True):
                assert ended is None or isinstance(ended, asyncio.CancelledError), ended


async def test_a_key_and_its_lease_share_a_slot(gated: GatedStores) -> None:
    """They must share a slot of a Redis Cluster, or no script could touch them together."""
    keys = [KEYS.relations(ONE), KEYS.profile(ONE), KEYS.pending(ONE)]
    for key in keys:
        slots = await gated.stores.servers.redis.pipe(
            [("CLUSTER", "KEYSLOT", name) for name in (key, lease(key), closing(key))]
        )
        assert len(set(slots)) == 1
