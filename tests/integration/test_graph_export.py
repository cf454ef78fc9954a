"""Exports of a graph: loading the file gives the same graph, after interruptions too."""

import io
import stat
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

from gateway.commands import load
from gateway.commands.graph_export import EVERY_KIND, selected
from graph.edge import Flags, Kind
from graph.errors import BadInput
from storage.postgres import graph_export
from storage.postgres.graph_export import Selection, export_graph
from storage.postgres.load.bulk_load import bulk_load
from storage.settings import StorageSettings
from storage.stores import Stores
from tests.support.databases import Databases
from tests.support.edge_files import Edge, assert_whole, follows_of, ring, write_edges
from tests.support.edges import edges
from tests.support.graphs import drain_all
from tests.support.real_graphs import graph, needs_data

ALL = Selection()
FORMATS = ["csv", "csv.gz", "csv.zst", "parquet"]


@pytest.fixture
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graph_export, "CHUNK_ROWS", 100)


@pytest.fixture
async def loaded(storage_settings: StorageSettings, tmp_path: Path) -> StorageSettings:
    """A graph of 450 follows."""
    await bulk_load(storage_settings, write_edges(tmp_path / "ring.csv", ring(90, 5)))
    return storage_settings


@pytest.fixture
def empty_graph(
    storage_settings: StorageSettings, databases: Databases
) -> Iterator[StorageSettings]:
    """An empty graph."""
    with databases.empty() as url:
        yield replace(storage_settings, database_url=url)


async def load_into(empty_graph: StorageSettings, file: Path) -> list[Edge]:
    """Load the file into an empty graph. Return its follows."""
    report = await bulk_load(empty_graph, file)
    assert not report.bad
    await assert_whole(empty_graph)
    return await follows_of(empty_graph)


@pytest.mark.parametrize("suffix", FORMATS)
@pytest.mark.usefixtures("small_chunks")
async def test_loading_an_export_gives_the_same_graph(
    loaded: StorageSettings, empty_graph: StorageSettings, tmp_path: Path, suffix: str
) -> None:
    file = tmp_path / f"graph.{suffix}"
    report = await export_graph(loaded, file, ALL, "here")
    assert (report.edges, report.resumed_after, report.cursor) == (450, 0, "here")
    assert await load_into(empty_graph, file) == await follows_of(loaded)
    assert not file.with_name(f"{file.name}.progress").exists()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


@needs_data
@pytest.mark.long
@pytest.mark.parametrize("name", ["nostr_follows", "slashdot0902"])
async def test_loading_the_export_of_a_real_graph_gives_the_same_graph(
    storage_settings: StorageSettings, empty_graph: StorageSettings, tmp_path: Path, name: str
) -> None:
    await bulk_load(storage_settings, graph(name))
    file = tmp_path / "graph.csv.zst"
    await export_graph(storage_settings, file, ALL, None)
    assert await load_into(empty_graph, file) == await follows_of(storage_settings)


@pytest.mark.parametrize("suffix", ["csv", "csv.gz", "csv.zst"])
@pytest.mark.usefixtures("small_chunks")
async def test_an_interrupted_export_resumes_where_it_stopped(
    loaded: StorageSettings, empty_graph: StorageSettings, tmp_path: Path, suffix: str
) -> None:
    file = tmp_path / f"graph.{suffix}"

    async def interrupt(done: int, _: int) -> None:
        if done == 200:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        await export_graph(loaded, file, ALL, "first", on_exported=interrupt)
    assert not file.exists()
    with (tmp_path / f"{file.name}.part").open("ab") as part:
        part.write(b"half a li")  # the end of a killed run
    report = await export_graph(loaded, file, ALL, "second")
    assert (report.edges, report.resumed_after, report.cursor) == (450, 200, "first")
    assert await load_into(empty_graph, file) == await follows_of(loaded)


@pytest.mark.usefixtures("small_chunks")
async def test_an_unfinished_export_of_other_edges_is_not_continued(
    loaded: StorageSettings, tmp_path: Path
) -> None:
    file = tmp_path / "graph.csv"

    async def interrupt(_: int, __: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        await export_graph(loaded, file, ALL, None, on_exported=interrupt)
    with pytest.raises(BadInput, match="other edges"):
        await export_graph(loaded, file, replace(ALL, slices=2), None)


async def test_an_existing_file_is_not_overwritten(loaded: StorageSettings, tmp_path: Path) -> None:
    file = tmp_path / "graph.csv"
    file.write_text("mine")
    with pytest.raises(BadInput, match="exists already"):
        await export_graph(loaded, file, ALL, None)
    assert file.read_text() == "mine"


async def test_slices_and_times_divide_the_graph(loaded: StorageSettings, tmp_path: Path) -> None:
    all_follows = await follows_of(loaded)
    found: list[tuple[int, ...]] = []
    for number in range(1, 5):
        for since, until in ((0, 45_000), (45_000, 10**12)):
            file = tmp_path / f"{number}-{since}.csv"
            chosen = replace(selected(f"{number}/4", None, None, all_kinds=False), since=since)
            await export_graph(loaded, file, replace(chosen, until=until), None)
            rows = [tuple(map(int, line.split(","))) for line in file.read_text().splitlines()[1:]]
            assert all(since <= date < until for *_, date in rows)
            found += rows
    assert sorted(found) == all_follows


async def test_an_export_of_all_kinds_has_their_flags(stores: Stores, tmp_path: Path) -> None:
    settings = stores.jobs.periodic.verification._settings  # the settings of `stores`
    await edges(
        stores,
        {
            (1, 2): (Kind.FOLLOW, Flags.CLOSE_FOLLOW | Flags.MUTED),
            (1, 3): (Kind.WHISPER, Flags.NOTIFY),
            (1, 4): Kind.REQUEST,
            (1, 5): Kind.BLOCK,
        },
    )
    await drain_all(stores)
    every = replace(ALL, kinds=EVERY_KIND)
    await export_graph(settings, tmp_path / "all.csv", every, None, with_kinds=True)
    head, *lines = (tmp_path / "all.csv").read_text().splitlines()
    assert head == "from_user_id,to_user_id,created_at_ms,kind,flags"
    described = [line.split(",") for line in lines]
    assert [(target, kind, flags) for _, target, _, kind, flags in described] == [
        ("2", "1", "3"),
        ("3", "2", "16"),
        ("4", "3", "0"),
        ("5", "4", "0"),
    ]
    await export_graph(settings, tmp_path / "all.parquet", every, None)
    rows = parquet.read_table(tmp_path / "all.parquet").to_pylist()
    assert [
        (row["to_user_id"], row["kind"], row["close_follow"], row["muted"], row["notify"])
        for row in rows
    ] == [
        (2, "FOLLOW", True, True, False),
        (3, "WHISPER", False, False, True),
        (4, "REQUEST", False, False, False),
        (5, "BLOCK", False, False, False),
    ]
    report = await bulk_load(settings, tmp_path / "all.parquet")
    assert (report.present, report.loaded, report.bad) == (1, 0, 0)


@pytest.mark.parametrize("part", ["0/2", "3/2", "1", "1/2000", "a/b", "-1/2"])
def test_an_invalid_slice_is_rejected(part: str) -> None:
    with pytest.raises(BadInput, match="--slice"):
        selected(part, None, None, all_kinds=False)


@pytest.mark.parametrize(
    ("table", "reason"),
    [
        (pa.table({"from_user_id": [1]}), "must have the columns"),
        (pa.table({"from_user_id": ["a"], "to_user_id": [2]}), "cannot be read"),
    ],
)
async def test_a_parquet_file_with_other_columns_or_types_is_rejected(
    storage_settings: StorageSettings, tmp_path: Path, table: pa.Table, reason: str
) -> None:
    file = tmp_path / "graph.parquet"
    parquet.write_table(table, file)
    with pytest.raises(BadInput, match=reason):
        await bulk_load(storage_settings, file)


async def test_bad_rows_of_a_parquet_file_are_counted(
    storage_settings: StorageSettings, tmp_path: Path
) -> None:
    file = tmp_path / "graph.parquet"
    dates = pa.array([5_000_000, None, 7], pa.timestamp("us"))
    columns = {"from_user_id": [1, 2, 3], "to_user_id": [2, -1, 1], "since": dates}
    parquet.write_table(pa.table(columns), file)
    report = await bulk_load(storage_settings, file)
    assert (report.loaded, report.bad) == (2, 1)
    assert await follows_of(storage_settings) == [(1, 2, 5_000), (3, 1, 0)]


@pytest.mark.parametrize("suffix", FORMATS)
async def test_standard_input_may_have_any_format(
    loaded: StorageSettings, tmp_path: Path, suffix: str
) -> None:
    file = tmp_path / f"graph.{suffix}"
    await export_graph(loaded, file, ALL, None)
    folder = tmp_path / "copy"
    folder.mkdir()
    copy = load._copied(io.BytesIO(file.read_bytes()), folder)
    assert copy.name == f"stdin.{suffix}"
    report = await bulk_load(loaded, copy)
    assert (report.present, report.bad) == (450, 0)
