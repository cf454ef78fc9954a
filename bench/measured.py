"""Writes `measured.json`, the figures for capacity planning, from the results of benchmarks.

python -m bench.measured [reads] [writes] [sizes] [traffic] [cluster] [citus]   (default: all)

Parts that are not named stay unchanged.
"""

from collections.abc import Callable, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import orjson
import typer

from bench.contestants import KITH
from bench.report import RESULTS
from gateway.capacity.measured import MEASURED, read_measured

PAGE, CHECKS = "followers-20", "states-20"
MISSES = ("states-100-cold", "followers-20-cold")
"""The shapes whose mean is the cost of a cold read."""
TABLES = ("following", "follower")
COUNTS = ("following_count", "follower_count")

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


class Unmeasured(Exception):
    """A figure is missing. The text names the command that measures it."""


class Part(StrEnum):
    """The name of a results file, and the command that writes it."""

    READS = "reads"
    WRITES = "writes"
    SIZES = "sizes"
    TRAFFIC = "traffic"
    CLUSTER = "cluster"
    CITUS = "citus"

    @property
    def command(self) -> str:
        return {
            Part.READS: "python -m bench",
            Part.WRITES: "python -m bench.writes",
            Part.SIZES: "python -m bench.sizes",
            Part.TRAFFIC: "python -m bench.traffic",
            Part.CLUSTER: "python -m bench.cluster",
            Part.CITUS: "python -m bench.citus",
        }[self]


@app.command()
def main(
    parts: Annotated[
        list[Part] | None, typer.Argument(help="The parts to copy from results.")
    ] = None,
) -> None:
    """Copy figures from results into `measured.json`."""
    try:
        content = read_measured() | figures_of(parts or list(Part), RESULTS)
    except Unmeasured as error:
        typer.echo(f"bench: {error}", err=True)
        raise typer.Exit(1) from None
    MEASURED.write_bytes(orjson.dumps(content, option=orjson.OPT_INDENT_2) + b"\n")
    typer.echo(f"written to {MEASURED}")


def figures_of(parts: list[Part], results: Path) -> dict[str, Any]:
    """The figures to keep of these parts, from their files in the folder `results`. Raises
    Unmeasured."""
    return {part.value: _KEPT[part](_result(part, results)) for part in parts}


def _result(part: Part, results: Path) -> Any:
    try:
        return orjson.loads((results / f"{part}.json").read_bytes())
    except FileNotFoundError:
        raise Unmeasured(f"results/{part}.json is missing: run `{part.command}` first.") from None


def _reads(result: Any) -> dict[str, Any]:
    return {
        "edges": result["graph"]["edges"],
        "cpu_us": {shape: _cpu_us(result["shapes"], shape) for shape in (PAGE, CHECKS, *MISSES)},
    }


def _cpu_us(shapes: Any, shape: str) -> dict[str, float]:
    """CPU microseconds of one request, by process."""
    if shape not in shapes:
        raise Unmeasured(f"{shape} was not measured: run `python -m bench` with all shapes.")
    numbers = shapes[shape]["contestants"][KITH.name]
    return {
        "gateway": numbers["cpu_us_per_request"],
        "valkey": numbers["valkey_cpu_us_per_request"],
        "postgres": numbers["postgres_cpu_us_per_request"],
    }


def _writes(result: Any) -> dict[str, Any]:
    used = result["cpu_us_per_follow"]
    return {
        "cpu_us_per_follow": {
            "gateway": used["gateways"],
            "worker": used["worker"],
            "valkey": used["valkey"],
            "postgres": used["postgres"],
        },
    }


def _sizes(result: Any) -> dict[str, Any]:
    graph = result["graph"]
    edges, tables = graph["edges"], {table["table"]: table for table in graph["tables"]}

    def whole(table: str) -> int:
        size: int = tables[table]["all_bytes"]
        return size

    parts: dict[str, int] = {}
    for table in TABLES:
        parts[table] = tables[table]["rows_bytes"]
        for index in (f"{table}_pkey", f"{table}_list", f"{table}_tombstone"):
            parts[index] = graph["indexes"][index]
    return {
        "users": graph["users"],
        "edges": edges,
        "bytes_per_edge": round(sum(map(whole, TABLES)) / edges, 2),
        "bytes_per_edge_in": {name: round(size / edges, 2) for name, size in parts.items()},
        "bytes_per_user": round(
            sum(tables[name]["all_bytes"] for name in COUNTS) / graph["users"], 1
        ),
        "cached_bytes": {
            kind["kind"]: {
                "per_user": round(kind["bytes"] / kind["keys"], 2),
                "per_entry": round(kind["bytes"] / kind["entries"], 2),
            }
            for kind in result["caches"]
        },
    }


_KEPT: Mapping[Part, Callable[[Any], dict[str, Any]]] = {
    Part.READS: _reads,
    Part.WRITES: _writes,
    Part.SIZES: _sizes,
    Part.TRAFFIC: dict,
    Part.CLUSTER: dict,
    Part.CITUS: dict,
}


if __name__ == "__main__":
    app()
