"""The command line of the benchmark: `python -m bench [--quick]`."""

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from bench import goals, plot, report
from bench.answers import WrongAnswer
from bench.comparison import Durations
from bench.contestants import ALL, Contestant, node_binary
from bench.filling import NotFilled
from bench.graph import SMALL, community
from bench.load import must_have_wrk
from bench.reads import Plan, run
from bench.shapes import BY_NAME, COLD, SHAPES
from devstack.errors import DevstackError

STATE = Path(".kith-bench")
USERS, USERS_QUICK = 1_000_000, SMALL
DURATIONS, DURATIONS_QUICK = (
    Durations(rounds=5, seconds=2, warm_up_s=2),
    Durations(rounds=3, seconds=1, warm_up_s=1),
)

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
def main(
    quick: Annotated[
        bool, typer.Option("--quick", help="Three minutes: a small graph, fewer shapes, no Node.")
    ] = False,
    users: Annotated[int | None, typer.Option(help="Users of the graph.")] = None,
    edges: Annotated[int | None, typer.Option(help="Follows in the graph, about.")] = None,
    rounds: Annotated[int | None, typer.Option(help="Interleaved rounds per shape.", min=1)] = None,
    seconds: Annotated[int | None, typer.Option(help="Seconds of load per round.", min=1)] = None,
    only: Annotated[list[str] | None, typer.Option(help="Contestants besides kith.")] = None,
    shape: Annotated[list[str] | None, typer.Option(help="Shapes, by name.")] = None,
    state: Annotated[Path, typer.Option(help="The state folder, kept between runs.")] = STATE,
) -> None:
    """Compare Kith with other servers on one graph, in interleaved rounds."""
    if users is None and edges is None:
        users = USERS_QUICK if quick else USERS
    default = DURATIONS_QUICK if quick else DURATIONS
    try:
        plan = Plan(
            graph=community(users, edges),
            contestants=_contestants(only, quick),
            shapes=[BY_NAME[name] for name in shape or _usual_shapes(quick)],
            cold=[] if shape or quick else [BY_NAME[name] for name in COLD],
            durations=Durations(
                rounds or default.rounds, seconds or default.seconds, default.warm_up_s
            ),
            folder=state,
        )
        must_have_wrk()
        outcomes = asyncio.run(run(plan))
    except (DevstackError, WrongAnswer, NotFilled, ValueError, KeyError) as error:
        typer.echo(f"bench: {error}", err=True)
        raise typer.Exit(1) from None
    verdicts = goals.verdicts(outcomes)
    report.show(outcomes, verdicts)
    results = report.save("reads", outcomes, verdicts, plan.described())
    typer.echo(f"written to {results}, drawn in {plot.draw(results)}")
    if fallbacks := goals.left_to_graphql_core(outcomes):
        typer.echo(f"bench: left to graphql-core: {', '.join(fallbacks)}", err=True)
        raise typer.Exit(1)


def _contestants(only: list[str] | None, quick: bool) -> list[Contestant]:
    if only is not None:
        return [c for c in ALL if c.name in (goals.KITH_NAME, *only)]
    if not quick and node_binary() is None:
        typer.echo("Without `npm ci` in bench/peers, only Python takes part.", err=True)
    return [c for c in ALL if not c.node or (not quick and node_binary() is not None)]


def _usual_shapes(quick: bool) -> list[str]:
    return [shape.name for shape in SHAPES if shape.quick or not quick]


if __name__ == "__main__":
    app()
