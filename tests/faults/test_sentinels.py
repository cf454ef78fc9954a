"""A broker with sentinels, whose primary fails or becomes a replica."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from graph.edge import UserId
from graph.errors import Unavailable
from graph.lane import Lane
from storage.queue import arq_redis, queue_name
from storage.redis import multiplexed
from storage.redis.address import Address, parse_address
from storage.redis.multiplexed import MultiplexedWire
from storage.redis.sentinel import location_of, parse_group_url
from storage.settings import StorageSettings
from storage.stores import Stores, open_stores
from tests.support.graphs import drain_all, follows, users
from tests.support.readers import Reading
from tests.support.redis_proxy import proxy_to
from tests.support.sentinels import GROUP, Group, ask, running_sentinels
from tests.support.waiting import until


@pytest.fixture
async def group(tmp_path: Path) -> AsyncIterator[Group]:
    async with running_sentinels(tmp_path) as running:
        yield running


async def accepts_writes(stores: Stores) -> bool:
    try:
        await stores.servers.broker.pipe([("SET", "kith:probe", 1)])
    except Unavailable:
        return False
    return True


async def following(stores: Stores, user: int) -> int:
    counts = await Reading(stores.reads.reader).counts(users(user), UserId(user))
    return counts[UserId(user)].following


async def test_writes_and_events_continue_at_the_new_primary(
    group: Group, database_url: str
) -> None:
    settings = StorageSettings(database_url, group.url)
    async with open_stores(settings) as stores:
        await follows(stores, (1, 2))
        await drain_all(stores)
        assert await following(stores, 1) == 1
        await group.kill_primary()
        await until(lambda: accepts_writes(stores), "the new primary is found")
        await follows(stores, (1, 3))
        await drain_all(stores)
        assert await following(stores, 1) == 2
        events = await stores.broker.events.oldest_ms()
        assert events, "the new primary has the change feed"


async def test_jobs_are_queued_at_the_new_primary(group: Group, database_url: str) -> None:
    settings = StorageSettings(database_url, group.url)
    queue = arq_redis(settings)
    assert await queue.zcard(queue_name(settings.space)) == 0
    async with open_stores(settings) as stores:
        await group.kill_primary()
        await until(lambda: accepts_writes(stores), "the new primary is found")
        stores.broker.lanes.wake([Lane(1)])
        await stores.broker.lanes.wait_until_queued()
        assert await queue.zcard(queue_name(settings.space)) == 1
    await queue.aclose(close_connection_pool=True)


async def test_the_broker_accepts_writes_after_its_primary_has_become_a_replica(
    group: Group, database_url: str
) -> None:
    async with open_stores(StorageSettings(database_url, group.url)) as stores:
        assert await accepts_writes(stores)
        before = await group.primary()
        await group.fail_over()
        await until(lambda: accepts_writes(stores), "the new primary is found")
        assert await group.primary() != before


async def test_an_unavailable_sentinel_is_skipped(group: Group) -> None:
    first = next(iter(group.sentinels.values()))
    first.kill()
    first.wait()
    location = location_of(group.url)
    assert (await location.find()).port in group.servers


async def test_the_sentinel_with_the_latest_configuration_is_believed(group: Group) -> None:
    location = location_of(group.url)
    before = await group.primary()
    await group.fail_over()
    primary = await group.primary()
    for port in list(group.sentinels)[:1]:  # it learns of the failover from the others, later
        await ask(port, "SENTINEL", "REMOVE", GROUP)
        await ask(port, "SENTINEL", "MONITOR", GROUP, "127.0.0.1", str(before), "2")
    assert (await location.find()).port == primary


async def test_a_primary_that_was_replaced_while_it_hung_is_not_used(
    storage_settings: StorageSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with proxy_to(storage_settings.redis_url, tmp_path) as (old, old_url):
        addresses = [parse_address(old_url), parse_address(storage_settings.redis_url)]
        searched = asyncio.Event()

        class Moving:
            """The location of a primary: the first address, until it is removed."""

            async def find(self) -> Address:
                searched.set()
                return addresses[0]

        monkeypatch.setattr(multiplexed, "location_of", lambda _: Moving())
        wire = MultiplexedWire("", timeout_s=20)
        old.stop_answering()
        answering = asyncio.ensure_future(wire.send([("PING",)]))
        await searched.wait()
        await asyncio.sleep(0.05)
        del addresses[0]
        await old.restore()
        assert await answering == [b"PONG"]
        await old.cut()
        assert await wire.send([("PING",)]) == [b"PONG"]
        await wire.close()


@pytest.mark.parametrize(
    ("url", "text"),
    [
        ("redis+sentinel://one:26379", "sentinels and a group"),
        ("redis+sentinel:///shop", "sentinels and a group"),
        ("redis+sentinel://:hunter@one:x/shop", "each sentinel as host:port"),
    ],
)
def test_the_error_for_an_invalid_url_does_not_show_its_password(url: str, text: str) -> None:
    with pytest.raises(ValueError, match=text) as rejected:
        parse_group_url(url)
    assert "hunter" not in str(rejected.value)


def test_a_url_has_sentinels_a_group_and_options_of_servers_and_sentinels() -> None:
    url = parse_group_url(
        "rediss+sentinel://kith:pass%2Fword@one,two:5000/shop/3?sentinel_password=own&ssl_ca_certs=/ca"
    )
    assert url.sentinels == (("one", 26_379), ("two", 5_000))
    assert url.name == "shop"
    assert url.server == "rediss://kith:pass%2Fword@primary/3?ssl_ca_certs=%2Fca"
    assert url.sentinel_credentials == {"password": "own"}
