"""Speed of a bulk operation, its CPU time, and the latency of single follows meanwhile.

python -m bench.bulk [--lines 20000] [--users 100000]

A gateway and a worker run with PostgreSQL and Valkey on all cores. Each line is a follow of
another pair. Another client follows somebody every 20 ms.
"""

import asyncio
import random
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from statistics import quantiles
from typing import Annotated

import asyncpg
import httpx
import orjson
import typer
from rich.console import Console
from rich.table import Table

from bench.contestants import KITH, WORKER
from bench.cores import cores
from bench.lag import lag
from bench.processes import Meter
from bench.services import Services, services
from devstack.errors import DevstackError
from gateway.authentication.identify import DEVELOPMENT_SECRET, SERVICE, mint
from storage.postgres.migrate import migrate

FOLLOW = "mutation F($id: ID!) { followUser(input: { userId: $id }) { outcome } }"
AS_SERVICE = {"authorization": f"Bearer {mint(DEVELOPMENT_SECRET, None, SERVICE)}"}
EVERY_S = 0.02
"""The pause between two follows of the other client."""
ALONE_S = 10.0
"""How long the other client is measured alone, before the operation."""
BULK_USERS_FROM = 10_000_000
"""The first user id of the lines. The other client uses lower ids."""

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
def main(
    lines: Annotated[int, typer.Option(help="The lines of the operation.", max=100_000)] = 20_000,
    users: Annotated[int, typer.Option(help="The users in these lines.", min=2)] = 100_000,
    state: Annotated[Path, typer.Option(help="The state folder.")] = Path(".kith-bench"),
) -> None:
    """Measure one bulk operation."""
    try:
        asyncio.run(_run(lines, users, state))
    except (DevstackError, OSError) as error:
        typer.echo(f"bench: {error}", err=True)
        raise typer.Exit(1) from None


async def _run(lines: int, users: int, state: Path) -> None:
    space = f"bulk_{int(time.time())}"
    async with services(state, cores()) as running:
        await migrate(running.database_url, space)
        everywhere = tuple(sorted({*running.cores.stores, running.cores.server}))
        worker = await running.start(WORKER, space, *everywhere)
        gateway = await running.start(KITH, space, *everywhere)
        meters: dict[str, Meter] = {
            "worker": worker,
            "PostgreSQL": running.postgres,
            "Valkey": running.valkey,
        }
        async with (
            httpx.AsyncClient(base_url=gateway.url, timeout=60) as http,
            _connected(running, space) as connection,
        ):
            await _latencies(http, asyncio.create_task(asyncio.sleep(1)))
            alone = await _latencies(http, asyncio.create_task(asyncio.sleep(ALONE_S)))
            before = {name: meter.cpu_s() for name, meter in meters.items()}
            lag_before = lag(f"{worker.url}/metrics")
            start = time.perf_counter()
            applied = asyncio.create_task(_apply(http, connection, lines, users))
            meanwhile = await _latencies(http, applied)
            applied_s = await applied
            await _drained(connection)
            seconds = time.perf_counter() - start
            used = {name: meter.cpu_s() - before[name] for name, meter in meters.items()}
            apply_lag = lag(f"{worker.url}/metrics").since(lag_before)
        table = Table(
            "lines", "lines/s", "with drains", *(f"{n} µs/line" for n in used), "lag p99 s"
        )
        cpu = [f"{spent / lines * 1e6:,.0f}" for spent in used.values()]
        rates = [f"{lines / applied_s:,.0f}", f"{lines / seconds:,.0f}"]
        table.add_row(f"{lines:,}", *rates, *cpu, f"{apply_lag.quantile_s(0.99):.2f}")
        console = Console(width=140)
        console.print(table)
        for name, found in (("alone", alone), ("meanwhile", meanwhile)):
            cuts = quantiles(found, n=100)
            console.print(f"single follows {name}: p50 {cuts[49]:.1f} ms, p99 {cuts[98]:.1f} ms")
        async with _connected(running, space) as connection:
            await connection.execute(f'DROP SCHEMA "{space}" CASCADE')


@asynccontextmanager
async def _connected(
    running: Services, space: str
) -> AsyncIterator["asyncpg.Connection[asyncpg.Record]"]:
    """A connection to the space, closed at the end of the `with` statement."""
    connection = await asyncpg.connect(running.database_url, server_settings={"search_path": space})
    try:
        yield connection
    finally:
        await connection.close()


async def _apply(
    http: httpx.AsyncClient,
    connection: "asyncpg.Connection[asyncpg.Record]",
    lines: int,
    users: int,
) -> float:
    """Upload the lines, and wait until a worker has applied them. Returns the seconds from
    when a worker began until the end, without the upload."""
    chance = random.Random(7)
    body = b"".join(_line(chance, users) for _ in range(lines))
    query = {"id": "bench", "ignoresRateLimit": "true"}
    started = await http.post("/bulk", params=query, content=body, headers=AS_SERVICE)
    started.raise_for_status()
    # BulkState: 3 is CANCELED, 4 COMPLETED. The space is new, so this is its only operation.
    while await connection.fetchval("SELECT state < 3 FROM bulk_operation"):  # noqa: ASYNC110
        await asyncio.sleep(0.05)
    took = await connection.fetchval(
        "SELECT (ended_at - started_at) / 1e6::float8 FROM bulk_operation"
    )
    rejected = await connection.fetchval("SELECT rejected FROM bulk_operation")
    assert rejected < lines / 100, rejected
    return float(took)


def _line(chance: random.Random, users: int) -> bytes:
    viewer, user = (BULK_USERS_FROM + number for number in chance.sample(range(users), 2))
    fields = {"viewerId": str(viewer), "action": "FOLLOW", "userId": str(user)}
    return orjson.dumps(fields) + b"\n"


async def _drained(connection: "asyncpg.Connection[asyncpg.Record]") -> None:
    while await connection.fetchval("SELECT count(*) FROM outbox WHERE to_user_id > 0"):  # noqa: ASYNC110
        await asyncio.sleep(0.05)


async def _latencies(http: httpx.AsyncClient, until: "asyncio.Task[object]") -> list[float]:
    """Milliseconds of single follows until the task is done."""
    found = []
    while not until.done():
        viewer, user = random.sample(range(1, 1_000_000), 2)
        body = {"query": FOLLOW, "variables": {"id": str(user)}}
        start = time.perf_counter()
        answer = await http.post("/graphql", json=body, headers={"x-viewer": str(viewer)})
        found.append((time.perf_counter() - start) * 1_000)
        assert answer.json()["data"]["followUser"]["outcome"] == "FOLLOWED", answer.text
        await asyncio.sleep(EVERY_S)
    return found


if __name__ == "__main__":
    app()
