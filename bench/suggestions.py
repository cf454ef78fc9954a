"""Measures how often suggestions are right: the hidden follows of real graphs that a method finds.

python -m bench.suggestions --data FOLDER    (or KITH_BENCH_DATA=FOLDER)

The folder holds graphs as gzipped CSV files with the columns `from_user_id` and `to_user_id`, and
`created_at_ms` and `op` (`follow` or `unfollow`) if known. Half of the users choose the parameters
of the methods; the figures are those of the other half. Results are kept in the state folder, so
only new methods are computed again.

With `--unseen`, Kith's weights are chosen on all graphs but one, and reported on that one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import process_time
from typing import Annotated

import orjson
import typer
from rich.console import Console
from rich.progress import track

from bench.report import RESULTS
from bench.suggestion_data import Split, read_split
from bench.suggestion_figures import Interval, interval, run
from bench.suggestion_methods import METHODS, SHOWN, Method
from bench.suggestion_plot import draw
from bench.suggestion_transfer import transfer, transfer_table
from graph.edge import UserId

GRAPHS = ("nostr_events", "epinions1", "slashdot0902")

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@dataclass(frozen=True, slots=True)
class Figures:
    """The score of a method on one graph."""

    parameter: float
    """The one of `Method.parameters` that the choosing users have chosen."""
    hit_rate: Interval
    precision: Interval
    reciprocal_rank: Interval
    coverage: int
    """Different users among all suggestions."""
    top_share: float
    """The share of the lists that hold the user who is suggested most often."""
    cpu_ms: float
    """CPU time for a list, without the stores."""


@app.command()
def main(
    data: Annotated[Path, typer.Option(envvar="KITH_BENCH_DATA", help="The folder of the graphs.")],
    users: Annotated[int, typer.Option(help="Users of each graph, in two halves.", min=20)] = 600,
    graph: Annotated[list[str] | None, typer.Option(help="Graphs, by file name.")] = None,
    state: Annotated[Path, typer.Option(help="The state folder.")] = Path(".kith-bench"),
    again: Annotated[list[str] | None, typer.Option(help="Methods to compute again.")] = None,
    unseen: Annotated[
        bool, typer.Option(help="Only report each graph with weights chosen on the other graphs.")
    ] = False,
) -> None:
    """Compare methods of suggesting whom to follow."""
    names = graph or GRAPHS
    if unseen:
        splits = [_read(data, name) for name in names]
        typer.echo(transfer_table(transfer(splits, users)))
        return
    measured_on: dict[str, dict[str, Figures]] = {}
    for name in names:
        results_file = state / "suggestions" / f"{name}-{users}.json"
        measured: dict[str, Figures] = {}
        if results_file.exists():
            measured = {
                method: _figures(row)
                for method, row in orjson.loads(results_file.read_bytes()).items()
                if method not in (again or ())
            }
        missing = [method for method in METHODS if method.name not in measured]
        if missing:
            split = _read(data, name)
            halves = split.sample(users)
            for method in track(missing, name, console=Console(stderr=True)):
                measured[method.name] = measure(split, method, *halves)
                results_file.parent.mkdir(parents=True, exist_ok=True)
                results_file.write_bytes(_json(measured))
        measured_on[name] = {method.name: measured[method.name] for method in METHODS}
    typer.echo(table(measured_on))
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "suggestions.json").write_bytes(_json(measured_on))
    (RESULTS / "suggestions.svg").write_text(
        draw(
            {name: {m: f.precision for m, f in rows.items()} for name, rows in measured_on.items()}
        )
    )


def _read(data: Path, name: str) -> Split:
    try:
        return read_split(data / f"{name}.csv.gz")
    except OSError as error:
        typer.echo(f"bench: {error}", err=True)
        raise typer.Exit(1) from None


def measure(
    split: Split, method: Method, choosing: Sequence[UserId], reporting: Sequence[UserId]
) -> Figures:
    """Choose the method's parameter by its hits for the users `choosing`, and return its figures
    for the users `reporting`."""
    parameter = method.parameters[0]
    if len(method.parameters) > 1:
        parameter = max(
            method.parameters,
            key=lambda value: sum(
                user.hits for user in run(split, method.prepare(split, value), choosing)[0]
            ),
        )
    began = process_time()
    figures, shown = run(split, method.prepare(split, parameter), reporting)
    cpu_ms = (process_time() - began) * 1000 / len(reporting)
    return Figures(
        parameter,
        interval([float(user.hits > 0) for user in figures]),
        interval([user.hits / SHOWN for user in figures]),
        interval([user.reciprocal_rank for user in figures]),
        len(shown),
        max(shown.values(), default=0) / len(reporting),
        cpu_ms,
    )


def table(found: Mapping[str, Mapping[str, Figures]]) -> str:
    """The figures as a Markdown table for each graph."""
    lines: list[str] = []
    for name, rows in found.items():
        lines += [
            f"| {name} | precision at 10 | hit rate | reciprocal rank | coverage | top share "
            "| CPU ms |",
            "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
        ]
        for method, row in rows.items():
            shown = (row.precision, row.hit_rate, row.reciprocal_rank)
            cells = [f"{one.mean:.3f} ({one.low:.3f} to {one.high:.3f})" for one in shown]
            cells += [f"{row.coverage:,}", f"{row.top_share:.2f}", f"{row.cpu_ms:.1f}"]
            lines.append(f"| {method} | {' | '.join(cells)} |")
        lines.append("")
    return "\n".join(lines)


def _json(rows: Mapping[str, Figures] | Mapping[str, Mapping[str, Figures]]) -> bytes:
    return orjson.dumps(rows, option=orjson.OPT_INDENT_2)


def _figures(row: dict[str, object]) -> Figures:
    intervals = {key: Interval(**value) for key, value in row.items() if isinstance(value, dict)}
    return Figures(**{**row, **intervals})  # type: ignore[arg-type]


if __name__ == "__main__":
    app()
