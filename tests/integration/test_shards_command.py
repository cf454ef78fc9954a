"""`kith shards` shows where the rows of a space on Citus are, and isolates a user."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from gateway.commands.shards import report
from graph.edge import UserId
from graph.errors import Unavailable
from storage.postgres.citus import shards
from storage.postgres.citus.shards import ShardGroup
from storage.postgres.connection import locks
from storage.postgres.connection.pool import Postgres
from storage.postgres.connection.session import session
from storage.settings import StorageSettings
from tests.support import citus
from tests.support.citus_databases import SHARDS
from tests.support.databases import Databases

on_citus = pytest.mark.skipif(citus.prefix() is None, reason="needs Citus: make citus-test")

STAR, FOLLOWERS = UserId(100_000), 20_000
STAR_WITH_FOLLOWERS = f"""
INSERT INTO follower (to_user_id, from_user_id, since, version, kind)
SELECT {STAR}, u, u, 1, 1 FROM generate_series(1, {FOLLOWERS}) u
"""
COUNT = f"INSERT INTO follower_count (user_id, follows) VALUES ({STAR}, {FOLLOWERS})"


@pytest.fixture
def database_url(databases: Databases) -> Iterator[str]:
    """A database of its own, because no other test expects its shards after an isolation."""
    with databases.copy() as url:
        yield url


@pytest.fixture
async def star(postgres: Postgres) -> UserId:
    """A user with many followers."""
    for statement in (STAR_WITH_FOLLOWERS, COUNT, "ANALYZE follower"):
        await postgres.fetch(statement)
    return STAR


@on_citus
async def test_all_shard_groups_are_shown_with_their_machines(
    storage_settings: StorageSettings, star: UserId
) -> None:
    groups = await shards.shard_groups(storage_settings)
    assert len(groups) == SHARDS
    assert len({group.node for group in groups}) == citus.WORKERS
    assert sum(group.edges for group in groups) == FOLLOWERS
    lines = list(report(groups, limit=1))
    assert f"{SHARDS} shard groups on {citus.WORKERS} machines" in lines[0]
    assert f"about {FOLLOWERS:,} rows, HOT" in lines[-1]


@on_citus
async def test_a_whale_is_found_with_the_shard_that_it_makes_hot(
    storage_settings: StorageSettings, star: UserId
) -> None:
    (whale,) = await shards.whales(storage_settings, 5)
    assert (whale.user, whale.edges) == (star, FOLLOWERS)
    groups = await shards.shard_groups(storage_settings)
    assert max(groups, key=lambda group: group.edges).shard_id == whale.shard_id


@on_citus
async def test_an_isolated_user_has_a_shard_group_alone(
    storage_settings: StorageSettings, postgres: Postgres, star: UserId
) -> None:
    shard = await shards.isolate(storage_settings, star)
    groups = {group.shard_id: group for group in await shards.shard_groups(storage_settings)}
    assert shard in groups
    assert groups[shard].is_of_one
    assert len(groups) > SHARDS
    (rows,) = await postgres.fetch(f"SELECT count(*) FROM follower WHERE to_user_id = {star}")
    assert rows["count"] == FOLLOWERS, "all of the user's rows have moved"
    assert await shards.isolate(storage_settings, star) is None, "it is alone already"


@on_citus
async def test_one_isolation_runs_at_a_time(
    storage_settings: StorageSettings, star: UserId
) -> None:
    async with session(storage_settings, "test") as first:
        await first.execute("SELECT pg_advisory_lock($1, 0)", locks.ISOLATION)
        with pytest.raises(Unavailable, match="Another user is being isolated"):
            await shards.isolate(storage_settings, star)
    assert await shards.isolate(storage_settings, star) is not None


@on_citus
async def test_a_worker_says_that_only_the_coordinator_can_isolate(
    storage_settings: StorageSettings, postgres: Postgres, star: UserId
) -> None:
    (row,) = await postgres.fetch("SELECT nodename FROM pg_dist_node WHERE groupid = 1")
    before, _, _ = storage_settings.database_url.partition("host=")
    at_worker = replace(storage_settings, database_url=f"{before}host={row['nodename']}")
    with pytest.raises(ValueError, match="coordinator"):
        await shards.isolate(at_worker, star)


@pytest.mark.plain("it has no shards")
async def test_a_space_on_plain_postgresql_has_no_shards(
    storage_settings: StorageSettings,
) -> None:
    with pytest.raises(ValueError, match="kith migrate --citus"):
        await shards.shard_groups(storage_settings)


def test_the_largest_groups_are_shown_first() -> None:
    groups = [
        ShardGroup(n, f"n{n % 2}:5432", size, 10 * n, n == 3)
        for n, size in enumerate((1 << 20, 1 << 20, 1 << 20, 5 << 20))
    ]
    first, one, other, largest = report(groups, limit=1)
    assert first == "4 shard groups on 2 machines: 8.0 MiB, about 60 rows of edges."
    assert one == "machine n0:5432: 2 groups, 2.0 MiB, 25.0 %, about 20 rows"
    assert other == "machine n1:5432: 2 groups, 6.0 MiB, 75.0 %, about 40 rows"
    assert largest == (
        "shard 3 on n1:5432: 5.0 MiB, 62.5 %, 2.5 times the average, about 30 rows, HOT, one user"
    )
