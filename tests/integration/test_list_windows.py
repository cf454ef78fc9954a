"""Windows of cached lists are correct, and read only the entries that they return."""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import pytest

from graph.edge import MAX_USER_ID, Millis, UserId
from graph.lists import ListKind
from graph.page import (
    NEWEST,
    OLDEST,
    Page,
    Position,
    Window,
    cut,
)
from storage.cache.codec.lists import bytes_of_entries, page_value
from storage.cache.ranges import RANGES_MAX, TTL_S
from storage.cache.reader import CacheReader
from storage.cache.tables import ListRows
from storage.postgres.lists import PostgresLists
from storage.redis.connection import GuardedRedis
from storage.redis.keys import Keys, page_ranges_key
from storage.redis.multiplexed import MultiplexedWire
from storage.redis.wire import Command, Reply
from storage.settings import LeaseSettings, StorageSettings
from storage.stores import Stores
from storage.wiring.caches import tables_of
from tests.support.graphs import drain_all, follows
from tests.support.readers import Reading

KEYS = Keys("public")
OWNER = UserId(1)
HEAD_MAX = 5000


@dataclass
class RecordingTables:
    """Implements `ListRows`: every user has the same list. Records the windows that are read."""

    entries: Sequence[Position]
    windows: list[Window] = field(default_factory=list)

    async def pages(
        self, kind: ListKind, users: Sequence[UserId], window: Window, viewer: UserId | None
    ) -> Mapping[UserId, Page]:
        self.windows.append(window)
        return dict.fromkeys(users, cut(self.entries, window))


class CountingWire(MultiplexedWire):
    """Counts the bytes of replies."""

    received = 0

    async def send(self, commands: Sequence[Command]) -> list[Reply]:
        replies = await super().send(commands)
        self.received += sum(len(reply) for reply in replies if isinstance(reply, bytes))
        return replies


@dataclass(frozen=True)
class CachedLists:
    """Readers of cached lists over tables that a test fills."""

    stores: Stores
    settings: StorageSettings
    redis: GuardedRedis
    wire: CountingWire

    def lists(self, tables: ListRows, list_max: int = HEAD_MAX, page_range: int = 0) -> Reading:
        settings = replace(
            self.settings,
            cache=replace(
                self.settings.cache,
                lease=LeaseSettings(ms=60_000, wait_ms=0),
                list_max=list_max,
                range_max=page_range,
            ),
        )
        rows = replace(tables_of(self.stores.servers.postgres), lists=tables)
        return Reading(CacheReader(settings, self.redis, rows))

    async def store_head(self, head: Page) -> None:
        """Store a list head, as a fill does."""
        key = KEYS.head(ListKind.FOLLOWERS, OWNER)
        await self.redis.pipe([("SET", key, page_value(head))])


@pytest.fixture
async def cached(stores: Stores, storage_settings: StorageSettings) -> AsyncIterator[CachedLists]:
    wire = CountingWire(storage_settings.redis_url, timeout_s=5)
    redis = GuardedRedis(wire, retry_after_s=0)
    yield CachedLists(stores, storage_settings, redis, wire)
    await redis.close()


def entries(count: int) -> list[Position]:
    """Positions, newest first. Dates repeat, and the ids are the three highest."""
    every = [Position(Millis(1000 + n // 3), UserId(MAX_USER_ID - n % 3)) for n in range(count)]
    return sorted(every, reverse=True)


async def page_of(lists: Reading, window: Window, viewer: int | None = None) -> Page:
    viewer_id = None if viewer is None else UserId(viewer)
    return (await lists.pages(ListKind.FOLLOWERS, [OWNER], window, viewer_id))[OWNER]


@pytest.mark.parametrize("page_range", [0, 2, 4, 40])
@pytest.mark.parametrize("head_size", [1, 5, 7, 8])
async def test_every_window_of_a_short_list_equals_the_tables(
    cached: CachedLists, head_size: int, page_range: int
) -> None:
    every_entry = entries(7)
    tables = RecordingTables(every_entry)
    lists = cached.lists(tables, page_range=page_range)
    await cached.store_head(Page(tuple(every_entry[:head_size]), more=head_size < len(every_entry)))
    between = [Position(Millis(1000), UserId(5)), Position(Millis(1001), UserId(MAX_USER_ID))]
    ends = [NEWEST, *every_entry, *between, OLDEST]
    for window in [
        Window(size, after, before, backward)
        for size in (0, 1, 2, 7, 20)
        for after in ends
        for before in ends
        for backward in (False, True)
    ]:
        assert await page_of(lists, window) == cut(every_entry, window), window
    if head_size >= len(every_entry):
        assert not tables.windows, "if the whole list is cached, no table is read"


async def test_windows_inside_the_list_head_read_no_table(cached: CachedLists) -> None:
    every_entry = entries(9)
    tables = RecordingTables(every_entry)
    lists = cached.lists(tables)
    await cached.store_head(Page(tuple(every_entry[:6]), more=True))
    inside = [
        Window(2, after=every_entry[1]),
        Window(3, after=every_entry[1]),
        Window(20, after=every_entry[1], before=every_entry[5]),
        Window(2, before=every_entry[5], backward=True),
        Window(2, before=every_entry[4], backward=True),
    ]
    for window in inside:
        assert await page_of(lists, window) == cut(every_entry, window)
    assert not tables.windows
    for window in [Window(4, after=every_entry[1]), Window(1, backward=True)]:
        assert await page_of(lists, window) == cut(every_entry, window)
    assert len(tables.windows) == 2, (
        "the tables are read once for each window that ends beyond the head"
    )


@pytest.mark.parametrize("index", [20, 2500, 4900, 4999, 19_980])
@pytest.mark.parametrize("backward", [False, True], ids=["forward", "backward"])
async def test_a_page_of_a_long_list_reads_only_its_own_entries_from_redis(
    cached: CachedLists, index: int, backward: bool
) -> None:
    every_entry = entries(20_020)
    tables = RecordingTables(every_entry)
    lists = cached.lists(tables)
    await page_of(lists, Window(20), viewer=7)
    trips, cached.wire.received = cached.redis.round_trips, 0
    edge = every_entry[index]
    window = Window(20, before=edge, backward=True) if backward else Window(20, after=edge)
    tables.windows.clear()
    assert await page_of(lists, window, viewer=7) == cut(every_entry, window)
    assert cached.redis.round_trips - trips == 1
    assert cached.wire.received <= bytes_of_entries(21) + 1
    beyond_head = index >= (HEAD_MAX if backward else HEAD_MAX - 20)
    assert tables.windows == ([window] if beyond_head else [])


@pytest.mark.parametrize("size", [1, 3, 20])
@pytest.mark.parametrize("backward", [False, True], ids=["forward", "backward"])
async def test_pages_beyond_the_head_read_the_tables_once_for_each_page_range(
    cached: CachedLists, backward: bool, size: int
) -> None:
    every_entry = entries(200)
    tables = RecordingTables(every_entry)
    lists = cached.lists(tables, page_range=40)
    await cached.store_head(Page(tuple(every_entry[:20]), more=True))
    window = Window(size, after=every_entry[19], backward=backward)
    entries_read: list[Position] = []
    while True:
        page = await page_of(lists, window)
        assert page == cut(every_entry, window)
        entries_read = (
            [*page.entries, *entries_read] if backward else [*entries_read, *page.entries]
        )
        if not page.more:
            break
        if backward:
            window = window._replace(before=page.entries[0])
        else:
            window = window._replace(after=page.entries[-1])
    assert entries_read == every_entry[20:]
    usable_entries = (
        40 - 1 - size
    )  # one entry marks the end of a range, and one page may begin before it
    assert len(tables.windows) <= -(-180 // usable_entries)


async def test_cached_page_ranges_are_bounded_and_expire(cached: CachedLists) -> None:
    every_entry = entries(2000)
    lists = cached.lists(RecordingTables(every_entry), page_range=10)
    await cached.store_head(Page(tuple(every_entry[:20]), more=True))
    key = page_ranges_key(KEYS.head(ListKind.FOLLOWERS, OWNER))
    for place in range(20, 2000, 20):
        await page_of(lists, Window(5, after=every_entry[place]))
        ranges, ttl_ms = await cached.redis.pipe([("ZCARD", key), ("PTTL", key)])
        assert 1 <= ranges <= RANGES_MAX
        assert 0 < ttl_ms <= 1100 * TTL_S


@pytest.mark.parametrize("backward", [False, True], ids=["forward", "backward"])
async def test_the_audit_of_the_caches_finds_a_stale_page_range(
    cached: CachedLists, backward: bool
) -> None:
    stores = cached.stores
    await follows(stores, *((fan, OWNER) for fan in range(2, 20)))
    await drain_all(stores)
    tables = PostgresLists(stores.servers.postgres)
    every_entry = (await tables.pages(ListKind.FOLLOWERS, [OWNER], Window(20), None))[OWNER].entries
    lists = cached.lists(tables, list_max=3, page_range=8)
    ends = {"before": every_entry[-4]} if backward else {"after": every_entry[4]}
    await page_of(lists, Window(2, backward=backward, **ends))
    key = page_ranges_key(KEYS.head(ListKind.FOLLOWERS, OWNER))

    async def stale_keys() -> list[str]:
        return [wrong async for batch in stores.caches.verifier.batches() for wrong in batch.wrong]

    assert key not in await stale_keys()
    await stores.servers.postgres.fetch(
        "DELETE FROM follower WHERE from_user_id = $1", every_entry[8][1]
    )
    assert key in await stale_keys()


async def test_a_viewers_first_page_is_one_round_trip(cached: CachedLists) -> None:
    lists = cached.lists(RecordingTables(entries(100)))
    await page_of(lists, Window(20), viewer=7)
    trips, cached.wire.received = cached.redis.round_trips, 0
    await page_of(lists, Window(20), viewer=7)
    assert cached.redis.round_trips - trips == 1
    assert cached.wire.received <= bytes_of_entries(21) + 1


async def test_while_redis_is_unavailable_a_page_is_one_read_of_the_tables(
    stores: Stores, storage_settings: StorageSettings
) -> None:
    every_entry = entries(100)
    tables = RecordingTables(every_entry)
    redis = GuardedRedis(MultiplexedWire("unix:///nowhere.sock", timeout_s=1), retry_after_s=0)
    wire = CountingWire("unix:///nowhere.sock", timeout_s=1)
    lists = CachedLists(stores, storage_settings, redis, wire).lists(tables)
    window = Window(20, after=every_entry[50])
    assert await page_of(lists, window, viewer=7) == cut(every_entry, window)
    assert tables.windows == [window], "no list head is read, because it cannot be cached"
