"""Loads of files of edges: complete, repeatable, also after a kill and while others write."""

import asyncio
import random
import sys
from pathlib import Path

import pytest

from graph.account_state import AccountState
from graph.edge import Flags, Kind, Pair, UserId
from graph.errors import BadInput, Unavailable
from graph.outcome import Outcome
from graph.rules import follow, unfollow
from storage.files import edge_file
from storage.files.edge_file import BadLine
from storage.postgres.connection import locks
from storage.postgres.connection.pool import Postgres
from storage.postgres.connection.session import session
from storage.postgres.edges import PostgresEdges
from storage.postgres.load import bulk_load as loading
from storage.postgres.load import load_segment
from storage.postgres.load.bulk_load import LoadReport, OnBad, Progress, bulk_load
from storage.postgres.outbox import Outbox
from storage.settings import StorageSettings
from storage.stores import Stores
from tests.support import citus
from tests.support.edge_files import (
    assert_whole,
    drain_reverse,
    execute,
    fetch,
    follows_of,
    ring,
    write_edges,
)
from tests.support.edges import Edges, edges
from tests.support.graphs import drain_all

PLENTY = 1_000_000
DEADLINE_S = citus.deadline_s(60)


@pytest.fixture
def small_segments(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make segments and blocks small, so that a small file has many. A segment has 7 parts; the
    last segment may have fewer."""
    monkeypatch.setattr(loading, "SEGMENT_LINES", 500)
    monkeypatch.setattr(edge_file, "BLOCK_BYTES", 4096)
    monkeypatch.setattr(load_segment, "PART_ROWS", 70)
    monkeypatch.setattr(load_segment, "FIRST_PART_ROWS", 70)


def pair(source: int, target: int) -> Pair:
    return Pair(UserId(source), UserId(target))


def lines_by_result(report: LoadReport) -> tuple[int, int, int]:
    """The numbers of edges loaded, of lines whose edge existed, and of bad lines."""
    return report.loaded, report.present, report.bad


@pytest.mark.usefixtures("small_segments")
async def test_a_load_writes_forward_rows_reverse_rows_and_counts(
    storage_settings: StorageSettings, tmp_path: Path
) -> None:
    edges = ring(400, 6)
    chance = random.Random(1)
    report = await bulk_load(
        storage_settings, write_edges(tmp_path / "edges.csv", chance.sample(edges, len(edges)))
    )
    assert lines_by_result(report) == (2400, 0, 0)
    assert report.lines == 2401
    assert await follows_of(storage_settings) == sorted(edges)
    assert await fetch(
        storage_settings,
        "SELECT a.follows, b.follows, a.friends + b.friends FROM following_count a"
        " JOIN follower_count b USING (user_id) WHERE user_id = 7",
    ) == [(6, 6, 2)]
    await assert_whole(storage_settings)


@pytest.mark.usefixtures("small_segments")
async def test_loading_a_file_twice_changes_nothing(
    storage_settings: StorageSettings, tmp_path: Path
) -> None:
    path = write_edges(tmp_path / "edges.csv", ring(400, 6))
    await bulk_load(storage_settings, path)
    all_rows = "SELECT * FROM following ORDER BY 1, 2"
    before = await fetch(storage_settings, all_rows)
    report = await bulk_load(storage_settings, path)
    assert lines_by_result(report) == (0, 2400, 0)
    assert await fetch(storage_settings, all_rows) == before
    await assert_whole(storage_settings)


@pytest.mark.parametrize("content", ["", "from_user_id,to_user_id\n", "\n\n"])
async def test_a_file_without_edges_loads_nothing(
    storage_settings: StorageSettings, tmp_path: Path, content: str
) -> None:
    (tmp_path / "edges.csv").write_text(content)
    assert lines_by_result(await bulk_load(storage_settings, tmp_path / "edges.csv")) == (0, 0, 0)


async def test_an_edge_without_a_date_gets_the_date_of_the_load(
    storage_settings: StorageSettings, tmp_path: Path
) -> None:
    (tmp_path / "edges.csv").write_text("1,2\n2,1\n")
    await bulk_load(storage_settings, tmp_path / "edges.csv")
    assert await fetch(
        storage_settings,
        "SELECT since = version / 1000 AND to_timestamp(since / 1000) BETWEEN"
        " now() - interval '1 minute' AND now() FROM following",
    ) == [(True,), (True,)]


@pytest.mark.usefixtures("small_segments")
async def test_the_first_of_several_lines_with_the_same_edge_is_loaded(
    storage_settings: StorageSettings, tmp_path: Path
) -> None:
    """Within a segment and across segments that are merged at the same time."""
    edges = ring(1000, 6)
    lines = []
    for start in range(0, len(edges), 200):
        some = edges[start : start + 200]
        lines += [(a, b, since + times) for times in range(4) for a, b, since in some]
    report = await bulk_load(storage_settings, write_edges(tmp_path / "edges.csv", lines))
    assert lines_by_result(report) == (6000, 18000, 0)
    assert await follows_of(storage_settings) == sorted(edges)
    await assert_whole(storage_settings)


async def test_a_load_keeps_the_dates_of_existing_follows_and_replaces_ended_ones(
    storage_settings: StorageSettings, postgres: Postgres, tmp_path: Path
) -> None:
    edges = PostgresEdges(postgres)
    for other in (2, 3):
        await edges.change(pair(1, other), follow(PLENTY))
    await edges.change(pair(1, 3), unfollow())  # its lane has not been drained
    await edges.change(pair(3, 1), follow(PLENTY))
    (existing,) = await fetch(storage_settings, "SELECT since FROM following WHERE to_user_id = 2")
    path = write_edges(tmp_path / "edges.csv", [(1, 2, 5), (1, 3, 6), (1, 4, 7)])
    assert lines_by_result(await bulk_load(storage_settings, path)) == (2, 1, 0)
    assert await follows_of(storage_settings) == [
        (1, 2, existing[0]),
        (1, 3, 6),
        (1, 4, 7),
        (3, 1, (await follows_of(storage_settings))[-1][2]),
    ]
    await drain_reverse(Outbox(postgres))
    await assert_whole(storage_settings)


EXISTING_EDGES: Edges = {
    (1, 2): (Kind.WHISPER, Flags.CLOSE_FOLLOW),
    (1, 3): Kind.REQUEST,
    (1, 4): (Kind.BLOCK, Flags.MUTED),
    (5, 1): Kind.BLOCK,
    (1, 6): (Kind.NONE, Flags.MUTED | Flags.DISMISSED),
    (7, 1): Kind.FOLLOW,
    (8, 1): Kind.WHISPER,
    (1, 9): (Kind.FOLLOW, Flags.CLOSE_FOLLOW),
}
DELETED_USER = 10


@pytest.mark.parametrize("drained", [True, False], ids=["drained", "lanes lag"])
@pytest.mark.parametrize(
    "only_new", [True, False], ids=["new edges only", "new and existing edges"]
)
async def test_a_load_skips_edges_with_a_block_whisper_request_or_deleted_account(
    stores: Stores, storage_settings: StorageSettings, tmp_path: Path, drained: bool, only_new: bool
) -> None:
    await edges(stores, EXISTING_EDGES)
    if drained:
        await drain_all(stores)
    await stores.writes.account_states.change(UserId(DELETED_USER), AccountState.DELETED)
    new = [(1, 5, 5), (1, 7, 5), (1, 8, 5), (1, DELETED_USER, 5), (DELETED_USER, 1, 5)]
    known = [] if only_new else [(1, other, 5) for other in (2, 3, 4, 6, 9)]
    report = await bulk_load(storage_settings, write_edges(tmp_path / "e.csv", new + known))
    assert report.skipped == (3 if only_new else 6)
    assert lines_by_result(report) == ((2, 0, 0) if only_new else (3, 1, 0))
    rows = await fetch(
        storage_settings,
        "SELECT to_user_id, kind, flags FROM following WHERE from_user_id = 1 ORDER BY 1",
    )
    flags = Flags.MUTED | Flags.DISMISSED
    assert rows == [
        (2, Kind.WHISPER, Flags.CLOSE_FOLLOW),
        (3, Kind.REQUEST, 0),
        (4, Kind.BLOCK, Flags.MUTED),
        (6, Kind.NONE if only_new else Kind.FOLLOW, flags),
        (7, Kind.FOLLOW, 0),
        (8, Kind.FOLLOW, 0),
        (9, Kind.FOLLOW, Flags.CLOSE_FOLLOW),
    ]
    await drain_all(stores)
    await assert_whole(storage_settings)
    again = await bulk_load(storage_settings, tmp_path / "e.csv")
    assert (again.loaded, again.skipped) == (0, report.skipped)


@pytest.mark.parametrize("kind", [Kind.WHISPER, Kind.REQUEST, Kind.BLOCK])
async def test_a_load_after_an_unfollow_that_was_not_drained_counts_correctly(
    stores: Stores, storage_settings: StorageSettings, tmp_path: Path, kind: Kind
) -> None:
    """The reverse row has not been updated by the unfollow when the load writes the follow."""
    await edges(stores, {(1, 2): kind})
    await drain_all(stores)
    await edges(stores, {(1, 2): Kind.NONE})
    path = write_edges(tmp_path / "edges.csv", [(1, 2, 5)])
    assert lines_by_result(await bulk_load(storage_settings, path)) == (1, 0, 0)
    await drain_all(stores)
    await assert_whole(storage_settings)


async def test_a_reverse_row_without_a_forward_row_does_not_stop_a_load(
    storage_settings: StorageSettings, tmp_path: Path
) -> None:
    await execute(
        storage_settings,
        "INSERT INTO follower VALUES (2, 1, 9, 9, 1)",
        "INSERT INTO follower_count VALUES (2, 1, 0)",
    )
    path = write_edges(tmp_path / "edges.csv", [(1, 2, 5)])
    assert lines_by_result(await bulk_load(storage_settings, path)) == (1, 0, 0)
    await assert_whole(storage_settings)


async def test_a_bad_line_is_skipped_and_reported(
    storage_settings: StorageSettings, tmp_path: Path
) -> None:
    (tmp_path / "edges.csv").write_text("1,2\n3,3\n4,5\nx\n")
    report = await bulk_load(storage_settings, tmp_path / "edges.csv")
    assert lines_by_result(report) == (2, 0, 2)
    assert report.bad_lines == (
        BadLine(2, "a user cannot follow themselves"),
        BadLine(4, "1 of 2 fields"),
    )


@pytest.mark.parametrize("on_bad", [OnBad("reject"), OnBad("refuse")])
async def test_a_file_with_a_bad_line_can_be_rejected_before_anything_changes(
    storage_settings: StorageSettings, tmp_path: Path, on_bad: OnBad
) -> None:
    path = tmp_path / "edges.csv"
    path.write_text("1,2\n" * 1000 + "3,3\n")
    report = await bulk_load(storage_settings, path, on_bad=on_bad)
    assert report.rejected
    assert [bad.number for bad in report.bad_lines] == [1001]
    assert not await follows_of(storage_settings)
    path.write_text("1,2\n" * 1000)
    report = await bulk_load(storage_settings, path, on_bad=on_bad)
    assert (report.rejected, report.loaded) == (False, 1)


async def test_a_file_with_other_columns_is_rejected(
    storage_settings: StorageSettings, tmp_path: Path
) -> None:
    (tmp_path / "edges.csv").write_text("name,age\n1,2\n")
    with pytest.raises(BadInput, match="must begin with from_user_id"):
        await bulk_load(storage_settings, tmp_path / "edges.csv")


@pytest.mark.usefixtures("small_segments")
async def test_the_last_progress_report_covers_the_whole_file(
    storage_settings: StorageSettings, tmp_path: Path
) -> None:
    reports: list[Progress] = []

    async def record(progress: Progress) -> None:
        reports.append(progress)

    path = write_edges(tmp_path / "edges.csv", ring(400, 6))
    await bulk_load(storage_settings, path, on_progress=record)
    assert reports == sorted(reports, key=lambda progress: progress.loaded)
    assert len(reports) > 10
    assert reports[-1] == Progress(
        False, 2401, path.stat().st_size, path.stat().st_size, 2400, 0, 0
    )


@pytest.mark.plain("a load of Citus cannot know when the shards were analyzed")
async def test_a_load_analyzes_the_tables_only_if_it_makes_them_much_larger(
    storage_settings: StorageSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loading, "ANALYZE_FROM", 1)
    analyses = (
        "SELECT coalesce(sum(analyze_count), 0)::bigint FROM pg_stat_user_tables"
        " WHERE schemaname = current_schema() AND relname = 'following_count'"
    )
    ((before,),) = await fetch(storage_settings, analyses)
    for name, lines, analyzed in (
        ("first", ring(400, 6), 1),
        ("few", [(user, 1000, 1) for user in range(1, 200)], 1),
        ("many", [(user, 1001, 1) for user in range(1, 900)], 2),
    ):
        await bulk_load(storage_settings, write_edges(tmp_path / f"{name}.csv", lines))
        ((count,),) = await fetch(storage_settings, analyses)
        assert count - before == analyzed, name


async def test_one_load_of_a_space_runs_at_a_time(
    storage_settings: StorageSettings, tmp_path: Path
) -> None:
    path = write_edges(tmp_path / "edges.csv", ring(10, 2))
    async with session(storage_settings, "test") as other:
        await other.execute(
            "SELECT pg_advisory_lock($1, $2)", locks.LOAD, locks.space_key(storage_settings.space)
        )
        with pytest.raises(Unavailable, match="Another load"):
            await bulk_load(storage_settings, path)


LOAD_IN_A_PROCESS = """
import asyncio, sys
from pathlib import Path
from storage.files import edge_file
from storage.postgres.load import bulk_load
from storage.settings import StorageSettings

bulk_load.SEGMENT_LINES, edge_file.BLOCK_BYTES = 500, 4096

async def record(progress):
    print(progress.loaded, flush=True)

settings = StorageSettings(sys.argv[1], "")
asyncio.run(bulk_load.bulk_load(settings, Path(sys.argv[2]), on_progress=record))
"""


@pytest.mark.usefixtures("small_segments")
async def test_a_load_resumes_where_a_killed_one_stopped(
    storage_settings: StorageSettings, tmp_path: Path
) -> None:
    edges = ring(5000, 6)
    path = write_edges(tmp_path / "edges.csv", random.Random(2).sample(edges, len(edges)))
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", LOAD_IN_A_PROCESS, storage_settings.database_url, path, stdout=-1
    )
    assert process.stdout is not None
    async with asyncio.timeout(DEADLINE_S):
        # Three connections merge at most three segments at a time, of about 500 edges each.
        while int(await process.stdout.readline()) < 5000:
            pass
        process.kill()
        await process.communicate()
    assert len(await follows_of(storage_settings)) < len(edges)
    report = await bulk_load(storage_settings, path)
    assert report.resumed_after > 500
    assert report.loaded + report.present == len(edges)
    assert await follows_of(storage_settings) == sorted(edges)
    await assert_whole(storage_settings)
    assert not await fetch(storage_settings, "SELECT lines FROM bulk_load")


@pytest.mark.usefixtures("small_segments")
async def test_counts_stay_exact_while_others_follow_unfollow_and_drain(
    storage_settings: StorageSettings, postgres: Postgres, tmp_path: Path
) -> None:
    users, chance = 60, random.Random(3)
    all_pairs = [(a, b) for a in range(1, users) for b in range(1, users) if a != b]
    path = write_edges(
        tmp_path / "edges.csv", [(a, b, 5) for a, b in chance.sample(all_pairs, len(all_pairs))]
    )
    edges, outbox = PostgresEdges(postgres), Outbox(postgres)
    outcomes: set[Outcome] = set()
    loaded = asyncio.Event()

    async def write() -> None:
        while not loaded.is_set():
            rule = follow(PLENTY) if chance.random() < 0.5 else unfollow()
            decision = await edges.change(pair(*chance.choice(all_pairs)), rule)
            outcomes.add(decision.outcome)

    async def drain() -> None:
        while not loaded.is_set():
            await drain_reverse(outbox)

    async with asyncio.timeout(DEADLINE_S), asyncio.TaskGroup() as work:
        for task in (write(), write(), write(), drain(), drain()):
            work.create_task(task)
        for _ in range(3):
            await bulk_load(storage_settings, path)
        loaded.set()
    assert {Outcome.FOLLOWED, Outcome.UNFOLLOWED, Outcome.ALREADY_FOLLOWING} <= outcomes
    await drain_reverse(outbox)
    await assert_whole(storage_settings)


@pytest.mark.parametrize("rows", [0, 99, 130, 200, 10_000])
async def test_the_parts_of_a_segment_have_each_lock_slot_once(rows: int) -> None:
    parts = load_segment.parts(rows, 25)
    slots = [slot for part in parts for slot in range(part.first, part.last + 1)]
    assert slots == list(range(locks.PAIR_SLOTS))
    assert len(parts) == {130: 5}.get(rows, 8 if rows >= 200 else 4)


@pytest.mark.usefixtures("small_segments")
async def test_the_first_of_two_lines_is_loaded_from_segments_with_different_parts(
    storage_settings: StorageSettings, tmp_path: Path
) -> None:
    """The second segment is short, and has fewer and larger parts than the first."""
    edges = ring(100, 6)
    again = [(a, b, since + 1) for a, b, since in edges[:300]]
    report = await bulk_load(storage_settings, write_edges(tmp_path / "e.csv", edges + again))
    assert lines_by_result(report) == (600, 300, 0)
    assert await follows_of(storage_settings) == sorted(edges)


async def test_sql_and_python_compute_the_same_lock_slot_of_a_pair(
    storage_settings: StorageSettings,
) -> None:
    ids = [1, 2, 4092, 4093, 4094, 1_234_567_890_123_456_789, 2**63 - 2, 2**63 - 1]
    async with session(storage_settings, "test") as connection:
        for source in ids:
            for target in ids:
                slot = await connection.fetchval("SELECT pair_slot($1, $2)", source, target)
                assert slot == locks.pair_key(pair(source, target))
                assert 0 <= slot < locks.PAIR_SLOTS
