"""Runs all shapes on all contestants over a filled graph, and prints the progress."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

from bench.comparison import Comparison, Durations
from bench.contestants import WORKER, Contestant
from bench.cores import Cores, cores
from bench.filling import ensure_filled, space_of
from bench.graph import Community
from bench.population import population
from bench.rounds import Outcome
from bench.services import services
from bench.shapes import Shape


@dataclass(frozen=True, slots=True)
class Plan:
    """The contestants, the shapes, the size of the graph, and the duration."""

    graph: Community
    contestants: Sequence[Contestant]
    shapes: Sequence[Shape]
    """The shapes to measure with full caches, and the writes."""
    cold: Sequence[Shape]
    """The shapes to measure with empty caches."""
    durations: Durations
    folder: Path

    def described(self) -> dict[str, Any]:
        """The plan for the JSON file."""
        division: Cores = cores()
        return {
            "graph": {"users": self.graph.users, "edges": self.graph.edges},
            "durations": {"rounds": self.durations.rounds, "seconds": self.durations.seconds},
            "cores": {
                "server": division.server,
                "stores": sorted(division.stores),
                "load": division.load,
                "server_is_alone": division.server_is_alone,
            },
        }


async def run(plan: Plan) -> list[Outcome]:
    """Run the plan: warm reads, cold reads, and writes last, because they change the graph.

    Raises DevstackError, NotFilled, WrongAnswer, or ValueError if the graph is too small.
    """
    async with services(plan.folder, cores()) as running:
        graph, space = plan.graph, space_of(plan.graph)
        say(f"filling a graph of {graph.users:,} users, if it is not filled yet")
        await ensure_filled(graph, running.database_url, running.redis_url, running.folder)
        people = await population(running.database_url, space)
        comparison = Comparison(running, space, people, plan.durations, running.folder)
        for contestant in plan.contestants:
            say(f"starting {contestant.name}")
            await comparison.enter(contestant)
        say("filling the caches")
        await comparison.fill_caches(people)
        outcomes = [await _warm(comparison, shape) for shape in plan.shapes if not shape.writes]
        for shape in plan.cold:
            say(f"{shape.title}, nothing cached")
            outcomes.append(await comparison.cold(shape))
        writes = [shape for shape in plan.shapes if shape.writes]
        if writes:
            await running.start(WORKER, space, *running.cores.stores)
        return [*outcomes, *[await _warm(comparison, shape) for shape in writes]]


async def _warm(comparison: Comparison, shape: Shape) -> Outcome:
    say(shape.title)
    return await comparison.warm(shape)


def say(line: str) -> None:
    """Print one line of progress."""
    typer.echo(line, err=True)
