"""What a graph weighs and what its reads and writes cost, and how many machines that comes to.

python -m bench.capacity [--measure] [--edges 5000000000] …

Measured figures come from the results of `bench` and `bench.writes` and from weighing the graph
that they have filled; `--measure` weighs it anew. What is planned is arithmetic.
"""

import asyncio
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import orjson
import typer
from rich.console import Console
from rich.table import Table

from bench import caches
from bench.contestants import KITH
from bench.cores import cores
from bench.filling import NotFilled, filled, space_of
from bench.graph import Community, community
from bench.planning import Assumptions, Demand, Figures, Need, needs
from bench.population import population
from bench.report import RESULTS
from bench.services import services
from bench.weights import CacheWeight, GraphWeight, cache_weights, graph_weight
from gateway.embedded.errors import EmbeddedError
from storage.settings import StorageSettings

_DEMAND, _GIVEN = Demand(), Assumptions()
WEIGHTS = RESULTS / "weights.json"

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


class Unmeasured(Exception):
    """A figure is missing; the text says what measures it."""


@app.command()
def main(
    measure: Annotated[bool, typer.Option("--measure", help="Weigh the graph anew.")] = False,
    users: Annotated[int, typer.Option(help="Users of the graph that is weighed.")] = 1_000_000,
    edges: Annotated[int, typer.Option(help="Follows to plan for.")] = _DEMAND.edges,
    writes: Annotated[int, typer.Option(help="Writes a second.")] = _DEMAND.writes_per_s,
    pages: Annotated[int, typer.Option(help="List reads a second.")] = _DEMAND.pages_per_s,
    checks: Annotated[int, typer.Option(help="Checks a second.")] = _DEMAND.checks_per_s,
    hits: Annotated[float, typer.Option(help="Reads that find a filled cache.")] = _GIVEN.hits,
    state: Annotated[Path, typer.Option(help="The bench's own folder.")] = Path(".kith-bench"),
) -> None:
    """Plan machines from measured figures."""
    try:
        if measure or not WEIGHTS.exists():
            asyncio.run(_weigh(community(users, None), state))
        figures = read_figures(_DEMAND.ids_per_check)
    except (EmbeddedError, NotFilled, Unmeasured, ValueError) as error:
        typer.echo(f"bench: {error}", err=True)
        raise typer.Exit(1) from None
    demand = Demand(edges, writes, pages, checks)
    planned = needs(demand, figures, Assumptions(hits=hits))
    typer.echo(orjson.dumps(asdict(figures), option=orjson.OPT_INDENT_2))
    Console(width=100).print(_table(planned))
    content = {
        "demand": asdict(demand),
        "assumptions": asdict(Assumptions(hits=hits)),
        "figures": asdict(figures),
        "needs": [asdict(need) for need in planned],
    }
    (RESULTS / "capacity.json").write_bytes(orjson.dumps(content, option=orjson.OPT_INDENT_2))


def read_figures(ids: int) -> Figures:
    """The figures in `bench/results/`.

    Raises Unmeasured.
    """
    shapes = _result("reads.json", "`python -m bench`")["shapes"]
    writes = _result("writes.json", "`python -m bench.writes`")["cpu_us_per_follow"]
    weights = _result("weights.json", "`python -m bench.capacity --measure`")
    edges, users = weights["graph"]["edges"], weights["graph"]["users"]
    sizes = {table["table"]: table["all_bytes"] for table in weights["graph"]["tables"]}
    cold = [_cpu_us(shapes, f"{name}-cold") for name in ("states-100", "followers-20")]
    return Figures(
        page_us=_warm(_cpu_us(shapes, "followers-20")),
        check_us=_warm(_cpu_us(shapes, f"states-{ids}")),
        miss_us={who: sum(costs[who] for costs in cold) / len(cold) for who in cold[0]},
        write_us={
            "gateway": writes["gateways"],
            "worker": writes["worker"],
            "postgres": writes["postgres"],
            "valkey": writes["valkey"],
        },
        bytes_per_edge=(sizes["following"] + sizes["follower"]) / edges,
        bytes_per_user=(sizes["following_count"] + sizes["follower_count"]) / users,
        edges_per_user=edges / users,
        cached_bytes_per_user=sum(c["bytes"] / c["keys"] for c in weights["caches"]),
    )


async def _weigh(graph: Community, state: Path) -> None:
    async with services(state, cores()) as running:
        await filled(graph, running.database_url, running.redis_url, running.folder)
        space = space_of(graph)
        people = await population(running.database_url, space)
        where = StorageSettings(running.database_url, running.redis_url, space)
        await caches.empty(running.redis_url)
        await caches.fill(where, people)
        _save(
            await graph_weight(running.database_url, space),
            await cache_weights(running.redis_url, space, people.ordinary),
        )


def _save(graph: GraphWeight, cached: list[CacheWeight]) -> None:
    RESULTS.mkdir(exist_ok=True)
    content = {"graph": asdict(graph), "caches": [asdict(weight) for weight in cached]}
    WEIGHTS.write_bytes(orjson.dumps(content, option=orjson.OPT_INDENT_2))


def _result(name: str, by: str) -> Any:
    try:
        return orjson.loads((RESULTS / name).read_bytes())
    except FileNotFoundError:
        raise Unmeasured(f"results/{name} is missing: run {by} first.") from None


def _cpu_us(shapes: Any, shape: str) -> dict[str, float]:
    """By who used it, of one request."""
    if shape not in shapes:
        raise Unmeasured(f"{shape} was not measured: run `python -m bench` with all shapes.")
    numbers = shapes[shape]["contestants"][KITH.name]
    return {
        "gateway": numbers["cpu_us_per_request"],
        "valkey": numbers["valkey_cpu_us_per_request"],
        "postgres": numbers["postgres_cpu_us_per_request"],
    }


def _warm(costs: dict[str, float]) -> dict[str, float]:
    """What PostgreSQL used meanwhile was its own housekeeping."""
    return {who: microseconds for who, microseconds in costs.items() if who != "postgres"}


def _table(planned: list[Need]) -> Table:
    table = Table(title="machines")
    for title in ("part", "cores", "memory GiB", "disk GiB", "machines"):
        table.add_column(title, justify="left" if title == "part" else "right")
    for need in planned:
        numbers = (need.cores, need.memory_gib, need.disk_gib, need.machines)
        table.add_row(need.part, *(f"{number:,.0f}" for number in numbers))
    return table


if __name__ == "__main__":
    app()
