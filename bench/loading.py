"""Speed of `load` and `verify`, and of the statements that bound their speed.

python -m bench.loading [--edges 1000000]

PostgreSQL and the client share all cores of this machine. If other processes use them too, the CPU
time of each edge says more than the rate. The graph is loaded sorted and shuffled into empty
spaces, then a file of 6 % of its size into the second one. `raw insert` is the insertion of the
same edges into both directions by one statement for each, without checks and counts; `raw join` is
one full join of both directions, in one snapshot.
"""

import asyncio
import os
import time
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from random import Random
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from bench.cores import Cores
from bench.graph import Community, community
from bench.processes import Meter
from bench.services import Services, services
from devstack.errors import DevstackError
from storage.postgres.connection.session import session
from storage.postgres.load.bulk_load import bulk_load
from storage.postgres.migrate import migrate
from storage.postgres.verification.verify import verify
from storage.settings import StorageSettings

HEADER = "from_user_id,to_user_id,created_at_ms\n"
SMALL_SHARE = 0.06
"""The share of all lines that are left out first, and then loaded into the populated space."""

RAW_FORWARD = """
INSERT INTO following (from_user_id, to_user_id, since, version, kind)
SELECT from_user_id, to_user_id, since, version, kind FROM {loaded}.following
ORDER BY from_user_id, to_user_id
"""
RAW_REVERSE = """
INSERT INTO follower (to_user_id, from_user_id, since, version, kind)
SELECT to_user_id, from_user_id, since, version, kind FROM {loaded}.following
ORDER BY to_user_id, from_user_id
"""
RAW_JOIN = """
SELECT count(*) FROM following f FULL JOIN follower r
  ON r.to_user_id = f.to_user_id AND r.from_user_id = f.from_user_id
WHERE (f.kind, f.flags, f.since, f.version) IS DISTINCT FROM (r.kind, r.flags, r.since, r.version)
"""

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
def main(
    edges: Annotated[int, typer.Option(help="Edges of the graph, about.", min=10_000)] = 1_000_000,
    state: Annotated[Path, typer.Option(help="The state folder.")] = Path(".kith-bench"),
) -> None:
    """Measure loads into empty and populated spaces, and the verification of the result."""
    try:
        asyncio.run(_run(community(None, edges), state))
    except (DevstackError, OSError) as error:
        typer.echo(f"bench: {error}", err=True)
        raise typer.Exit(1) from None


async def _run(graph: Community, state: Path) -> None:
    table = Table("", "edges", "s", "edges a second", "client µs/edge", "PostgreSQL µs/edge")
    free = frozenset(os.sched_getaffinity(0))
    async with services(state, Cores(min(free), min(free), free, min(free))) as running:
        measure = _Measure(table, running.postgres)
        files = await asyncio.to_thread(_write, graph, running.folder)
        for name in ("sorted", "shuffled"):
            space = await _empty(running, f"loading_{name}")
            await measure.run(f"load, {name}", partial(_load, space, files[name]))
        await measure.run("load into a populated space", partial(_load, space, files["small"]))
        await measure.run("load it again", partial(_load, space, files["small"]))
        await measure.run("verify", partial(_verify, space))
        await measure.run("raw join", partial(_raw_join, space))
        raw = await _empty(running, "loading_raw")
        await measure.run("raw insert", partial(_raw_insert, raw, space.space))
    Console(width=120).print(table)


class _Measure:
    """Measures work, and adds a row to the table for each call of `run`."""

    def __init__(self, table: Table, postgres: Meter) -> None:
        self._table = table
        self._postgres = postgres

    async def run(self, name: str, work: Callable[[], Awaitable[int]]) -> None:
        begun, client, server = time.perf_counter(), time.process_time(), self._postgres.cpu_s()
        edges = await work()
        seconds = time.perf_counter() - begun
        used = time.process_time() - client, self._postgres.cpu_s() - server
        self._table.add_row(
            name,
            f"{edges:,}",
            f"{seconds:.2f}",
            f"{edges / seconds:,.0f}",
            *(f"{cpu_s / edges * 1e6:.1f}" for cpu_s in used),
        )


def _write(graph: Community, folder: Path) -> dict[str, Path]:
    lines = sorted(graph.lines(), key=lambda line: [*map(int, line.split(",", 2)[:2])])
    shuffled = Random(1).sample(lines, len(lines))
    small = int(len(lines) * SMALL_SHARE)
    contents = {"sorted": lines, "shuffled": shuffled[small:], "small": shuffled[:small]}
    files = {}
    for name, content in contents.items():
        files[name] = folder / f"loading_{name}.csv"
        files[name].write_text(HEADER + "".join(content), encoding="ascii")
    return files


async def _empty(running: Services, space: str) -> StorageSettings:
    settings = StorageSettings(running.database_url, running.redis_url, space=space)
    async with session(StorageSettings(running.database_url, running.redis_url), "bench") as own:
        await own.execute(f"DROP SCHEMA IF EXISTS {space} CASCADE")
    await migrate(settings.database_url, space)
    async with session(settings, "bench") as connection:
        await connection.execute("CHECKPOINT")
    return settings


async def _load(settings: StorageSettings, file: Path) -> int:
    report = await bulk_load(settings, file)
    return report.loaded + report.present


async def _verify(settings: StorageSettings) -> int:
    report = await verify(settings)
    assert report.clean, report
    return report.forward_rows


async def _raw_join(settings: StorageSettings) -> int:
    async with session(settings, "bench") as connection:
        await connection.execute("SET enable_seqscan = on")
        assert not await connection.fetchval(RAW_JOIN)
        return int(await connection.fetchval("SELECT count(*) FROM following"))


async def _raw_insert(settings: StorageSettings, loaded: str) -> int:
    async def insert(statement: str) -> int:
        async with session(settings, "bench") as connection:
            await connection.execute("SET enable_seqscan = on")
            return int((await connection.execute(statement.format(loaded=loaded))).split()[-1])

    forward, _ = await asyncio.gather(insert(RAW_FORWARD), insert(RAW_REVERSE))
    return forward


if __name__ == "__main__":
    app()
