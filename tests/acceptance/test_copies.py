"""Copy a graph while it changes: load an export, and then apply the changes after its cursor.

The steps are those of docs/exports.md.
"""

import json
import random
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import zstandard

from gateway.authentication.identify import DEVELOPMENT_SECRET, SERVICE, mint
from gateway.commands.graph_export import EVERY_KIND
from graph.edge import FOLLOWS, Flags, Kind
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
EDGES = """
SELECT from_user_id, to_user_id, kind, flags, CASE WHEN kind > 0 THEN since END
FROM %s WHERE kind > 0 OR flags > 0 ORDER BY 1, 2
"""


@pytest.fixture
def copy_settings(
    storage_settings: StorageSettings, databases: Databases, caches: Caches
) -> Iterator[StorageSettings]:
    """An empty database and an empty Redis, for the copy."""
    with databases.empty() as url, caches.empty() as redis_url:
        yield replace(storage_settings, database_url=url, redis_url=redis_url)


@pytest.fixture
async def copy_stores(copy_settings: StorageSettings) -> AsyncIterator[Stores]:
    async with open_stores(copy_settings) as opened:
        yield opened


def random_edges(rng: random.Random, kinds: Sequence[Kind] = tuple(Kind)) -> Edges:
    """New kinds and flags of up to 30 random edges."""
    changed = {}
    for _ in range(30):
        source, target = rng.sample(range(1, USERS + 1), 2)
        kind = rng.choice(kinds)
        flags = Flags.MUTED if rng.random() < 0.2 else Flags.PLAIN
        if kind in FOLLOWS and rng.random() < 0.2:
            flags |= Flags.CLOSE_FOLLOW | Flags.NOTIFY
        changed[source, target] = (kind, flags)
    return changed


class Copy:
    """A copy of a graph in other stores. It remembers the versions that it has applied."""

    def __init__(self, stores: Stores, settings: StorageSettings) -> None:
        self._stores = stores
        self._settings = settings
        self._versions: dict[tuple[int, int], int] = {}

    async def load(self, file: Path) -> None:
        """Load the follows of a file of all kinds, and write its other edges."""
        with zstandard.open(file, "rt", encoding="utf-8") as text:
            header, *lines = text.read().splitlines()
        assert header == "from_user_id,to_user_id,created_at_ms,kind,flags"
        rows = [tuple(map(int, line.split(","))) for line in lines]
        plain = [(row[0], row[1], row[2]) for row in rows if row[3:] == (Kind.FOLLOW, 0)]
        report = await bulk_load(self._settings, write_edges(file.with_name("plain.csv"), plain))
        assert (report.loaded, report.skipped, report.bad) == (len(plain), 0, 0)
        for source, target, since, kind, flags in rows:
            if (kind, flags) != (Kind.FOLLOW, 0):
                await self._write(source, target, Kind(kind), Flags(flags), since)

    async def apply_changes(self, gateway: Gateway, cursor: str) -> str:
        """Apply all changes after the cursor, and return the last cursor."""
        url = f"/changes?follow=false&after={cursor}"
        response = await gateway.http.get(url, headers=AS_SERVICE)
        for line in response.text.splitlines():
            batch = json.loads(line)
            cursor = batch["cursor"]
            for change in batch["changes"]:
                await self._apply(change)
        return cursor

    async def _apply(self, change: dict[str, str]) -> None:
        pair = int(change["source"]), int(change["target"])
        version = int(change["version"])
        if version > self._versions.get(pair, 0):
            self._versions[pair] = version
            kind, flags = Kind[change["after"]], Flags(int(change["flags_after"]))
            await self._write(*pair, kind, flags, int(change["since"]))

    async def _write(self, source: int, target: int, kind: Kind, flags: Flags, since: int) -> None:
        rule = becomes(kind, flags, since)
        await self._stores.writes.edges.change(as_pair(source, target), rule)


@pytest.mark.parametrize("seed", range(3))
async def test_an_export_with_the_changes_after_its_cursor_equals_the_graph(
    gateway: Gateway,
    stores: Stores,
    storage_settings: StorageSettings,
    copy_stores: Stores,
    copy_settings: StorageSettings,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    seed: int,
) -> None:
    """Forward and reverse rows are equal in kind, flags and date."""
    monkeypatch.setattr(graph_export, "CHUNK_ROWS", 20)
    rng = random.Random(seed)
    await bulk_load(storage_settings, write_edges(tmp_path / "ring.csv", ring(USERS, 4)))
    await edges(stores, random_edges(rng, EVERY_KIND))
    cursor = await stores.changes.change_feed.end()
    file = tmp_path / "graph.csv.zst"

    async def change(_: int, __: int) -> None:  # while the export runs
        await edges(stores, random_edges(rng))
        if rng.random() < 0.5:
            await drain_all(stores)

    selection = Selection(kinds=EVERY_KIND)
    report = await export_graph(
        storage_settings, file, selection, cursor, with_kinds=True, on_exported=change
    )
    assert report.cursor == cursor
    assert report.edges > 6 * graph_export.CHUNK_ROWS, (
        "more than six chunks, with changes after each"
    )
    copy = Copy(copy_stores, copy_settings)
    await copy.load(file)
    for _ in range(3):
        await edges(stores, random_edges(rng))
        await drain_all(stores)
        cursor = await copy.apply_changes(gateway, cursor)
    await drain_all(copy_stores)
    for table in ("following", "follower"):
        assert await fetch(copy_settings, EDGES % table) == await fetch(
            storage_settings, EDGES % table
        )
    await assert_whole(storage_settings)
    await assert_whole(copy_settings)
