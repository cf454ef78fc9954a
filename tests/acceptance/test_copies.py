"""A copy of a graph that is in use: an export, and then the changes after its cursor."""

import json
import random
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from gateway.authentication.identify import DEVELOPMENT_SECRET, SERVICE, mint
from graph.edge import Flags, Kind
from storage.postgres import graph_export
from storage.postgres.graph_export import Selection, export_graph
from storage.postgres.load.bulk_load import bulk_load
from storage.settings import StorageSettings
from storage.stores import Stores, open_stores
from tests.support.databases import Caches, Databases
from tests.support.edge_files import assert_whole, fetch, ring, write_edges
from tests.support.edges import Edges, becomes, edges
from tests.support.gateway import Gateway
from tests.support.graphs import as_pair, drain_all

AS_SERVICE = {"authorization": f"Bearer {mint(DEVELOPMENT_SECRET, None, SERVICE)}"}
USERS = 40
EDGES = "SELECT from_user_id, to_user_id, kind, flags FROM following WHERE kind > 0 ORDER BY 1, 2"


@pytest.fixture
def copy_settings(
    storage_settings: StorageSettings, databases: Databases, caches: Caches
) -> Iterator[StorageSettings]:
    """An empty graph."""
    with databases.empty() as url, caches.empty() as redis_url:
        yield replace(storage_settings, database_url=url, redis_url=redis_url)


@pytest.fixture
async def copy(copy_settings: StorageSettings) -> AsyncIterator[Stores]:
    async with open_stores(copy_settings) as opened:
        yield opened


def random_edges(chance: random.Random) -> Edges:
    """Changes of some edges, to every kind."""
    changed = {}
    for _ in range(30):
        source, target = chance.sample(range(1, USERS + 1), 2)
        kind = chance.choice(list(Kind))
        flags = Flags.MUTED if kind is Kind.FOLLOW and chance.random() < 0.2 else Flags.PLAIN
        changed[source, target] = (kind, flags)
    return changed


async def applied(gateway: Gateway, cursor: str, copy: Stores) -> str:
    """Apply all changes after the cursor, as docs/exports.md says, and return the last cursor."""
    response = await gateway.http.get(f"/changes?follow=false&after={cursor}", headers=AS_SERVICE)
    newest: dict[tuple[int, int], tuple[int, Kind, Flags]] = {}
    for line in response.text.splitlines():
        batch = json.loads(line)
        cursor = batch["cursor"]
        for change in batch["changes"]:
            ends = int(change["source"]), int(change["target"])
            version = int(change["version"])
            if version > newest.get(ends, (0,))[0]:
                newest[ends] = version, Kind[change["after"]], Flags(int(change["flags_after"]))
    for ends, (_, kind, flags) in newest.items():
        await copy.writes.edges.change(as_pair(*ends), becomes(kind, flags))
    return cursor


@pytest.mark.parametrize("seed", range(3))
async def test_an_export_and_the_changes_after_it_are_the_graph(
    gateway: Gateway,
    stores: Stores,
    storage_settings: StorageSettings,
    copy: Stores,
    copy_settings: StorageSettings,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    seed: int,
) -> None:
    monkeypatch.setattr(graph_export, "CHUNK_ROWS", 20)
    chance = random.Random(seed)
    await bulk_load(storage_settings, write_edges(tmp_path / "ring.csv", ring(USERS, 4)))
    cursor = await stores.changes.feed.end()
    file = tmp_path / "graph.csv.zst"

    async def change(_: int, __: int) -> None:  # while the export runs
        await edges(stores, random_edges(chance))
        if chance.random() < 0.5:
            await drain_all(stores)

    report = await export_graph(storage_settings, file, Selection(), cursor, on_exported=change)
    assert report.cursor == cursor
    await bulk_load(copy_settings, file)
    for _ in range(3):
        await edges(stores, random_edges(chance))
        await drain_all(stores)
        cursor = await applied(gateway, cursor, copy)
    await drain_all(copy)
    assert await fetch(copy_settings, EDGES) == await fetch(storage_settings, EDGES)
    await assert_whole(copy_settings)
