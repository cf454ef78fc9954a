"""The cost in PostgreSQL of reads by a viewer with 10,000 blocks, and by one without blocks."""

import pytest

from storage.postgres.connection.pool import Postgres
from storage.stores import Stores
from tests.support.gateway import Gateway
from tests.support.statement_costs import Statements, Work, recorded_statements

ID_STEP = 7_919
"""The distance between the ids of owners and followers. Other ids lie in between, so that no two
users of a list are in the same 8 kB page of an index."""


def ids(first: int, count: int) -> list[int]:
    return [ID_STEP * (first + n) for n in range(count)]


UNBLOCKED, BLOCKER, BLOCKED = 1, 2, 3
"""A viewer without blocks, one who blocks 10,000 users, and one whom 10,000 users block."""
OWNERS = ids(1, 100)
STAR = 5

INSERTS = f"""
INSERT INTO following (from_user_id, to_user_id, since, version, kind)
SELECT {ID_STEP} * o, {ID_STEP} * (1 + (o + step * 7) % 100), 1000000 + step, 1, 1
FROM generate_series(1, 100) o, generate_series(1, 30) step
UNION ALL SELECT {BLOCKER}, 80 * u + 7, 1000000 + u, 1, 4 FROM generate_series(1, 10002) u
WHERE (80 * u + 7) % {ID_STEP} <> 0
UNION ALL SELECT 80 * u + 7, {BLOCKED}, 1000000 + u, 1, 4 FROM generate_series(1, 10002) u
WHERE (80 * u + 7) % {ID_STEP} <> 0
UNION ALL SELECT 79 * u + 11, {STAR}, 1000000 + u, 1, 1 FROM generate_series(1, 10000) u;
INSERT INTO follower (to_user_id, from_user_id, since, version, kind)
SELECT to_user_id, from_user_id, since, version, kind FROM following;
INSERT INTO following_count (user_id, follows, blocks)
SELECT from_user_id, count(*) FILTER (WHERE kind = 1), count(*) FILTER (WHERE kind = 4)
FROM following GROUP BY 1;
INSERT INTO follower_count (user_id, follows, blocks)
SELECT to_user_id, count(*) FILTER (WHERE kind = 1), count(*) FILTER (WHERE kind = 4)
FROM following GROUP BY 1
"""

COUNTS = "followingCount followerCount friendCount"
PROFILES = f"query ($ids: [ID!]!) {{ users(ids: $ids) {{ id {COUNTS} }} }}"
LISTS = f"""query ($ids: [ID!]!) {{ users(ids: $ids) {{
  followers(first: 20) {{ nodes {{ id {COUNTS} }} pageInfo {{ hasNextPage }} }}
}} }}"""
TOTALS = f"""query ($ids: [ID!]!) {{ users(ids: $ids) {{
  followers(first: 20) {{ totalCount nodes {{ id {COUNTS} }} }}
}} }}"""
READS = {
    "20 profiles": (PROFILES, OWNERS[:20]),
    "100 profiles": (PROFILES, OWNERS),
    "a list": (LISTS, OWNERS[:1]),
    "20 lists": (LISTS, OWNERS[:20]),
    "a list with its total": (TOTALS, OWNERS[:1]),
    "a star's list with its total": (TOTALS, [STAR]),
    "20 lists with totals": (TOTALS, OWNERS[:20]),
}


@pytest.fixture
async def graph(postgres: Postgres) -> None:
    for statement in INSERTS.split(";"):
        await postgres.fetch(statement)
    await postgres.fetch("VACUUM ANALYZE")


async def work_of(
    gateway: Gateway, postgres: Postgres, statements: Statements, read: str, viewer: int
) -> Work:
    """Send one of READS, and measure its statements in PostgreSQL."""
    query, ids = READS[read]
    statements.sent.clear()
    await gateway.data(query, viewer, ids=[str(user) for user in ids])
    return await statements.work(postgres)


@pytest.mark.plain("it adds up the plans of one machine")
@pytest.mark.usefixtures("graph")
async def test_a_viewer_with_ten_thousand_blocks_costs_little_more_than_one_without(
    gateway: Gateway, postgres: Postgres, stores: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    await gateway.data(PROFILES, UNBLOCKED, ids=["1"])  # reads the absent accounts
    async with recorded_statements(monkeypatch) as statements:
        for read in READS:
            cold, warm = {}, {}
            for viewer in (UNBLOCKED, BLOCKER, BLOCKED):
                await stores.servers.redis.pipe([("FLUSHDB",)])
                cold[viewer] = await work_of(gateway, postgres, statements, read, viewer)
                warm[viewer] = await work_of(gateway, postgres, statements, read, viewer)
            for viewer in (BLOCKER, BLOCKED):
                # A star's list alone reads few buffers, because its entries are stored together.
                buffers_max = max(
                    1.5 * cold[UNBLOCKED].buffers, cold[UNBLOCKED].buffers + BLOCK_LOOKUP_BUFFERS
                )
                assert cold[viewer].buffers <= buffers_max, (read, cold)
                assert cold[viewer].rows <= 1.5 * cold[UNBLOCKED].rows, (read, cold)
                # Blocks are looked up for the owners, for the entries, and for the rest of a list.
                assert cold[viewer].statements <= cold[UNBLOCKED].statements + 3, (read, cold)
                buffers_max = max(0.5 * cold[UNBLOCKED].buffers + 5, BLOCK_LOOKUP_BUFFERS)
                assert warm[viewer].buffers <= buffers_max, (read, warm)


BLOCK_LOOKUP_BUFFERS = 70
"""Buffers that PostgreSQL reads to look up blocks with the 20 users of a page, their owner and
10 more users: the root and a leaf of an index for each, and a few others."""

COUNT_AND_TOTAL = (
    "query ($ids: [ID!]!) { users(ids: $ids) { followerCount followers { totalCount } } }"
)


@pytest.mark.usefixtures("graph")
@pytest.mark.parametrize("viewer", [BLOCKER, BLOCKED])
async def test_totals_exclude_a_blocked_follower_and_counts_do_not(
    gateway: Gateway, postgres: Postgres, viewer: int
) -> None:
    """The blocked follower is the last one of the list, beyond its first page."""
    owner, oldest = OWNERS[99], ID_STEP * 94
    source, target = (BLOCKER, oldest) if viewer == BLOCKER else (oldest, BLOCKED)
    for table in ("following", "follower"):
        await postgres.fetch(
            f"INSERT INTO {table} (from_user_id, to_user_id, since, version, kind) "
            "VALUES ($1, $2, 1, 1, 4)",
            source,
            target,
        )
    users = {}
    for reader in (UNBLOCKED, viewer):
        (users[reader],) = (await gateway.data(COUNT_AND_TOTAL, reader, ids=[str(owner)]))["users"]
    assert users[UNBLOCKED] == {"followerCount": 30, "followers": {"totalCount": 30}}
    assert users[viewer] == {"followerCount": 30, "followers": {"totalCount": 29}}


@pytest.mark.usefixtures("graph")
async def test_a_total_is_not_corrected_if_the_list_and_the_blocks_are_both_long(
    gateway: Gateway,
) -> None:
    for viewer in (UNBLOCKED, BLOCKER, BLOCKED):
        (star,) = (await gateway.data(COUNT_AND_TOTAL, viewer, ids=[str(STAR)]))["users"]
        assert star == {"followerCount": 10_000, "followers": {"totalCount": 10_000}}
