"""A cold read of a graph that was filled write by write.

Each row of a user is in a block of its own, and PostgreSQL reads none of them, because its indexes
hold whole edges.
"""

import pytest

from storage.postgres.connection.pool import Postgres
from storage.stores import Stores
from tests.support.gateway import Gateway
from tests.support.statement_costs import recorded_statements
from tests.support.waiting import until

USERS, FOLLOWS = 200, 200
"""A block has room for fewer rows than there are users, each of whom has a row of each step."""

FILL = f"""
-- Other tests leave wide indexes and dead rows.
TRUNCATE following, follower, following_count, follower_count, outbox;
INSERT INTO following (from_user_id, to_user_id, since, version, kind)
SELECT u, (u + step - 1) % {2 * USERS} + 1, 1000000 + step, 1, 1
FROM generate_series(1, {FOLLOWS}) step, generate_series(1, {USERS}) u
ORDER BY step, u;
INSERT INTO follower (to_user_id, from_user_id, since, version, kind)
SELECT to_user_id, from_user_id, since, version, kind FROM following ORDER BY since, to_user_id;
INSERT INTO following_count (user_id, follows)
SELECT from_user_id, count(*) FROM following GROUP BY 1;
INSERT INTO follower_count (user_id, follows)
SELECT to_user_id, count(*) FROM following GROUP BY 1
"""

MARKED = """
SELECT bool_and(c.relallvisible = c.relpages) FROM pg_class c
WHERE c.oid IN (
    SELECT relid FROM pg_partition_tree('following') WHERE isleaf
    UNION SELECT relid FROM pg_partition_tree('follower') WHERE isleaf
)
"""
RELATIONS = "query ($id: ID!, $ids: [ID!]!) { user(id: $id) { relationWith(ids: $ids) { state } } }"


@pytest.fixture
async def scattered(postgres: Postgres) -> None:
    for statement in FILL.split(";"):
        await postgres.fetch(statement)

    async def is_marked() -> bool:
        await postgres.fetch("VACUUM ANALYZE following, follower")
        ((marked,),) = await postgres.fetch(MARKED)
        return bool(marked)

    # A transaction that began before the rows were written leaves them unmarked: an ANALYZE of
    # autovacuum, for example.
    await until(is_marked, "VACUUM marks all blocks")


@pytest.mark.plain("it adds up the plans of one machine")
@pytest.mark.usefixtures("scattered")
async def test_cold_relations_read_no_row_of_a_scattered_table(
    gateway: Gateway, postgres: Postgres, stores: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = [str(other) for other in range(2, 102)]
    await gateway.data(RELATIONS, 1, id="1", ids=ids)  # absences
    async with recorded_statements(monkeypatch) as statements:
        await stores.servers.redis.pipe([("FLUSHDB",)])
        statements.sent.clear()
        await gateway.data(RELATIONS, 7, id="7", ids=ids)
        work = await statements.work(postgres)
    assert work.rows > FOLLOWS / 4
    assert work.pages < 40, work
