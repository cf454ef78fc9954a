"""Redis restarts with an old copy of its data: no value is stale, and lost events are reported."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from graph.edge import UserId
from graph.errors import ChangesLost
from storage.redis.keys import Keys
from storage.settings import StorageSettings
from storage.stores import Stores, open_stores
from tests.support.gateway import Gateway, running_gateway
from tests.support.graphs import drain_all
from tests.support.own_writes import relation, seen, write
from tests.support.valkey import Valkey, running_valkey

ME, OTHER, ANOTHER = 1, 2, 3


@pytest.fixture
async def valkey(tmp_path: Path) -> AsyncIterator[Valkey]:
    async with running_valkey(tmp_path) as running:
        yield running


@pytest.fixture
async def stores(storage_settings: StorageSettings, valkey: Valkey) -> AsyncIterator[Stores]:
    async with open_stores(replace(storage_settings, redis_url=valkey.url)) as opened:
        yield opened


@pytest.fixture
async def gateway(storage_settings: StorageSettings, valkey: Valkey) -> AsyncIterator[Gateway]:
    settings = replace(storage_settings, redis_url=valkey.url)
    async with running_gateway(settings) as running:
        yield running


async def follow(gateway: Gateway, stores: Stores, target: int) -> None:
    payload = await write(gateway, ME, "followUser", {"userId": str(target)})
    assert payload["outcome"] == "FOLLOWED"
    await drain_all(stores)


async def restart(valkey: Valkey, stores: Stores) -> None:
    """Restart with the last copy. A check of the stores finds the failover, once."""
    await valkey.kill()
    await valkey.start()
    assert await stores.jobs.failover.check()
    assert not await stores.jobs.failover.check()


async def test_values_lost_by_a_restored_redis_are_read_from_postgresql(
    gateway: Gateway, stores: Stores, valkey: Valkey
) -> None:
    assert not await stores.jobs.failover.check()
    before = await seen(gateway, ME, OTHER)
    await valkey.save()
    await follow(gateway, stores, OTHER)
    after = await seen(gateway, ME, OTHER)
    assert after != before
    await restart(valkey, stores)
    assert await seen(gateway, ME, OTHER) == after
    assert (await relation(gateway, ME, OTHER))["following"]


async def test_a_resumed_subscription_reports_lost_events(
    gateway: Gateway, stores: Stores, valkey: Valkey
) -> None:
    """The last event that the subscriber has seen is in the copy, and a later one is not."""
    feeds, user = stores.changes.feeds, UserId(OTHER)
    assert not await stores.jobs.failover.check()
    start = await feeds.open(user)
    await follow(gateway, stores, OTHER)
    (first,) = (await feeds.after(user, start, 10)).events
    await valkey.save()
    payload = await write(gateway, ANOTHER, "followUser", {"userId": str(OTHER)})
    assert payload["outcome"] == "FOLLOWED"
    await drain_all(stores)
    assert len((await feeds.after(user, first.cursor, 10)).events) == 1
    await restart(valkey, stores)
    assert (await feeds.after(user, first.cursor, 10)).lost


async def test_readers_of_the_change_feed_get_an_error_if_changes_are_lost(
    gateway: Gateway, stores: Stores, valkey: Valkey
) -> None:
    """The change that the reader has seen is in the copy, and a later one is not."""
    feed = stores.changes.change_feed
    assert not await stores.jobs.failover.check()
    start = await feed.end()
    await follow(gateway, stores, OTHER)
    seen_until = (await feed.after(start, 10)).cursor
    await valkey.save()
    await follow(gateway, stores, ANOTHER)
    assert len((await feed.after(seen_until, 10)).changes) == 1
    await restart(valkey, stores)
    await follow(gateway, stores, 4)
    for cursor in (start, seen_until):
        with pytest.raises(ChangesLost):
            await feed.after(cursor, 10)
    assert not (await feed.after(await feed.end(), 10)).changes


async def test_readers_of_the_change_feed_get_an_error_if_the_database_may_lack_changes(
    gateway: Gateway, stores: Stores
) -> None:
    feed, failover = stores.changes.change_feed, stores.jobs.failover
    assert not await failover.check()
    start = await feed.end()
    await follow(gateway, stores, OTHER)
    await stores.servers.broker.pipe([("SET", Keys("public").generation, "another")])
    assert await failover.check()
    with pytest.raises(ChangesLost):
        await feed.after(start, 10)


async def test_a_redis_that_is_new_or_was_flushed_is_no_failover(
    gateway: Gateway, stores: Stores, valkey: Valkey
) -> None:
    assert not await stores.jobs.failover.check()
    await stores.servers.broker.pipe([("FLUSHALL",)])
    assert not await stores.jobs.failover.check()
    await valkey.kill()
    await valkey.start()
    cursor = await stores.changes.feeds.open(UserId(ME))
    assert not await stores.jobs.failover.check()
    assert not (await stores.changes.feeds.after(UserId(ME), cursor, 10)).lost
