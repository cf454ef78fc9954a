"""Compares the caches on one Valkey with the caches in a Valkey Cluster of 3 + 3 servers.

python -m bench.cluster [--rounds 7]

Gateways of both kinds run in this process, each round in turn, with 16 requests at once. The
figures are CPU time and counts, per request. The local cache of hot users is off on both sides, as
it is in a cluster.
"""

import asyncio
import tempfile
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Annotated, Any

import orjson
import typer
import uvloop
from redis.asyncio import Redis
from rich.console import Console
from rich.table import Table
from starlette.types import ASGIApp

from bench import caches
from bench.calls import KITH, applications, drain, gateway_config
from bench.cores import cores
from bench.counting import send_all
from bench.filling import NotFilled, ensure_filled, space_of
from bench.graph import SMALL, Community, community
from bench.graphql_requests import Request
from bench.population import Population, population
from bench.report import RESULTS
from bench.services import services
from bench.shapes import BY_NAME
from devstack.errors import DevstackError
from gateway.settings.config import Config
from tests.support.valkey_cluster import running_cluster

ONE, MANY = "one server", "cluster"
AT_ONCE = 16
REQUESTS = 400
SHAPES = ("states-20", "states-100", "followers-20", "nested-20x10", "counts-100", "follow")
RATIOS = {"page": "followers-20", "check": "states-20", "write": "follow"}

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of one request."""

    gateway_us: float
    valkey_us: float
    """CPU of all primaries."""
    commands: float
    """Commands that the primaries have processed."""
    bytes: float
    """Bytes that the primaries have received and sent."""


Costs = dict[str, dict[str, list[Cost]]]
"""The costs by shape, side and round."""


@dataclass(frozen=True, slots=True)
class Side:
    """A gateway, and the primaries of its caches."""

    config: Config
    gateway: ASGIApp
    urls: tuple[str, ...]


@app.command()
def main(
    rounds: Annotated[int, typer.Option(help="Rounds of each shape.", min=1)] = 7,
    users: Annotated[int, typer.Option(help="Users of the graph.")] = SMALL,
    state: Annotated[Path, typer.Option(help="The state folder.")] = Path(".kith-bench"),
) -> None:
    """Compare one server with a cluster."""
    try:
        found = _run(community(users, None), rounds, state)
    except (DevstackError, NotFilled, ValueError) as error:
        typer.echo(f"bench: {error}", err=True)
        raise typer.Exit(1) from None
    Console(width=110).print(_table(found))
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "cluster.json").write_bytes(
        orjson.dumps(_content(found), option=orjson.OPT_INDENT_2)
    )


def _run(graph: Community, rounds: int, state: Path) -> Costs:
    with (
        tempfile.TemporaryDirectory() as folder,
        running_cluster(Path(folder), replicated=True) as cluster,
    ):
        urls = tuple(f"redis://127.0.0.1:{server.port}" for server in cluster.servers)
        return asyncio.run(_compared(graph, rounds, state, cluster.url, urls))


async def _compared(
    graph: Community, rounds: int, state: Path, cluster_url: str, urls: tuple[str, ...]
) -> Costs:
    space = space_of(graph)
    async with services(state, cores()) as running:
        await ensure_filled(graph, running.database_url, running.redis_url, running.folder)
        people = await population(running.database_url, space)
        one = gateway_config(running, space)
        many = replace(
            one, storage=replace(one.storage, cache=replace(one.storage.cache, url=cluster_url))
        )
        pair = {ONE: (one, (running.redis_url,)), MANY: (many, urls)}
        return await asyncio.to_thread(uvloop.run, _shapes(people, pair, rounds))


async def _shapes(
    people: Population, configs: dict[str, tuple[Config, tuple[str, ...]]], rounds: int
) -> Costs:
    async with AsyncExitStack() as stack:
        sides: dict[str, Side] = {}
        for name, (config, servers) in configs.items():
            apps = await stack.enter_async_context(applications(config))
            sides[name] = Side(config, apps[KITH], servers)
            await drain(config)
            await caches.fill(config.storage, people)
        return {shape: await _shape(shape, people, sides, rounds) for shape in SHAPES}


async def _shape(
    name: str, people: Population, sides: dict[str, Side], rounds: int
) -> dict[str, list[Cost]]:
    shape, found = BY_NAME[name], {side: list[Cost]() for side in sides}
    for number in range(-1, rounds):  # the first round is a warm-up
        for side_name, side in sides.items():
            # A follow must not be repeated: not on the other side, nor in the next run.
            seed = time.time_ns() if shape.writes else 1
            requests = shape.requests(people, seed=seed)[:REQUESTS]
            cost = await _cost(side, requests)
            if shape.writes:
                await drain(side.config)
            if number >= 0:
                found[side_name].append(cost)
    return found


async def _cost(side: Side, requests: Sequence[Request]) -> Cost:
    before, used = await _resources_used(side.urls), time.process_time()
    await asyncio.gather(
        *(send_all(side.gateway, requests[first::AT_ONCE]) for first in range(AT_ONCE))
    )
    used = time.process_time() - used
    cpu_s, commands, transferred = (
        now - then for now, then in zip(await _resources_used(side.urls), before, strict=True)
    )
    count = len(requests)
    return Cost(used / count * 1e6, cpu_s / count * 1e6, commands / count, transferred / count)


async def _resources_used(urls: Sequence[str]) -> tuple[float, float, float]:
    """CPU seconds, commands and bytes of the network of these servers so far."""
    totals = [0.0, 0.0, 0.0]
    for url in urls:
        async with Redis.from_url(url) as redis:
            info: dict[str, Any] = await redis.info()
        totals[0] += info["used_cpu_user"] + info["used_cpu_sys"]
        totals[1] += info["total_commands_processed"]
        totals[2] += info["total_net_input_bytes"] + info["total_net_output_bytes"]
    return totals[0], totals[1], totals[2]


def _median(costs: Sequence[Cost], part: str) -> float:
    found: float = median(getattr(cost, part) for cost in costs)
    return found


def _content(found: Costs) -> dict[str, Any]:
    return {
        "gateway_us_ratio": {
            kind: round(
                _median(found[shape][MANY], "gateway_us")
                / _median(found[shape][ONE], "gateway_us"),
                2,
            )
            for kind, shape in RATIOS.items()
        },
        "shapes": {
            shape: {
                side: {
                    part: round(_median(costs, part), 1)
                    for part in ("gateway_us", "valkey_us", "commands", "bytes")
                }
                for side, costs in sides.items()
            }
            for shape, sides in found.items()
        },
    }


def _table(found: Costs) -> Table:
    table = Table(title="per request: one server / cluster")
    for title in ("", "gateway, µs", "ratio", "Valkey, µs", "commands", "bytes"):
        table.add_column(title, justify="right" if title else "left")
    for shape, sides in found.items():
        cells = [
            " / ".join(f"{_median(sides[side], part):,.{digits}f}" for side in (ONE, MANY))
            for part, digits in (("gateway_us", 0), ("valkey_us", 0), ("commands", 1), ("bytes", 0))
        ]
        ratio = _median(sides[MANY], "gateway_us") / _median(sides[ONE], "gateway_us")
        table.add_row(BY_NAME[shape].title, cells[0], f"{ratio:.2f}", *cells[1:])
    return table


if __name__ == "__main__":
    app()
