"""Citus plans every named query, on every machine, with no more tasks than it declares."""

from collections.abc import AsyncIterator, Iterator

import asyncpg
import pytest

from tests.architecture.test_shards import ACCEPTED_CHANGES, REJECTED_CHANGES
from tests.support import citus
from tests.support.citus_databases import SHARDS
from tests.support.citus_tasks import USER, Connection, is_planned, tasks, tasks_max
from tests.support.databases import Databases
from tests.support.shards.exceptions import EXCEPTIONS
from tests.support.shards.tree import queries

pytestmark = pytest.mark.skipif(citus.prefix() is None, reason="needs Citus: make citus-test")

CREATE_TEMPORARY_TABLES = "load_segment.prepare"
NOT_EXPLAINED = {"load_segment.pick_on_citus", "load_segment.pick_existing_on_citus"}
"""Citus runs them, but their EXPLAIN fails where a CTE inserts into a temporary table."""
QUERIES = {
    name: sql
    for name, sql in queries()
    if is_planned(sql) and name not in {*EXCEPTIONS, *NOT_EXPLAINED, CREATE_TEMPORARY_TABLES}
}
NODES = "SELECT nodename, nodeport FROM pg_dist_node ORDER BY groupid"


@pytest.fixture(scope="module")
def database(databases: Databases) -> Iterator[str]:
    with databases.copy() as url:
        yield url


@pytest.fixture(params=["coordinator", "worker"])
async def node(database: str, request: pytest.FixtureRequest) -> AsyncIterator[Connection]:
    """A connection to a machine, with the temporary tables of loads."""
    connection = await asyncpg.connect(database)
    if request.param == "worker":
        _, (host, port), *_ = await connection.fetch(NODES)
        await connection.close()
        connection = await asyncpg.connect(database, host=host, port=port)
    await connection.execute(dict(queries())[CREATE_TEMPORARY_TABLES])
    yield connection
    await connection.close()


@pytest.mark.parametrize("name", QUERIES)
async def test_a_query_has_no_more_tasks_than_it_declares(node: Connection, name: str) -> None:
    counts = await tasks(node, QUERIES[name])
    assert max(counts, default=0) <= tasks_max(QUERIES[name], SHARDS), counts


@pytest.mark.parametrize(
    ("sql", "found"),
    [
        ("-- shard: $1\nSELECT kind FROM follower WHERE from_user_id = $1", [SHARDS]),
        (
            "-- shard: $1[]\nSELECT f.kind FROM following_count c CROSS JOIN LATERAL (SELECT f.kind"
            " FROM following f WHERE f.from_user_id = c.user_id LIMIT 1) f"
            " WHERE c.user_id = ANY ($1)",
            [SHARDS],
        ),
    ],
)
async def test_a_query_with_more_tasks_than_declared_is_noticed(
    node: Connection, sql: str, found: list[int]
) -> None:
    assert await tasks(node, sql) == found
    assert max(found) > tasks_max(sql, SHARDS)


@pytest.mark.parametrize("sql", [sql for sql, *_ in REJECTED_CHANGES])
async def test_citus_refuses_a_change_that_the_check_refuses(node: Connection, sql: str) -> None:
    with pytest.raises((asyncpg.FeatureNotSupportedError, asyncpg.UndefinedFunctionError)):
        await node.fetch(sql, USER)


@pytest.mark.parametrize("sql", ACCEPTED_CHANGES)
async def test_citus_runs_a_change_that_the_check_accepts(node: Connection, sql: str) -> None:
    await node.fetch(sql, USER)
