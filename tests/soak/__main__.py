"""`python -m tests.soak`: send load, kill a random process every few seconds, check every response.

Exits with 1 if a response was wrong, `verify` found drift, or the memory of a process grew. One
gateway and one worker are never killed, so that their memory is measured from start to end.
"""

import asyncio
import random
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from math import inf
from typing import Annotated

import typer

from tests.soak import report
from tests.soak.load import Load, Rates
from tests.soak.measures import Measures
from tests.support.faults.part import Part
from tests.support.faults.quiescence import drain_and_compare, verify_is_clean
from tests.support.faults.stack import Sizes, Stack, running_stack
from tests.support.faults.traffic import Traffic
from tests.support.faults.world import World

USERS = 400
REACH = 10
"""The users form a circle. Each may follow this many neighbours on each side."""
LAG_S = 30.0
"""A write must be visible to others this long after its acknowledgement, despite the kills."""
PROGRESS_EVERY_S = 30


def main(
    minutes: Annotated[float, typer.Option(help="How long to run.")] = 10,
    writes: Annotated[int, typer.Option(help="Writes a second.")] = 200,
    reads: Annotated[int, typer.Option(help="Reads a second.")] = 1000,
    kill_every: Annotated[float, typer.Option(help="Seconds between two kills.")] = 15,
) -> None:
    """Run the soak, and exit with 1 if anything was wrong."""
    sys.exit(asyncio.run(soak(minutes * 60, Rates(writes, reads), kill_every)))


async def soak(seconds: float, rates: Rates, kill_every_s: float) -> int:
    """Run load and kills, then compare and verify. Returns the exit code."""
    kills: Counter[str] = Counter()
    measures = Measures()
    async with running_stack(Sizes(), proxied=False) as stack:
        world = World.ring(USERS, REACH, LAG_S)
        world.requires_repeatable_reads = False  # Valkey is killed too
        traffic = Traffic(stack.clients, world, delayed_s=LAG_S)
        load = Load(traffic, rates)
        began = time.monotonic()
        background = _in_background(
            measures.sample_on(stack, traffic.tally), _show_progress(traffic, kills)
        )
        async with background, load.running():
            while time.monotonic() - began + kill_every_s < seconds:
                await asyncio.sleep(kill_every_s)
                await _kill(stack, traffic, kills)
            await asyncio.sleep(max(0.0, began + seconds - time.monotonic()))
        run_s = time.monotonic() - began
        await drain_and_compare(stack, traffic)
        await verify_is_clean(stack, traffic)
        for text in report.growing(measures):
            traffic.tally.violation(text)
    for line in report.lines(load, measures, kills, run_s):
        typer.echo(line)
    return 1 if traffic.tally.violations else 0


async def _kill(stack: Stack, traffic: Traffic, kills: Counter[str]) -> None:
    """Kill a random server, gateway or worker with SIGKILL, and wait until it runs again."""
    part: Part = random.choice([stack.gateways[0], stack.workers[0], stack.postgres, stack.valkey])
    kills[part.name] += 1
    traffic.outage.began, traffic.outage.ended = time.monotonic(), inf
    part.kill()
    await stack.heal()
    traffic.outage.ended = time.monotonic()


@asynccontextmanager
async def _in_background(*work: Coroutine[None, None, None]) -> AsyncIterator[None]:
    """Run endless coroutines until the block ends.

    Raises:
        RuntimeError: one of them has ended by itself.
    """
    tasks = [asyncio.create_task(each) for each in work]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        ended = await asyncio.gather(*tasks, return_exceptions=True)
    for each in ended:
        if not isinstance(each, asyncio.CancelledError):
            raise RuntimeError("a background task has ended") from each


async def _show_progress(traffic: Traffic, kills: Counter[str]) -> None:
    began = time.monotonic()
    while True:
        await asyncio.sleep(PROGRESS_EVERY_S)
        typer.echo(report.progress(traffic.tally, time.monotonic() - began, kills))


if __name__ == "__main__":
    app = typer.Typer(pretty_exceptions_enable=False)
    app.command()(main)
    app()
