"""How PostgreSQL runs each named query of the request path: by index, on one partition, and short.

Shown by EXPLAIN ANALYZE on filled tables, for custom and for generic plans.
"""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import md5
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import asyncpg
import pytest

from graph.lane import ALL_LANES, LANES, PARKED_LANES, failed_lane
from graph.page import NEWEST, OLDEST
from storage.postgres import sql
from tests.support.databases import Databases

pytestmark = pytest.mark.plain("its tables have partitions; test_citus_tasks.py explains its plans")

QUERIES = Path(sql.__file__).parent / "queries"
STATEMENTS = {
    file: sql.parse((QUERIES / f"{file}.sql").read_text(encoding="utf-8"))
    for file in (
        "absences",
        "account_rows",
        "account_states",
        "accounts",
        "write_reverse_rows",
        "affinity",
        "absent_follower_counts",
        "edges",
        "erasures",
        "exports",
        "follow_groups",
        "lane_progress",
        "lists",
        "mutes",
        "outbox",
        "overlaps",
        "own_changes",
        "pending_edges",
        "pinned_following",
        "private_notes",
        "present_follows",
        "profiles",
        "receipts",
        "relations",
        "sampled_users",
        "seen_followers",
    )
}

CLEAR_OWN = (
    "clear_tombstones",
    "clear_notes",
    "clear_notes_about",
    "clear_pins",
    "clear_pins_of",
    "clear_members",
    "clear_groups",
    "clear_memberships",
)

USERS, FOLLOWS = 50_000, 6
STAR = USERS + 1
"""A user whom all users follow, and who follows `STAR_FOLLOWS`."""
STAR_FOLLOWS = 300
WAITING = 4 * USERS
"""Rows of the outbox. A small outbox would be read by a sequential scan, for good reason."""
READER = USERS + 2
"""Follows 1,000 users, half of whom follow back."""
FAN, STAR_LANE = WAITING + 1, 2 * LANES
"""A thousand users, `FAN` and up, have pending changes towards the star, in `STAR_LANE`."""
HOT, HOT_LANE = 50_000, 2 * LANES + 1
"""The number of pending changes towards the star in `HOT_LANE`. They are older than those towards
1,000 other users, one each."""
OWNER = 3_000_000
"""Has 600 edges of every kind, and flags on some."""
CROWDED = 100
"""The number of users with affinity to more users than are kept."""
OTHERS = 2_300
"""The number of users to whom each of the `CROWDED` users has affinity."""
MIDDLE = 1_000_000 + USERS // 2
"""A date in the middle of the star's list."""

FILL = f"""
INSERT INTO following (from_user_id, to_user_id, since, version, kind)
SELECT u, (u + step * step * 7919) % {USERS} + 1, 1000000 + u, 1, 1
FROM generate_series(1, {USERS}) u, generate_series(1, {FOLLOWS}) step
UNION ALL SELECT u, {STAR}, 1000000 + u, 1, 1 FROM generate_series(1, {USERS}) u
UNION ALL SELECT {STAR}, u, 1000000 + u, 1, 1 FROM generate_series(1, {STAR_FOLLOWS}) u
UNION ALL SELECT {READER}, u, 1000000 + u, 1, 1 FROM generate_series(1, 1000) u
UNION ALL SELECT u, {READER}, 1000000 + u, 1, 1 FROM generate_series(1, 500) u
UNION ALL SELECT u, {READER} + u, 1000000 + u, 1, 0 FROM generate_series(1, {USERS}) u
UNION ALL SELECT {OWNER}, {OWNER} + u, 1000000 + u, 1, u % 4 + 1 FROM generate_series(1, 2400) u
UNION ALL SELECT {OWNER} + u, {OWNER}, 1000000 + u, 1, u % 4 + 1 FROM generate_series(1, 2400) u
UNION ALL SELECT {OWNER}, u, 1000000, 1, 4 FROM generate_series(1, 50) u;

UPDATE following SET flags = 1 + u % 3 FROM generate_series(1, 2400, 10) u
WHERE from_user_id = {OWNER} AND to_user_id = {OWNER} + u AND kind IN (1, 2);

INSERT INTO follower (to_user_id, from_user_id, since, version, kind)
SELECT to_user_id, from_user_id, since, version, kind FROM following;

UPDATE follower SET flags = 16 WHERE to_user_id = {STAR} AND from_user_id % 500 = 0;

INSERT INTO following_count (user_id, follows)
SELECT from_user_id, count(*) FROM following WHERE kind = 1 GROUP BY 1;

INSERT INTO follower_count (user_id, follows)
SELECT to_user_id, count(*) FROM following WHERE kind = 1 GROUP BY 1;

INSERT INTO outbox (lane, from_user_id, to_user_id, since, version, kind, flags, friends)
SELECT u % {LANES}, u, u % {USERS} + 1, 1000000, 2, 1, 0, 0
FROM generate_series(1, {WAITING}) u;

INSERT INTO outbox (lane, from_user_id, to_user_id, since, version, kind, flags, friends)
SELECT {STAR_LANE}, {FAN} + u, {STAR}, 1000000, 2, 0, 0, 0 FROM generate_series(0, 999) u;

INSERT INTO outbox (lane, from_user_id, to_user_id, since, version, kind, flags, friends)
SELECT {HOT_LANE}, 2 * {FAN} + u, {STAR}, 1000000, 2, 1, 0, 0 FROM generate_series(1, {HOT}) u
UNION ALL SELECT {HOT_LANE}, 2 * {FAN}, u, 1000000, 2, 1, 0, 0 FROM generate_series(1, 1000) u;

UPDATE outbox SET applied = true WHERE id % 100 = 0;

INSERT INTO account (user_id, protected) SELECT u, u % 10 = 0 FROM generate_series(1, {USERS}) u;
UPDATE account SET state = user_id % 2 + 1, changed_at = user_id,
    deleted_at = CASE WHEN user_id % 2 = 1 THEN user_id END
WHERE user_id % 100 < 2;
UPDATE account SET erased_at = user_id WHERE user_id % 100 = 1 AND user_id > 1000;

INSERT INTO receipt (actor_id, id, asked, other_id, outcome, made_at, taken)
SELECT u, md5(u::text)::uuid, 'x', u + 1, 'UNFOLLOWED', u, ARRAY[1]
FROM generate_series(1, {USERS}) u;

INSERT INTO affinity (user_id, other_id, rank)
SELECT u, {USERS} + o, o FROM generate_series(1, {CROWDED}) u, generate_series(1, {OTHERS}) o
UNION ALL
SELECT u, {USERS} + o, o FROM generate_series({CROWDED} + 1, {USERS}) u, generate_series(1, 4) o;

INSERT INTO private_note (author_id, other_id, note)
SELECT u, u % {USERS} + 1, 'x' FROM generate_series(1, {USERS}) u;

INSERT INTO follow_group (user_id, group_id, name)
SELECT u, g, 'x' FROM generate_series(1, {USERS}) u, generate_series(1, 2) g
UNION ALL SELECT {READER}, g, 'x' FROM generate_series(1, 100) g;

INSERT INTO follow_group_member (user_id, target_id, group_id, since)
SELECT from_user_id, to_user_id, 1, since FROM following
WHERE from_user_id <= {USERS} AND to_user_id <= {USERS} AND kind = 1
UNION ALL SELECT {READER}, u, 1, 1000000 + u FROM generate_series(91, 1000, 91) u
UNION ALL SELECT {READER}, u, 2, 1000000 + u FROM generate_series(1, 1000) u
UNION ALL SELECT {READER}, u, 3, 7 FROM generate_series(1, 1000) u;
INSERT INTO pinned_following (user_id, position, other_id, since)
SELECT from_user_id, position, to_user_id, since
FROM (
    SELECT *, row_number() OVER (PARTITION BY from_user_id ORDER BY to_user_id) - 1 AS position
    FROM following WHERE kind = 1
) f WHERE position < 3 AND from_user_id % 10 = 0 OR position < 10 AND from_user_id = {READER};

INSERT INTO affinity_count (user_id, others)
SELECT user_id, count(*) FROM affinity GROUP BY 1;
"""


TABLE_READS = """
SELECT relname, coalesce(seq_scan, 0), coalesce(idx_tup_fetch, 0), coalesce(idx_scan, 0)
FROM pg_stat_xact_user_tables
"""


@pytest.fixture(scope="module")
def filled(databases: Databases) -> Iterator[str]:
    """A database with some 350,000 edges, for all tests here: none changes it."""
    with databases.copy() as url:
        asyncio.run(_run(url, FILL))
        asyncio.run(_run(url, "VACUUM ANALYZE"))
        yield url


async def _run(url: str, script: str) -> None:
    connection = await asyncpg.connect(url)
    try:
        await connection.execute(script)
    finally:
        await connection.close()


@dataclass(frozen=True)
class Step:
    """One node of a plan that ran at least once."""

    node: str
    relation: str
    rows: float
    """All rows that it read, including those that it filtered out."""
    index: str
    blocks: int
    """8 kB blocks that it read. They reveal index entries that were read and skipped."""


@dataclass(frozen=True)
class Touched:
    """How one table was read."""

    seq_scans: int
    rows: int
    """Rows fetched by index scans, except index-only scans."""
    index_scans: int


class Planner:
    """Runs statements under EXPLAIN ANALYZE, and rolls them back."""

    def __init__(self, connection: "asyncpg.Connection[asyncpg.Record]") -> None:
        self._connection = connection

    async def steps(self, file: str, name: str, *args: object) -> list[Step]:
        """The steps of the plan with which the statement `name` of `queries/<file>.sql` ran."""
        literals = ", ".join(map(literal, args))
        transaction = self._connection.transaction()
        await transaction.start()
        try:
            await self._connection.execute(f"PREPARE q AS {STATEMENTS[file][name]}")
            plan = await self._connection.fetchval(
                f"EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON) EXECUTE q({literals})"
            )
        finally:
            await transaction.rollback()
            await self._connection.execute("DEALLOCATE q")
        return list(_steps(json.loads(plan)[0]["Plan"]))

    async def touched(self, file: str, name: str, *args: object) -> dict[str, Touched]:
        """The reads of each table by a statement in a function, which EXPLAIN does not show."""
        transaction = self._connection.transaction()
        await transaction.start()
        try:
            await self._connection.execute("SET LOCAL enable_bitmapscan = off")
            answer = await self._connection.fetchval(STATEMENTS[file][name], *args)
            assert answer not in (False, "outdated", "consumed"), "nothing was written"
            rows = await self._connection.fetch(TABLE_READS)
        finally:
            await transaction.rollback()
        return {name: Touched(*counted) for name, *counted in rows}


def literal(value: object) -> str:
    if value is None:
        return "NULL"
    return f"ARRAY{value}::bigint[]" if isinstance(value, list) else str(value).lower()


def _steps(node: dict[str, Any]) -> Iterator[Step]:
    if node.get("Actual Loops"):
        rows_read = node["Actual Rows"] + sum(
            node.get(f"Rows Removed by {reason}", 0)
            for reason in ("Filter", "Index Recheck", "Join Filter")
        )
        relation = node.get("Relation Name", "")
        yield Step(
            node["Node Type"],
            relation,
            rows_read * node["Actual Loops"],
            node.get("Index Name", ""),
            node["Shared Hit Blocks"] + node["Shared Read Blocks"],
        )
    for child in node.get("Plans", ()):
        yield from _steps(child)


@pytest.fixture(params=["force_custom_plan", "force_generic_plan"])
async def planner(filled: str, request: pytest.FixtureRequest) -> AsyncIterator[Planner]:
    connection = await asyncpg.connect(
        filled, server_settings={"jit": "off", "plan_cache_mode": request.param}
    )
    try:
        yield Planner(connection)
    finally:
        await connection.close()


def scans(steps: list[Step], table: str) -> list[Step]:
    """The scans of a table or of its partitions."""
    return [s for s in steps if re.fullmatch(rf"{table}(_\d+)?", s.relation) and "Scan" in s.node]


SMALL = {"lane_count", "webhook_endpoint"}
"""Tables of one row, and of up to 20 rows."""


def assert_by_index(steps: list[Step]) -> None:
    for step in steps:
        is_read = step.node == "Seq Scan" and step.relation not in SMALL
        assert not is_read, f"{step.relation} is read by a sequential scan"


def assert_one_partition(steps: list[Step], *tables: str) -> None:
    for table in tables:
        partitions = {step.relation for step in scans(steps, table)}
        assert len(partitions) == 1, f"{table}: {sorted(partitions)}"


def rows_read(steps: list[Step], *tables: str) -> float:
    return sum(step.rows for table in tables for step in scans(steps, table))


HEAD = (*NEWEST, *OLDEST)
DEEP = (MIDDLE, 1, *OLDEST)
SLICE = (MIDDLE + 100, 1, MIDDLE, 1)
SIZE = 21
"""A page of 20 entries, and one that tells whether more follow."""
OPEN, WITH_WHISPERS = [1], [1, 2]
FOLLOW, REQUEST, BLOCK = 1, 3, 4
PARTITIONS = 4
"""A lookup of an array of users reads each partition."""


@pytest.mark.parametrize("window", [HEAD, DEEP, SLICE], ids=["head", "deep", "slice"])
@pytest.mark.parametrize("order", ["older", "newer"])
@pytest.mark.parametrize("asker", [0, 77], ids=["anonymous", "viewer"])
async def test_a_page_of_followers_reads_a_page_of_one_partition(
    planner: Planner, order: str, window: tuple[int, ...], asker: int
) -> None:
    steps = await planner.steps("lists", f"followers_{order}", [STAR], *window, SIZE, FOLLOW, asker)
    assert_by_index(steps)
    assert_one_partition(steps, "follower")
    assert SIZE <= rows_read(steps, "follower") <= SIZE + 1
    assert rows_read(steps, "follower_count") == 1
    steps = await planner.steps("lists", "follows_among", 77, [STAR], FOLLOW)
    assert_by_index(steps)
    assert rows_read(steps, "following") == 1


@pytest.mark.parametrize("window", [HEAD, (1_000_500, 1, *OLDEST)], ids=["head", "deep"])
@pytest.mark.parametrize("order", ["older", "newer"])
async def test_a_page_of_following_reads_a_page_of_one_partition(
    planner: Planner, order: str, window: tuple[int, ...]
) -> None:
    steps = await planner.steps("lists", f"following_{order}", [READER], *window, SIZE, FOLLOW)
    assert_by_index(steps)
    assert_one_partition(steps, "following")
    assert SIZE <= rows_read(steps, "following") <= SIZE + 1
    assert rows_read(steps, "following_count") == 1


@pytest.mark.parametrize("order", ["older", "newer"])
async def test_a_page_of_friends_reads_no_more_than_the_follows(
    planner: Planner, order: str
) -> None:
    steps = await planner.steps("lists", f"friends_{order}", [READER], *HEAD, SIZE, 77, [78])
    assert_by_index(steps)
    assert_one_partition(steps, "follower")
    assert rows_read(steps, "following", "follower") <= 2 * 1000 + 10


@pytest.mark.parametrize("kind", ["following", "followers", "friends"])
@pytest.mark.parametrize("order", ["older", "newer"])
async def test_pages_of_many_users_read_a_page_each(
    planner: Planner, kind: str, order: str
) -> None:
    users = list(range(1, 51))
    more: tuple[object, ...] = {
        "following": (FOLLOW,),
        "followers": (FOLLOW, 77),
        "friends": (77, [78]),
    }[kind]
    steps = await planner.steps("lists", f"{kind}_{order}", users, *HEAD, SIZE, *more)
    assert_by_index(steps)
    assert rows_read(steps, "following", "follower") <= 3 * len(users) * SIZE


@pytest.mark.parametrize("order", ["older", "newer"])
async def test_an_owners_list_reads_a_page_of_each_of_its_kinds(
    planner: Planner, order: str
) -> None:
    window = [OWNER], *HEAD, SIZE
    for kinds, following, followers in (
        (2, ("following_and_whispers",), ("followers_and_whispers",)),
        (1, ("following", REQUEST), ("followers", REQUEST, 0)),
        (1, ("following", BLOCK), ("followers", BLOCK, 0)),
    ):
        most = kinds * (SIZE + 1)
        steps = await planner.steps("lists", f"{following[0]}_{order}", *window, *following[1:])
        assert_by_index(steps)
        assert_one_partition(steps, "following")
        assert SIZE <= rows_read(steps, "following") <= most
        steps = await planner.steps("lists", f"{followers[0]}_{order}", *window, *followers[1:])
        assert_by_index(steps)
        assert_one_partition(steps, "follower")
        assert SIZE <= rows_read(steps, "follower") <= most


@pytest.mark.parametrize("order", ["older", "newer"])
async def test_flagged_lists_are_read_from_their_own_indexes(planner: Planner, order: str) -> None:
    for name, index in (("close_follows", "special"), ("muted", "flags")):
        steps = await planner.steps("lists", f"{name}_{order}", [OWNER], *HEAD, SIZE)
        assert_by_index(steps)
        assert_one_partition(steps, "following")
        assert SIZE <= rows_read(steps, "following") <= SIZE + 1, index


BEFORE_ALL = (2**48 - 1, 2**63 - 1)
"""The position before the newest entry."""


async def test_an_export_reads_one_range_of_an_index(planner: Planner) -> None:
    steps = await planner.steps("exports", "following", OWNER, 1, *BEFORE_ALL, SIZE)
    assert_by_index(steps)
    assert_one_partition(steps, "following")
    assert rows_read(steps, "following") == SIZE
    steps = await planner.steps("exports", "followers", OWNER, 1, *BEFORE_ALL, SIZE)
    assert_by_index(steps)
    assert_one_partition(steps, "follower")
    assert rows_read(steps, "follower") == SIZE


async def test_an_export_of_friends_probes_each_follow(planner: Planner) -> None:
    steps = await planner.steps("exports", "friends", OWNER, 1, *BEFORE_ALL, SIZE)
    assert_by_index(steps)
    assert rows_read(steps, "following") == SIZE
    assert_probed(steps, "follower", SIZE)


async def test_versions_of_relations_read_one_row_for_each_user(planner: Planner) -> None:
    steps = await planner.steps("overlaps", "own_edges", OWNER, list(range(1, SIZE + 1)))
    assert_by_index(steps)
    assert_one_partition(steps, "following")
    assert rows_read(steps, "following") <= SIZE


async def test_ended_relations_are_one_range_of_tombstones(planner: Planner) -> None:
    steps = await planner.steps("overlaps", "ended", OWNER, 0, 1_000)
    assert_by_index(steps)
    assert_one_partition(steps, "following")
    assert all("kind_since" in step.index for step in scans(steps, "following") if step.rows)


async def test_an_export_of_notified_followers_reads_no_others(planner: Planner) -> None:
    steps = await planner.steps("exports", "notified_followers", STAR, 1, *BEFORE_ALL, 2_000)
    assert_by_index(steps)
    assert_one_partition(steps, "follower")
    assert rows_read(steps, "follower") == USERS // 500


LOOKUPS_MAX = 10_000


async def test_known_followers_of_a_star_cost_one_probe_for_each_follow_of_the_reader(
    planner: Planner,
) -> None:
    steps = await planner.steps(
        "overlaps", "followers_followed", [STAR], READER, OPEN, WITH_WHISPERS, LOOKUPS_MAX
    )
    assert_by_index(steps)
    assert_probed(steps, "follower", 1000)
    assert rows_read(steps, "following") <= 1000 + 1
    steps = await planner.steps(
        "overlaps", "followers_followed", [STAR], 77, OPEN, OPEN, LOOKUPS_MAX
    )
    assert_probed(steps, "follower", 10)


async def test_few_followers_of_a_user_are_looked_up_in_the_readers_follows(
    planner: Planner,
) -> None:
    steps = await planner.steps(
        "overlaps", "followers_followed", [500], READER, OPEN, OPEN, LOOKUPS_MAX
    )
    assert_by_index(steps)
    assert rows_read(steps, "following", "follower") <= 4 * FOLLOWS


async def test_common_follows_cost_one_probe_for_each_follow_in_the_shorter_list(
    planner: Planner,
) -> None:
    for owner, other in ((READER, 77), (77, READER)):
        steps = await planner.steps(
            "overlaps", "following_followed", [owner], other, OPEN, OPEN, LOOKUPS_MAX
        )
        assert_by_index(steps)
        assert rows_read(steps, "following") <= 3 * (FOLLOWS + 2)


@pytest.mark.parametrize("ends", [(True, False), (False, True), (True, True)])
async def test_blocks_are_looked_up_in_a_list_by_two_probes_each(
    planner: Planner, ends: tuple[bool, bool]
) -> None:
    blocks = 600 + 50 + 600
    steps = await planner.steps("overlaps", "blocked_counts", [STAR], OWNER, LOOKUPS_MAX, *ends)
    assert_by_index(steps)
    assert rows_read(steps, "following") + rows_read(steps, "follower") <= 3 * blocks
    assert sum(step.blocks for step in scans(steps, "follower")) <= 6 * blocks


async def test_blocks_of_few_users_are_a_probe_for_each_direction(planner: Planner) -> None:
    others = [OWNER + u for u in range(1, 41)]
    steps = await planner.steps("overlaps", "blocks_of_few", OWNER, others, others)
    assert_by_index(steps)
    assert_one_partition(steps, "following", "follower")
    # EXPLAIN rounds up the average number of rows that a probe filters out.
    assert rows_read(steps, "following", "follower") <= 3 * len(others)
    for table in ("following", "follower"):
        assert sum(step.blocks for step in scans(steps, table)) <= 4 * len(others)


async def test_blocks_of_many_users_read_no_more_than_the_edges(planner: Planner) -> None:
    others = [OWNER + 3 * u for u in range(1, 1001)]
    steps = await planner.steps("overlaps", "blocks_of_many", OWNER, others, others)
    assert_by_index(steps)
    assert_one_partition(steps, "following", "follower")
    assert rows_read(steps, "following", "follower") <= 2 * 2400 / 3
    for table in ("following", "follower"):
        # The index holds 2,400 edges of the user, and each that is found is read from its row.
        assert sum(step.blocks for step in scans(steps, table)) <= 2400 / 3 + 100


async def test_edge_notes_cost_one_probe_for_each_pair(planner: Planner) -> None:
    steps = await planner.steps("overlaps", "notes", [OWNER, 77], [OWNER + 1, 78], [OWNER, 77])
    assert_by_index(steps)
    assert rows_read(steps, "following") <= 2


async def test_profiles_without_a_viewer_cost_three_probes_for_each_user(planner: Planner) -> None:
    users = [STAR, *range(1, 100)]
    steps = await planner.steps("profiles", "profiles", users)
    assert_by_index(steps)
    assert rows_read(steps, "account") <= 1 + len(users)
    assert rows_read(steps, "following_count", "follower_count") <= 2 * len(users)
    assert rows_read(steps, "outbox", "follower", "following") == 0


async def test_profiles_for_a_viewer_probe_the_pending_changes(planner: Planner) -> None:
    steps = await planner.steps("profiles", "pending_from", 77)
    assert_by_index(steps)
    assert rows_read(steps, "outbox") == 1
    steps = await planner.steps("profiles", "reverse_rows_from", 77, [78, 79])
    assert_probed(steps, "follower", 2 * PARTITIONS)
    steps = await planner.steps("profiles", "pending_between", [78], 77)
    assert_by_index(steps)
    assert rows_read(steps, "outbox") <= 1
    steps = await planner.steps("profiles", "reverse_rows_to", STAR, [77, 78])
    assert_probed(steps, "follower", 2)


@pytest.mark.parametrize("checks", [1, 100, 1000])
async def test_checks_of_one_users_relations_cost_two_probes_each(
    planner: Planner, checks: int
) -> None:
    others = [STAR, *range(2, checks + 1)]
    steps = await planner.steps("relations", "relations", READER, others)
    assert_by_index(steps)
    assert rows_read(steps, "following", "follower") <= 2 * checks
    assert_one_partition(steps, "following", "follower")


async def test_checks_of_many_pairs_cost_two_probes_each(planner: Planner) -> None:
    users, others = list(range(1000, 1050)), list(range(2000, 2050))
    steps = await planner.steps("relations", "relations_of_pairs", users, others)
    assert_by_index(steps)
    assert rows_read(steps, "following", "follower") <= 2 * len(users)
    assert_probed(steps, "following", len(users))
    assert_probed(steps, "follower", len(users))


async def test_all_relations_of_a_user_are_two_index_ranges(planner: Planner) -> None:
    steps = await planner.steps("relations", "all_relations", [READER], 5000)
    assert_by_index(steps)
    assert_one_partition(steps, "following", "follower")
    assert rows_read(steps, "following", "follower") == 1000 + 500
    assert rows_read(steps, "outbox") == 1, "the target of the user's pending change"
    steps = await planner.steps("relations", "reverse_of_targets", [78], [READER])
    assert_by_index(steps)
    assert rows_read(steps, "following") <= 1


async def test_relations_of_a_whale_are_read_without_its_followers(planner: Planner) -> None:
    steps = await planner.steps("relations", "all_relations", [STAR], 5000)
    assert_by_index(steps)
    assert rows_read(steps, "follower") == 0
    assert rows_read(steps, "following") == STAR_FOLLOWS


def assert_probed(steps: list[Step], table: str, probes: int) -> None:
    """Assert that single rows were looked up by primary key, at most six blocks for each probe."""
    for step in scans(steps, table):
        assert step.index.endswith("_pkey"), step
    assert sum(step.blocks for step in scans(steps, table)) <= 6 * probes


@pytest.mark.parametrize("checks", [1, 50])
async def test_a_check_of_a_relation_with_a_star_costs_one_probe_for_each_table(
    planner: Planner, checks: int
) -> None:
    fans = list(range(1000, 1000 + checks))
    steps = await planner.steps("relations", "relations", STAR, fans)
    assert_probed(steps, "follower", checks)
    steps = await planner.steps("relations", "relations_of_pairs", fans, [STAR] * checks)
    assert_probed(steps, "following", checks)


@pytest.mark.parametrize("order", ["older", "newer"])
async def test_a_stars_friends_cost_a_probe_for_each_of_its_follows(
    planner: Planner, order: str
) -> None:
    steps = await planner.steps("lists", f"friends_{order}", [STAR], *HEAD, SIZE, 77, [78])
    assert_probed(steps, "follower", STAR_FOLLOWS)


async def test_a_pending_change_towards_a_star_is_counted_by_a_probe(planner: Planner) -> None:
    steps = await planner.steps("profiles", "reverse_rows_from", FAN, [STAR])
    assert_probed(steps, "follower", PARTITIONS)


async def test_a_drain_towards_a_star_costs_one_probe_for_each_change(planner: Planner) -> None:
    steps = await planner.steps("write_reverse_rows", "write_reverse_rows", STAR_LANE, 500, 0, None)
    assert_probed(steps, "follower", 500)


async def test_a_change_reads_six_rows(planner: Planner) -> None:
    steps = await planner.steps("edges", "read_pair", 500, READER)
    assert_by_index(steps)
    assert rows_read(steps, "following") == 2
    assert rows_read(steps, "following_count") == 2
    assert len(scans(steps, "following")) == 2
    assert rows_read(steps, "account") <= 2


FORWARD = {"source": 500, "target": READER, "following_below": None, "blocks_below": None}
REVERSE = {"source": READER, "target": 500}
STEP = {
    "kind": 0,
    "flags": 0,
    "since": 5,
    "version": 6,
    "previous_kind": 1,
    "previous_flags": 0,
    "lane": 0,
    "friends": 0,
    "message": None,
    "muted_until": None,
}
ONE_EDGE_ENDS, BOTH_EDGES_END = [{**FORWARD, **STEP}], [{**FORWARD, **STEP}, {**REVERSE, **STEP}]


def decision(steps: list[dict[str, Any]], **more: object) -> str:
    """The argument of `write_decision` for two users who follow each other."""
    known = {"actor": 500, "other": READER, "version": 1, "reverse_version": 1, "now": 9}
    return json.dumps({**known, "begins": False, "steps": steps, **more})


@pytest.mark.parametrize(
    ("steps", "rows"), [(ONE_EDGE_ENDS, 4), (BOTH_EDGES_END, 8)], ids=["one edge", "both edges"]
)
async def test_a_change_writes_by_its_keys(
    planner: Planner, steps: list[dict[str, Any]], rows: int
) -> None:
    touched = await planner.touched("edges", "write_decision", decision(steps))
    read = {
        table: reads for table, reads in touched.items() if reads.seq_scans or reads.index_scans
    }
    assert not any(reads.seq_scans for reads in read.values())
    tables = {"following", "following_count", "lane_count"}
    assert {table.rstrip("_0123456789") for table in read} == tables
    assert len(read) == 4, (
        "a partition of `following` for each user, the counts, and the number of lanes"
    )
    assert sum(reads.index_scans for reads in read.values()) <= rows + 2
    assert sum(reads.rows for reads in read.values()) <= rows, "lookups and updates"


async def test_a_change_that_begins_a_relation_reads_two_accounts(planner: Planner) -> None:
    touched = await planner.touched("edges", "write_decision", decision(ONE_EDGE_ENDS, begins=True))
    assert not any(reads.seq_scans for reads in touched.values())
    assert touched["account"].rows <= 2


def receipt(**undo: object) -> dict[str, object]:
    return {"id": str(uuid4()), "digest": "\\x00", "outcome": "UNFOLLOWED", **undo}


async def test_a_receipt_costs_no_read(planner: Planner) -> None:
    write = decision(ONE_EDGE_ENDS, receipt=receipt(undo=[1] * 10, messages=None))
    touched = await planner.touched("edges", "write_decision", write)
    assert not any(reads.seq_scans for reads in touched.values())
    assert sum(reads.rows for reads in touched.values()) <= 4


@pytest.mark.parametrize("new", [receipt(), None], ids=["with a receipt of its own", "without"])
async def test_a_receipt_is_consumed_by_probes(
    planner: Planner, new: dict[str, object] | None
) -> None:
    consumed = str(UUID(bytes=md5(b"500", usedforsecurity=False).digest()))
    write = decision(ONE_EDGE_ENDS, receipt=new, consumes=consumed)
    touched = await planner.touched("edges", "write_decision", write)
    assert not any(reads.seq_scans for reads in touched.values())
    assert touched["receipt"].rows == 2, "to lock it, and to consume it"
    assert sum(reads.rows for reads in touched.values()) <= 4 + 2


async def test_a_receipt_is_found_by_a_probe(planner: Planner) -> None:
    steps = await planner.steps("receipts", "find_receipts", 500, f"ARRAY['{uuid4()}']::uuid[]")
    assert_by_index(steps)
    assert rows_read(steps, "receipt") <= 1


async def test_private_notes_are_found_by_probes(planner: Planner) -> None:
    steps = await planner.steps("private_notes", "find_notes", 7, list(range(1, 101)))
    assert_by_index(steps)
    assert rows_read(steps, "private_note") <= 1
    states = await planner.steps("private_notes", "account_states_of_note", 7, 8)
    assert_by_index(states)
    assert rows_read(states, "account") <= 2


async def test_a_private_note_is_written_by_a_probe(planner: Planner) -> None:
    touched = await planner.touched("private_notes", "write_note", 7, 8, "y")
    assert not any(reads.seq_scans for reads in touched.values())
    assert touched["private_note"].rows <= 2


async def test_a_private_note_is_deleted_by_a_probe(planner: Planner) -> None:
    steps = await planner.steps("private_notes", "delete_note", 7, 8)
    assert_by_index(steps)
    assert rows_read(steps, "private_note") <= 2


PAGE = (*NEWEST, *OLDEST)


@pytest.mark.parametrize("end", ["older", "newer"])
@pytest.mark.parametrize(("group", "members"), [(1, 10), (2, 21)])
async def test_a_page_of_a_group_is_a_range_and_probes(
    planner: Planner, end: str, group: int, members: int
) -> None:
    """Of 1,000 follows, 10 are members of the one group, and all of the other."""
    steps = await planner.steps("follow_groups", f"group_page_{end}", READER, *PAGE, 21, group)
    assert_by_index(steps)
    assert members <= rows_read(steps, "follow_group_member") <= members + 1
    assert rows_read(steps, "following") <= members + 1
    assert rows_read(steps, "account") <= members + 1


async def test_a_page_of_a_group_after_a_cursor_is_a_range(planner: Planner) -> None:
    between = (1_000_500, 500, 1_000_490, 490)
    steps = await planner.steps("follow_groups", "group_page_older", READER, *between, 21, 2)
    assert_by_index(steps)
    assert rows_read(steps, "follow_group_member") <= 10


async def test_members_are_counted_by_probes(planner: Planner) -> None:
    steps = await planner.steps("follow_groups", "member_counts", READER, [1, 4, 5])
    assert_by_index(steps)
    assert rows_read(steps, "follow_group_member") <= 10
    assert rows_read(steps, "following") <= 10


async def test_the_groups_of_users_are_found_by_probes(planner: Planner) -> None:
    steps = await planner.steps(
        "follow_groups", "groups_of_members", READER, list(range(1_500, 1_600))
    )
    assert_by_index(steps)
    assert rows_read(steps, "follow_group_member") == 0
    steps = await planner.steps("follow_groups", "groups_of_members", READER, [5, 6])
    assert_by_index(steps)
    assert rows_read(steps, "follow_group_member") <= 4
    assert rows_read(steps, "following") <= 4


async def test_groups_are_read_by_their_owner(planner: Planner) -> None:
    steps = await planner.steps("follow_groups", "find_groups", READER)
    assert_by_index(steps)
    assert rows_read(steps, "follow_group") == 100


CHANGES_OF_A_ROW: Mapping[str, Sequence[object]] = {
    "create_group": (READER, 7_000, "x", uuid4()),
    "rename_group": (READER, 7, "y"),
    "delete_group": (READER, 7),
    "add_members": (READER, 1, [1, 2, 91], [1_000_001, 1_000_002, 1_000_091]),
    "remove_members": (READER, 1, [1, 2, 91], [1_000_001, 1_000_002, 1_000_091]),
}
CHANGES_OF_ROWS: Mapping[str, tuple[Sequence[object], int]] = {
    "order_groups": ((READER, [7, 8, 9]), 200),
    "delete_members": ((READER, 1), 10),
    "delete_former_members": ((READER, [1, 2], [9, 9]), 12),
    "is_crowded": ((READER, 1, 2_000), 20),
    "delete_ended_members": ((READER, 1, 900.0), 50),
}
"""The parameters of each statement, and how many rows it may read."""


async def test_changes_of_a_group_read_its_own_rows(planner: Planner) -> None:
    for name, arguments in CHANGES_OF_A_ROW.items():
        touched = await planner.touched("follow_groups", name, *arguments)
        assert not any(reads.seq_scans for reads in touched.values()), name
        # PostgreSQL may count several transactions together.
        assert sum(reads.rows for reads in touched.values()) <= 16, name
    for name, (arguments, most) in CHANGES_OF_ROWS.items():
        steps = await planner.steps("follow_groups", name, *arguments)
        assert_by_index(steps)
        tables = ("follow_group", "follow_group_member", "following")
        assert sum(rows_read(steps, table) for table in tables) <= most, name


async def test_the_time_of_seen_followers_is_read_and_written_by_a_probe(
    planner: Planner,
) -> None:
    steps = await planner.steps("seen_followers", "find_seen", [STAR])
    assert_by_index(steps)
    assert rows_read(steps, "following_count") <= 1
    touched = await planner.touched("seen_followers", "mark_seen", STAR, 1_000_000)
    assert not any(reads.seq_scans for reads in touched.values())
    assert touched["following_count"].rows <= 2
    steps = await planner.steps("account_rows", "account_state", 7)
    assert_by_index(steps)
    assert rows_read(steps, "account") <= 1


async def test_pins_cost_one_index_range_and_one_probe_each(planner: Planner) -> None:
    steps = await planner.steps("pinned_following", "find_pinned", READER)
    assert_by_index(steps)
    assert rows_read(steps, "pinned_following") <= 10
    assert rows_read(steps, "following") <= 10
    steps = await planner.steps("present_follows", "find_follows", READER, list(range(1, 11)))
    assert_by_index(steps)
    assert rows_read(steps, "following") <= 10
    assert_probed(steps, "account", 10)
    steps = await planner.steps("pinned_following", "stored_pins", READER)
    assert_by_index(steps)
    assert rows_read(steps, "pinned_following") <= 10
    steps = await planner.steps("pinned_following", "delete_pins", READER)
    assert_by_index(steps)
    assert rows_read(steps, "pinned_following") <= 2 * 10, "to find them, and to delete them"
    steps = await planner.steps("pinned_following", "lock_count", READER)
    assert_by_index(steps)


async def test_a_receipt_of_interactions_costs_no_read(planner: Planner) -> None:
    receipt = (0, uuid4(), b"interactions", "RECORDED", 500)
    touched = await planner.touched("receipts", "write_interactions_receipt", *receipt)
    assert not any(reads.seq_scans or reads.rows for reads in touched.values())


async def test_a_receipt_of_a_change_of_settings_costs_no_read(planner: Planner) -> None:
    receipt = (500, uuid4(), 500, 9, b"settings", "UPDATED")
    touched = await planner.touched("receipts", "write_receipt", *receipt)
    assert not any(reads.seq_scans or reads.rows for reads in touched.values())


async def test_an_account_is_read_and_changed_by_its_key(planner: Planner) -> None:
    steps = await planner.steps("accounts", "accounts", [500, READER])
    assert_by_index(steps)
    for touched in (
        await planner.touched("account_rows", "ensure_account", 500),
        await planner.touched("account_rows", "lock_account", 500),
        await planner.touched("accounts", "write_account", 500, True, 0, 0, None),
        await planner.touched("own_changes", "charge_change", 500, 9, 1, 10),
    ):
        assert not any(reads.seq_scans for reads in touched.values())
        # PostgreSQL may count several transactions together: two probes a statement, at most.
        assert sum(reads.rows for reads in touched.values()) <= 8


async def test_expired_mutes_are_one_index_range(planner: Planner) -> None:
    steps = await planner.steps("mutes", "expired_mutes", 100)
    assert_by_index(steps)
    assert rows_read(steps, "following") == 0


async def test_a_drain_reads_its_lane_and_probes_the_rest(planner: Planner) -> None:
    steps = await planner.steps("write_reverse_rows", "write_reverse_rows", 5, 500, 0, None)
    assert_by_index(steps)
    assert rows_read(steps, "follower") <= 500
    # The head of the lane's own range, and each row once more.
    assert rows_read(steps, "outbox") <= 2 * 500


async def test_a_drain_continues_after_the_applied_changes(planner: Planner) -> None:
    steps = await planner.steps(
        "write_reverse_rows", "write_reverse_rows", 5, 500, WAITING // 2, None
    )
    assert_by_index(steps)
    assert rows_read(steps, "outbox") <= 2 * 500
    steps = await planner.steps("outbox", "oldest", 5, 500, WAITING // 2)
    assert_by_index(steps)
    assert rows_read(steps, "outbox") <= 500


async def test_a_drain_of_given_changes_probes_them(planner: Planner) -> None:
    some = [change for change in range(1, WAITING) if change % LANES == 5][:500]
    steps = await planner.steps("write_reverse_rows", "write_reverse_rows", 5, 500, 0, some)
    assert_by_index(steps)
    assert rows_read(steps, "follower") <= 500
    assert rows_read(steps, "outbox") <= 2 * 500


async def test_shares_of_a_lane_do_not_read_the_changes_that_wait_for_one_target(
    planner: Planner,
) -> None:
    batch, share = 500, 10
    steps = await planner.steps("outbox", "shares", HOT_LANE, batch, share, 0)
    assert_by_index(steps)
    # The head of the lane and, for half as many changes, a probe for each target, and its share.
    assert rows_read(steps, "outbox") <= batch + batch // 2 + batch // 2
    steps = await planner.steps("outbox", "shares", HOT_LANE, batch, share, STAR)
    assert rows_read(steps, "outbox") <= batch + batch // 2 + batch // 2


async def test_watermarks_are_read_from_the_heads_of_the_lanes(planner: Planner) -> None:
    failed = list(map(failed_lane, ALL_LANES))
    lanes = [*ALL_LANES], 100, [*PARKED_LANES], failed
    steps = await planner.steps("lane_progress", "watermarks", *lanes)
    assert_by_index(steps)
    assert rows_read(steps, "outbox") == LANES * 100


async def test_unapplied_changes_are_read_from_the_head_of_the_outbox(planner: Planner) -> None:
    steps = await planner.steps("lane_progress", "unapplied", 5, 100)
    assert_by_index(steps)
    assert rows_read(steps, "outbox") <= 100 + 100


async def test_acknowledging_costs_one_probe_for_each_row(planner: Planner) -> None:
    for steps in (
        await planner.steps("outbox", "acknowledge", 4, [100, 200, 300]),
        await planner.steps("outbox", "acknowledge_parked", 4, [100, 200, 300]),
    ):
        assert_by_index(steps)
        assert rows_read(steps, "outbox") <= 6


async def test_traces_of_changes_cost_one_probe_for_each_row(planner: Planner) -> None:
    steps = await planner.steps("outbox", "traces", 4, [100, 200, 300], 64)
    assert_by_index(steps)
    assert rows_read(steps, "outbox") <= 6


async def test_parking_costs_one_probe_for_each_row_and_reading_parked_rows_one_range(
    planner: Planner,
) -> None:
    steps = await planner.steps("outbox", "park", 4, [100, 200, 300], 12)
    assert_by_index(steps)
    assert rows_read(steps, "outbox") <= 6
    steps = await planner.steps("outbox", "parked", 5, 500, WAITING // 2)
    assert_by_index(steps)
    assert rows_read(steps, "outbox") <= 500


async def test_pending_writes_are_one_index_range_for_each_user(planner: Planner) -> None:
    steps = await planner.steps("pending_edges", "pending", [77])
    assert_by_index(steps)
    assert rows_read(steps, "outbox") == 1


async def test_dirty_lanes_cost_one_probe_for_each_lane(planner: Planner) -> None:
    steps = await planner.steps("lane_progress", "dirty_lanes", list(range(LANES)))
    assert_by_index(steps)
    assert rows_read(steps, "outbox") == LANES


async def test_the_state_of_the_outbox_is_counted_up_to_a_limit(planner: Planner) -> None:
    steps = await planner.steps(
        "lane_progress", "outbox_state", [*ALL_LANES, *PARKED_LANES], 1000 // LANES
    )
    assert rows_read(steps, "outbox") <= LANES + 1000


async def test_absent_accounts_of_lists_are_found_in_one_index_scan(planner: Planner) -> None:
    users, followers = [STAR, READER, 7], 600
    steps = await planner.steps("profiles", "absent", users, 10_000, followers)
    assert_by_index(steps)
    used = {step.index for step in scans(steps, "account")}
    assert used == {"account_absent", "account_to_count"}
    edges = STAR_FOLLOWS + 1000 + 2 * FOLLOWS + 2 * followers
    assert rows_read(steps, "following", "follower") <= 1.1 * edges, "no follower of the star"
    assert rows_read(steps, "follower_count") <= len(users)


async def test_counting_absent_followers_reads_the_edges_of_the_absent_accounts(
    planner: Planner,
) -> None:
    accounts = 5
    steps = await planner.steps("absent_follower_counts", "waiting", accounts)
    assert_by_index(steps)
    assert rows_read(steps, "account") == accounts
    steps = await planner.steps("absent_follower_counts", "update_counts", accounts, 1000, 2000)
    assert_by_index(steps)
    assert rows_read(steps, "following") <= accounts * (FOLLOWS + 3)  # and a tombstone
    assert_probed(steps, "follower", accounts * (FOLLOWS + 2))  # one of them is the star's
    assert rows_read(steps, "account") <= 2 * accounts
    assert {step.node for step in scans(steps, "outbox")} <= {"Index Scan", "Index Only Scan"}


async def test_absences_are_read_from_their_own_index(planner: Planner) -> None:
    for name, *args in (("all_absent", 500, 20), ("recently_changed", 500, 0, 20)):
        steps = await planner.steps("absences", name, *args)
        assert_by_index(steps)
        # A custom plan may sort all of the thousand rows.
        assert rows_read(steps, "account") <= (1000 if "Sort" in {s.node for s in steps} else 20)


async def test_states_of_accounts_are_found_by_probes(planner: Planner) -> None:
    steps = await planner.steps("account_states", "edges_left", [500, 501, 1])
    assert_by_index(steps)
    assert rows_read(steps, "following_count", "follower_count") <= 2 * 3
    steps = await planner.steps("account_states", "states", [500, 501, 1])
    assert_by_index(steps)
    assert rows_read(steps, "account") <= 3
    assert rows_read(steps, "following_count", "follower_count") <= 6


@pytest.mark.parametrize("name", ["targets", "sources", "muted_or_dismissed_by"])
async def test_erasure_statements_read_a_bounded_number_of_rows(
    planner: Planner, name: str
) -> None:
    most = 100
    for user in (STAR, OWNER):
        steps = await planner.steps("erasures", name, user, most)
        assert_by_index(steps)
        assert rows_read(steps, "following", "follower") <= 4 * most


async def test_deletions_are_found_and_finished_by_probes(planner: Planner) -> None:
    steps = await planner.steps("erasures", "unfinished", 5)
    assert_by_index(steps)
    assert rows_read(steps, "account") == 5
    for name in ("is_unfinished", "finish", "clear_receipts", "clear_messages", *CLEAR_OWN):
        args = (1,) if name == "is_unfinished" else (1, 1000)
        steps = await planner.steps("erasures", name, *args)
        assert_by_index(steps)
        assert sum(step.rows for step in steps if step.relation) <= 6 * FOLLOWS, name


async def test_recording_interactions_costs_two_probes_for_each_pair(planner: Planner) -> None:
    users = range(1, 501)
    others = [USERS + 1 + user % 10 for user in users]  # some of them are new
    steps = await planner.steps("affinity", "record", list(users), others, [100] * len(users))
    assert_by_index(steps)
    assert_probed(steps, "affinity", len(users))
    assert rows_read(steps, "affinity") <= len(users)


async def test_the_closest_users_are_one_index_range_of_one_partition(planner: Planner) -> None:
    steps = await planner.steps("affinity", "closest", 7, 2000)
    assert_by_index(steps)
    assert_one_partition(steps, "affinity")
    assert rows_read(steps, "affinity") == OTHERS


async def test_users_with_too_many_others_are_found_by_a_small_index(planner: Planner) -> None:
    steps = await planner.steps("affinity", "take_crowded", 10, 2000)
    assert_by_index(steps)
    assert rows_read(steps, "affinity_count") <= 2 * 10
    assert {step.index for step in scans(steps, "affinity_count")} >= {"affinity_crowded"}


async def test_pruning_reads_the_rows_of_one_user(planner: Planner) -> None:
    steps = await planner.steps("affinity", "prune", 7, 2000)
    assert_by_index(steps)
    assert_one_partition(steps, "affinity")
    assert rows_read(steps, "affinity") <= 3 * OTHERS


async def test_deleting_the_affinity_of_a_user_reads_a_bounded_number_of_rows(
    planner: Planner,
) -> None:
    for user in (
        7,
        USERS + 1,
    ):  # one has affinity to many users, and many have affinity to the other
        steps = await planner.steps("affinity", "forget", user, 100)
        assert_by_index(steps)
        assert rows_read(steps, "affinity") <= 5 * 100


async def test_sampled_users_are_found_by_probes(planner: Planner) -> None:
    touched = await planner.touched("sampled_users", "bounds")
    assert not any(reads.seq_scans for reads in touched.values())
    steps = await planner.steps("sampled_users", "next_user", USERS // 2)
    assert_by_index(steps)
    assert rows_read(steps, "following_count") <= 50, "one row of each partition"


def test_every_query_of_the_request_path_is_planned_here() -> None:
    text = Path(__file__).read_text(encoding="utf-8")
    planned = set(re.findall(r'(?:steps|touched)\(\s*"(\w+)", "(\w+)"', text))
    unplanned = {
        name
        for file, statements in STATEMENTS.items()
        for name in statements
        if (file, name) not in planned
        and file != "lists"  # the tests build these names from kinds and orders
        and not name.endswith("_on_citus")  # only plain PostgreSQL is tested here
    }
    others = {
        "lane",
        "lock_pair",
        "lock_lane",
        "lock_lanes",
        "raise_timeout",
        "try_lock",
        "try_lane",
        "unacknowledged",
        "any_edge",
    }
    one_row = {"write_state", "fail", "write_pin"}
    by_variable_names = {
        "targets",
        "sources",
        "muted_or_dismissed_by",
        "all_absent",
        "recently_changed",
    }
    by_variable_names |= {
        "is_unfinished",
        "clear_receipts",
        "clear_messages",
        "finish",
        *CLEAR_OWN,
        "group_page_newer",  # with "group_page_older"
        *CHANGES_OF_A_ROW,
        *CHANGES_OF_ROWS,
    }
    lane_only = {"has_pending_change"}
    assert unplanned == others | one_row | by_variable_names | lane_only, (
        "these read no table, or run only in audits and at a start"
    )
