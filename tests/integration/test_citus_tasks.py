"""Citus plans every named query, on every machine, with no more tasks than it declares."""

from collections.abc import AsyncIterator, Iterator

import asyncpg
import pytest

from tests.support import citus
from tests.support.citus_databases import SHARDS
from tests.support.citus_tasks import Connection, is_planned, most, tasks
from tests.support.databases import Databases
from tests.support.shards.exceptions import EXCEPTIONS
from tests.support.shards.tree import queries

pytestmark = pytest.mark.skipif(citus.prefix() is None, reason="needs Citus: make citus-test")

TEMPORARY = "load_segment.prepare"
NOT_EXPLAINED = {
    "absent_follower_counts.hold_followed_on_citus",
    "affinity.record_on_citus",
    "outbox.hold_targets_on_citus",
}
"""Citus runs them, but EXPLAIN cannot plan their INSERT ... SELECT with parameters."""
QUERIES = {
    name: sql
    for name, sql in queries()
    if is_planned(sql) and name not in EXCEPTIONS and name not in {TEMPORARY, *NOT_EXPLAINED}
}
NODES = "SELECT nodename, nodeport FROM pg_dist_node ORDER BY groupid"


@pytest.fixture(scope="module")
def database(databases: Databases) -> Iterator[str]:
    with databases.copy() as url:
        yield url


@pytest.fixture(params=["coordinator", "worker"])
async def node(database: str, request: pytest.FixtureRequest) -> AsyncIterator[Connection]:
    """A connection to a machine, which has the tables of loads too."""
    connection = await asyncpg.connect(database)
    if request.param == "worker":
        _, (host, port), *_ = await connection.fetch(NODES)
        await connection.close()
        connection = await asyncpg.connect(database, host=host, port=port)
    await connection.execute(dict(queries())[TEMPORARY])
    yield connection
    await connection.close()


@pytest.mark.parametrize("name", QUERIES)
async def test_a_query_has_no_more_tasks_than_it_declares(node: Connection, name: str) -> None:
    counts = await tasks(node, QUERIES[name])
    assert max(counts, default=0) <= most(QUERIES[name], SHARDS), counts


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
async def test_a_query_with_more_tasks_is_noticed(
    node: Connection, sql: str, found: list[int]
) -> None:
    assert await tasks(node, sql) == found
    assert max(found) > most(sql, SHARDS)
