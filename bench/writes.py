"""Measures writes under load: acknowledged follows per second, the lag, and the effect of a star.

python -m bench.writes [--rate 1000] [--others 100]

Two gateway processes and a worker run over a filled graph, with fsync. Rounds with and without a
star alternate. Both kinds of rounds have the same number of follows, and a few follows of
"others", whose times are compared.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import asyncpg
import orjson
import typer

from bench import report
from bench.answers import WrongAnswer
from bench.contestants import KITH, WORKER
from bench.cores import cores, pinned
from bench.filling import NotFilled, ensure_filled, space_of
from bench.follows import Stream, send_at_rate
from bench.graph import Community, community
from bench.lag import lag
from bench.processes import Meter, ServerProcess
from bench.random_follows import RandomFollows
from bench.services import Services, services
from bench.write_figures import EVEN, OTHERS, STAR, WriteFigures
from devstack.errors import DevstackError

WARM_UP_S = 3
DRAINED_S_MAX = 60

_HAS_PENDING = "SELECT EXISTS (SELECT FROM outbox)"

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
def main(
    rate: Annotated[int, typer.Option(help="Follows per second.", min=1)] = 1_000,
    others: Annotated[int, typer.Option(help="Follows of others per second.", min=1)] = 100,
    rounds: Annotated[int, typer.Option(help="Rounds with a star, and as many without.")] = 3,
    seconds: Annotated[int, typer.Option(help="Seconds per round.", min=2)] = 10,
    users: Annotated[int, typer.Option(help="Users of the graph.")] = 127_000,
    state: Annotated[Path, typer.Option(help="The state folder.")] = Path(".kith-bench"),
) -> None:
    """Send follows at a steady rate, with and without a star."""
    figures = WriteFigures(rate, seconds)
    try:
        asyncio.run(_run(figures, others, rounds, community(users, None), state))
    except* (DevstackError, WrongAnswer, NotFilled, ValueError) as errors:
        typer.echo(f"bench: {errors.exceptions[0]}", err=True)
        raise typer.Exit(1) from None
    found = figures.verdicts()
    typer.echo(orjson.dumps(figures.numbers(), option=orjson.OPT_INDENT_2))
    report.show([], found)
    typer.echo(f"written to {report.save('writes', [], found, figures.numbers())}")


@dataclass(frozen=True, slots=True)
class _Setup:
    """The running processes, and the source of follows."""

    running: Services
    space: str
    follows: RandomFollows
    worker: ServerProcess
    gateways: tuple[ServerProcess, ServerProcess]

    @property
    def meters(self) -> Mapping[str, tuple[Meter, ...]]:
        return {
            "gateways": self.gateways,
            "worker": (self.worker,),
            "postgres": (self.running.postgres,),
            "valkey": (self.running.valkey,),
        }

    async def wait_until_drained(self) -> None:
        """Wait until the worker has applied all changes."""
        connection = await asyncpg.connect(
            self.running.database_url, server_settings={"search_path": self.space}
        )
        try:
            async with asyncio.timeout(DRAINED_S_MAX):
                while await connection.fetchval(_HAS_PENDING):  # noqa: ASYNC110 - another process
                    await asyncio.sleep(0.1)
        finally:
            await connection.close()


async def _run(
    figures: WriteFigures, others: int, rounds: int, graph: Community, state: Path
) -> None:
    division, space = cores(), space_of(graph)
    async with services(state, division) as running:
        await ensure_filled(graph, running.database_url, running.redis_url, running.folder)
        setup = _Setup(
            running,
            space,
            RandomFollows(graph.users),
            await running.start(WORKER, space, *division.stores),
            (
                await running.start(KITH, space, division.server),
                await running.start(KITH, space, division.second),
            ),
        )
        with pinned(frozenset({division.load})):
            await _measure(figures, others, rounds, setup)


async def _measure(figures: WriteFigures, others_per_s: int, rounds: int, setup: _Setup) -> None:
    follows, rate = setup.follows, figures.rate
    urls = [gateway.url for gateway in setup.gateways]
    even = Stream(EVEN, rate, follows.evenly())
    others = Stream(OTHERS, others_per_s, follows.evenly())
    await send_at_rate(urls, [even, others], WARM_UP_S)
    await setup.wait_until_drained()
    metrics = f"{setup.worker.url}/metrics"
    lag_before, used = lag(metrics), _cpu_s(setup)
    for _ in range(rounds):
        for kind in (EVEN, STAR):
            star = Stream(STAR, rate, follows.towards_a_star())
            streams = [even if kind == EVEN else star, others]
            figures.rounds[kind].append(await send_at_rate(urls, streams, figures.seconds))
            await setup.wait_until_drained()
    figures.lag = lag(metrics).since(lag_before)
    figures.cpu_us = {
        name: (now - used[name]) / figures.follows * 1e6 for name, now in _cpu_s(setup).items()
    }


def _cpu_s(setup: _Setup) -> dict[str, float]:
    return {name: sum(meter.cpu_s() for meter in meters) for name, meters in setup.meters.items()}


if __name__ == "__main__":
    app()
