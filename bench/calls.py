"""Counts the functions that one request calls, in Kith and in `bench.raw`.

python -m bench.calls [--shape states-1] [--top 30]

Both applications run in this process, and get one request at a time.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import typer
import uvloop
from rich.console import Console
from rich.table import Table
from starlette.types import ASGIApp

from bench import caches, raw
from bench.cores import cores
from bench.counting import Calls, ErrorResponse, counted, send_all
from bench.filling import NotFilled, ensure_filled, space_of
from bench.graph import SMALL, community
from bench.population import Population, population
from bench.raw_answers import RawAnswers
from bench.services import Services, services
from bench.shapes import BY_NAME, SHAPES, Shape
from devstack.errors import DevstackError
from gateway.server.app import Gateway
from gateway.settings.config import Config, read_config
from storage.redis.multiplexed import MultiplexedWire
from storage.stores import open_stores

REQUESTS = 100
UNFOLLOW = (
    "mutation Unfollow($input: UnfollowUserInput!) { unfollowUser(input: $input) { outcome } }"
)
KITH, RAW = "kith", "raw"
AN_HOUR_MS = 3_600_000

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@dataclass(frozen=True, slots=True)
class Counted:
    """The calls of each application for one shape. `bench.raw` cannot write."""

    title: str
    calls: dict[str, Calls]


@app.command()
def main(
    shape: Annotated[list[str] | None, typer.Option(help="Shapes, by name.")] = None,
    top: Annotated[
        int, typer.Option(help="Kith's most called functions to show per shape.", min=0)
    ] = 0,
    users: Annotated[int, typer.Option(help="Users of the graph.")] = SMALL,
    state: Annotated[Path, typer.Option(help="The state folder.")] = Path(".kith-bench"),
) -> None:
    """Count the calls of a request."""
    try:
        shapes = [BY_NAME[name] for name in shape or _usual_shapes()]
        found = asyncio.run(_run(shapes, users, state))
    except (DevstackError, ErrorResponse, NotFilled, ValueError, KeyError) as error:
        typer.echo(f"bench: {error}", err=True)
        raise typer.Exit(1) from None
    console = Console(width=110)
    console.print(_table(found))
    for one in found if top else ():
        console.print(_functions(one, top))


def _usual_shapes() -> list[str]:
    return [shape.name for shape in SHAPES if not shape.beyond_cache]


async def _run(shapes: Sequence[Shape], users: int, state: Path) -> list[Counted]:
    graph = community(users, None)
    async with services(state, cores()) as running:
        await ensure_filled(graph, running.database_url, running.redis_url, running.folder)
        people = await population(running.database_url, space_of(graph))
        config = gateway_config(running, space_of(graph))
        await caches.fill(config.storage, people)
        # uvloop, as in a gateway: the calls of asyncio's own loop, in Python, would be counted.
        return await asyncio.to_thread(uvloop.run, _count_all(shapes, people, config))


async def _count_all(shapes: Sequence[Shape], people: Population, config: Config) -> list[Counted]:
    found: list[Counted] = []
    async with applications(config) as apps:
        for shape in shapes:
            if shape.writes:
                found += await _count_write(shape, people, apps[KITH])
                await drain(config)
            else:
                found.append(await _count_read(shape, people, apps))
    return found


async def _count_read(shape: Shape, people: Population, apps: dict[str, ASGIApp]) -> Counted:
    requests = shape.requests(people)[:REQUESTS]
    calls: dict[str, Calls] = {}
    for name, application in apps.items():
        await send_all(application, requests)
        calls[name] = await counted(application, requests)
    return Counted(shape.title, calls)


async def drain(config: Config) -> None:
    """Apply the pending changes. While there are any, reads use the tables and not the caches."""
    async with open_stores(config.storage) as stores:
        while lanes := await stores.jobs.lanes.progress.lanes_with_changes():
            for lane in lanes:
                await stores.jobs.lanes.drain.lane(lane)


async def _count_write(shape: Shape, people: Population, kith: ASGIApp) -> list[Counted]:
    """Count the calls of mutations that change something, and of the same mutations repeated."""
    requests = shape.requests(people)[:REQUESTS]
    undoing = shape.requests(people, UNFOLLOW)[:REQUESTS]
    for warm_up in (undoing, requests, undoing):
        await send_all(kith, warm_up)
    changing = await counted(kith, requests)
    repeated = await counted(kith, requests)
    await send_all(kith, undoing)
    return [
        Counted(f"{shape.title}, a change", {KITH: changing}),
        Counted(f"{shape.title}, no change", {KITH: repeated}),
    ]


@asynccontextmanager
async def applications(config: Config) -> AsyncIterator[dict[str, ASGIApp]]:
    """Kith and raw, in this process."""
    gateway, storage = Gateway(config), config.storage
    wire = MultiplexedWire(storage.redis_url, storage.connections.redis_timeout_s)
    try:
        async with gateway.lifespan():
            yield {KITH: gateway, RAW: raw.app(RawAnswers(wire, storage.space))}
    finally:
        await wire.close()


def gateway_config(running: Services, space: str) -> Config:
    """A configuration without effects of time: no local cache, and absent accounts read once."""
    environ = {
        "DATABASE_URL": running.database_url,
        "REDIS_URL": running.redis_url,
        "KITH_HOT_TTL_MS": "0",
        "KITH_SLOW_OPERATION_MS": "0",
    }
    config = read_config(running.folder, space, development=True, environ=environ)
    return replace(
        config,
        storage=replace(
            config.storage, local=replace(config.storage.local, absent_age_ms=AN_HOUR_MS)
        ),
    )


def _table(found: Sequence[Counted]) -> Table:
    table = Table(title="calls a request")
    for title in ("", "kith, Python", "kith, C", "raw, Python", "raw, C", "kith / raw, Python"):
        table.add_column(title, justify="left" if not title else "right")
    for one in found:
        kith, by_hand = one.calls[KITH], one.calls.get(RAW)
        cells = [f"{kith.python_calls:,.1f}", f"{kith.c_calls:,.1f}"]
        if by_hand is not None:
            cells += [f"{by_hand.python_calls:,.1f}", f"{by_hand.c_calls:,.1f}"]
            cells.append(f"{kith.python_calls / by_hand.python_calls:.1f}")
        table.add_row(one.title, *cells)
    return table


def _functions(one: Counted, top: int) -> Table:
    table = Table("calls", "function", title=one.title)
    for name, times in one.calls[KITH].most_called(top):
        table.add_row(f"{times:,.2f}", name)
    return table


if __name__ == "__main__":
    app()
