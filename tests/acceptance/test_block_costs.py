"""Blocks are cheap: the cost in PostgreSQL for a viewer with 10,000 blocks, beside one without."""

import pytest

from storage.postgres.connection.pool import Postgres
from storage.stores import Stores
from tests.support.gateway import Gateway
from tests.support.statement_costs import Statements, Work, recorded_statements

SPREAD = 7_919
"""Ids lie this far apart, with others in between, so that no two of a page share an index page."""


def ids(first: int, count: int) -> list[int]:
    return [SPREAD * (first + place) for place in range(count)]


PLAIN, BLOCKER, BLOCKED = 1, 2, 3
"""A viewer without blocks, one who blocks 10,000 users, and one whom 10,000 users block."""
OWNERS = ids(1, 100)
STAR = 5

FILL = f"""
INSERT INTO following (from_user_id, to_user_id, since, version, kind)
SELECT {SPREAD} * o, {SPREAD} * (1 + (o + step * 7) % 100), 1000000 + step, 1, 1
FROM generate_series(1, 100) o, generate_series(1, 30) step
UNION ALL SELECT {BLOCKER}, 80 * u + 7, 1000000 + u, 1, 4 FROM generate_series(1, 10002) u
WHERE (80 * u + 7) % {SPREAD} <> 0
UNION ALL SELECT 80 * u + 7, {BLOCKED}, 1000000 + u, 1, 4 FROM generate_series(1, 10002) u
WHERE (80 * u + 7) % {SPREAD} <> 0
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
PAGES = {
    "20 profiles": (PROFILES, OWNERS[:20]),
    "100 profiles": (PROFILES, OWNERS),
    "a list": (LISTS, OWNERS[:1]),
    "20 lists": (LISTS, OWNERS[:20]),
    "a list with its total": (TOTALS, OWNERS[:1]),
    "a star's list with its total": (TOTALS, [STAR]),
    "20 lists with totals": (TOTALS, OWNERS[:20]),
}


@pytest.fixture
async def crowd(postgres: Postgres) -> None:
    for statement in FILL.split(";"):
        await postgres.fetch(statement)
    await postgres.fetch("VACUUM ANALYZE")


async def work(
    gateway: Gateway, postgres: Postgres, statements: Statements, page: str, viewer: int
) -> Work:
    query, ids = PAGES[page]
    statements.sent.clear()
    await gateway.data(query, viewer, ids=[str(user) for user in ids])
    return await statements.work(postgres)


@pytest.mark.plain("it adds up the plans of one machine")
@pytest.mark.usefixtures("crowd")
async def test_a_viewer_with_ten_thousand_blocks_costs_little_more_than_one_without(
    gateway: Gateway, postgres: Postgres, stores: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    await gateway.data(PROFILES, PLAIN, ids=["1"])  # absences
    async with recorded_statements(monkeypatch) as statements:
        for page in PAGES:
            cold, warm = {}, {}
            for viewer in (PLAIN, BLOCKER, BLOCKED):
                await stores.servers.redis.pipe([("FLUSHDB",)])
                cold[viewer] = await work(gateway, postgres, statements, page, viewer)
                warm[viewer] = await work(gateway, postgres, statements, page, viewer)
            for viewer in (BLOCKER, BLOCKED):
                # A star's list costs few pages: thousands of entries side by side.
                most = max(1.5 * cold[PLAIN].pages, cold[PLAIN].pages + LOOK_UP)
                assert cold[viewer].pages <= most, (page, cold)
                assert cold[viewer].rows <= 1.5 * cold[PLAIN].rows, (page, cold)
                # One look at the owners, one at the entries, one at the rest of a list.
                assert cold[viewer].statements <= cold[PLAIN].statements + 3, (page, cold)
                most = max(0.5 * cold[PLAIN].pages + 5, LOOK_UP)
                assert warm[viewer].pages <= most, (page, warm)


LOOK_UP = 70
"""Pages that looking up a page of 20 users, their owner and 10 users more reads: two for each, the
root of an index and a leaf."""

HIDDEN = "query ($ids: [ID!]!) { users(ids: $ids) { followerCount followers { totalCount } } }"


@pytest.mark.usefixtures("crowd")
@pytest.mark.parametrize(("viewer", "blocks"), [(BLOCKER, (BLOCKER, 0)), (BLOCKED, (0, BLOCKED))])
async def test_counts_are_everybodys_and_totals_leave_out_who_is_blocked(
    gateway: Gateway, postgres: Postgres, viewer: int, blocks: tuple[int, int]
) -> None:
    """Of the follower at the list's end, far beyond its first page."""
    owner, oldest = OWNERS[99], SPREAD * 94
    source, target = blocks[0] or oldest, blocks[1] or oldest
    for table in ("following", "follower"):
        await postgres.fetch(
            f"INSERT INTO {table} (from_user_id, to_user_id, since, version, kind) "
            "VALUES ($1, $2, 1, 1, 4)",
            source,
            target,
        )
    shown = {}
    for asker in (PLAIN, viewer):
        (shown[asker],) = (await gateway.data(HIDDEN, asker, ids=[str(owner)]))["users"]
    assert shown[PLAIN] == {"followerCount": 30, "followers": {"totalCount": 30}}
    assert shown[viewer] == {"followerCount": 30, "followers": {"totalCount": 29}}


@pytest.mark.usefixtures("crowd")
async def test_a_total_is_not_corrected_if_neither_side_is_short(gateway: Gateway) -> None:
    for viewer in (PLAIN, BLOCKER, BLOCKED):
        (star,) = (await gateway.data(HIDDEN, viewer, ids=[str(STAR)]))["users"]
        assert star == {"followerCount": 10_000, "followers": {"totalCount": 10_000}}
