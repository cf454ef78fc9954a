"""The change feed and the feeds of users have each change in order, at least once, for a time."""

import re
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Sequence
from dataclasses import replace
from itertools import pairwise

import pytest

from graph.cursor import checked_feed_cursor
from graph.edge import Flags, Kind, Millis, UserId, Version
from graph.errors import BadCursor, Unavailable
from graph.event import Event
from graph.lane import LANES, Lane, lane_of
from storage.ports.edges import EdgeChange
from storage.postgres.outbox import Outbox
from storage.redis.connection import KeyKind
from storage.redis.events import RedisEvents
from storage.redis.scripts import CALL
from storage.redis.wire import Command, Reply
from storage.settings import StorageSettings
from storage.stores import Stores, open_stores
from tests.support.gateway import Gateway
from tests.support.graphs import as_pair, drain_all, follows, unfollows

SEVEN = UserId(7)
LANE = lane_of(SEVEN)


@pytest.fixture
async def small_streams(storage_settings: StorageSettings) -> AsyncIterator[Stores]:
    """Stores that keep about 100 events in each stream."""
    settings = replace(
        storage_settings, events=replace(storage_settings.events, events_max=100, feed_max=100)
    )
    async with open_stores(settings) as opened:
        yield opened


async def change_feed(stores: Stores, user: UserId = SEVEN) -> list[Event]:
    """The events in the change feed whose target is this user."""
    key = f"kith:public:events:{lane_of(user)}"
    (entries,) = await stores.servers.redis.pipe([("XRANGE", key, "-", "+")])
    events = [event_in(dict(zip(fields[::2], fields[1::2], strict=True))) for _, fields in entries]
    return [event for event in events if event.target == user]


def event_in(named: dict[bytes, bytes]) -> Event:
    """Read an entry of a stream as docs/events.md describes."""
    event = Event(
        Version(int(named[b"version"])),
        UserId(int(named[b"actor"])),
        UserId(int(named[b"source"])),
        UserId(int(named[b"target"])),
        Kind[named[b"before"].decode()],
        Kind[named[b"after"].decode()],
        Millis(int(named[b"since"])),
        Flags(int(named[b"flags_before"])),
        Flags(int(named[b"flags_after"])),
    )
    assert event.id == named[b"id"].decode()
    return event


async def test_the_change_feed_has_every_applied_change_in_the_order_of_its_target(
    stores: Stores,
) -> None:
    for _ in range(3):
        await follows(stores, (1, 7), (2, 7))
        await unfollows(stores, (1, 7))
        await drain_all(stores)
        await unfollows(stores, (2, 7))
    await drain_all(stores)
    events = await change_feed(stores)
    assert [event.source for event in events] == [1, 2, 1, 2] * 3
    versions = [event.version for event in events]
    assert versions == sorted(versions)
    assert len({event.id for event in events}) == 12
    for source in (1, 2):
        own = [event for event in events if event.source == source]
        assert own[0].kind_before is Kind.NONE
        assert all(previous.kind_after is later.kind_before for previous, later in pairwise(own))
        assert {event.actor for event in own} == {source}


async def test_changes_without_an_acknowledgement_are_published_again(
    stores: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    await follows(stores, (1, 7))
    applied = await stores.jobs.lanes.outbox.apply(LANE, 100)

    async def fail(*_: object) -> None:
        raise Unavailable("PostgreSQL")

    with monkeypatch.context() as patched:
        patched.setattr(Outbox, "acknowledge", fail)
        with pytest.raises(Unavailable):
            await stores.jobs.lanes.drain.publish(LANE, applied)
    await drain_all(stores)
    first, again = await change_feed(stores)
    assert first.id == again.id


async def test_changes_that_could_not_be_published_are_not_acknowledged(
    stores: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    await follows(stores, (1, 7))
    applied = await stores.jobs.lanes.outbox.apply(LANE, 100)

    async def fail(*_: object) -> None:
        raise Unavailable("Redis")

    with monkeypatch.context() as patched:
        patched.setattr(RedisEvents, "publish", fail)
        with pytest.raises(Unavailable):
            await stores.jobs.lanes.drain.publish(LANE, applied)
    assert list(await stores.jobs.lanes.progress.lanes_with_changes()) == [LANE]
    await drain_all(stores)
    assert len(await change_feed(stores)) == 1


async def test_an_event_has_the_actor_and_the_previous_kind(stores: Stores) -> None:
    await follows(stores, (1, 7))
    ((edge,),) = [await stores.servers.postgres.fetch("SELECT version FROM outbox")]
    assert edge["version"]
    await stores.servers.postgres.fetch("UPDATE outbox SET by_target = true, former = 3")
    await drain_all(stores)
    (event,) = await change_feed(stores)
    assert (event.actor, event.kind_before, event.kind_after) == (7, Kind.REQUEST, Kind.FOLLOW)


async def test_the_change_feed_is_trimmed_by_length_and_by_age(small_streams: Stores) -> None:
    changes = await some_changes(small_streams, 400)
    await small_streams.broker.events.publish(LANE, changes, now_ms=0)
    assert 100 <= len(await change_feed(small_streams)) <= 250
    in_a_year = int(changes[0].edge.version / 1000) + 366 * 86_400_000
    await small_streams.broker.events.publish(LANE, changes[:1], now_ms=in_a_year)
    assert len(await change_feed(small_streams)) <= 100


async def test_the_age_of_the_oldest_event_in_the_change_feed_is_a_metric(
    gateway: Gateway, stores: Stores
) -> None:
    await stores.broker.events.publish(LANE, await some_changes(stores, 3), 0)
    key = f"kith:public:events:{LANE}"
    ((first, _), *_), _ = await stores.servers.redis.pipe([("XRANGE", key, "-", "+"), ("DEL", key)])
    an_hour_before = int(first.split(b"-")[0]) - 3_600_000
    await stores.servers.redis.pipe([("XADD", key, f"{an_hour_before}-0", "id", "old")])
    ages = re.findall(
        r'kith_events_oldest_seconds\{lane="(\d)"\} (\S+)',
        (await gateway.http.get("/metrics")).text,
    )
    ((lane, age),) = ages
    assert lane == str(LANE)
    assert 3_600 <= float(age) < 7_200


async def test_no_feed_is_stored_for_a_user_who_never_subscribed(stores: Stores) -> None:
    await follows(stores, (1, 7))
    await drain_all(stores)
    assert (await stores.servers.redis.pipe([("EXISTS", "kith:public:feed:7")])) == [0]


async def test_a_feed_has_the_events_since_its_opening_and_expires(stores: Stores) -> None:
    cursor = await stores.broker.events.open(SEVEN)
    assert cursor == await stores.broker.events.open(SEVEN)
    await follows(stores, (1, 7), (7, 2))
    await drain_all(stores)
    batch = await stores.broker.events.after(SEVEN, cursor, 10)
    events = {one.event for one in batch.events}
    assert {event.ends for event in events} == {(1, 7), (7, 2)}
    assert events == {*await change_feed(stores), *await change_feed(stores, UserId(2))}, (
        "the same as in the change feed"
    )
    assert not batch.more
    assert not batch.lost
    (ttl_s,) = await stores.servers.redis.pipe([("TTL", "kith:public:feed:7")])
    assert 86_000 < ttl_s <= 86_400
    again = await stores.broker.events.after(SEVEN, batch.cursor, 10)
    assert (again.events, again.cursor, again.lost) == ([], batch.cursor, False)


async def test_a_feed_is_read_in_batches_without_a_gap(stores: Stores) -> None:
    cursor = await stores.broker.events.open(SEVEN)
    await stores.broker.events.publish(LANE, await some_changes(stores, 25), 0)
    received = []
    batch = await stores.broker.events.after(SEVEN, cursor, 10)
    while True:
        received += [one.event.source for one in batch.events]
        if not batch.more:
            break
        batch = await stores.broker.events.after(SEVEN, batch.cursor, 10)
    assert received == list(range(1000, 1025))


async def test_a_subscriber_behind_a_trimmed_feed_learns_that_events_were_lost(
    small_streams: Stores,
) -> None:
    cursor = await small_streams.broker.events.open(SEVEN)
    await small_streams.broker.events.publish(LANE, await some_changes(small_streams, 400), 0)
    batch = await small_streams.broker.events.after(SEVEN, cursor, 10)
    assert batch.lost
    assert not batch.events
    assert (await small_streams.broker.events.after(SEVEN, batch.cursor, 10)).lost is False


async def test_hidden_whispers_push_no_events_out_of_the_feed_of_their_target(
    storage_settings: StorageSettings,
) -> None:
    events = replace(storage_settings.events, feed_max=100, whispers_hidden=True)
    async with open_stores(replace(storage_settings, events=events)) as hiding:
        follow, *others = await some_changes(hiding, 400)
        whispers = [
            replace(change, edge=replace(change.edge, kind=Kind.WHISPER)) for change in others
        ]
        cursor = await hiding.broker.events.open(SEVEN)
        await hiding.broker.events.publish(LANE, [follow, *whispers], 0)
        batch = await hiding.broker.events.after(SEVEN, cursor, 10)
        assert [one.event.source for one in batch.events] == [1000]
        assert not batch.lost


async def test_every_command_names_one_key_and_the_notification_is_last(stores: Stores) -> None:
    """A cluster may send each command to another node. A notified subscriber must find the
    events."""
    redis = RecordingRedis(stores)
    events = RedisEvents(redis, stores.broker.events._keys, stores.broker.events._retention)
    await events.open(SEVEN)
    await events.publish(LANE, await some_changes(stores, 3), 0)
    await events.after(SEVEN, "1-1", 10)
    for command in [command for pipeline in redis.pipelines for command in pipeline]:
        keys = [word for word in command if isinstance(word, str) and word.startswith("kith:")]
        assert keys == [command[3] if command[0] == CALL else command[1]]
    (published,) = [pipeline for pipeline in redis.pipelines if len(pipeline) > 2]
    assert [command[1] == "kith:public:notifier" for command in published] == [False] * 11 + [True]


def test_users_are_spread_over_all_lanes() -> None:
    assert {lane_of(UserId(user)) for user in range(1, 2000)} == set(map(Lane, range(LANES)))


def test_a_feed_cursor_must_be_an_id_of_a_stream_entry() -> None:
    assert checked_feed_cursor("after", "1763700000000-7") == "1763700000000-7"
    for text in ("", "-", "1", "1-1-1", "1-1\n", f"1-{2**64}"):
        with pytest.raises(BadCursor):
            checked_feed_cursor("after", text)


async def some_changes(stores: Stores, count: int) -> list[EdgeChange]:
    """Changes that seem to follow user 7, by users 1000 and up: copies of an applied change. The
    tables have only the original, of user 999."""
    await follows(stores, (999, 7))
    (change,) = (await stores.jobs.lanes.outbox.apply(LANE, 10)).changes
    return [replace(change, pair=as_pair(1000 + n, 7)) for n in range(count)]


class RecordingRedis:
    """Records the pipelines that it sends to Redis."""

    def __init__(self, stores: Stores) -> None:
        self._redis = stores.servers.redis
        self.pipelines: list[Sequence[Command]] = []

    async def pipe(self, commands: Sequence[Command]) -> list[Reply]:
        self.pipelines.append(commands)
        return await self._redis.pipe(commands)

    def partly(self, commands: Sequence[Command]) -> Awaitable[list[Reply]]:
        return self.pipe(commands)

    def after(self, first: Command, commands: Sequence[Command]) -> Awaitable[list[Reply]]:
        return self.pipe([first, *commands])

    def scan(self, pattern: str, most: int) -> AsyncIterator[list[bytes]]:
        raise AssertionError

    def add_pending(self, keys: Collection[str], kind: KeyKind = KeyKind.EDGES) -> None:
        raise AssertionError

    async def reachable(self) -> Callable[[str], bool]:
        raise AssertionError
