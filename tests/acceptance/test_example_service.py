"""The example service reads the change feed, and no event is lost or applied twice."""

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
    """An empty inbox, made by a consumer that has ended."""
    inbox = Inbox(tmp_path / "inbox.sqlite", redis_url)
    async with backend("consume", **inbox.environment("first")):
        await until(inbox.is_made)
    return inbox


def new_followers(fans: Iterable[int]) -> Notifications:
    """The notifications to user 1 about these new followers."""
    return {(1, "NEW_FOLLOWER", fan) for fan in fans}


async def test_the_inbox_has_only_events_that_its_owner_may_see(
    stores: Stores, inbox: Inbox
) -> None:
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


async def test_another_consumer_applies_the_pending_events_of_a_killed_one(
    stores: Stores, inbox: Inbox
) -> None:
    await follows(stores, *((fan, 1) for fan in FANS))
    async with backend("consume", **inbox.environment("killed")) as consumer:
        await until(lambda: inbox.is_read_by("killed"))
        with inbox.locked():
            await drain_all(stores)
            await until(lambda: has_pending_events(inbox))
            consumer.kill()
            await consumer.wait()
    assert not inbox.notifications()
    async with backend("consume", **inbox.environment("successor")):
        await until(lambda: inbox.holds(new_followers(FANS)))
        await until(inbox.is_acknowledged)
    assert inbox.unread() == {1: len(FANS)}


async def test_an_applied_event_without_acknowledgement_is_not_applied_again(
    stores: Stores, inbox: Inbox, redis_url: str, tmp_path: Path
) -> None:
    await follows(stores, *((fan, 1) for fan in FANS))
    async with (
        proxy_to(redis_url, tmp_path) as (proxy, proxy_url),
        backend("consume", **inbox.environment("killed", proxy_url)) as consumer,
    ):
        await until(lambda: inbox.is_read_by("killed"))
        with inbox.locked():
            await drain_all(stores)
            await until(lambda: has_pending_events(inbox))
            proxy.stop_answering()  # so no acknowledgement arrives
        await until(lambda: has_notifications(inbox))
        consumer.kill()
        await consumer.wait()
    assert await inbox.pending() == len(inbox.notifications())
    async with backend("consume", **inbox.environment("successor")):
        await until(lambda: inbox.holds(new_followers(FANS)))
        await until(inbox.is_acknowledged)
    assert inbox.unread() == {1: len(FANS)}


async def has_pending_events(inbox: Inbox) -> bool:
    return await inbox.pending() > 0


async def has_notifications(inbox: Inbox) -> bool:
    return len(inbox.notifications()) > 0


@pytest.fixture
async def worker(storage_settings: StorageSettings) -> AsyncIterator[Worker]:
    worker = Worker(storage_settings)
    await worker.start()
    yield worker
    await worker.end(signal.SIGKILL)


@pytest.mark.usefixtures("worker")
async def test_no_event_is_lost_when_consumers_are_killed_repeatedly(
    live: LiveGateway, inbox: Inbox
) -> None:
    fans = range(2, 202)

    async def writes() -> None:
        async with http_client(base_url=f"http://127.0.0.1:{live.port}") as http:
            for fan in fans:
                assert (await Gateway(http).data(FOLLOW, fan))["followUser"]["changed"]

    writing = asyncio.create_task(writes())
    for share in (0.2, 0.4, 0.6, 0.8):

        async def has_applied_share(share: float = share) -> bool:
            return len(inbox.notifications()) >= share * len(fans)

        async with backend("consume", **inbox.environment(f"killed at {share}")):
            await until(has_applied_share)
    await writing
    async with backend("consume", **inbox.environment("last")):
        await until(lambda: inbox.holds(new_followers(fans)))
        await until(inbox.is_acknowledged)
    assert inbox.unread() == {1: len(fans)}


async def test_an_invalid_entry_of_a_stream_is_skipped(
    stores: Stores, inbox: Inbox, redis_url: str
) -> None:
    slashed_url = redis_url.replace("unix:/", "unix:///", 1)
    async with Redis.from_url(slashed_url) as server:
        await server.xadd("kith:public:events:3", {"id": "of another version"})
    await follows(stores, (2, 1))
    await drain_all(stores)
    async with backend("consume", **inbox.environment("one")):
        await until(lambda: inbox.holds(new_followers([2])))
        await until(inbox.is_acknowledged)


async def test_the_consumer_group_is_created_again_after_redis_lost_its_data(
    stores: Stores, inbox: Inbox
) -> None:
    async with backend("consume", **inbox.environment("one")):
        await follows(stores, (2, 1))
        await drain_all(stores)
        await until(lambda: inbox.holds(new_followers([2])))
        await stores.servers.redis.pipe([("FLUSHDB",)])
        await follows(stores, (3, 1))
        await drain_all(stores)
        await until(lambda: inbox.holds(new_followers([2, 3])))


async def test_a_consumer_continues_after_redis_was_unavailable(
    stores: Stores, inbox: Inbox, redis_url: str, tmp_path: Path
) -> None:
    async with (
        proxy_to(redis_url, tmp_path) as (proxy, proxy_url),
        backend("consume", **inbox.environment("one", proxy_url)),
    ):
        await until(lambda: inbox.is_read_by("one"))
        await proxy.cut()
        await follows(stores, (2, 1))
        await drain_all(stores)
        await proxy.restore()
        await until(lambda: inbox.holds(new_followers([2])))
        await until(inbox.is_acknowledged)


async def test_a_consumer_logs_that_unread_events_were_trimmed(
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
