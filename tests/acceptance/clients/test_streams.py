"""graphql-ws and graphql-sse with their default settings."""

import asyncio
import json
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from storage.settings import StorageSettings
from storage.stores import Stores
from tests.acceptance.clients.running import given, needs_node, run
from tests.support.graphs import drain_all, follows
from tests.support.live_gateway import DEADLINE_S, LiveGateway, has_feed, live_gateway
from tests.support.waiting import until

EVENTS = "subscription { relationshipEvents { type from { id } relation { state } } }"
COUNTS = 'subscription { countsChanged(userId: "7") { followerCount } }'

pytestmark = needs_node


class Client:
    """A Node process that listens."""

    def __init__(self, process: Process) -> None:
        self._process = process

    async def line(self) -> str:
        assert self._process.stdout is not None
        async with asyncio.timeout(DEADLINE_S):
            line = (await self._process.stdout.readline()).decode().strip()
        assert line, await self.complaints()
        return line

    async def data(self) -> Any:
        answer = json.loads(await self.line())
        assert "errors" not in answer
        return answer["data"]

    async def complaints(self) -> str:
        assert self._process.stderr is not None
        return (await self._process.stderr.read()).decode()


@asynccontextmanager
async def client(
    folder: Path, way: str, live: LiveGateway, query: str, count: int
) -> AsyncIterator[Client]:
    """A script that prints `count` results of a query, and then "done"."""
    about = given(live, [7], way=way, viewer="7", query=query, count=count)
    process = await asyncio.create_subprocess_exec(
        *("node", "streams.mjs", about), cwd=folder, stdout=PIPE, stderr=PIPE
    )
    try:
        yield Client(process)
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


@pytest.mark.parametrize("way", ["ws", "sse"])
async def test_a_client_receives_the_viewers_events(
    workspace: Path, storage_settings: StorageSettings, stores: Stores, way: str
) -> None:
    async with (
        live_gateway(storage_settings) as live,
        client(workspace, way, live, EVENTS, 2) as listener,
    ):
        await until(lambda: has_feed(stores, 7))
        await follows(stores, (1, 7))
        await drain_all(stores)
        first = (await listener.data())["relationshipEvents"]
        assert first == {
            "type": "FOLLOWED",
            "from": {"id": "1"},
            "relation": {"state": "FOLLOWED_BY"},
        }
        await follows(stores, (7, 1))
        await drain_all(stores)
        second = (await listener.data())["relationshipEvents"]
        assert (second["from"], second["relation"]) == ({"id": "7"}, {"state": "FRIENDS"})
        assert await listener.line() == '"done"'


@pytest.mark.parametrize("way", ["ws", "sse"])
async def test_a_client_runs_a_query_to_its_end(
    workspace: Path, storage_settings: StorageSettings, way: str
) -> None:
    query = "{ viewer { user { id } } }"
    async with (
        live_gateway(storage_settings) as live,
        client(workspace, way, live, query, 0) as asker,
    ):
        assert (await asker.data()) == {"viewer": {"user": {"id": "7"}}}
        assert await asker.line() == '"done"'


@pytest.mark.parametrize("way", ["ws", "sse"])
async def test_a_client_comes_back_to_a_server_that_was_started_again(
    workspace: Path, storage_settings: StorageSettings, way: str
) -> None:
    async with live_gateway(storage_settings) as live:
        port = live.port
        listening = client(workspace, way, live, COUNTS, 2)
        listener = await listening.__aenter__()
        assert (await listener.data())["countsChanged"]["followerCount"] == 0
    try:
        async with live_gateway(storage_settings, port=port):
            assert (await listener.data())["countsChanged"]["followerCount"] == 0
            assert await listener.line() == '"done"'
    finally:
        await listening.__aexit__(None, None, None)


async def test_graphql_sse_is_rejected_its_single_connection_mode(
    workspace: Path, live: LiveGateway
) -> None:
    about = given(live, [7], way="sse-single", viewer="7", query=COUNTS, count=1)
    assert await run(workspace, "node", "streams.mjs", about) == [{"status": 405}]
