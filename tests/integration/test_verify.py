"""Every kind of drift is found, reported and repaired. Pending changes are no drift."""

import asyncio
import random
import re
from pathlib import Path
from typing import Any

import pytest

from graph.edge import Flags, Kind, Pair, UserId
from graph.errors import Unavailable
from graph.lane import LANES, lane_of
from graph.rules import follow, unfollow
from storage.postgres import sql
from storage.postgres.connection import locks
from storage.postgres.connection import session as sessions
from storage.postgres.connection.pool import Postgres
from storage.postgres.connection.session import session
from storage.postgres.edges import PostgresEdges
from storage.postgres.outbox import Outbox
from storage.postgres.verification import comparison
from storage.postgres.verification.digests import ALL_BUCKETS
from storage.postgres.verification.drift import Drift, DriftKind
from storage.postgres.verification.run import VerifyProgress
from storage.postgres.verification.verify import users_of_graph, verify
from storage.settings import StorageSettings
from storage.stores import Stores
from tests.support import citus
from tests.support.advisory_locks import LOCK_LANE, LOCK_PAIR
from tests.support.edge_files import assert_whole, drain_reverse, execute, fetch
from tests.support.edges import Edges, edges
from tests.support.graphs import drain_all

USERS = 12
COUNTED = [user for user in range(1, USERS + 1) if user != 7]
"""User 7 has tombstones only."""
PLENTY = 1_000_000
DEADLINE_S = citus.deadline_s(120)
STATEMENTS = sql.parse(
    (Path(sql.__file__).parent / "queries" / "verify.sql").read_text(encoding="utf-8")
)

CLEAN_GRAPH = f"""
INSERT INTO following (from_user_id, to_user_id, since, version, kind)
SELECT a, b, a + b, 7, CASE WHEN (a * b) % 7 = 0 THEN 0 ELSE 1 END
FROM generate_series(1, {USERS}) a, generate_series(1, {USERS}) b
WHERE a <> b AND (a + 2 * b) % 3 <> 0;

INSERT INTO follower (to_user_id, from_user_id, since, version, kind)
SELECT to_user_id, from_user_id, since, version, kind FROM following;

WITH follow AS MATERIALIZED (SELECT from_user_id, to_user_id FROM following WHERE kind = 1)
INSERT INTO following_count (user_id, follows, friends)
SELECT f.from_user_id, count(*), 2 + count(b.to_user_id)
FROM follow f LEFT JOIN follow b
  ON b.from_user_id = f.to_user_id AND b.to_user_id = f.from_user_id
GROUP BY 1;

INSERT INTO follower_count (user_id, follows, friends)
SELECT to_user_id, count(*), -2 FROM follower WHERE kind = 1 GROUP BY 1
"""


@pytest.fixture
async def clean_graph(storage_settings: StorageSettings) -> StorageSettings:
    """A graph without drift."""
    await execute(storage_settings, *CLEAN_GRAPH.split(";"))
    return storage_settings


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparison, "ROWS_AT_ONCE", 7)
    monkeypatch.setattr(comparison, "DIGEST_BATCH_ROWS", 20)
    monkeypatch.setattr(comparison, "COUNTED_USERS", 5)
    monkeypatch.setattr(comparison, "USERS_AT_ONCE", 5)


def pair(source: int, target: int) -> Pair:
    return Pair(UserId(source), UserId(target))


@pytest.mark.usefixtures("small_parts")
async def test_a_graph_without_drift_is_clean_and_read_completely(
    clean_graph: StorageSettings,
) -> None:
    ((rows,),) = await fetch(clean_graph, "SELECT count(*) FROM following")
    reports: list[VerifyProgress] = []

    async def record(progress: VerifyProgress) -> None:
        reports.append(progress)

    report = await verify(clean_graph, on_progress=record)
    assert report.clean
    assert (report.forward_rows, report.reverse_rows, report.users) == (rows, rows, len(COUNTED))
    assert reports[-1] == VerifyProgress(rows, rows, len(COUNTED), 0)
    assert len(reports) > 2 * rows / 20


async def test_an_empty_graph_is_clean(storage_settings: StorageSettings) -> None:
    assert (await verify(storage_settings)).clean


EDGES_OF_EVERY_KIND: Edges = {
    (20, 21): (Kind.WHISPER, Flags.CLOSE_FOLLOW | Flags.MUTED),
    (21, 20): Kind.FOLLOW,
    (20, 22): (Kind.FOLLOW, Flags.CLOSE_FOLLOW),
    (22, 20): Kind.FOLLOW,
    (20, 23): Kind.REQUEST,
    (24, 20): Kind.REQUEST,
    (20, 25): Kind.BLOCK,
    (26, 20): Kind.BLOCK,
    (27, 20): Kind.WHISPER,
    (20, 28): (Kind.NONE, Flags.MUTED),
    (29, 30): (Kind.NONE, Flags.MUTED),
}

COUNTS = {
    DriftKind.WHISPER_COUNT: ("following_count", "whispers"),
    DriftKind.OUTGOING_REQUEST_COUNT: ("following_count", "requests"),
    DriftKind.BLOCK_COUNT: ("following_count", "blocks"),
    DriftKind.CLOSE_FOLLOW_COUNT: ("following_count", "specials"),
    DriftKind.MUTE_COUNT: ("following_count", "mutes"),
    DriftKind.WHISPERED_COUNT: ("follower_count", "whispers"),
    DriftKind.INCOMING_REQUEST_COUNT: ("follower_count", "requests"),
    DriftKind.BLOCKED_COUNT: ("follower_count", "blocks"),
}
"""The table and the column of the counts that each kind compares."""


@pytest.fixture
async def of_every_kind(stores: Stores, storage_settings: StorageSettings) -> StorageSettings:
    """A graph with edges of every kind and with flags, written through the store."""
    await edges(stores, EDGES_OF_EVERY_KIND)
    await drain_all(stores)
    return storage_settings


async def all_counts(settings: StorageSettings) -> list[tuple[Any, ...]]:
    return await fetch(
        settings,
        "SELECT * FROM following_count FULL JOIN follower_count USING (user_id) ORDER BY user_id",
    )


@pytest.mark.parametrize("kind", list(COUNTS))
async def test_counts_of_every_kind_are_compared_and_repaired(
    of_every_kind: StorageSettings, kind: DriftKind
) -> None:
    assert (await verify(of_every_kind)).clean
    counts = await all_counts(of_every_kind)
    table, column = COUNTS[kind]
    expected = 2 if kind in (DriftKind.CLOSE_FOLLOW_COUNT, DriftKind.MUTE_COUNT) else 1
    await execute(of_every_kind, f"UPDATE {table} SET {column} = 9 WHERE user_id = 20")
    ((drift),) = (await verify(of_every_kind)).drifts
    assert (drift.kind, drift.count) == (kind, 1)
    assert drift.examples == (f"20: 9 instead of {expected}",)
    assert (await verify(of_every_kind, repair=True)).repaired
    assert await all_counts(of_every_kind) == counts
    assert (await verify(of_every_kind)).clean


@pytest.mark.parametrize("user", [20, 24, 25, 29])
async def test_repair_restores_missing_count_rows(
    of_every_kind: StorageSettings, user: int
) -> None:
    await execute(
        of_every_kind,
        f"DELETE FROM following_count WHERE user_id = {user}",
        f"DELETE FROM follower_count WHERE user_id = {user}",
    )
    assert not (await verify(of_every_kind)).clean
    await verify(of_every_kind, repair=True)
    assert (await verify(of_every_kind)).clean


@pytest.mark.parametrize("other", [21, 22, 23, 25, 28])
async def test_a_lost_reverse_row_of_any_kind_is_repaired_with_its_count(
    of_every_kind: StorageSettings, other: int
) -> None:
    counts = await all_counts(of_every_kind)
    await execute(of_every_kind, f"DELETE FROM follower WHERE to_user_id = {other}")
    await execute(
        of_every_kind,
        "UPDATE follower_count SET follows = 0, whispers = 0, requests = 0, blocks = 0 "
        f"WHERE user_id = {other}",
    )
    await verify(of_every_kind, repair=True)
    assert (await verify(of_every_kind)).clean
    assert await all_counts(of_every_kind) == counts


REVERSE_SIDE = """
SELECT user_id, 0, follows, friends FROM follower_count
UNION ALL SELECT to_user_id, from_user_id, version, kind FROM follower ORDER BY 1, 2
"""
EDGE = "WHERE to_user_id = 2 AND from_user_id = 3"


@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize(
    ("kind", "planted", "example"),
    [
        (DriftKind.REVERSE_MISSING, f"DELETE FROM follower {EDGE}", "3 to 2: forward kind 1"),
        (DriftKind.REVERSE_DIFFERS, f"UPDATE follower SET kind = 0 {EDGE}", "reverse kind 0"),
        (DriftKind.REVERSE_DIFFERS, f"UPDATE follower SET flags = 1 {EDGE}", "flags 1"),
        (DriftKind.REVERSE_DIFFERS, f"UPDATE follower SET since = 3 {EDGE}", "since 3"),
        (DriftKind.REVERSE_DIFFERS, f"UPDATE follower SET version = 99 {EDGE}", "version 99"),
        (DriftKind.REVERSE_DIFFERS, f"UPDATE following SET kind = 0 {EDGE}", "forward kind 0"),
        (DriftKind.REVERSE_EXTRA, f"DELETE FROM following {EDGE}", "forward none"),
        (
            DriftKind.REVERSE_EXTRA,
            "INSERT INTO follower VALUES (77, 78, 1, 1, 1)",
            "78 to 77: forward none, reverse kind 1 flags 0 since 1 version 1",
        ),
        (
            DriftKind.REVERSE_EXTRA,
            "INSERT INTO follower VALUES (-5, 0, 1, 1, 1)",
            "0 to -5: forward none",
        ),
        (
            DriftKind.FOLLOWING_COUNT,
            "UPDATE following_count SET follows = 99 WHERE user_id = 3",
            "3: 99 instead of 7",
        ),
        (
            DriftKind.FOLLOWING_COUNT,
            "DELETE FROM following_count WHERE user_id = 3",
            "3: 0 instead of 7",
        ),
        (
            DriftKind.FOLLOWER_COUNT,
            "UPDATE follower_count SET follows = 99 WHERE user_id = 3",
            "3: 99 instead of 7",
        ),
        (
            DriftKind.FOLLOWER_COUNT,
            "DELETE FROM follower_count WHERE user_id = 3",
            "3: 0 instead of 7",
        ),
        (
            DriftKind.FOLLOWING_COUNT,
            "WITH gone AS (DELETE FROM following_count WHERE user_id = 3)"
            " DELETE FROM follower_count WHERE user_id = 3",
            "3: 0 instead of 7",
        ),
        (
            DriftKind.FOLLOWER_COUNT,
            "WITH lone AS (INSERT INTO following VALUES (1, 98, 1, 1, 1))"
            " INSERT INTO follower VALUES (98, 1, 1, 1, 1)",
            "98: 0 instead of 1",
        ),
        (
            DriftKind.FRIEND_COUNT,
            "UPDATE follower_count SET friends = friends + 1 WHERE user_id = 3",
            "3: 8 instead of 7",
        ),
        (
            DriftKind.FRIEND_COUNT,
            "INSERT INTO follower_count (user_id, friends) VALUES (99, 4)",
            "99: 4 instead of 0",
        ),
    ],
)
async def test_a_drift_is_found_reported_and_repaired(
    clean_graph: StorageSettings, kind: DriftKind, planted: str, example: str
) -> None:
    await execute(clean_graph, planted)
    report = await verify(clean_graph)
    (drift,) = [drift for drift in report.drifts if drift.kind is kind]
    assert drift.count == 1
    assert example in drift.examples[0]
    assert await verify(clean_graph) == report, "verify without repair changes nothing"

    repair_report = await verify(clean_graph, repair=True)
    assert repair_report.repaired
    assert not repair_report.clean
    await assert_whole(clean_graph)


async def test_lost_reverse_rows_with_equal_hashes_of_targets_are_found(
    storage_settings: StorageSettings,
) -> None:
    # hashint8extended gives the same for both targets.
    await execute(
        storage_settings, "INSERT INTO following VALUES (1, 5, 1, 1, 1), (1, 4294967300, 1, 1, 1)"
    )
    report = await verify(storage_settings)
    counts = {drift.kind: drift.count for drift in report.drifts}
    assert counts[DriftKind.REVERSE_MISSING] == 2


async def test_an_invalid_edge_is_reported_and_not_repaired(
    clean_graph: StorageSettings,
) -> None:
    constraints = await fetch(
        clean_graph,
        "SELECT conname FROM pg_constraint"
        " WHERE conrelid = 'following'::regclass AND contype = 'c'",
    )
    await execute(
        clean_graph, *(f"ALTER TABLE following DROP CONSTRAINT {c}" for (c,) in constraints)
    )
    planted = ["(0, 5, 1, 1, 0)", "(5, 5, 1, 1, 0)", "(6, 7, -1, 1, 0)", "(6, 8, 1, 1, 9)"]
    await execute(
        clean_graph,
        f"INSERT INTO following VALUES {', '.join(planted)} ON CONFLICT "
        "(from_user_id, to_user_id) DO UPDATE SET since = excluded.since, kind = excluded.kind",
    )
    for _ in range(2):
        report = await verify(clean_graph, repair=True)
        (drift,) = [d for d in report.drifts if d.kind is DriftKind.INVALID_EDGE]
        assert drift.count == 4


@pytest.mark.usefixtures("small_parts")
async def test_members_of_groups_that_do_not_exist_are_found_and_deleted(
    clean_graph: StorageSettings,
) -> None:
    await execute(
        clean_graph,
        "INSERT INTO follow_group (user_id, group_id, name) VALUES (1, 7, 'a'), (2, 7, 'b')",
        "INSERT INTO follow_group_member (user_id, target_id, group_id, since)"
        " SELECT u, u + t, 5 + g, 1"
        " FROM generate_series(1, 2) u, generate_series(1, 9) t, generate_series(1, 3) g",
    )
    (drift,) = (await verify(clean_graph, repair=True)).drifts
    assert (drift.kind, drift.count) == (DriftKind.GROUP_MEMBER, 2 * 9 * 2)
    assert drift.examples[:3] == ("1: 2 in 6", "1: 2 in 8", "1: 3 in 6")
    assert (await verify(clean_graph)).clean
    rows = await fetch(clean_graph, "SELECT DISTINCT group_id FROM follow_group_member")
    assert rows == [(7,)]


async def test_the_number_of_examples_is_limited_and_all_drift_is_counted(
    clean_graph: StorageSettings,
) -> None:
    await execute(clean_graph, "UPDATE follower SET since = since + 1 WHERE kind = 1")
    ((edges,),) = await fetch(clean_graph, "SELECT count(*) FROM following WHERE kind = 1")
    (drift,) = (await verify(clean_graph, examples=3)).drifts
    assert isinstance(drift, Drift)
    assert (drift.count, len(drift.examples)) == (edges, 3)


async def test_a_tombstone_on_one_side_equals_no_row_on_the_other(
    clean_graph: StorageSettings,
) -> None:
    await execute(
        clean_graph,
        "DELETE FROM follower WHERE kind = 0 AND to_user_id < 6",
        "DELETE FROM following WHERE kind = 0 AND to_user_id >= 6",
    )
    assert (await verify(clean_graph)).clean


async def test_a_pending_change_is_no_drift_and_is_not_repaired(
    clean_graph: StorageSettings, postgres: Postgres
) -> None:
    edges, outbox = PostgresEdges(postgres), Outbox(postgres)
    await edges.change(pair(3, 2), unfollow())
    await edges.change(pair(1, 50), follow(PLENTY))
    await edges.change(pair(50, 1), follow(PLENTY))
    for repair in (False, True):
        report = await verify(clean_graph, repair=repair)
        assert report.clean
        assert (report.pending, report.repaired) == (3, 0)
    await drain_reverse(outbox)
    await assert_whole(clean_graph)


DAMAGE = f"""
SELECT lock_at(lane, {locks.LANE}, lane) FROM generate_series(0, {LANES - 1}) lane;
UPDATE follower SET version = 3, kind = 1 WHERE from_user_id = 4;
UPDATE follower_count SET follows = 50, friends = 70;
"""
"""Plants drifts in one transaction with all lane locks, because it locks rows in another order than
a drain."""


@pytest.mark.usefixtures("small_parts")
async def test_concurrent_writes_are_no_drift_and_survive_a_repair(
    clean_graph: StorageSettings, postgres: Postgres
) -> None:
    edges, outbox, chance = PostgresEdges(postgres), Outbox(postgres), random.Random(4)
    done = asyncio.Event()

    async def write() -> None:
        while not done.is_set():
            source, target = chance.sample(range(1, USERS + 1), 2)
            rule = follow(PLENTY) if chance.random() < 0.5 else unfollow()
            await edges.change(pair(source, target), rule)

    async def drain() -> None:
        while not done.is_set():
            await drain_reverse(outbox)

    async with asyncio.timeout(DEADLINE_S), asyncio.TaskGroup() as work:
        for task in (write(), write(), write(), drain(), drain()):
            work.create_task(task)
        for _ in range(5):
            assert (await verify(clean_graph)).clean
        for _ in range(30 if citus.prefix() is None else 5):  # each takes some seconds on Citus
            await execute(clean_graph, DAMAGE)
            await verify(clean_graph, repair=True)
        done.set()
    await drain_reverse(outbox)
    await assert_whole(clean_graph)


@pytest.mark.parametrize(
    ("planted", "lock", "keys"),
    [
        (f"DELETE FROM follower {EDGE}", LOCK_PAIR, pair(3, 2)),
        (f"DELETE FROM follower {EDGE}", LOCK_LANE, (locks.LANE, lane_of(UserId(2)))),
        (
            "UPDATE follower_count SET follows = 9 WHERE user_id = 3",
            LOCK_LANE,
            (locks.LANE, lane_of(UserId(3))),
        ),
    ],
)
async def test_a_repair_waits_for_the_locks_of_writers(
    clean_graph: StorageSettings,
    monkeypatch: pytest.MonkeyPatch,
    planted: str,
    lock: str,
    keys: tuple[int, int],
) -> None:
    monkeypatch.setattr(sessions, "ATTEMPTS", 1)
    monkeypatch.setattr(sessions, "LOCK_TIMEOUT_S", 0.2)
    await execute(clean_graph, planted)
    broken = await fetch(clean_graph, REVERSE_SIDE)
    async with session(clean_graph, "test") as writer, writer.transaction():
        await writer.execute(lock, *keys)
        with pytest.raises(Unavailable):
            await verify(clean_graph, repair=True)
    assert await fetch(clean_graph, REVERSE_SIDE) == broken
    await verify(clean_graph, repair=True)
    await assert_whole(clean_graph)


@pytest.mark.usefixtures("small_parts")
async def test_users_of_graph_returns_each_user_with_a_count_once_in_order(
    clean_graph: StorageSettings,
) -> None:
    await execute(clean_graph, "INSERT INTO follower_count (user_id) VALUES (1000)")
    users = [user async for some in users_of_graph(clean_graph) for user in some]
    assert users == [*COUNTED, 1000]


@pytest.mark.plain("a shard is planned with the settings of its machine")
@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("digest_forward", (5000, 0, 9999, 1000)),
        ("digest_reverse", (5000, 0, 9999, 1000)),
        ("compare_forward", (5000, 0, 9999, 1000, ALL_BUCKETS)),
        ("compare_reverse", (5000, 0, 9999, 1000, ALL_BUCKETS)),
        ("compare_counts", ([5000, 5001, 5002],)),
        ("next_users", (5000, 100)),
    ],
)
async def test_every_part_is_read_by_primary_keys(
    storage_settings: StorageSettings, name: str, arguments: tuple[Any, ...]
) -> None:
    await execute(
        storage_settings, *CLEAN_GRAPH.replace(f"(1, {USERS})", "(4900, 5100)").split(";")
    )
    await execute(storage_settings, "ANALYZE following, follower, following_count, follower_count")
    statement = STATEMENTS[name]
    async with session(storage_settings, "test") as connection:
        plan = "\n".join(
            row[0] for row in await connection.fetch(f"EXPLAIN {statement}", *arguments)
        )
    scanned = re.findall(r"(\w+) Scan (?:Backward )?(?:using|on) (follow\w*)", plan)
    assert {"Only", "Index"} & {kind for kind, _ in scanned}
    assert not [name for kind, name in scanned if kind == "Seq"]
    assert "Hash Join" not in plan
    assert "Merge Join" not in plan
