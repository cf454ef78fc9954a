"""Compares the median latency of checks and pages on a small and on a large graph, in one run.

python -m bench.growth --edges 50000000

The two graphs are two spaces of the same PostgreSQL and the same Valkey, measured in turn.
"""

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from bench import caches, report
from bench.answers import WrongAnswer
from bench.comparison import Comparison, Durations
from bench.contestants import KITH
from bench.cores import cores
from bench.filling import NotFilled, ensure_filled, space_of
from bench.goals import Verdict
from bench.graph import community
from bench.load import Sample, must_have_wrk
from bench.population import population
from bench.rounds import Outcome, interleaved
from bench.services import Services, services
from bench.shapes import BY_NAME, Shape
from devstack.errors import DevstackError

SMALL, LARGE = "small", "large"
WARM = ("states-1", "states-100", "followers-20", "whale-20", "whale-20-deep")
COLD = ("states-1", "states-100", "followers-20")
WARM_RATIO_MAX, COLD_RATIO_MAX = 1.3, 2.0
"""The goals: the greatest ratio of the latency on the large graph to that on the small one."""

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
def main(
    edges: Annotated[int, typer.Option(help="Follows in the large graph.")] = 50_000_000,
    small: Annotated[int, typer.Option(help="Follows in the small graph.")] = 1_000_000,
    rounds: Annotated[int, typer.Option(help="Interleaved rounds per shape.", min=1)] = 5,
    seconds: Annotated[int, typer.Option(help="Seconds of load per round.", min=1)] = 2,
    state: Annotated[Path, typer.Option(help="The state folder.")] = Path(".kith-bench"),
) -> None:
    """Compare a large graph with a small one."""
    sizes = {SMALL: small, LARGE: edges}
    try:
        must_have_wrk()
        outcomes = asyncio.run(_run(sizes, Durations(rounds, seconds, 1), state))
    except (DevstackError, WrongAnswer, NotFilled, ValueError) as error:
        typer.echo(f"bench: {error}", err=True)
        raise typer.Exit(1) from None
    verdicts = [_verdict(outcome) for outcome in outcomes]
    report.show(outcomes, verdicts)
    typer.echo(f"written to {report.save('growth', outcomes, verdicts, {'edges': sizes})}")


async def _run(sizes: dict[str, int], durations: Durations, state: Path) -> list[Outcome]:
    async with services(state, cores()) as running:
        comparisons = {
            name: await _comparison(running, edges, durations) for name, edges in sizes.items()
        }
        warm = [await _warm(BY_NAME[name], comparisons, durations) for name in WARM]
        for comparison in comparisons.values():
            # Measure cold caches, not cold disks: read the rows once before.
            await comparison.fill_caches(comparison.people.with_fresh_users())
        cold = [await _cold(BY_NAME[name], comparisons, durations) for name in COLD]
        return [*warm, *cold]


async def _comparison(running: Services, edges: int, durations: Durations) -> Comparison:
    graph = community(None, edges)
    typer.echo(f"filling a graph of {edges:,} edges", err=True)
    await ensure_filled(graph, running.database_url, running.redis_url, running.folder)
    space = space_of(graph)
    people = await population(running.database_url, space)
    comparison = Comparison(running, space, people, durations, running.folder)
    await comparison.enter(KITH)
    await comparison.fill_caches(comparison.people)
    return comparison


async def _warm(shape: Shape, comparisons: dict[str, Comparison], durations: Durations) -> Outcome:
    typer.echo(shape.title, err=True)
    for comparison in comparisons.values():
        comparison.requests(shape, comparison.people)
        await comparison.sample(shape, KITH.name, durations.warm_up_s)

    async def run(name: str) -> Sample:
        return await comparisons[name].sample(shape, KITH.name, durations.seconds)

    outcome = Outcome(shape.name, shape.title, shape.checks)
    await interleaved(outcome, list(comparisons), durations.rounds, run)
    return outcome


async def _cold(shape: Shape, comparisons: dict[str, Comparison], durations: Durations) -> Outcome:
    typer.echo(f"{shape.title}, nothing cached", err=True)
    for comparison in comparisons.values():
        comparison.requests(shape, comparison.people.with_fresh_users())

    async def run(name: str) -> Sample:
        comparison = comparisons[name]
        await caches.empty(comparison.services.redis_url)
        return await comparison.sample(shape, KITH.name, durations.seconds)

    outcome = Outcome(f"{shape.name}-cold", f"{shape.title}, nothing cached", shape.checks)
    await interleaved(outcome, list(comparisons), durations.rounds, run)
    return outcome


def _verdict(outcome: Outcome) -> Verdict:
    limit = COLD_RATIO_MAX if outcome.shape.endswith("-cold") else WARM_RATIO_MAX
    ratio = outcome.p50_us(LARGE) / outcome.p50_us(SMALL)
    return Verdict(f"{outcome.title}: p50, large / small", limit, ratio, at_least=False)


if __name__ == "__main__":
    app()
