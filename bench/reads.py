"""Runs all shapes on all contestants over a filled graph, and prints the progress."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

from bench.contestants import WORKER, Contestant
from bench.cores import Cores, cores
from bench.course import Course, Pace
from bench.filling import filled, space_of
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
    cold: Sequence[Shape]
    pace: Pace
    folder: Path

    def described(self) -> dict[str, Any]:
        """The plan for the JSON file."""
        division: Cores = cores()
        return {
            "graph": {"users": self.graph.users, "edges": self.graph.edges},
            "pace": {"rounds": self.pace.rounds, "seconds": self.pace.seconds},
            "cores": {
                "server": division.server,
                "stores": sorted(division.stores),
                "load": division.load,
                "server_is_alone": division.own,
            },
        }


async def run(plan: Plan) -> list[Outcome]:
    """Run the plan: warm reads, cold reads, and writes last, because they change the graph.

    Raises EmbeddedError, NotFilled, WrongAnswer, or ValueError if the graph is too small.
    """
    async with services(plan.folder, cores()) as running:
        graph, space = plan.graph, space_of(plan.graph)
        say(f"filling a graph of {graph.users:,} users, if it is not filled yet")
        await filled(graph, running.database_url, running.redis_url, running.folder)
        people = await population(running.database_url, space)
        course = Course(running, space, people, plan.pace, running.folder)
        for contestant in plan.contestants:
            say(f"starting {contestant.name}")
            await course.enter(contestant)
        say("filling the caches")
        await course.fill_caches(people)
        outcomes = [await _warm(course, shape) for shape in plan.shapes if not shape.writes]
        for shape in plan.cold:
            say(f"{shape.title}, nothing cached")
            outcomes.append(await course.cold(shape))
        writes = [shape for shape in plan.shapes if shape.writes]
        if writes:
            await running.start(WORKER, space, *running.cores.stores)
        return [*outcomes, *[await _warm(course, shape) for shape in writes]]


async def _warm(course: Course, shape: Shape) -> Outcome:
    say(shape.title)
    return await course.warm(shape)


def say(line: str) -> None:
    """Print one line of progress."""
    typer.echo(line, err=True)
