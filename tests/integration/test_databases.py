"""What a test finds in a database that another test has used."""

import asyncio

import asyncpg
import pytest

from tests.support.databases import Databases

pytestmark = pytest.mark.plain("the tables on Citus are others")

FILL = """
INSERT INTO following (from_user_id, to_user_id, kind, flags, since, version)
SELECT u, u + 1, 1, 0, u, 1 FROM generate_series(1, 1000) u;
ANALYZE following
"""
ROWS = """
SELECT sum(greatest(reltuples, 0)) FROM pg_class
WHERE relkind = 'r' AND oid IN (SELECT inhrelid FROM pg_inherits
    WHERE inhparent = 'following'::regclass)
"""


def test_it_finds_no_estimates_of_rows_that_were_there(databases: Databases) -> None:
    """A load of few edges did not analyze tables that had been large in an earlier test."""
    with databases.empty() as url:
        assert asyncio.run(estimated_rows(url, FILL)) == 1000
    with databases.empty() as used:
        assert used == url
        assert asyncio.run(estimated_rows(used)) == 0


async def estimated_rows(url: str, statements: str = "SELECT 1") -> float:
    connection = await asyncpg.connect(url)
    try:
        await connection.execute(statements)
        return float(await connection.fetchval(ROWS))
    finally:
        await connection.close()
