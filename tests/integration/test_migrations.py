"""Migrations of a space in use: its rows and its pending changes are kept."""

import asyncio
import re
import shutil
from collections import Counter
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import pytest

from graph.counts import Counts
from graph.edge import UserId
from graph.errors import Unavailable
from graph.event import Event, event_type_for
from graph.lane import lane_of
from storage.postgres import migrate, sql
from storage.postgres.connection import locks
from storage.postgres.connection.session import session
from storage.postgres.verification.verify import verify
from storage.settings import StorageSettings
from storage.stores import Stores, open_stores
from tests.support.counts import Totals
from tests.support.edge_files import execute
from tests.support.graphs import as_pair, drain_all, follows

SEVEN = UserId(7)
ROOT = Path(__file__).parent.parent.parent
FUNCTIONS = sorted(f"{file.stem}()" for file in migrate._FUNCTIONS.glob("*.sql"))
"""All functions of this version, as `migrate` names them."""
APPLY_CHANGES = """
INSERT INTO follower (to_user_id, from_user_id, kind, since, version)
SELECT to_user_id, from_user_id, kind, since, version FROM outbox;
INSERT INTO follower_count (user_id, follows) SELECT to_user_id, count(*) FROM outbox GROUP BY 1;
"""
"""What a drain of the version before relationships does, without the acknowledgement."""


async def migrated_to(
    settings: StorageSettings,
    monkeypatch: pytest.MonkeyPatch,
    folder: Path,
    last: str,
    partitions: int = 2,
) -> StorageSettings:
    """A space of an earlier version, whose newest migration is `last`."""
    settings = replace(settings, space="earlier")
    for file in migrate._MIGRATIONS.glob("*.sql"):
        if file.stem[:4] <= last:
            shutil.copy(file, folder)
    with monkeypatch.context() as patched:
        patched.setattr(migrate, "_MIGRATIONS", folder)
        patched.setattr(migrate, "_FUNCTIONS", folder / "functions")
        applied = await migrate.migrate(settings.database_url, settings.space, partitions)
    assert applied[-1].startswith(f"{last}_")
    return settings


@pytest.fixture
async def earlier(
    storage_settings: StorageSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> StorageSettings:
    """A space whose tables are those of the version before relationships."""
    return await migrated_to(storage_settings, monkeypatch, tmp_path, "0004")


@pytest.fixture
async def previous(
    storage_settings: StorageSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> StorageSettings:
    """A space of the version before functions had a folder of their own."""
    return await migrated_to(storage_settings, monkeypatch, tmp_path, "0010")


def write_change_sql(source: int, *, follows: bool, now: int, was: int = 0) -> str:
    """The statement of a gateway before relationships when `source` follows or unfollows user 7."""
    kind, step = (1, 1) if follows else (0, -1)
    slot = locks.pair_key(as_pair(source, SEVEN))
    return f"""SELECT write_change({locks.PAIR}, {slot}, {source}, {SEVEN}, {was}, 0, NULL,
        {kind}::smallint, 0::smallint, {now}, {now}, {step}, 0::smallint,
        {lane_of(SEVEN)}::smallint)"""


async def test_pending_changes_keep_their_event_types(earlier: StorageSettings) -> None:
    await execute(
        earlier,
        write_change_sql(1, follows=True, now=10),
        write_change_sql(2, follows=True, now=20),
        APPLY_CHANGES,
        "DELETE FROM outbox WHERE from_user_id = 1",
        "UPDATE outbox SET applied = true",
        write_change_sql(1, follows=False, now=30, was=10),
        write_change_sql(3, follows=True, now=40),
        write_change_sql(3, follows=False, now=50, was=40),
        write_change_sql(3, follows=True, now=60, was=50),
    )
    applied = await migrate.migrate(earlier.database_url, earlier.space)
    assert applied[0] == "0005_relationship"
    async with open_stores(earlier) as stores:
        cursor = await stores.broker.events.open(SEVEN)
        await drain_all(stores)
        received = (await stores.broker.events.after(SEVEN, cursor, 10)).events
        assert [_source_and_type(one.event) for one in received] == [
            (2, "FOLLOWED"),
            (1, "UNFOLLOWED"),
            (3, "FOLLOWED"),
            (3, "UNFOLLOWED"),
            (3, "FOLLOWED"),
        ]
        assert await Totals(stores.reads.reader).get_many([SEVEN], None) == {SEVEN: Counts(0, 2, 0)}
    report = await verify(earlier)
    assert report.clean, report.drifts
    assert await migrate.migrate(earlier.database_url, earlier.space) == []


def _source_and_type(event: Event) -> tuple[int, str | None]:
    received = event_type_for(event, SEVEN)
    return event.source, received.name if received else None


def write_steps_sql(source: int, *, version: int) -> str:
    """The statement of a gateway of the previous version when `source` follows user 7."""
    slot = locks.pair_key(as_pair(source, SEVEN))
    return f"""SELECT write_steps({locks.PAIR}, {slot}, {source}, {SEVEN}, 0, 0, 1000, NULL, 0, 0,
        {version}, '{{f}}', '{{1}}', '{{0}}', '{{1}}', '{{{version}}}', '{{0}}',
        '{{{lane_of(SEVEN)}}}', '{{NULL}}', '{{NULL}}', '{{1}}', '{{0}}', '{{0}}', '{{0}}', '{{0}}',
        '{{0}}', '{{0}}')"""


async def test_gateways_of_two_versions_write_to_a_space_during_an_upgrade(
    previous: StorageSettings,
) -> None:
    url, space = previous.database_url, previous.space
    await execute(previous, write_steps_sql(1, version=10))
    newer = sorted(f.stem for f in migrate._MIGRATIONS.glob("*.sql") if f.stem > "0011")
    assert await migrate.migrate(url, space) == [*newer, *FUNCTIONS]
    async with open_stores(previous) as stores:
        await execute(previous, write_steps_sql(2, version=20))
        await follows(stores, (3, SEVEN), (SEVEN, 1))
        await drain_all(stores)
        assert await Totals(stores.reads.reader).get_many([SEVEN], None) == {SEVEN: Counts(1, 3, 1)}
    report = await verify(previous)
    assert report.clean, report.drifts


async def test_a_function_that_only_earlier_versions_call_is_dropped_a_day_later(
    previous: StorageSettings,
) -> None:
    url, space = previous.database_url, previous.space
    await migrate.migrate(url, space)
    await migrate.migrate(url, space)
    await execute(previous, write_steps_sql(1, version=10))
    await execute(
        previous, "UPDATE function SET retired_at = retired_at - interval '1 day 1 minute'"
    )
    assert await migrate.migrate(url, space) == []
    with pytest.raises(Unavailable, match="kith migrate"):
        await execute(previous, write_steps_sql(2, version=20))
    assert (await functions(previous)).keys() == {
        "pair_slot",
        *(name.removesuffix("()") for name in FUNCTIONS),
    }


async def test_a_gateway_is_not_ready_before_the_space_has_its_functions(
    previous: StorageSettings,
) -> None:
    async with open_stores(previous) as stores:
        with pytest.raises(Unavailable, match="kith migrate"):
            await stores.servers.postgres.ping()
        with pytest.raises(Unavailable, match="kith migrate"):
            await follows(stores, (1, 2))
        await migrate.migrate(previous.database_url, previous.space)
        await stores.servers.postgres.ping()
        await follows(stores, (1, 2))


async def test_a_function_is_replaced_only_if_its_text_has_changed(
    storage_settings: StorageSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url, space = storage_settings.database_url, storage_settings.space
    created = await functions(storage_settings)
    assert await migrate.migrate(url, space) == []
    assert await functions(storage_settings) == created

    for file in migrate._FUNCTIONS.glob("*.sql"):
        shutil.copy(file, tmp_path)
    monkeypatch.setattr(migrate, "_FUNCTIONS", tmp_path)
    changed = tmp_path / "write_decision.sql"
    changed.write_text(changed.read_text().replace("'consumed'", "'CONSUMED'"))
    assert await migrate.migrate(url, space) == ["write_decision()"]
    assert "CONSUMED" in (await functions(storage_settings))["write_decision"].text

    parts = tmp_path / "of_functions" / "parts.sql"
    parts.parent.mkdir()
    parts.write_text(migrate._PARTS.read_text().replace("a.state = 2", "a.state = 2 + 0"))
    monkeypatch.setattr(migrate, "_PARTS", parts)
    assert await migrate.migrate(url, space) == ["write_batch()", "write_decision()"]
    for name in ("write_batch", "write_decision"):
        assert "a.state = 2 + 0" in (await functions(storage_settings))[name].text


def test_each_shared_part_is_included_in_several_functions() -> None:
    files = migrate._FUNCTIONS.glob("*.sql")
    named = ({line[2] for line in migrate.INCLUDE.finditer(file.read_text())} for file in files)
    included = Counter(chain.from_iterable(named))
    assert included.keys() == sql.parse(migrate._PARTS.read_text()).keys()
    assert min(included.values()) > 1


async def test_writes_succeed_while_their_function_is_replaced(
    stores: Stores,
    storage_settings: StorageSettings,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text = (migrate._FUNCTIONS / "write_decision.sql").read_text()
    monkeypatch.setattr(migrate, "_FUNCTIONS", tmp_path)
    async with asyncio.TaskGroup() as tasks:
        writes = tasks.create_task(follows(stores, *((1, other) for other in range(2, 202))))
        for turn in range(10):
            (tmp_path / "write_decision.sql").write_text(f"-- {turn}\n{text}")
            applied = await migrate.migrate(storage_settings.database_url, storage_settings.space)
            assert applied == ["write_decision()"]
        assert not writes.done(), "the writes were over before the last migration"
    assert (await stores.jobs.lanes.progress.backlog()).rows == 200


class Function(NamedTuple):
    """A stored function. PostgreSQL changes its `xmin` whenever it is replaced."""

    xmin: int
    text: str


async def functions(settings: StorageSettings) -> dict[str, Function]:
    """The functions of a space."""
    async with session(settings, "test") as connection:
        rows = await connection.fetch(
            "SELECT proname, xmin::text::bigint, prosrc FROM pg_proc "
            "WHERE pronamespace = current_schema()::regnamespace"
        )
    return {name: Function(xmin, text) for name, xmin, text in rows}


KEYS_OF_EDGES = {
    "following": "PRIMARY KEY (from_user_id, to_user_id) INCLUDE (kind, flags, since, version)",
    "follower": "PRIMARY KEY (to_user_id, from_user_id) INCLUDE (kind, flags, since, version)",
}
KEYS = """
SELECT c.conrelid::regclass::text AS "table", i.relfilenode AS file,
    pg_get_constraintdef(c.oid) AS key
FROM pg_constraint c JOIN pg_class i ON i.oid = c.conindid
WHERE c.contype = 'p' AND c.conrelid::regclass::text ~ '^follow(ing|er)(_[0-9]+)?$'
"""
BUILT_INDEXES = """
SELECT relname, relfilenode FROM pg_class
WHERE relname ~ '_edge$' AND relnamespace = current_schema()::regnamespace
"""


def documented_statement() -> str:
    """The statement in docs/operations.md that generates the statements to build the indexes."""
    text = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
    (found,) = re.findall(r"```sql\n(.+?)\\gexec\n```", text, re.DOTALL)
    return str(found)


@pytest.mark.parametrize("partitions", [0, 2])
async def test_indexes_that_were_built_before_become_the_keys_of_edges(
    partitions: int,
    storage_settings: StorageSettings,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    earlier_space = await migrated_to(storage_settings, monkeypatch, tmp_path, "0046", partitions)
    async with session(earlier_space, "test") as connection:
        for (statement,) in await connection.fetch(documented_statement()):
            await connection.execute(statement)
        built = {
            name.removesuffix("_edge"): file for name, file in await connection.fetch(BUILT_INDEXES)
        }
        await migrate.migrate(earlier_space.database_url, earlier_space.space)
        keys = {table: (file, key) for table, file, key in await connection.fetch(KEYS)}
    assert len(built) == 2 * max(1, partitions)
    assert keys == {
        table: (built.get(table, 0), KEYS_OF_EDGES[table.split("_")[0]])
        for table in (*KEYS_OF_EDGES, *built)
    }
    async with open_stores(earlier_space) as stores:
        await follows(stores, (1, 2), (2, 1))
        await drain_all(stores)
    assert (await verify(earlier_space)).clean


@pytest.mark.parametrize("partitions", [0, 2])
async def test_keys_of_edges_are_built_without_an_existing_index(
    partitions: int, storage_settings: StorageSettings
) -> None:
    await migrate.migrate(storage_settings.database_url, "keys", partitions)
    async with session(replace(storage_settings, space="keys"), "test") as connection:
        keys = {table: key for table, _, key in await connection.fetch(KEYS)}
    assert keys == {
        name: key
        for table, key in KEYS_OF_EDGES.items()
        for name in (table, *(f"{table}_{part}" for part in range(partitions)))
    }
