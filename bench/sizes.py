"""Measures the size of a filled graph: bytes in tables, indexes and caches.

python -m bench.sizes [--users 1000000]
"""

import asyncio
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import orjson
import typer

from bench import caches
from bench.cores import cores
from bench.filling import NotFilled, ensure_filled, space_of
from bench.graph import Community, community
from bench.population import population
from bench.report import RESULTS
from bench.services import services
from bench.stored_sizes import CacheSize, GraphSize, cache_sizes, graph_size
from devstack.errors import DevstackError
from storage.settings import StorageSettings

SIZES = RESULTS / "sizes.json"

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
def main(
    users: Annotated[int, typer.Option(help="Users of the measured graph.")] = 1_000_000,
    state: Annotated[Path, typer.Option(help="The state folder.")] = Path(".kith-bench"),
) -> None:
    """Measure the size of a graph. A million users take some minutes and 10 GB, the first time."""
    try:
        asyncio.run(_measure(community(users, None), state))
    except (DevstackError, NotFilled, ValueError) as error:
        typer.echo(f"bench: {error}", err=True)
        raise typer.Exit(1) from None
    typer.echo(f"written to {SIZES}")


async def _measure(graph: Community, state: Path) -> None:
    async with services(state, cores()) as running:
        await ensure_filled(graph, running.database_url, running.redis_url, running.folder)
        space = space_of(graph)
        people = await population(running.database_url, space)
        settings = StorageSettings(running.database_url, running.redis_url, space)
        await caches.empty(running.redis_url)
        await caches.fill(settings, people)
        _save(
            await graph_size(running.database_url, space),
            await cache_sizes(running.redis_url, space, people.ordinary),
        )


def _save(graph: GraphSize, cached: list[CacheSize]) -> None:
    RESULTS.mkdir(exist_ok=True)
    content = {"graph": asdict(graph), "caches": [asdict(size) for size in cached]}
    SIZES.write_bytes(orjson.dumps(content, option=orjson.OPT_INDENT_2))


if __name__ == "__main__":
    app()
