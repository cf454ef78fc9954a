"""A read with empty caches from a graph whose edges were written one by one.

The rows of one user are in different blocks of the tables. PostgreSQL reads none of these blocks,
because its indexes contain whole edges.
"""

import pytest

from storage.postgres.connection.pool import Postgres
from storage.stores import Stores
from tests.support.gateway import Gateway
from tests.support.statement_costs import recorded_statements
from tests.support.waiting import until

USERS, FOLLOWS = 200, 200
"""Each step of `FILL` writes a row for every user. A block of 8 kB holds fewer rows than that, so
no block holds two rows of the same user."""

FILL = f"""
-- Other tests leave bloated indexes and dead rows.
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

ALL_VISIBLE = """
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

    async def is_all_visible() -> bool:
        await postgres.fetch("VACUUM ANALYZE following, follower")
        ((all_visible,),) = await postgres.fetch(ALL_VISIBLE)
        return bool(all_visible)

    # VACUUM cannot mark the blocks while a transaction runs that began before the rows were
    # written: an ANALYZE of autovacuum, for example.
    await until(is_all_visible, "VACUUM marks all blocks as all-visible")


@pytest.mark.plain("it adds up the plans of one machine")
@pytest.mark.usefixtures("scattered")
async def test_uncached_relations_are_read_from_indexes_alone(
    gateway: Gateway, postgres: Postgres, stores: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = [str(other) for other in range(2, 102)]
    await gateway.data(RELATIONS, 1, id="1", ids=ids)  # reads the absent accounts
    async with recorded_statements(monkeypatch) as statements:
        await stores.servers.redis.pipe([("FLUSHDB",)])
        statements.sent.clear()
        await gateway.data(RELATIONS, 7, id="7", ids=ids)
        work = await statements.work(postgres)
    assert work.rows > FOLLOWS / 4
    assert work.buffers < 40, work
