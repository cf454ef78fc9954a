"""Subscriptions as clients meet them, over web sockets and event streams, on real servers."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from storage.settings import StorageSettings
from storage.stores import Stores
from tests.graphs import drain_all, follows
from tests.live import LiveGateway, live_gateway

EVENTS = """
subscription ($types: [RelationshipEventType!], $after: String) {
  relationshipEvents(types: $types, after: $after) {
    id type cursor at from { id } to { id followerCount } relation { state to { id } }
  }
}
"""
RELATIONS = "subscription ($ids: [ID!]!) { relationChanged(ids: $ids) { to { id } state } }"
COUNTS = "subscription { countsChanged(userId: 7) { id followerCount followingCount } }"


@pytest.fixture
async def live(storage_settings: StorageSettings) -> AsyncIterator[LiveGateway]:
    async with live_gateway(storage_settings) as running:
        yield running


async def settled(stores: Stores, *pairs: tuple[int, int]) -> None:
    await follows(stores, *pairs)
    await drain_all(stores)


async def opened(stores: Stores, user: int) -> None:
    """Returns when somebody listens to the user's feed: from then on nothing is missed."""
    async with asyncio.timeout(20):
        while not (await stores.redis.pipe([("EXISTS", f"kith:public:feed:{user}")]))[0]:
            await asyncio.sleep(0.005)


async def test_a_viewer_hears_of_a_new_follower(live: LiveGateway, stores: Stores) -> None:
    async with live.socket(viewer=7) as socket:
        await socket.subscribe(EVENTS)
        await opened(stores, 7)
        await settled(stores, (1, 7), (7, 9))
        heard = [(await socket.data())["relationshipEvents"] for _ in range(2)]
    by_type = {event["from"]["id"]: event for event in heard}
    assert by_type["1"]["type"] == by_type["7"]["type"] == "FOLLOWED"
    assert by_type["1"]["to"] == {"id": "7", "followerCount": 1}
    assert by_type["1"]["relation"] == {"state": "FOLLOWED_BY", "to": {"id": "1"}}
    assert by_type["7"]["relation"] == {"state": "FOLLOWING", "to": {"id": "9"}}
