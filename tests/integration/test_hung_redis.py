"""While Redis servers hang, few commands wait for them."""

from collections.abc import Awaitable, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from graph.errors import Unavailable
from storage.redis.connection import GuardedRedis
from storage.redis.multiplexed import MultiplexedWire
from storage.redis.wire import Command, Reply
from storage.settings import StorageSettings
from tests.support.gateway import running_gateway
from tests.support.redis_proxy import proxy_to
from tests.support.waiting import until

BLOCKS = """mutation ($changes: [RelationshipChangeInput!]!) {
    changeRelationships(input: { changes: $changes, idempotencyKey: "k" }) {
        consistency changes { outcome } } }"""
PAUSE_S = 0.01


class RecordingWire(MultiplexedWire):
    """A wire that records the names of the commands."""

    def __init__(self, url: str) -> None:
        super().__init__(url, timeout_s=0.05)
        self.sent: list[str | bytes | int] = []

    def send(self, commands: Sequence[Command]) -> Awaitable[list[Reply]]:
        self.sent += [command[0] for command in commands]
        return super().send(commands)


async def test_only_pings_wait_for_a_server_that_hangs(redis_url: str, tmp_path: Path) -> None:
    async with proxy_to(redis_url, tmp_path) as (proxy, url), AsyncExitStack() as stack:
        wire = RecordingWire(url)
        redis = GuardedRedis(wire, PAUSE_S)
        stack.push_async_callback(redis.close)
        await redis.ping()
        proxy.stop_answering()
        with pytest.raises(Unavailable):
            await redis.pipe([("GET", "kith:first")])
        wire.sent.clear()

        async def has_pinged() -> bool:
            with pytest.raises(Unavailable):
                await redis.pipe([("GET", "kith:later")])
            return len(wire.sent) >= 3

        await until(has_pinged, "the server is pinged three times")
        assert set(wire.sent) == {"PING"}
        await proxy.restore()

        async def is_available() -> bool:
            return not redis.open_breakers

        await until(is_available, "the server has answered a ping")
        assert await redis.pipe([("GET", "kith:later")]) == [None]


async def test_a_batch_of_blocks_is_answered_while_two_servers_hang(
    storage_settings: StorageSettings, tmp_path: Path
) -> None:
    """The other server must not be tried again while a call of one times out, and so on in turn."""
    folders = [tmp_path / name for name in ("broker", "caches")]
    for folder in folders:
        folder.mkdir()
    async with AsyncExitStack() as stack:
        (broker, broker_url), (caches, caches_url) = [
            await stack.enter_async_context(proxy_to(storage_settings.redis_url, folder))
            for folder in folders
        ]
        settings = replace(
            storage_settings,
            redis_url=broker_url,
            cache=replace(storage_settings.cache, url=caches_url),
        )
        gateway = await stack.enter_async_context(running_gateway(settings))
        await gateway.data("{ viewer { user { id } } }", viewer=1)
        for proxy in (broker, caches):
            proxy.stop_answering()
        changes = [{"action": "BLOCK", "userId": str(user)} for user in range(2, 52)]
        data = await gateway.data(BLOCKS, viewer=1, changes=changes)
        payload = data["changeRelationships"]
        assert payload["consistency"] == "DELAYED"
        assert [change["outcome"] for change in payload["changes"]] == ["BLOCKED"] * 50
