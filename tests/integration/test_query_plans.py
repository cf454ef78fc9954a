"""How PostgreSQL runs each named query of the request path: by index, on one partition, and short.

Shown by EXPLAIN ANALYZE on filled tables, for the plans of given values and for the generic ones
that a prepared statement ends up with.
"""

import asyncio
import json
import os
import re
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import asyncpg
import pytest

from graph.lane import LANES
from graph.page import NEWEST, OLDEST
from storage.postgres import sql
from tests.conftest import POSTGRES

QUERIES = Path(sql.__file__).parent / "queries"
STATEMENTS = {
    file: sql.parse((QUERIES / f"{file}.sql").read_text(encoding="utf-8"))
    for file in ("counts", "edges", "lists", "outbox", "relations")
}

USERS, FOLLOWS = 50_000, 6
STAR = USERS + 1
"""Followed by everybody, and follows some."""
STAR_FOLLOWS = 300
WAITING = 4 * USERS
"""Rows of the outbox: a backlog. Of a small one PostgreSQL reads the whole, and is right."""
READER = USERS + 2
"""Follows 1,000 users, half of whom follow back."""
FAN, STAR_LANE = WAITING + 1, LANES
"""A thousand users from this one on have written to the star, in a lane of their own."""
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
UNION ALL SELECT u, {READER} + u, 1000000 + u, 1, 0 FROM generate_series(1, {USERS}) u;

INSERT INTO follower (to_user_id, from_user_id, since, version, kind)
SELECT to_user_id, from_user_id, since, version, kind FROM following;

INSERT INTO following_count (user_id, follows)
SELECT from_user_id, count(*) FROM following WHERE kind = 1 GROUP BY 1;

INSERT INTO follower_count (user_id, follows)
SELECT to_user_id, count(*) FROM following WHERE kind = 1 GROUP BY 1;

INSERT INTO outbox (lane, from_user_id, to_user_id, since, version, kind, flags, friends)
SELECT u % {LANES}, u, u % {USERS} + 1, 1000000, 2, 1, 0, 0
FROM generate_series(1, {WAITING}) u;

INSERT INTO outbox (lane, from_user_id, to_user_id, since, version, kind, flags, friends)
SELECT {STAR_LANE}, {FAN} + u, {STAR}, 1000000, 2, 0, 0, 0 FROM generate_series(0, 999) u;

UPDATE outbox SET applied = true WHERE id % 100 = 0;
"""


@pytest.fixture(scope="module")
def filled(template: str) -> Iterator[str]:
    """A database with some 350,000 edges, for all tests here: none changes it."""
    name = f"kith_plans_{os.getpid()}"
    asyncio.run(_run(os.environ[POSTGRES], f'CREATE DATABASE "{name}" TEMPLATE "{template}"'))
    url = urlunsplit(urlsplit(os.environ[POSTGRES])._replace(path=f"/{name}"))
    asyncio.run(_run(url, FILL))
    asyncio.run(_run(url, "VACUUM ANALYZE"))
    yield url
    asyncio.run(_run(os.environ[POSTGRES], f'DROP DATABASE "{name}" WITH (FORCE)'))


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
    """All rows that it looked at, those it dropped included."""
    index: str
    blocks: int
    """Pages of 8 kB that it touched: what a walk through an index cannot hide."""


class Planner:
    """Runs statements under EXPLAIN, and leaves nothing behind."""

    def __init__(self, connection: "asyncpg.Connection[asyncpg.Record]") -> None:
        self._connection = connection

    async def steps(self, file: str, name: str, *args: object) -> list[Step]:
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


def literal(value: object) -> str:
    return f"ARRAY{value}::bigint[]" if isinstance(value, list) else str(value)


def _steps(node: dict[str, Any]) -> Iterator[Step]:
    if node.get("Actual Loops"):
        looked_at = node["Actual Rows"] + sum(
            node.get(f"Rows Removed by {reason}", 0)
            for reason in ("Filter", "Index Recheck", "Join Filter")
        )
        relation = node.get("Relation Name", "")
        yield Step(
            node["Node Type"],
            relation,
            looked_at * node["Actual Loops"],
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


def assert_by_index(steps: list[Step]) -> None:
    for step in steps:
        assert step.node != "Seq Scan", f"{step.relation} is read from end to end"


def assert_one_partition(steps: list[Step], *tables: str) -> None:
    for table in tables:
        partitions = {step.relation for step in scans(steps, table)}
        assert len(partitions) == 1, f"{table}: {sorted(partitions)}"


def looked_at(steps: list[Step], *tables: str) -> float:
    return sum(step.rows for table in tables for step in scans(steps, table))


HEAD = (*NEWEST, *OLDEST)
DEEP = (MIDDLE, 1, *OLDEST)
SLICE = (MIDDLE + 100, 1, MIDDLE, 1)
SIZE = 21


@pytest.mark.parametrize("window", [HEAD, DEEP, SLICE], ids=["head", "deep", "slice"])
@pytest.mark.parametrize("order", ["older", "newer"])
@pytest.mark.parametrize("asker", [0, 77], ids=["nobody", "somebody"])
async def test_a_page_of_followers_reads_a_page_of_one_partition(
    planner: Planner, order: str, window: tuple[int, ...], asker: int
) -> None:
    steps = await planner.steps("lists", f"followers_{order}", [STAR], *window, SIZE, asker)
    assert_by_index(steps)
    assert_one_partition(steps, "follower")
    assert SIZE <= looked_at(steps, "follower") <= SIZE + 1
    assert looked_at(steps, "follower_count", "following") <= 2


@pytest.mark.parametrize("window", [HEAD, (1_000_500, 1, *OLDEST)], ids=["head", "deep"])
@pytest.mark.parametrize("order", ["older", "newer"])
async def test_a_page_of_following_reads_a_page_of_one_partition(
    planner: Planner, order: str, window: tuple[int, ...]
) -> None:
    steps = await planner.steps("lists", f"following_{order}", [READER], *window, SIZE)
    assert_by_index(steps)
    assert_one_partition(steps, "following")
    assert SIZE <= looked_at(steps, "following") <= SIZE + 1
    assert looked_at(steps, "following_count") == 1


@pytest.mark.parametrize("order", ["older", "newer"])
async def test_a_page_of_friends_reads_no_more_than_the_follows(
    planner: Planner, order: str
) -> None:
    steps = await planner.steps("lists", f"friends_{order}", [READER], *HEAD, SIZE, 77)
    assert_by_index(steps)
    assert_one_partition(steps, "follower")
    assert looked_at(steps, "following", "follower") <= 2 * 1000 + 10


@pytest.mark.parametrize("kind", ["following", "followers", "friends"])
@pytest.mark.parametrize("order", ["older", "newer"])
async def test_pages_of_many_users_read_a_page_each(
    planner: Planner, kind: str, order: str
) -> None:
    asked = list(range(1, 51))
    asker = () if kind == "following" else (77,)
    steps = await planner.steps("lists", f"{kind}_{order}", asked, *HEAD, SIZE, *asker)
    assert_by_index(steps)
    assert looked_at(steps, "following", "follower") <= 3 * len(asked) * SIZE


async def test_the_counts_of_a_hundred_users_are_probes(planner: Planner) -> None:
    asked = [STAR, *range(1, 100)]
    steps = await planner.steps("counts", "counts", asked, 77)
    assert_by_index(steps)
    assert looked_at(steps, "following_count", "follower_count") <= 2 * len(asked)
    assert looked_at(steps, "outbox") <= 3  # the asker's one change, and what comes the other way


async def test_the_counts_of_a_writer_probe_what_is_pending(planner: Planner) -> None:
    steps = await planner.steps("counts", "counts", [78, 79], 77)
    assert_by_index(steps)
    assert looked_at(steps, "outbox") == 1
    assert looked_at(steps, "follower") <= 1
    assert_one_partition(steps, "follower")


@pytest.mark.parametrize("checks", [1, 100, 1000])
async def test_checks_are_two_probes_each(planner: Planner, checks: int) -> None:
    others = [STAR, *range(2, checks + 1)]
    steps = await planner.steps("relations", "relations", [READER] * checks, others)
    assert_by_index(steps)
    assert looked_at(steps, "following", "follower") <= 2 * checks
    assert_one_partition(steps, "following", "follower")


async def test_a_neighbourhood_is_two_ranges(planner: Planner) -> None:
    steps = await planner.steps("relations", "all_relations", [READER], 5001)
    assert_by_index(steps)
    assert_one_partition(steps, "following", "follower")
    pending = 1  # what they are to the reader to whom the reader's own change is on its way
    assert looked_at(steps, "following", "follower") == 1000 + 500 + pending


async def test_a_whales_neighbourhood_ends_at_the_bound(planner: Planner) -> None:
    steps = await planner.steps("relations", "all_relations", [STAR], 5001)
    assert_by_index(steps)
    assert looked_at(steps, "follower") == 5001


def assert_probed(steps: list[Step], table: str, probes: int) -> None:
    """The table was asked for single rows by its primary key, however long its lists are."""
    for step in scans(steps, table):
        assert step.index.endswith("_pkey"), step
    assert sum(step.blocks for step in scans(steps, table)) <= 6 * probes


@pytest.mark.parametrize("checks", [1, 50])
async def test_a_check_against_a_star_costs_no_more_than_any_other(
    planner: Planner, checks: int
) -> None:
    fans = list(range(1000, 1000 + checks))
    steps = await planner.steps("relations", "relations", [STAR] * checks, fans)
    assert_probed(steps, "follower", checks)
    steps = await planner.steps("relations", "relations", fans, [STAR] * checks)
    assert_probed(steps, "following", checks)


@pytest.mark.parametrize("order", ["older", "newer"])
async def test_a_stars_friends_cost_a_probe_for_each_of_its_follows(
    planner: Planner, order: str
) -> None:
    steps = await planner.steps("lists", f"friends_{order}", [STAR], *HEAD, SIZE, 77)
    assert_probed(steps, "follower", STAR_FOLLOWS)


async def test_a_pending_change_towards_a_star_is_counted_by_a_probe(planner: Planner) -> None:
    steps = await planner.steps("counts", "counts", [STAR], FAN)
    assert looked_at(steps, "outbox") == 1
    assert_probed(steps, "follower", 1)


async def test_a_drain_towards_a_star_is_a_probe_a_change(planner: Planner) -> None:
    steps = await planner.steps("outbox", "apply_lane", STAR_LANE, 500)
    assert_probed(steps, "follower", 500)


async def test_a_change_reads_three_rows(planner: Planner) -> None:
    steps = await planner.steps("edges", "read_for_change", 500, READER)
    assert_by_index(steps)
    assert looked_at(steps, "following") == 2
    assert looked_at(steps, "following_count") == 1
    assert len(scans(steps, "following")) == 2


async def test_a_change_writes_by_its_keys(planner: Planner) -> None:
    write = (500, READER, 1, 0, 5, 6, 1, 0, 7, 0)
    steps = await planner.steps("edges", "write_change", *write)
    assert_by_index(steps)
    assert looked_at(steps, "following_count") == 1
    assert_by_index(await planner.steps("edges", "ensure_following_count", 500))


async def test_a_drain_reads_its_lane_and_probes_the_rest(planner: Planner) -> None:
    steps = await planner.steps("outbox", "apply_lane", 5, 500)
    assert_by_index(steps)
    assert looked_at(steps, "follower") <= 500
    # The lane's own range, with the few that are applied already, and each row once more.
    assert looked_at(steps, "outbox") <= 2 * 500 + WAITING // LANES // 50


async def test_what_was_applied_is_one_range_of_the_lane(planner: Planner) -> None:
    steps = await planner.steps("outbox", "applied_changes", 36, 1000)
    assert_by_index(steps)
    assert looked_at(steps, "outbox") <= WAITING // LANES + 1


async def test_acknowledging_is_a_probe_a_row(planner: Planner) -> None:
    steps = await planner.steps("outbox", "acknowledge", 36, [100, 200, 300])
    assert_by_index(steps)
    assert looked_at(steps, "outbox") <= 6


async def test_pending_writes_are_one_range_a_user(planner: Planner) -> None:
    steps = await planner.steps("outbox", "pending", [77])
    assert_by_index(steps)
    assert looked_at(steps, "outbox") == 1


async def test_dirty_lanes_cost_a_probe_a_lane(planner: Planner) -> None:
    steps = await planner.steps("outbox", "dirty_lanes", list(range(LANES)))
    assert_by_index(steps)
    assert looked_at(steps, "outbox") == LANES


async def test_the_state_of_the_outbox_is_counted_no_further_than_asked(planner: Planner) -> None:
    steps = await planner.steps("outbox", "outbox_state", LANES, 1000)
    assert looked_at(steps, "outbox") <= LANES + 1000


def test_every_query_of_the_request_path_is_planned_here() -> None:
    text = Path(__file__).read_text(encoding="utf-8")
    planned = set(re.findall(r'steps\(\s*"(\w+)", "(\w+)"', text))
    unplanned = {
        name
        for file, statements in STATEMENTS.items()
        for name in statements
        if (file, name) not in planned and file != "lists"  # those are made of kinds and orders
    }
    assert unplanned == {"lock_pair", "lock_lane", "unsettled"}, "no tables; or only for audits"
