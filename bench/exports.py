"""Speed of the export of a long list, its memory, and the latency of another client meanwhile.

python -m bench.exports [--followers 1000000]    needs curl and zstd

The gateway is one process. The other client asks for one profile every 20 ms.
"""

import asyncio
import os
import time
from asyncio.subprocess import PIPE
from pathlib import Path
from statistics import quantiles
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from bench.contestants import KITH
from bench.cores import cores
from bench.overload import EVERY_S, POLITE, Client, Operation
from bench.processes import ServerProcess
from bench.services import Services, services
from devstack.errors import DevstackError
from gateway.authentication.identify import DEVELOPMENT_SECRET, SERVICE, mint
from storage.postgres.connection.session import session
from storage.postgres.load.bulk_load import bulk_load
from storage.postgres.migrate import migrate
from storage.settings import StorageSettings

STAR = 1
BEGAN_MS = 1_700_000_000_000
AUTHORIZATION = f"authorization: Bearer {mint(DEVELOPMENT_SECRET, None, SERVICE)}"
ALONE_S = 5.0
"""How long the other client is measured alone, before the exports."""

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
def main(
    followers: Annotated[int, typer.Option(help="The length of the list.", min=1)] = 1_000_000,
    state: Annotated[Path, typer.Option(help="The state folder.")] = Path(".kith-bench"),
) -> None:
    """Measure the export of one user's followers."""
    try:
        asyncio.run(_run(followers, state))
    except (DevstackError, OSError) as error:
        typer.echo(f"bench: {error}", err=True)
        raise typer.Exit(1) from None


async def _run(followers: int, state: Path) -> None:
    table = Table("format", "entries", "s", "per CPU-second", "with PostgreSQL", "MB resident")
    async with services(state, cores()) as running:
        space = f"exports_{followers}"
        settings = StorageSettings(running.database_url, running.redis_url, space=space)
        await _fill(settings, followers, running.folder)
        server = await running.start(KITH, space)
        client = Client(server.url, 2, Operation(POLITE % '"3"', {}))
        async with client.connected():
            alone = await _latencies(client, asyncio.create_task(asyncio.sleep(ALONE_S)))
            meanwhile: list[float] = []
            for query, encoding in (
                ("fields=id", "identity"),
                ("fields=id,since,kind,cursor", "identity"),
                ("fields=id,since,kind,cursor", "zstd"),
                ("format=csv&fields=id,since", "identity"),
            ):
                export = asyncio.create_task(_export(running, server, query, encoding, followers))
                meanwhile += await _latencies(client, export)
                table.add_row(f"{query} {encoding}", *await export)
    console = Console(width=120)
    console.print(table)
    for name, found in (("alone", alone), ("during exports", meanwhile)):
        cuts = quantiles(found, n=100)
        console.print(f"another client {name}: p50 {cuts[49]:.2f} ms, p99 {cuts[98]:.2f} ms")


def _write(file: Path, followers: int) -> None:
    with file.open("w", encoding="ascii") as out:
        out.writelines(f"{STAR + n},{STAR},{BEGAN_MS + n * 977}\n" for n in range(1, followers + 1))


def _resident_mb(server: ServerProcess) -> int:
    pages = int(Path(f"/proc/{server.pid}/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") // 1_000_000


async def _fill(settings: StorageSettings, followers: int, folder: Path) -> None:
    await migrate(settings.database_url, settings.space)
    file = folder / f"{settings.space}.csv"
    _write(file, followers)
    await bulk_load(settings, file)
    async with session(settings, "bench") as connection:
        await connection.execute("VACUUM (ANALYZE) follower")


async def _export(
    running: Services, server: ServerProcess, query: str, encoding: str, expected: int
) -> list[str]:
    """Export the star's followers once. Returns the cells of the table after the first one."""
    own, stores, begun = server.cpu_s(), running.postgres.cpu_s(), time.perf_counter()
    url = f"{server.url}/export/followers/{STAR}?{query}"
    # Another process: this one measures latencies.
    command = f"curl -sSf -H '{AUTHORIZATION}' -H 'accept-encoding: {encoding}' '{url}'"
    unpacked = f"{command} | zstd -dc" if encoding == "zstd" else command
    process = await asyncio.create_subprocess_shell(f"{unpacked} | wc -l", stdout=PIPE)
    lines = int((await process.communicate())[0])
    assert lines - ("csv" in query) == expected, lines
    seconds = time.perf_counter() - begun
    own, stores = server.cpu_s() - own, running.postgres.cpu_s() - stores
    rates = (f"{lines / own:,.0f}", f"{lines / (own + stores):,.0f}")
    return [f"{lines:,}", f"{seconds:.1f}", *rates, f"{_resident_mb(server)}"]


async def _latencies(client: Client, until: "asyncio.Task[object]") -> list[float]:
    """Milliseconds of the client's requests until the task is done."""
    found = []
    while not until.done():
        _, seconds = await client.send()
        found.append(seconds * 1_000)
        await asyncio.sleep(EVERY_S)
    return found


if __name__ == "__main__":
    app()
