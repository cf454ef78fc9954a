"""Kith behind PgBouncer in transaction mode: the right space, timeouts, prepared statements."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path

import asyncpg
import pytest

from gateway.spaces.settings import SpacesSettings
from graph.edge import Kind
from graph.errors import Unavailable
from storage.postgres.connection.connector import NEEDS_DIRECT, NO_TIMEOUT, WRONG_SPACE
from storage.postgres.connection.pool import Postgres
from storage.postgres.load.bulk_load import bulk_load
from storage.postgres.migrate import migrate
from storage.postgres.spaces import SpaceDirectory, SpaceState
from storage.postgres.verification.verify import verify
from storage.settings import StorageSettings
from storage.stores import open_stores
from tests.support.databases import Databases
from tests.support.edges import edges
from tests.support.graphs import drain_all
from tests.support.pgbouncer import VARIABLE, pgbouncer, programs, version
from tests.support.spaces import serving

SPACE = "biz"
ALL_PARAMETERS = (
    "search_path,statement_timeout,idle_in_transaction_session_timeout,plan_cache_mode,"
    "enable_bitmapscan,max_parallel_workers_per_gather,jit"
)
FOLLOWS = 40
FOLLOW = 'mutation { followUser(input: { userId: "7" }) { outcome } }'

Pooled = Callable[[Mapping[str, str]], Awaitable[StorageSettings]]


@pytest.fixture(params=programs() or [""])
def program(request: pytest.FixtureRequest) -> str:
    if not request.param:
        pytest.skip(f"PgBouncer is not installed; {VARIABLE} may name its programs")
    return str(request.param)


@pytest.fixture
def direct_url(databases: Databases) -> Iterator[str]:
    """A separate database, because settings of a role apply to a whole database."""
    with databases.copy() as url:
        asyncio.run(migrate(url, SPACE, 4))
        yield url


@pytest.fixture
async def pooled(program: str, direct_url: str, redis_url: str) -> AsyncIterator[Pooled]:
    """Starts PgBouncer with the given settings, and returns storage settings to connect to it."""
    async with AsyncExitStack() as stack:

        async def start(settings: Mapping[str, str]) -> StorageSettings:
            url = await stack.enter_async_context(pgbouncer(program, direct_url, settings))
            return StorageSettings(url, redis_url)

        yield start


async def set_for_role(url: str, **settings: str) -> None:
    connection = await asyncpg.connect(url)
    database = await connection.fetchval("SELECT current_database()")
    role = await connection.fetchval("SELECT current_user")
    for name, value in settings.items():
        await connection.execute(
            f'ALTER ROLE "{role}" IN DATABASE "{database}" SET {name} = {value}'
        )
    await connection.close()


async def rows_of(url: str, space: str) -> int:
    connection = await asyncpg.connect(url)
    rows = await connection.fetchval(f"SELECT count(*) FROM {space}.following")
    await connection.close()
    return int(rows)


async def write_follows(settings: StorageSettings) -> None:
    async with open_stores(settings) as stores:
        await edges(stores, {(1, number): Kind.FOLLOW for number in range(2, 2 + FOLLOWS)})
        await drain_all(stores)


@pytest.mark.parametrize("pgbouncer_settings", [{}, {"ignore_startup_parameters": ALL_PARAMETERS}])
async def test_if_the_pooler_drops_the_search_path_nothing_is_written_to_another_space(
    pooled: Pooled, direct_url: str, pgbouncer_settings: Mapping[str, str]
) -> None:
    settings = replace(await pooled(pgbouncer_settings), space=SPACE)
    await set_for_role(direct_url, statement_timeout="5000")
    with pytest.raises(Unavailable, match=WRONG_SPACE):
        await write_follows(settings)
    assert await rows_of(direct_url, "public") == 0


async def test_a_gateway_rejects_a_space_if_the_pooler_drops_its_search_path(
    pooled: Pooled, direct_url: str
) -> None:
    await set_for_role(direct_url, statement_timeout="5000")
    settings = await pooled({"ignore_startup_parameters": ALL_PARAMETERS})
    postgres = Postgres(settings)
    directory = SpaceDirectory(postgres)
    await directory.create(SPACE, {})
    await directory.set_state(SPACE, SpaceState.READY)
    await postgres.close()
    async with serving(settings, SpacesSettings(frozenset({SPACE}))) as client:
        await client.data("public", FOLLOW)
        assert await client.code(SPACE, FOLLOW) == (200, "UNAVAILABLE")
    assert (await rows_of(direct_url, "public"), await rows_of(direct_url, SPACE)) == (1, 0)


@pytest.mark.parametrize("pgbouncer_settings", [{}, {"ignore_startup_parameters": ALL_PARAMETERS}])
async def test_the_search_path_of_a_role_can_select_the_space(
    pooled: Pooled, direct_url: str, pgbouncer_settings: Mapping[str, str]
) -> None:
    await set_for_role(direct_url, search_path=SPACE, statement_timeout="5000")
    await write_follows(replace(await pooled(pgbouncer_settings), space=SPACE))
    assert await rows_of(direct_url, SPACE) == FOLLOWS
    assert await rows_of(direct_url, "public") == 0


async def test_statements_without_a_timeout_are_not_sent(pooled: Pooled, direct_url: str) -> None:
    settings = await pooled({"ignore_startup_parameters": ALL_PARAMETERS})
    with pytest.raises(Unavailable, match=NO_TIMEOUT):
        await write_follows(settings)
    await set_for_role(direct_url, statement_timeout="5000")
    await write_follows(await pooled({"ignore_startup_parameters": ALL_PARAMETERS}))


async def test_prepared_statements_are_used_if_the_pooler_supports_them(
    pooled: Pooled, program: str, direct_url: str
) -> None:
    supported = await version(program) >= (1, 21)
    pgbouncer_settings = {"max_prepared_statements": "200"} if supported else {}
    await set_for_role(direct_url, statement_timeout="5000")
    settings = await pooled(pgbouncer_settings)
    postgres = Postgres(settings)
    await asyncio.gather(*(postgres.fetch("SELECT 1 + $1::int", n) for n in range(FOLLOWS)))
    async with postgres.connection() as connection, connection.transaction():
        await connection.fetch("SELECT 1 + $1::int", 1)
        prepared = await connection.fetch(
            "SELECT name FROM pg_prepared_statements WHERE statement = 'SELECT 1 + $1::int'"
        )
    await postgres.close()
    assert bool(prepared) == supported


async def test_one_role_serves_several_spaces_if_the_pooler_tracks_the_search_path(
    pooled: Pooled, program: str, direct_url: str
) -> None:
    if await version(program) < (1, 20):
        pytest.skip("this PgBouncer tracks no other parameters")
    await set_for_role(direct_url, statement_timeout="5000")
    one = await pooled({"track_extra_parameters": "search_path"})
    other = replace(one, space=SPACE)
    await asyncio.gather(write_follows(one), write_follows(other))
    assert await rows_of(direct_url, SPACE) == await rows_of(direct_url, "public") == FOLLOWS


async def test_migrations_reach_the_space_through_a_pooler(pooled: Pooled, direct_url: str) -> None:
    settings = await pooled({})
    assert await migrate(settings.database_url, "shop", 4)
    assert await rows_of(direct_url, "shop") == 0


async def test_jobs_that_need_a_session_reject_a_pooler_and_use_the_direct_url(
    pooled: Pooled, direct_url: str, tmp_path: Path
) -> None:
    await set_for_role(direct_url, statement_timeout="5000")
    settings = await pooled({})
    file = tmp_path / "edges.csv"
    file.write_text("1,2\n2,3\n")
    with pytest.raises(Unavailable, match=NEEDS_DIRECT):
        await bulk_load(settings, file)
    with pytest.raises(Unavailable, match=NEEDS_DIRECT):
        await verify(settings)
    direct = replace(
        settings, connections=replace(settings.connections, direct_database_url=direct_url)
    )
    assert (await bulk_load(direct, file)).loaded == 2
    assert (await verify(direct)).clean
