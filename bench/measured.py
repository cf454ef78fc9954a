"""Writes `measured.json`, the figures for capacity planning, from the results of benchmarks.

python -m bench.measured [reads] [writes] [weights]    (without a name: all three)

Parts that are not named stay unchanged.
"""

from collections.abc import Callable, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import orjson
import typer

from bench.contestants import KITH
from bench.planning import Demand, Figures
from bench.report import RESULTS

MEASURED = Path(__file__).with_name("measured.json")

PAGE, CHECKS = "followers-20", f"states-{Demand().ids_per_check}"
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
    WEIGHTS = "weights"

    @property
    def command(self) -> str:
        return {
            Part.READS: "python -m bench",
            Part.WRITES: "python -m bench.writes",
            Part.WEIGHTS: "python -m bench.weighing",
        }[self]


@app.command()
def main(
    parts: Annotated[
        list[Part] | None, typer.Argument(help="The parts to copy from results.")
    ] = None,
) -> None:
    """Copy figures from results into `measured.json`."""
    try:
        content = read_measured() | taken(parts or list(Part), RESULTS)
    except Unmeasured as error:
        typer.echo(f"bench: {error}", err=True)
        raise typer.Exit(1) from None
    MEASURED.write_bytes(orjson.dumps(content, option=orjson.OPT_INDENT_2) + b"\n")
    typer.echo(f"written to {MEASURED}")


def read_measured() -> dict[str, Any]:
    """The file's content, with a key for each part."""
    content: dict[str, Any] = orjson.loads(MEASURED.read_bytes())
    return content


def taken(parts: list[Part], results: Path) -> dict[str, Any]:
    """The figures to keep from some results. Raises Unmeasured."""
    return {part.value: _KEPT[part](_result(part, results)) for part in parts}


def figures(measured: Mapping[str, Any]) -> Figures:
    """The figures for planning, from the file's content."""
    cpu_us, writes, weights = (
        measured["reads"]["cpu_us"],
        measured["writes"]["cpu_us_per_follow"],
        measured["weights"],
    )
    cold = [cpu_us[shape] for shape in MISSES]
    return Figures(
        page_us=_warm(cpu_us[PAGE]),
        check_us=_warm(cpu_us[CHECKS]),
        miss_us={who: sum(costs[who] for costs in cold) / len(cold) for who in cold[0]},
        write_us=writes,
        bytes_per_edge=weights["bytes_per_edge"],
        bytes_per_user=weights["bytes_per_user"],
        edges_per_user=weights["edges"] / weights["users"],
        cached_bytes_per_user=sum(kind["per_user"] for kind in weights["cached_bytes"].values()),
    )


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


def _warm(costs: Mapping[str, float]) -> dict[str, float]:
    """A cached read. PostgreSQL's CPU time is excluded: it is its own housekeeping."""
    return {who: microseconds for who, microseconds in costs.items() if who != "postgres"}


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


def _weights(result: Any) -> dict[str, Any]:
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
    Part.WEIGHTS: _weights,
}


if __name__ == "__main__":
    app()
