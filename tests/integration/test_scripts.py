"""Scripts in Redis: results equal to a model, few commands, and loading when they are missing."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

import pytest

from graph.edge import MAX_USER_ID, Millis, UserId
from graph.errors import Unavailable
from graph.lists import ListKind
from graph.page import (
    NEWEST,
    OLDEST,
    Page,
    Position,
    Window,
    cut,
)
from storage.cache.codec.lists import (
    entries_in,
    page_range,
    page_range_in,
    page_value,
    window_bounds,
)
from storage.ports.reader import PagesOf
from storage.redis.connection import GuardedRedis
from storage.redis.keys import Keys, page_ranges_key
from storage.redis.multiplexed import MultiplexedWire
from storage.redis.scripts import CALL, FILL_VALUE, READ_WINDOW
from storage.redis.wire import Command, WireError
from storage.settings import StorageSettings
from storage.stores import Stores, open_stores
from tests.support.counts import Totals
from tests.support.graphs import drain_all, follows
from tests.support.valkey import own_valkey

KEY = Keys("public").head(ListKind.FOLLOWERS, UserId(1))
WINDOWS = 4000
DEADLINE_S = 20


@dataclass(frozen=True)
class CachedList:
    """The cached parts of a list: its head, and page ranges."""

    head: Page
    ranges: Sequence[tuple[Window, Page]]

    def commands(self) -> list[Command]:
        values = [page_range(window, page) for window, page in self.ranges]
        return [
            ("DEL", page_ranges_key(KEY)),
            ("SET", KEY, page_value(self.head)),
            *(("ZADD", page_ranges_key(KEY), 0, value) for value in values),
        ]

    def can_answer(self, window: Window) -> bool:
        """Whether the head, or the range that begins closest to the window, is enough."""
        if window.after <= window.before:
            return False  # inverted: no answer is required
        entries = self.head.entries
        ends = not self.head.more or (bool(entries) and entries[-1] <= window.before)
        if ends or (not window.backward and len(window.inside(entries)) > window.size):
            return True
        ranges = [page_range(window_read, page) for window_read, page in self.ranges]
        if window.backward:
            # Of the ranges whose old end is not newer than the window's, the newest counts.
            near = [s for s in ranges if s[:1] == b"<" and page_range_in(s)[1] <= window.before]
        else:
            near = [s for s in ranges if s[:1] == b">" and page_range_in(s)[0] >= window.after]
        if not near:
            return False
        new, old, inside = page_range_in(max(near) if window.backward else min(near))
        reaches = new >= window.after if window.backward else old <= window.before
        return reaches or len(window.inside(inside)) > window.size


def entries(count: int) -> list[Position]:
    """Positions, newest first. Dates repeat, and the ids are the five highest."""
    every = [Position(Millis(1000 + n // 5), UserId(MAX_USER_ID - n % 5)) for n in range(count)]
    return sorted(every, reverse=True)


def random_ends(every_entry: Sequence[Position], chance: Random) -> tuple[Position, Position]:
    """Random ends of a window: at entries, between entries, or open. Some are inverted."""
    between = [Position(since, UserId(user - 5)) for since, user in every_entry[::7]]
    one, other = (
        chance.choice([chance.choice(every_entry), chance.choice(between), edge])
        for edge in (NEWEST, OLDEST)
    )
    return (one, other) if chance.random() < 0.1 else (max(one, other), min(one, other))


def random_window(every_entry: Sequence[Position], sizes: Sequence[int], chance: Random) -> Window:
    return Window(
        chance.choice(sizes), *random_ends(every_entry, chance), backward=chance.random() < 0.5
    )


def read_command(window: Window) -> Command:
    arguments = (*window_bounds(window), window.size + 1, int(window.backward))
    return (CALL, READ_WINDOW, 2, KEY, page_ranges_key(KEY), *arguments)


@pytest.fixture
async def wire(tmp_path: Path) -> AsyncIterator[MultiplexedWire]:
    """A connection to a server that no other test uses."""
    async with own_valkey(tmp_path) as url:
        opened = MultiplexedWire(url, timeout_s=5)
        yield opened
        await opened.close()


@pytest.mark.parametrize("head_size", [0, 1, 130, 500, 700])
@pytest.mark.parametrize("ranges", [0, 1, 6])
async def test_cached_windows_are_found_and_correct(
    wire: MultiplexedWire, head_size: int, ranges: int
) -> None:
    chance = Random(f"{head_size} {ranges}")
    every_entry = entries(700)
    range_windows = [random_window(every_entry, [10, 150, 400], chance) for _ in range(ranges)]
    cached = CachedList(
        Page(tuple(every_entry[:head_size]), more=head_size < len(every_entry)),
        [(w, cut(every_entry, w)) for w in range_windows],
    )
    windows = [random_window(every_entry, [0, 1, 7, 20, 150], chance) for _ in range(WINDOWS)]
    setup = cached.commands()
    replies = (await wire.send([*setup, *map(read_command, windows)]))[len(setup) :]
    answered = 0
    for window, reply in zip(windows, replies, strict=True):
        found, is_end = entries_in(reply)
        if is_end or len(found) > window.size:
            one_more = window._replace(size=window.size + 1)
            assert found == cut(every_entry, one_more).entries, window
            answered += 1
        else:
            assert not cached.can_answer(window), window
    assert answered >= sum(map(cached.can_answer, windows))


async def test_a_window_of_a_list_that_is_not_cached_is_empty(wire: MultiplexedWire) -> None:
    assert await wire.send([read_command(Window(20, after=Position(Millis(5), UserId(5))))]) == [
        b""
    ]


@pytest.mark.parametrize(("index", "calls_most"), [(100, 11), (4900, 11), (6000, 3)])
@pytest.mark.parametrize("backward", [False, True], ids=["forward", "backward"])
async def test_a_window_is_found_in_few_calls(
    wire: MultiplexedWire, index: int, calls_most: int, backward: bool
) -> None:
    every_entry = entries(8000)
    window = (
        Window(20, before=every_entry[index], backward=True)
        if backward
        else Window(20, after=every_entry[index])
    )
    wide = window._replace(size=500)
    await wire.send(
        CachedList(
            Page(tuple(every_entry[:5000]), True), [(wide, cut(every_entry, wide))]
        ).commands()
    )
    await wire.send([("CONFIG", "RESETSTAT")])
    reply, stats = await wire.send([read_command(window), ("INFO", "commandstats")])
    assert len(entries_in(reply)[0]) == 21
    ran = [line for line in stats.decode().splitlines() if line.startswith("cmdstat_")]
    calls = [int(line.split("calls=")[1].split(",")[0]) for line in ran if "evalsha" not in line]
    assert sum(calls) - 1 <= calls_most, ran  # without CONFIG


async def test_a_server_that_lost_its_scripts_gets_them_again(
    tmp_path: Path,
) -> None:
    fill: Command = (CALL, FILL_VALUE, 3, "key", "lease", "closed", "token", "value", 60_000)
    async with own_valkey(tmp_path) as url:
        wire = MultiplexedWire(url, timeout_s=5)
        for turn in range(3):
            await wire.send([("SET", "lease", "token"), ("DEL", "key")])
            assert await wire.send([("PING",), fill, ("GET", "key")]) == [b"PONG", 1, b"value"]
            before, flushed, rejected, after = await asyncio.gather(
                *(wire.send(c) for c in ([("GET", "key")], [("SCRIPT", "FLUSH")], [fill], [fill])),
                return_exceptions=True,
            )
            assert before == [b"value"]
            assert flushed == [b"OK"]
            assert isinstance(rejected, WireError), turn
            assert isinstance(after, WireError), turn
        await wire.close()


async def read_all(stores: Stores, users: Sequence[UserId]) -> object:
    """The lists and totals of users, read with every script that reads or fills caches."""
    windows = [Window(2), Window(2, after=Position(Millis(1), UserId(1)))]
    lists = [
        await stores.reads.reader.read(None, PagesOf(kind, users, window))
        for kind in ListKind
        for window in [*windows, Window(1, backward=True)]
    ]
    return lists, await Totals(stores.reads.reader).get_many(users, None)


async def drain_with_retries(stores: Stores) -> None:
    """Drain all lanes, and try again while a server is unavailable."""
    while True:
        try:
            return await drain_all(stores)
        except Unavailable:
            await asyncio.sleep(0.001)


async def test_readers_and_writers_are_not_affected_by_a_flush_of_scripts(
    storage_settings: StorageSettings, tmp_path: Path
) -> None:
    users = [UserId(user) for user in range(1, 5)]
    async with own_valkey(tmp_path) as url:
        settings = replace(
            storage_settings,
            redis_url=url,
            connections=replace(storage_settings.connections, redis_retry_after_s=0.01),
        )
        server = GuardedRedis(MultiplexedWire(url, timeout_s=5), retry_after_s=0)
        async with open_stores(settings) as stores:
            for turn in range(10):
                async with asyncio.timeout(DEADLINE_S):
                    await follows(stores, *((100 + turn, user) for user in users))
                    await server.pipe([("SCRIPT", "FLUSH")])
                    await drain_with_retries(stores)
                    await server.pipe([("FLUSHALL",)])  # the next read is from the tables
                    expected = await read_all(stores, users)
                    readers = [asyncio.create_task(read_all(stores, users)) for _ in range(5)]
                    await asyncio.sleep(0)
                    await server.pipe([("SCRIPT", "FLUSH")])
                    for found in await asyncio.gather(*readers):
                        assert found == expected
            async with asyncio.timeout(DEADLINE_S):
                while await server.pipe([("EXISTS", KEY)]) != [1]:
                    await read_all(stores, users)  # until the caches are filled again
        await server.close()
