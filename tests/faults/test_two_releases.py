"""The last release and this one serve a graph together, so an upgrade needs no downtime.

Gateways and workers of both write at once, to tables with the new schema. Each write through one
gateway is read through the other by its writer, and the graph is consistent at the end. The last
release runs with the installed packages, those of this one.
"""

import asyncio
import signal
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from random import Random
from typing import Any

import httpx
import pytest

from graph.lane import LANES
from storage.postgres.lanes import count_lanes
from storage.postgres.verification.verify import verify
from storage.settings import StorageSettings
from storage.stores import open_stores
from tests.support.releases import ROOT, NoHistory, extract, previous_release
from tests.support.serve_process import Serve, serving
from tests.support.waiting import until
from tests.support.worker_process import Worker

WRITERS, USERS, STEPS = 8, 16, 30

FOLLOW = """
mutation ($id: ID!) {
  followUser(input: {userId: $id}) { outcome }
}
"""
UNFOLLOW = FOLLOW.replace("followUser", "unfollowUser")
READ = """
query ($id: ID!, $others: [ID!]!) {
  user(id: $id) {
    following(first: 50) { totalCount edges { node { id } } }
    relationWith(ids: $others) { state }
  }
}
"""


@pytest.fixture(scope="module")
def old_tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    try:
        version, commit = previous_release()
    except NoHistory as reason:
        pytest.skip(f"The last release cannot be run. {reason}")
    tree = tmp_path_factory.mktemp("releases") / version
    extract(commit, tree)
    return tree


@pytest.fixture
async def gateways(
    old_tree: Path, database_url: str, redis_url: str, tmp_path: Path
) -> AsyncIterator[Sequence[Serve]]:
    """A gateway of the last release, and one of this one; each release has a worker too."""
    settings = StorageSettings(database_url, redis_url)
    async with AsyncExitStack() as stack:
        running: list[Serve] = []
        for name, tree in (("old", old_tree), ("new", ROOT)):
            socket = tmp_path / f"{name}.sock"
            running.append(await stack.enter_async_context(serving(settings, socket, tree=tree)))
            worker = Worker(settings, tree)
            await worker.start()
            stack.push_async_callback(worker.end, signal.SIGTERM)
        yield running


class Writer:
    """A user who follows and unfollows through either gateway, and reads through the other one."""

    def __init__(self, user: int, clients: Sequence[httpx.AsyncClient]) -> None:
        self._user = user
        self._clients = clients
        self._chance = Random(user)
        self.following: set[int] = set()
        # Nobody else writes about these users, so that each state is known.
        self._others = [1_000 * user + number for number in range(1, USERS + 1)]
        self._shared = [number for number in range(1, WRITERS + 1) if number != user]

    async def run(self) -> None:
        for _ in range(STEPS):
            writing = self._chance.randrange(2)
            await self._write(self._clients[writing])
            await self._read(self._clients[1 - writing])

    async def _write(self, client: httpx.AsyncClient) -> None:
        other = self._chance.choice((*self._others, *self._shared))
        mutation = UNFOLLOW if other in self.following else FOLLOW
        data = await self._ask(client, mutation, id=str(other))
        (payload,) = data.values()
        assert payload["outcome"] in {"FOLLOWED", "UNFOLLOWED"}, payload
        self.following ^= {other}

    async def _read(self, client: httpx.AsyncClient) -> None:
        others = [*self._others, *self._shared]
        data = await self._ask(client, READ, id=str(self._user), others=[*map(str, others)])
        page = data["user"]["following"]
        assert {int(edge["node"]["id"]) for edge in page["edges"]} == self.following
        assert page["totalCount"] == len(self.following)
        states = dict(zip(others, data["user"]["relationWith"], strict=True))
        followed = {other for other, one in states.items() if _follows(one["state"])}
        assert followed == self.following

    async def _ask(self, client: httpx.AsyncClient, query: str, **variables: Any) -> dict[str, Any]:
        response = await client.post(
            "/graphql",
            json={"query": query, "variables": variables},
            headers={"x-viewer": str(self._user)},
        )
        answer: dict[str, Any] = response.json()
        assert "errors" not in answer, answer
        data: dict[str, Any] = answer["data"]
        return data


def _follows(state: str) -> bool:
    return state in {"FOLLOWING", "FRIENDS"}


async def test_two_releases_serve_one_graph(
    gateways: Sequence[Serve], database_url: str, redis_url: str
) -> None:
    settings = StorageSettings(database_url, redis_url)
    async with AsyncExitStack() as stack:
        clients = [await stack.enter_async_context(gateway.http()) for gateway in gateways]
        writers = [Writer(user, clients) for user in range(1, WRITERS + 1)]
        await asyncio.gather(*(writer.run() for writer in writers))
    assert await count_lanes(settings) == LANES
    async with open_stores(settings) as stores:

        async def drained() -> bool:
            return not await stores.jobs.lanes.progress.lanes_with_changes()

        await until(drained, "the workers of both releases have applied all changes")
    report = await verify(settings)
    assert report.clean, report
    assert sum(len(writer.following) for writer in writers) > 0
