"""Subscribers while Redis is unavailable or has lost data, and clients that do not read."""

import contextlib
import socket as sockets
from dataclasses import replace
from pathlib import Path

import pytest
from websockets.exceptions import ConnectionClosed

from gateway.graphql.settings import StreamLimits
from storage.redis import change_notifier
from storage.settings import StorageSettings
from storage.stores import Stores, open_stores
from tests.support.graphs import drain_all, follows
from tests.support.http_client import http_client
from tests.support.live_gateway import LiveGateway, Socket, has_feed, live_gateway
from tests.support.metrics import sample
from tests.support.redis_proxy import proxy_to
from tests.support.waiting import until

EVENTS = "subscription { relationshipEvents { type from { id } } }"
RELATIONS = 'subscription { relationChanged(ids: ["1"]) { state } }'
COUNTS = "subscription { countsChanged(userId: 7) { followerCount } }"
PAGE = "followers(first: 100) { edges { cursor followedAt node { id followerCount } } }"
PAGES = " ".join(f"page{number}: {PAGE}" for number in range(10))
LONG = f"subscription {{ countsChanged(userId: 7) {{ {PAGES} }} }}"
"""A response of more than 100 kB. Fifty of them do not fit into the buffers on the way."""


@pytest.fixture(autouse=True)
def _short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(change_notifier, "PAUSE_S_MAX", 0.05)


async def test_subscribers_receive_changes_made_during_an_outage_of_redis(
    storage_settings: StorageSettings, stores: Stores, tmp_path: Path
) -> None:
    async with proxy_to(storage_settings.redis_url, tmp_path) as (proxy, proxy_url):
        settings = replace(storage_settings, redis_url=proxy_url)
        async with live_gateway(settings) as live, live.socket(viewer=7) as socket:
            await socket.subscribe(RELATIONS)
            assert (await socket.data())["relationChanged"] == [{"state": "NONE"}]
            await socket.subscribe(EVENTS, id="events")
            await until(lambda: has_feed(stores, 7))
            await proxy.cut()
            await follows(stores, (1, 7))
            await drain_all(stores)
            await proxy.restore()
            received = [await socket.data() for _ in range(2)]
    assert {"relationChanged": [{"state": "FOLLOWED_BY"}]} in received
    assert {"relationshipEvents": {"type": "FOLLOWED", "from": {"id": "1"}}} in received


async def test_subscribers_get_a_resync_if_redis_returns_without_data(
    storage_settings: StorageSettings, stores: Stores, tmp_path: Path
) -> None:
    async with proxy_to(storage_settings.redis_url, tmp_path) as (proxy, proxy_url):
        settings = replace(storage_settings, redis_url=proxy_url)
        async with live_gateway(settings) as live, live.socket(viewer=7) as socket:
            await socket.subscribe(EVENTS)
            await until(lambda: has_feed(stores, 7))
            await proxy.cut()
            await stores.servers.redis.pipe([("FLUSHDB",)])
            await proxy.restore()
            assert (await socket.data())["relationshipEvents"]["type"] == "RESYNC"
            await follows(stores, (1, 7))
            await drain_all(stores)
            assert (await socket.data())["relationshipEvents"]["type"] == "FOLLOWED"


async def test_a_trimmed_notifier_stream_wakes_all_subscribers(
    storage_settings: StorageSettings, stores: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(change_notifier, "NOTIFICATIONS_MAX", 1)
    async with live_gateway(storage_settings) as live, live.socket() as socket:
        await socket.subscribe(COUNTS)
        assert (await socket.data())["countsChanged"]["followerCount"] == 0
        await follows(stores, (1, 7))
        await drain_all(stores)
        await stores.servers.redis.pipe([("XADD", "kith:public:notifier", "*", "users", b"")])
        assert (await socket.data())["countsChanged"]["followerCount"] == 1


async def test_without_redis_events_are_unavailable_and_relations_can_be_subscribed(
    storage_settings: StorageSettings,
) -> None:
    settings = replace(storage_settings, redis_url="unix:///nowhere.sock")
    async with live_gateway(settings) as live, live.socket(viewer=7) as socket:
        await socket.subscribe(EVENTS)
        answer = await socket.receive()
        assert answer["payload"]["errors"][0]["extensions"]["code"] == "UNAVAILABLE"
        assert (await socket.receive())["type"] == "complete"
        await socket.subscribe(RELATIONS)
        assert (await socket.data())["relationChanged"] == [{"state": "NONE"}]


async def test_a_client_that_does_not_read_is_disconnected_and_others_are_served(
    storage_settings: StorageSettings, stores: Stores
) -> None:
    await follows(stores, *((follower, 7) for follower in range(100, 200)))
    await drain_all(stores)
    limits = StreamLimits(send_deadline_ms=200)
    async with (
        live_gateway(storage_settings, limits) as live,
        live.socket(sock=small_buffer(live.port), max_queue=1) as slow,
        live.socket() as reader,
    ):
        before = await clients_dropped(live)
        for number in range(50):
            await slow.subscribe(LONG, id=str(number))
        await reader.subscribe(COUNTS)
        await reader.data()

        async def has_dropped_one() -> bool:
            return await clients_dropped(live) > before

        await until(has_dropped_one)
        await follows(stores, (1, 7))
        await drain_all(stores)
        assert (await reader.data())["countsChanged"]["followerCount"] == 101
        # It gets the reason if it reads again in time.
        code, _ = await read_to_the_end(slow)
        assert code in (4413, 1006)


async def test_a_worker_in_another_process_wakes_subscribers_here(
    storage_settings: StorageSettings, stores: Stores
) -> None:
    async with (
        live_gateway(storage_settings) as live,
        live.socket() as socket,
        open_stores(storage_settings) as worker,
    ):
        await socket.subscribe(COUNTS)
        await socket.data()
        await follows(stores, (1, 7))
        await drain_all(worker)
        assert (await socket.data())["countsChanged"]["followerCount"] == 1


async def clients_dropped(live: LiveGateway) -> float:
    """How many clients this process has disconnected because they did not read in time."""
    async with http_client(base_url=live.http.removesuffix("/graphql")) as client:
        return await sample(client, "kith_slow_consumers_dropped_total")


async def read_to_the_end(socket: Socket) -> tuple[int, str]:
    """Read all remaining messages. Returns the code and the reason of the end."""
    with contextlib.suppress(ConnectionClosed):
        while True:
            await socket.receive()
    return await socket.closed()


def small_buffer(port: int) -> sockets.socket:
    """A connection with a small receive buffer."""
    end = sockets.socket()
    end.setsockopt(sockets.SOL_SOCKET, sockets.SO_RCVBUF, 4096)
    end.connect(("127.0.0.1", port))
    return end
