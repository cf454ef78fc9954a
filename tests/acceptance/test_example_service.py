"""The change feed in the example service: killed consumers lose nothing, and repeat nothing."""

import asyncio
import signal
from collections.abc import AsyncIterator, Iterable
from pathlib import Path

import pytest
from redis.asyncio import Redis

from graph.edge import Kind, UserId
from graph.lane import lane_of
from storage.settings import StorageSettings
from storage.stores import Stores
from tests.support.edges import edges
from tests.support.example_service import DEADLINE_S, Inbox, Notifications, backend
from tests.support.gateway import Gateway
from tests.support.graphs import drain_all, follows
from tests.support.http_client import http_client
from tests.support.live_gateway import LiveGateway
from tests.support.redis_proxy import proxy_to
from tests.support.waiting import until
from tests.support.worker_process import Worker

FOLLOW = 'mutation { followUser(input: { userId: "1" }) { changed } }'
FANS = range(2, 40)


@pytest.fixture
async def inbox(tmp_path: Path, redis_url: str) -> Inbox:
    """An inbox that a consumer has made, and left."""
    made = Inbox(tmp_path / "inbox.sqlite", redis_url)
    async with backend("consume", **made.environment("first")):
        await until(made.is_made)
    return made


def new_followers(fans: Iterable[int], of: int = 1) -> Notifications:
    return {(of, "NEW_FOLLOWER", fan) for fan in fans}


async def test_the_inbox_holds_what_its_owner_may_know(stores: Stores, inbox: Inbox) -> None:
    await follows(stores, (1, 2))
    await edges(stores, {(3, 2): Kind.WHISPER, (4, 2): Kind.BLOCK, (5, 2): Kind.REQUEST})
    await drain_all(stores)
    async with backend("consume", **inbox.environment("one")) as consumer:
        await until(lambda: inbox.holds({(2, "NEW_FOLLOWER", 1), (2, "FOLLOW_REQUEST", 5)}))
        consumer.send_signal(signal.SIGTERM)
        async with asyncio.timeout(DEADLINE_S):
            assert await consumer.wait() == 0
    assert inbox.unread() == {2: 2}
    assert await inbox.is_acknowledged()


async def test_another_consumer_takes_over_events_of_a_killed_one(
    stores: Stores, inbox: Inbox
) -> None:
    await follows(stores, *((fan, 1) for fan in FANS))
    async with backend("consume", **inbox.environment("killed")) as consumer:
        await until(lambda: inbox.is_read_by("killed"))
        with inbox.locked():
            await drain_all(stores)
            await until(lambda: was_given_some(inbox))
            consumer.kill()
            await consumer.wait()
    assert not inbox.notifications()
    async with backend("consume", **inbox.environment("heir")):
        await until(lambda: inbox.holds(new_followers(FANS)))
        await until(inbox.is_acknowledged)
    assert inbox.unread() == {1: len(FANS)}


async def test_an_applied_event_without_acknowledgement_is_not_applied_again(
    stores: Stores, inbox: Inbox, redis_url: str, tmp_path: Path
) -> None:
    await follows(stores, *((fan, 1) for fan in FANS))
    async with (
        proxy_to(redis_url, tmp_path) as (proxy, near),
        backend("consume", **inbox.environment("killed", near)) as consumer,
    ):
        await until(lambda: inbox.is_read_by("killed"))
        with inbox.locked():
            await drain_all(stores)
            await until(lambda: was_given_some(inbox))
            proxy.stop_answering()  # so no acknowledgement arrives
        await until(lambda: has_applied_some(inbox))
        consumer.kill()
        await consumer.wait()
    assert await inbox.pending() == len(inbox.notifications())
    async with backend("consume", **inbox.environment("heir")):
        await until(lambda: inbox.holds(new_followers(FANS)))
        await until(inbox.is_acknowledged)
    assert inbox.unread() == {1: len(FANS)}


async def was_given_some(inbox: Inbox) -> bool:
    return await inbox.pending() > 0


async def has_applied_some(inbox: Inbox) -> bool:
    return len(inbox.notifications()) > 0


@pytest.fixture
async def worker(storage_settings: StorageSettings) -> AsyncIterator[Worker]:
    made = Worker(storage_settings)
    await made.start()
    yield made
    await made.end(signal.SIGKILL)


@pytest.mark.usefixtures("worker")
async def test_consumers_that_are_killed_again_and_again_lose_nothing(
    live: LiveGateway, inbox: Inbox
) -> None:
    fans = range(2, 202)

    async def writes() -> None:
        async with http_client(base_url=f"http://127.0.0.1:{live.port}") as http:
            for fan in fans:
                assert (await Gateway(http).data(FOLLOW, fan))["followUser"]["changed"]

    writing = asyncio.create_task(writes())
    for share in (0.2, 0.4, 0.6, 0.8):

        async def is_under_way(share: float = share) -> bool:
            return len(inbox.notifications()) >= share * len(fans)

        async with backend("consume", **inbox.environment(f"killed at {share}")):
            await until(is_under_way)
    await writing
    async with backend("consume", **inbox.environment("last")):
        await until(lambda: inbox.holds(new_followers(fans)))
        await until(inbox.is_acknowledged)
    assert inbox.unread() == {1: len(fans)}


async def test_an_entry_that_cannot_be_read_stops_nothing(
    stores: Stores, inbox: Inbox, redis_url: str
) -> None:
    path = redis_url.replace("unix:/", "unix:///", 1)
    async with Redis.from_url(path) as server:
        await server.xadd("kith:public:events:3", {"id": "of another version"})
    await follows(stores, (2, 1))
    await drain_all(stores)
    async with backend("consume", **inbox.environment("one")):
        await until(lambda: inbox.holds(new_followers([2])))
        await until(inbox.is_acknowledged)


async def test_a_redis_that_came_back_empty_is_joined_again(stores: Stores, inbox: Inbox) -> None:
    async with backend("consume", **inbox.environment("one")):
        await follows(stores, (2, 1))
        await drain_all(stores)
        await until(lambda: inbox.holds(new_followers([2])))
        await stores.servers.redis.pipe([("FLUSHDB",)])
        await follows(stores, (3, 1))
        await drain_all(stores)
        await until(lambda: inbox.holds(new_followers([2, 3])))


async def test_a_consumer_goes_on_when_redis_is_back(
    stores: Stores, inbox: Inbox, redis_url: str, tmp_path: Path
) -> None:
    async with (
        proxy_to(redis_url, tmp_path) as (proxy, near),
        backend("consume", **inbox.environment("one", near)),
    ):
        await until(lambda: inbox.is_read_by("one"))
        await proxy.cut()
        await follows(stores, (2, 1))
        await drain_all(stores)
        await proxy.restore()
        await until(lambda: inbox.holds(new_followers([2])))
        await until(inbox.is_acknowledged)


async def test_a_consumer_that_was_away_for_too_long_says_that_events_are_lost(
    stores: Stores, inbox: Inbox, redis_url: str
) -> None:
    await follows(stores, (2, 1))
    await drain_all(stores)
    async with backend("consume", **inbox.environment("one")):
        await until(lambda: inbox.holds(new_followers([2])))
        await until(inbox.is_acknowledged)
    await follows(stores, (3, 1), (4, 1))
    await drain_all(stores)
    stream = f"kith:public:events:{lane_of(UserId(1))}"
    await stores.servers.redis.pipe([("XTRIM", stream, "MAXLEN", 1)])
    async with backend("consume", **inbox.environment("one")) as consumer:
        await until(lambda: inbox.holds(new_followers([2, 4])))
        consumer.send_signal(signal.SIGTERM)
        async with asyncio.timeout(DEADLINE_S):
            _, err = await consumer.communicate()
    assert f"{stream} was trimmed beyond what this group has read" in err.decode()
