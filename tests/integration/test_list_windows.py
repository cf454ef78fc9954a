"""Windows of cached lists: right, and without reading entries that they do not show."""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import pytest

from graph.edge import MAX_USER_ID, Millis, UserId
from graph.list_kind import ListKind
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
from storage.redis.keys import Keys, beyond
from storage.redis.multiplexed import MultiplexedWire
from storage.redis.wire import Command, Reply
from storage.settings import LeaseSettings, StorageSettings
from storage.stores import Stores
from storage.wiring.caches import tables_of
from tests.support.graphs import drain_all, follows
from tests.support.readers import Reading

KEYS = Keys("public")
OWNER = UserId(1)
MOST = 5000


@dataclass
class Tables:
    """Implements `ListRows`: every user has the same list. Records the windows that are read."""

    entries: Sequence[Position]
    asked: list[Window] = field(default_factory=list)

    async def pages(
        self, kind: ListKind, users: Sequence[UserId], window: Window, viewer: UserId | None
    ) -> Mapping[UserId, Page]:
        self.asked.append(window)
        return dict.fromkeys(users, cut(self.entries, window))


class Weighed(MultiplexedWire):
    """Counts the bytes that come back."""

    received = 0

    async def send(self, commands: Sequence[Command]) -> list[Reply]:
        replies = await super().send(commands)
        self.received += sum(len(reply) for reply in replies if isinstance(reply, bytes))
        return replies


@dataclass(frozen=True)
class Shelf:
    """Lists over tables that the test fills."""

    stores: Stores
    settings: StorageSettings
    redis: GuardedRedis
    wire: Weighed

    def lists(self, tables: ListRows, most: int = MOST, page_range: int = 0) -> Reading:
        settings = replace(
            self.settings,
            cache=replace(
                self.settings.cache,
                lease=LeaseSettings(ms=60_000, wait_ms=0),
                list_max=most,
                range_max=page_range,
            ),
        )
        rows = replace(tables_of(self.stores.servers.postgres), lists=tables)
        return Reading(CacheReader(settings, self.redis, rows))

    async def hold(self, head: Page) -> None:
        """Store a head, as a fill does."""
        key = KEYS.head(ListKind.FOLLOWERS, OWNER)
        await self.redis.pipe([("SET", key, page_value(head))])


@pytest.fixture
async def shelf(stores: Stores, storage_settings: StorageSettings) -> AsyncIterator[Shelf]:
    wire = Weighed(storage_settings.redis_url, timeout_s=5)
    redis = GuardedRedis(wire, retry_after_s=0)
    yield Shelf(stores, storage_settings, redis, wire)
    await redis.close()


def entries(count: int) -> list[Position]:
    """Newest first. Dates repeat, and ids differ in the last of their 63 bits."""
    every = [Position(Millis(1000 + n // 3), UserId(MAX_USER_ID - n % 3)) for n in range(count)]
    return sorted(every, reverse=True)


async def page_of(lists: Reading, window: Window, viewer: int | None = None) -> Page:
    asker = None if viewer is None else UserId(viewer)
    return (await lists.pages(ListKind.FOLLOWERS, [OWNER], window, asker))[OWNER]


@pytest.mark.parametrize("page_range", [0, 2, 4, 40])
@pytest.mark.parametrize("held", [1, 5, 7, 8])
async def test_every_window_of_a_short_list_is_what_the_tables_say(
    shelf: Shelf, held: int, page_range: int
) -> None:
    whole = entries(7)
    tables = Tables(whole)
    lists = shelf.lists(tables, page_range=page_range)
    await shelf.hold(Page(tuple(whole[:held]), more=held < len(whole)))
    between = [Position(Millis(1000), UserId(5)), Position(Millis(1001), UserId(MAX_USER_ID))]
    ends = [NEWEST, *whole, *between, OLDEST]
    for window in [
        Window(size, after, before, backward)
        for size in (0, 1, 2, 7, 20)
        for after in ends
        for before in ends
        for backward in (False, True)
    ]:
        assert await page_of(lists, window) == cut(whole, window), window
    if held >= len(whole):
        assert not tables.asked, "a cache of the whole list reads no table"


async def test_windows_inside_the_head_ask_no_table(shelf: Shelf) -> None:
    whole = entries(9)
    tables = Tables(whole)
    lists = shelf.lists(tables)
    await shelf.hold(Page(tuple(whole[:6]), more=True))
    inside = [
        Window(2, after=whole[1]),
        Window(3, after=whole[1]),
        Window(20, after=whole[1], before=whole[5]),
        Window(2, before=whole[5], backward=True),
        Window(2, before=whole[4], backward=True),
    ]
    for window in inside:
        assert await page_of(lists, window) == cut(whole, window)
    assert not tables.asked
    for window in [Window(4, after=whole[1]), Window(1, backward=True)]:
        assert await page_of(lists, window) == cut(whole, window)
    assert len(tables.asked) == 2, "what ends beyond the head is asked of the tables, once"


@pytest.mark.parametrize("place", [20, 2500, 4900, 4999, 19_980])
@pytest.mark.parametrize("backward", [False, True], ids=["onward", "backward"])
async def test_a_page_reads_no_more_of_a_whales_head_than_it_shows(
    shelf: Shelf, place: int, backward: bool
) -> None:
    whole = entries(20_020)
    tables = Tables(whole)
    lists = shelf.lists(tables)
    await page_of(lists, Window(20), viewer=7)
    trips, shelf.wire.received = shelf.redis.round_trips, 0
    edge = whole[place]
    window = Window(20, before=edge, backward=True) if backward else Window(20, after=edge)
    tables.asked.clear()
    assert await page_of(lists, window, viewer=7) == cut(whole, window)
    assert shelf.redis.round_trips - trips == 1
    assert shelf.wire.received <= bytes_of_entries(21) + 1
    beyond = place >= (MOST if backward else MOST - 20)
    assert tables.asked == ([window] if beyond else [])


@pytest.mark.parametrize("size", [1, 3, 20])
@pytest.mark.parametrize("backward", [False, True], ids=["onward", "backward"])
async def test_a_walk_beyond_the_head_reads_the_tables_once_a_range(
    shelf: Shelf, backward: bool, size: int
) -> None:
    whole = entries(200)
    tables = Tables(whole)
    lists = shelf.lists(tables, page_range=40)
    await shelf.hold(Page(tuple(whole[:20]), more=True))
    window = Window(size, after=whole[19], backward=backward)
    walked: list[Position] = []
    while True:
        page = await page_of(lists, window)
        assert page == cut(whole, window)
        walked = [*page.entries, *walked] if backward else [*walked, *page.entries]
        if not page.more:
            break
        if backward:
            window = window._replace(before=page.entries[0])
        else:
            window = window._replace(after=page.entries[-1])
    assert walked == whole[20:]
    sure = 40 - 1 - size  # of a range: one entry marks its end, and one page may begin before it
    assert len(tables.asked) <= -(-180 // sure)


async def test_cached_ranges_are_few_and_expire(shelf: Shelf) -> None:
    whole = entries(2000)
    lists = shelf.lists(Tables(whole), page_range=10)
    await shelf.hold(Page(tuple(whole[:20]), more=True))
    key = beyond(KEYS.head(ListKind.FOLLOWERS, OWNER))
    for place in range(20, 2000, 20):
        await page_of(lists, Window(5, after=whole[place]))
        held, ttl = await shelf.redis.pipe([("ZCARD", key), ("PTTL", key)])
        assert 1 <= held <= RANGES_MAX
        assert 0 < ttl <= 1100 * TTL_S


@pytest.mark.parametrize("backward", [False, True], ids=["onward", "backward"])
async def test_an_audit_finds_a_wrong_cached_range(shelf: Shelf, backward: bool) -> None:
    stores = shelf.stores
    await follows(stores, *((fan, OWNER) for fan in range(2, 20)))
    await drain_all(stores)
    tables = PostgresLists(stores.servers.postgres)
    whole = (await tables.pages(ListKind.FOLLOWERS, [OWNER], Window(20), None))[OWNER].entries
    lists = shelf.lists(tables, most=3, page_range=8)
    ends = {"before": whole[-4]} if backward else {"after": whole[4]}
    await page_of(lists, Window(2, backward=backward, **ends))
    key = beyond(KEYS.head(ListKind.FOLLOWERS, OWNER))

    async def wrong() -> list[str]:
        return [wrong async for batch in stores.caches.audit.batches() for wrong in batch.wrong]

    assert key not in await wrong()
    await stores.servers.postgres.fetch("DELETE FROM follower WHERE from_user_id = $1", whole[8][1])
    assert key in await wrong()


async def test_a_viewers_first_page_is_one_round_trip(shelf: Shelf) -> None:
    lists = shelf.lists(Tables(entries(100)))
    await page_of(lists, Window(20), viewer=7)
    trips, shelf.wire.received = shelf.redis.round_trips, 0
    await page_of(lists, Window(20), viewer=7)
    assert shelf.redis.round_trips - trips == 1
    assert shelf.wire.received <= bytes_of_entries(21) + 1


async def test_a_page_is_one_question_to_the_tables_while_redis_is_away(
    stores: Stores, storage_settings: StorageSettings
) -> None:
    whole = entries(100)
    tables = Tables(whole)
    redis = GuardedRedis(MultiplexedWire("unix:///nowhere.sock", timeout_s=1), retry_after_s=0)
    wire = Weighed("unix:///nowhere.sock", timeout_s=1)
    lists = Shelf(stores, storage_settings, redis, wire).lists(tables)
    window = Window(20, after=whole[50])
    assert await page_of(lists, window, viewer=7) == cut(whole, window)
    assert tables.asked == [window], "and nobody loads a head that cannot be kept"
