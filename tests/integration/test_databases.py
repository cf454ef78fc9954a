"""A database that another test has used is like a new one."""

import asyncio

import asyncpg
import pytest

from tests.support.databases import Databases

pytestmark = pytest.mark.plain("on Citus, the rows are in other tables")

FILL = """
INSERT INTO following (from_user_id, to_user_id, kind, flags, since, version)
SELECT u, u + 1, 1, 0, u, 1 FROM generate_series(1, 1000) u;
ANALYZE following
"""
ESTIMATED_ROWS = """
SELECT sum(greatest(reltuples, 0)) FROM pg_class
WHERE relkind = 'r' AND oid IN (SELECT inhrelid FROM pg_inherits
    WHERE inhparent = 'following'::regclass)
"""


def test_a_reused_database_has_no_row_estimates_of_an_earlier_test(databases: Databases) -> None:
    """Otherwise, a load does not analyze tables that were larger in an earlier test."""
    with databases.empty() as url:
        assert asyncio.run(estimated_rows(url, FILL)) == 1000
    with databases.empty() as used:
        assert used == url
        assert asyncio.run(estimated_rows(used)) == 0


async def estimated_rows(url: str, statements: str = "SELECT 1") -> float:
    connection = await asyncpg.connect(url)
    try:
        await connection.execute(statements)
        return float(await connection.fetchval(ESTIMATED_ROWS))
    finally:
        await connection.close()
