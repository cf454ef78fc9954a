"""Computes how many machines a demand needs, from measured figures.

python -m bench.capacity [--edges 5000000000] …

The figures are in `measured.json`, which `bench.measured` writes.
"""

from dataclasses import asdict
from typing import Annotated

import orjson
import typer
from rich.console import Console
from rich.table import Table

from bench.measured import figures, read_measured
from bench.planning import Assumptions, Demand, Need, needs
from bench.report import RESULTS

_DEMAND, _GIVEN = Demand(), Assumptions()

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
def main(
    edges: Annotated[int, typer.Option(help="Follows to plan for.")] = _DEMAND.edges,
    writes: Annotated[int, typer.Option(help="Writes per second.")] = _DEMAND.writes_per_s,
    pages: Annotated[int, typer.Option(help="List reads per second.")] = _DEMAND.pages_per_s,
    checks: Annotated[int, typer.Option(help="Checks per second.")] = _DEMAND.checks_per_s,
    hits: Annotated[
        float, typer.Option(help="Share of reads that find a filled cache.")
    ] = _GIVEN.hits,
) -> None:
    """Plan machines from measured figures."""
    demand, given = Demand(edges, writes, pages, checks), Assumptions(hits=hits)
    measured = figures(read_measured())
    planned = needs(demand, measured, given)
    typer.echo(orjson.dumps(asdict(measured), option=orjson.OPT_INDENT_2))
    Console(width=100).print(_table(planned))
    content = {
        "demand": asdict(demand),
        "assumptions": asdict(given),
        "figures": asdict(measured),
        "needs": [asdict(need) for need in planned],
    }
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "capacity.json").write_bytes(orjson.dumps(content, option=orjson.OPT_INDENT_2))


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
