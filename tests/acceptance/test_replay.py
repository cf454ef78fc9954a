"""A real log of follows and unfollows, replayed through mutations by several clients at once."""

import asyncio
import csv
import gzip
import os
import signal
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from itertools import islice

import httpx
import pytest

from gateway.commands.verify import run as verify
from gateway.settings.config import Config
from resolvers.policy import Policy
from storage.settings import StorageSettings
from storage.stores import Stores
from tests.support.dev_process import free_port
from tests.support.gateway import DEVELOPMENT
from tests.support.http_client import http_client
from tests.support.kith_process import start_kith
from tests.support.real_graphs import graph, needs_data, oracle
from tests.support.waiting import until

CLIENTS = 16
EVENTS_PER_REQUEST = 25
ATTEMPTS = 5

Event = tuple[str, int, int]

pytestmark = needs_data


def read_events(first: int | None) -> list[Event]:
    """The first events of the log, or all: (operation, source, target)."""
    with gzip.open(graph("nostr_events"), "rt", newline="") as file:
        rows = csv.DictReader(file)
        return [
            (row["op"], int(row["from_user_id"]), int(row["to_user_id"]))
            for row in islice(rows, first)
        ]


def events_by_client(log: Sequence[Event]) -> list[dict[int, list[Event]]]:
    """The events that each client sends, by viewer. One client sends all events of a viewer, in
    order."""
    clients: list[dict[int, list[Event]]] = [{} for _ in range(CLIENTS)]
    for event in log:
        clients[event[1] % CLIENTS].setdefault(event[1], []).append(event)
    return clients


async def send(http: httpx.AsyncClient, viewer: int, mutation: str) -> None:
    """Send a mutation until it succeeds: a busy gateway may reject or interrupt it."""
    for attempt in range(ATTEMPTS):
        headers = {"x-viewer": str(viewer)}
        response = await http.post("/graphql", json={"query": mutation}, headers=headers)
        answer = response.json()
        if "errors" not in answer:
            outcomes = {payload["outcome"] for payload in answer["data"].values()}
            # An interrupted attempt may have made some of the changes.
            assert outcomes <= {"FOLLOWED", "UNFOLLOWED"} or attempt
            assert "REJECTED" not in outcomes
            return
        codes = {error["extensions"]["code"] for error in answer["errors"]}
        assert codes <= {"DEADLINE_EXCEEDED", "OVERLOADED", "UNAVAILABLE"}, answer
    raise AssertionError("no attempt succeeded")


async def replay(http: httpx.AsyncClient, by_viewer: dict[int, list[Event]]) -> None:
    for viewer, log in by_viewer.items():
        for start in range(0, len(log), EVENTS_PER_REQUEST):
            part = log[start : start + EVENTS_PER_REQUEST]
            mutation = " ".join(
                f'e{n}: {op}User(input: {{userId: "{target}"}}) {{ outcome }}'
                for n, (op, _, target) in enumerate(part)
            )
            await send(http, viewer, f"mutation {{ {mutation} }}")


@asynccontextmanager
async def gateways_and_worker(settings: StorageSettings, count: int) -> AsyncIterator[list[str]]:
    """Start a worker and gateways, with limits that no user of the log reaches. Yields the URLs of
    the gateways."""
    environment = {
        **os.environ,
        "DATABASE_URL": settings.database_url,
        "REDIS_URL": settings.redis_url,
        "KITH_FOLLOWING_LIMIT": "10000",
        "KITH_CHANGES_BURST": "1000000",
    }
    ports = [free_port() + n * 7 for n in range(count)]
    serve = ("serve", "--development", "--port")
    commands = [("worker",), *((*serve, str(port)) for port in ports)]
    processes = [await start_kith(*command, env=environment) for command in commands]
    urls = [f"http://127.0.0.1:{port}" for port in ports]
    try:
        for url in urls:
            await until(lambda url=url: _ready(url))  # type: ignore[misc]
        yield urls
    finally:
        for process in processes:
            process.send_signal(signal.SIGTERM)
        await asyncio.gather(*(process.wait() for process in processes))


async def _ready(url: str) -> bool:
    try:
        async with http_client() as http:
            return bool((await http.get(f"{url}/readyz")).json()["status"] == "ready")
    except (httpx.HTTPError, ValueError):
        return False


@pytest.mark.parametrize(
    "first",
    [
        pytest.param(3_000, id="the first 3,000 events"),
        pytest.param(None, id="all events", marks=pytest.mark.long),
    ],
)
async def test_replaying_a_log_produces_the_graph_that_the_oracle_computes(
    storage_settings: StorageSettings, stores: Stores, first: int | None
) -> None:
    log = read_events(first)
    async with gateways_and_worker(storage_settings, 2) as urls:
        async with asyncio.TaskGroup() as group:
            for number, by_viewer in enumerate(events_by_client(log)):
                group.create_task(_client(urls[number % len(urls)], by_viewer))
        await until(lambda: _is_drained(stores))
    expected = {row[:2] for row in oracle("rows")(str(graph("nostr_events")), first=first)}
    for table in ("following", "follower"):
        rows = await stores.servers.postgres.fetch(
            f"SELECT from_user_id, to_user_id FROM {table} WHERE kind = 1"
        )
        assert {tuple(row) for row in rows} == expected
    if first is None:
        assert expected == {row[:2] for row in oracle("rows")(str(graph("nostr_follows")))}
    config = Config(storage_settings, DEVELOPMENT, Policy())
    assert await verify(config, repair=False, examples=5) == 0


async def _client(url: str, by_viewer: dict[int, list[Event]]) -> None:
    async with http_client(base_url=url, timeout=60) as http:
        await replay(http, by_viewer)


async def _is_drained(stores: Stores) -> bool:
    return not await stores.jobs.lanes.progress.lanes_with_changes()
