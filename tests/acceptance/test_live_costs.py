"""The costs of idle subscriptions, counted in connections and round trips to Redis."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AsyncExitStack, aclosing
from dataclasses import replace
from typing import Any

import pytest

from graph.edge import UserId
from resolvers import live
from resolvers.policy import Policy
from resolvers.scope import Scope
from storage.ports.reader import Reader, RelationsOf
from storage.redis import change_notifier
from storage.settings import StorageSettings
from storage.stores import Stores, open_stores
from storage.subscriptions import Subscriptions
from tests.support.graphs import drain_all, follows
from tests.support.live_gateway import has_feed
from tests.support.waiting import until

SUBSCRIBERS = 1_000
BLOCK_MS = 20


@pytest.fixture
async def stores(storage_settings: StorageSettings) -> AsyncIterator[Stores]:
    """Stores with a long timeout of Redis: on a busy machine, the start of a thousand
    subscriptions occupies the event loop for longer than the default timeout."""
    connections = replace(storage_settings.connections, redis_timeout_s=10)
    async with open_stores(replace(storage_settings, connections=connections)) as opened:
        yield opened


def events_of(
    stores: Stores, user: int, after: str | None = None
) -> AsyncGenerator[live.LiveEvent, None]:
    return live.relationship_events(Scope(stores, UserId(user), Policy()), None, after)


async def notifier_connections(stores: Stores) -> int:
    """The number of connections of change notifiers to the Redis database of this test."""
    clients, own = await stores.servers.redis.pipe([("CLIENT", "LIST"), ("CLIENT", "INFO")])
    (database,) = [word for word in own.split() if word.startswith(b"db=")]
    words = [client.split() for client in clients.splitlines()]
    return sum(b"name=kith-notifier" in client and database in client for client in words)


async def test_a_thousand_idle_subscriptions_use_one_connection_and_no_round_trips(
    stores: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(change_notifier, "BLOCK_MS", BLOCK_MS)
    reads = NotifierReads(monkeypatch)
    async with AsyncExitStack() as stack:
        waiting = []
        for user in range(1, SUBSCRIBERS + 1):
            events = await stack.enter_async_context(aclosing(events_of(stores, user)))
            waiting.append(asyncio.ensure_future(anext(events)))
            stack.push_async_callback(cancel_task, waiting[-1])
        await until(lambda: all_idle(stores))
        reads.count = 0
        before, tasks = stores.servers.redis.round_trips, len(asyncio.all_tasks())
        await until(lambda: has_read_again(reads))
        assert stores.servers.redis.round_trips == before
        assert len(asyncio.all_tasks()) == tasks
        assert await notifier_connections(stores) == 1

        await follows(stores, (5000, 77))
        await drain_all(stores)
        await stores.broker.lanes.wait_until_queued()
        before = stores.servers.redis.round_trips
        await waiting[76]
        assert stores.servers.redis.round_trips - before <= 1
        assert sum(one.done() for one in waiting) == 1


async def cancel_task(waiting: "asyncio.Future[Any]") -> None:
    """Cancel the task: a generator cannot be closed while a task waits for its next item."""
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)


class NotifierReads:
    """Counts the blocking reads that the change notifier starts."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        original = change_notifier.ChangeNotifier._wake_next

        async def wake_next(*args: Any) -> bytes:
            self.count += 1
            return await original(*args)

        monkeypatch.setattr(change_notifier.ChangeNotifier, "_wake_next", wake_next)


async def has_read_again(reads: NotifierReads) -> bool:
    return reads.count > 5


async def all_idle(stores: Stores) -> bool:
    """Whether all subscriptions have read once and wait, and the change notifier is connected."""
    subscriptions = stores.changes.subscriptions
    assert isinstance(subscriptions, Subscriptions)
    all_wait = not any(one._changed.is_set() for one in subscriptions._open)
    opened = (await stores.servers.redis.pipe([("EXISTS", f"kith:public:feed:{SUBSCRIBERS}")]))[0]
    return bool(opened) and all_wait and await notifier_connections(stores) == 1


async def test_blocks_are_looked_up_once_for_each_replayed_batch_and_not_for_new_events(
    stores: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked_up: list[int] = []
    original = type(stores.reads.reader).read

    def counted(reader: Reader, viewer: UserId, request: RelationsOf, **kwargs: Any) -> Any:
        looked_up.extend(len(check.others) for check in request.checks)
        return original(reader, viewer, request, **kwargs)

    monkeypatch.setattr(type(stores.reads.reader), "read", counted)
    async with aclosing(events_of(stores, 7)) as events:
        first = asyncio.ensure_future(anext(events))
        await until(lambda: has_feed(stores, 7))
        await follows(stores, (1, 7))
        await drain_all(stores)
        cursor = (await first).cursor
    assert looked_up == []
    await follows(stores, *((follower, 7) for follower in range(100, 350)))
    await drain_all(stores)
    async with aclosing(events_of(stores, 7, cursor)) as events:
        for _ in range(250):
            await anext(events)
        assert looked_up == [100, 100, 50]
        await follows(stores, (2, 7))
        await drain_all(stores)
        await anext(events)
    assert looked_up == [100, 100, 50]
