"""Spaces without partitions, and spaces on Citus."""

from dataclasses import replace

import asyncpg
import pytest

from storage.postgres.citus.placement import DISTRIBUTED, REFERENCE
from storage.postgres.connection.pool import Postgres
from storage.postgres.migrate import migrate
from storage.settings import ConnectionSettings, StorageSettings
from tests.support import citus

INDEXES = """
SELECT tablename, indexname, replace(indexdef, ' ON ONLY ', ' ON ') AS definition FROM pg_indexes
WHERE schemaname = current_schema() AND tablename !~ '_\\d+$' ORDER BY tablename, indexname
"""
INSERT_EDGE = """
INSERT INTO following (from_user_id, to_user_id, since, version, kind, message)
VALUES (1, 2, 3, 4, 3, 'let me in');
INSERT INTO outbox (lane, from_user_id, to_user_id, since, version, kind, flags, friends)
VALUES (0, 1, 2, 3, 4, 3, 0, 0);
"""
SELECT_EDGES = """
SELECT f.*, o.lane FROM following f
JOIN outbox o ON o.from_user_id = f.from_user_id AND o.to_user_id = f.to_user_id
"""
COUNT_PARTITIONED_TABLES = """
SELECT count(*) FROM pg_class
WHERE relnamespace = current_schema()::regnamespace AND relkind = 'p'
"""

on_citus = pytest.mark.skipif(citus.prefix() is None, reason="needs Citus: make citus-test")


async def connection(settings: StorageSettings) -> "asyncpg.Connection[asyncpg.Record]":
    return await asyncpg.connect(
        settings.database_url, server_settings={"search_path": settings.space}
    )


@pytest.fixture
def partitioned(storage_settings: StorageSettings) -> StorageSettings:
    return replace(storage_settings, space="partitioned")


@pytest.fixture
def flat(storage_settings: StorageSettings) -> StorageSettings:
    return replace(storage_settings, space="flat")


async def test_tables_without_partitions_have_the_same_indexes(
    partitioned: StorageSettings, flat: StorageSettings
) -> None:
    await migrate(partitioned.database_url, partitioned.space, 2)
    await migrate(flat.database_url, flat.space, 0)
    one, other = await connection(partitioned), await connection(flat)
    expected = [
        (row["tablename"], row["indexname"], row["definition"].replace("partitioned.", "flat."))
        for row in await one.fetch(INDEXES)
    ]
    assert [tuple(row) for row in await other.fetch(INDEXES)] == expected
    assert len(expected) > 20
    assert await other.fetchval(COUNT_PARTITIONED_TABLES) == 0
    await one.close()
    await other.close()


async def test_a_space_with_rows_can_be_migrated_to_no_partitions(flat: StorageSettings) -> None:
    await migrate(flat.database_url, flat.space, 2)
    graph = await connection(flat)
    await graph.execute(INSERT_EDGE)
    before = await graph.fetch(SELECT_EDGES)
    assert await migrate(flat.database_url, flat.space, 0) == []
    assert await graph.fetch(SELECT_EDGES) == before != []
    assert await graph.fetchval(COUNT_PARTITIONED_TABLES) == 0
    with pytest.raises(asyncpg.CheckViolationError):
        await graph.execute("UPDATE following SET kind = 9")
    await graph.close()


@pytest.mark.plain("all its databases have the extension")
async def test_a_database_without_citus_cannot_distribute(flat: StorageSettings) -> None:
    with pytest.raises(ValueError, match="CREATE EXTENSION citus"):
        await migrate(flat.database_url, flat.space, shards=4)


@on_citus
@pytest.mark.parametrize("partitions", [0, 2])
async def test_a_space_with_rows_is_distributed_with_them(
    flat: StorageSettings, partitions: int
) -> None:
    await migrate(flat.database_url, flat.space, partitions)
    graph = await connection(flat)
    await graph.execute(INSERT_EDGE)
    before = await graph.fetch(SELECT_EDGES)
    distributed = await migrate(flat.database_url, flat.space, shards=4)
    assert set(distributed) >= {*DISTRIBUTED, *REFERENCE}
    assert await graph.fetch(SELECT_EDGES) == before != []
    await graph.execute(INSERT_EDGE.replace("(1, 2", "(7, 2").replace("(0, 1", "(0, 7"))
    assert await migrate(flat.database_url, flat.space, shards=4) == []
    assert await migrate(flat.database_url, flat.space) == []
    shards = "SELECT count(*) FROM citus_shards WHERE table_name = 'following'::regclass"
    assert await graph.fetchval(shards) == 4
    await graph.close()


@on_citus
async def test_a_pool_on_citus_has_the_plan_cache_mode_auto(
    storage_settings: StorageSettings,
) -> None:
    postgres = Postgres(storage_settings)
    assert [row[0] for row in await postgres.fetch("SHOW plan_cache_mode")] == ["auto"]
    await postgres.close()


async def test_the_plan_cache_mode_can_be_chosen(storage_settings: StorageSettings) -> None:
    chosen = ConnectionSettings(plan_cache_mode="force_custom_plan")
    postgres = Postgres(replace(storage_settings, connections=chosen))
    rows = await postgres.fetch("SHOW plan_cache_mode")
    assert [row[0] for row in rows] == ["force_custom_plan"]
    await postgres.close()
