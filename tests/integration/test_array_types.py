"""asyncpg knows the types of all statements, so it does not query them on new connections."""

from collections.abc import AsyncIterator

import asyncpg
import pytest

from storage.postgres.connection.array_types import ARRAY_TYPES
from storage.postgres.connection.connector import IS_CITUS, Connection
from storage.postgres.connection.session import session
from storage.settings import StorageSettings
from tests.support.shards.tree import queries

CREATE_TEMPORARY_TABLES = "load_segment.prepare"
ONLY_ON_CITUS = ("shards.", "shard_groups.shards_of_on_citus")
TYPE = "SELECT oid, typarray, typdelim FROM pg_type WHERE oid = $1::text::regtype"


@pytest.fixture
async def connection(storage_settings: StorageSettings) -> AsyncIterator[Connection]:
    async with session(storage_settings, "test") as opened:
        yield opened


async def test_no_statement_makes_the_driver_query_its_types(
    connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def ask(connection: object, types: object, timeout: object) -> None:
        raise AssertionError(f"The driver queries the types {types}.")

    monkeypatch.setattr(asyncpg.Connection, "_introspect_types", ask)
    await connection.execute(dict(queries())[CREATE_TEMPORARY_TABLES])
    is_citus = await connection.fetchval(IS_CITUS)
    for name, sql in queries():
        if name != CREATE_TEMPORARY_TABLES and (is_citus or not name.startswith(ONLY_ON_CITUS)):
            await connection.prepare(sql)


@pytest.mark.parametrize("name", ARRAY_TYPES)
async def test_the_known_types_have_the_oids_of_the_catalog(
    connection: Connection, name: str
) -> None:
    row = await connection.fetchrow(TYPE, name)
    assert row is not None
    assert tuple(row) == (*ARRAY_TYPES[name], b",")
