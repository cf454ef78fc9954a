"""Counts what a request reads, logs and transfers: blocks, WAL, bytes.

python -m bench.traffic [--users 200000]

The graph is freshly loaded, and the requests run one after another in this process. Counts hardly
depend on the machine.
"""

import asyncio
import re
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import asyncpg
import orjson
import typer
from redis.asyncio import Redis

from bench import caches
from bench.calls import KITH, applications, drain, gateway_config
from bench.cores import cores
from bench.counting import send_all
from bench.filling import NotFilled, ensure_filled, space_of
from bench.graph import Community, community
from bench.population import Population, population
from bench.report import RESULTS
from bench.services import Services, services
from bench.shapes import BY_NAME, Shape
from devstack.binaries import find_postgres
from devstack.directories import find_directories
from devstack.errors import DevstackError
from devstack.processes import run_command
from devstack.state import State
from gateway.settings.config import Config

TRAFFIC = RESULTS / "traffic.json"
REQUESTS = 200
CHECKS, PAGE, FOLLOW = BY_NAME["states-20"], BY_NAME["followers-20"], BY_NAME["follow"]

_BLOCKS = """
SELECT sum(heap_blks_read + idx_blks_read) FROM pg_statio_user_tables WHERE schemaname = $1
"""
_WAL_END = "SELECT pg_current_wal_insert_lsn()::text"
_TOTAL = re.compile(r"^Total\s+\d+\s+(\d+) \[.*?\]\s+(\d+) \[", re.MULTILINE)

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@dataclass(frozen=True, slots=True)
class Transferred:
    """Bytes per request."""

    client: float
    """Bodies of request and response."""
    redis: float
    """All that is sent to Redis and received from it."""


@dataclass(frozen=True, slots=True)
class Logged:
    """The bytes of WAL for a follow and its drain."""

    wal_bytes: float
    """Without the images of pages."""
    image_bytes: float
    """Images of pages, each of which is logged at its first change after a checkpoint."""


@app.command()
def main(
    users: Annotated[int, typer.Option(help="Users of the graph.")] = 200_000,
    state: Annotated[Path, typer.Option(help="The state folder.")] = Path(".kith-bench"),
) -> None:
    """Count blocks, WAL and bytes."""
    try:
        content = asyncio.run(_run(community(users, None), state))
    except (DevstackError, NotFilled, ValueError) as error:
        typer.echo(f"bench: {error}", err=True)
        raise typer.Exit(1) from None
    RESULTS.mkdir(exist_ok=True)
    TRAFFIC.write_bytes(orjson.dumps(content, option=orjson.OPT_INDENT_2))
    typer.echo(TRAFFIC.read_text(encoding="utf-8"))


async def _run(graph: Community, state: Path) -> dict[str, Any]:
    space = space_of(graph)
    async with services(state, cores()) as running:
        await ensure_filled(graph, running.database_url, running.redis_url, running.folder)
        people = await population(running.database_url, space)
    # Started again, so that its buffers are empty: only the blocks of the requests are read.
    async with services(state, cores()) as running:
        config = gateway_config(running, space)
        await caches.empty(running.redis_url)
        blocks = {
            "checks": await _blocks(CHECKS, people, config, slice(0, REQUESTS)),
            "page": await _blocks(PAGE, people, config, slice(REQUESTS, 2 * REQUESTS)),
        }
        await caches.fill(config.storage, people)
        transferred = {
            "checks": asdict(await _transferred(CHECKS, people, config, running)),
            "page": asdict(await _transferred(PAGE, people, config, running)),
        }
        logged = await _logged(people, config, state)
    return {
        "users": graph.users,
        "blocks": blocks,
        "transferred": transferred,
        "logged": asdict(logged),
    }


async def _blocks(shape: Shape, people: Population, config: Config, requests: slice) -> float:
    """Blocks that PostgreSQL does not find in its own buffers, for one request with nothing
    cached."""
    before = await _value(config, _BLOCKS, config.storage.space)
    async with applications(config) as apps:
        await send_all(apps[KITH], shape.requests(people)[requests])
    # PostgreSQL counts the reads of a connection at the latest when it closes.
    found = float(await _value(config, _BLOCKS, config.storage.space) - before)
    return round(found / REQUESTS, 1)


async def _transferred(
    shape: Shape, people: Population, config: Config, running: Services
) -> Transferred:
    requests = shape.requests(people)[:REQUESTS]
    async with applications(config) as apps, Redis.from_url(running.redis_url) as redis:
        await send_all(apps[KITH], requests)
        before = await _network_bytes(redis)
        client = await send_all(apps[KITH], requests)
        used = await _network_bytes(redis) - before
    return Transferred(round(client / REQUESTS), round(used / REQUESTS))


async def _network_bytes(redis: Redis) -> int:
    stats = await redis.info("stats")
    return int(stats["total_net_input_bytes"]) + int(stats["total_net_output_bytes"])


async def _logged(people: Population, config: Config, state: Path) -> Logged:
    """The WAL of follows after a checkpoint, so that each changed page is logged once."""
    requests = FOLLOW.requests(people, seed=time.time_ns())  # others than in the last run
    await _value(config, "CHECKPOINT")
    begin = await _value(config, _WAL_END)
    async with applications(config) as apps:
        await send_all(apps[KITH], requests[:REQUESTS])
    await drain(config)
    end = await _value(config, _WAL_END)
    records, images = await _wal_bytes(state, begin, end)
    return Logged(round(records / REQUESTS), round(images / REQUESTS))


async def _wal_bytes(state: Path, begin: str, end: str) -> tuple[int, int]:
    """The bytes of records and of page images between two positions of the WAL."""
    folders = await find_directories(State(state))
    binary = await find_postgres(folders.user)
    wal = folders.data / "postgres" / "pg_wal"
    argv = [str(binary.file.with_name("pg_waldump")), "--stats", "-p", str(wal)]
    argv += ["-s", begin, "-e", end]
    code, output = await run_command(argv, folders.user, cwd=wal, timeout_s=60)
    total = _TOTAL.search(output)
    if code or total is None:
        raise ValueError(f"pg_waldump failed: {output}")
    return int(total[1]), int(total[2])


async def _value(config: Config, statement: str, *arguments: Any) -> Any:
    connection = await asyncpg.connect(
        config.storage.database_url, server_settings={"search_path": config.storage.space}
    )
    try:
        return await connection.fetchval(statement, *arguments)
    finally:
        await connection.close()


if __name__ == "__main__":
    app()
