"""Latency of a polite client while greedy clients send the dearest request that is allowed.

python -m bench.overload [--clients 32] [--seconds 15] [--bodies]

With --bodies, the greedy requests are references of `_entities`, in bodies of about 400 KB. Each
greedy client is a viewer of its own, has one request open, and repeats it at once, even after
a rejection. The polite client asks for one profile every 20 ms. The gateway is one process.
"""

import asyncio
import itertools
import json
import random
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import quantiles
from typing import Annotated, Any, NamedTuple
from urllib.parse import urlsplit

import typer
from rich.console import Console
from rich.table import Table

from bench.contestants import KITH
from bench.cores import cores
from bench.filling import NotFilled, ensure_filled, space_of
from bench.graph import SMALL, community
from bench.population import population
from bench.services import services
from devstack.errors import DevstackError
from gateway.graphql.settings import CostSettings

POLITE = "{ user(id: %s) { id followerCount followingCount } }"
DEAR = (
    "a%d: user(id: %s) { followers(first: 100) { nodes { id followerCount"
    " followers(first: 100) { nodes { id followerCount } } } } }"
)
REFERENCES = (
    "query($r: [_Any!]!) { _entities(representations: $r) { ... on User { id followerCount } } }"
)
REFERENCES_MAX = 10_000
EVERY_S = 0.02
RECOVERED = 1.5
"""The polite client's latency has recovered when its median is below 1.5 times the one before."""
RECOVERY_S_MAX = 15
"""How long the recovery is waited for."""
SAMPLE = 10
"""Requests whose median decides about the recovery."""

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@dataclass(slots=True)
class Latencies:
    """The latencies of one phase in seconds, and the number of its responses by status."""

    seconds: list[float] = field(default_factory=list)
    """The latencies of responses with status 200."""
    rejections: list[float] = field(default_factory=list)
    """The latencies of all others."""
    statuses: Counter[int] = field(default_factory=Counter)

    def add(self, status: int, seconds: float) -> None:
        self.statuses[status] += 1
        (self.seconds if status == 200 else self.rejections).append(seconds)


class Operation(NamedTuple):
    """A query and its variables."""

    query: str
    variables: dict[str, Any]


class Client:
    """One connection, which sends one request after another."""

    def __init__(self, url: str, viewer: int, operation: Operation) -> None:
        address = urlsplit(url)
        self._host, self._port = address.hostname, address.port
        query, variables = operation
        body = json.dumps({"query": query, "variables": variables}).encode()
        self._request = (
            f"POST /graphql HTTP/1.1\r\nHost: kith\r\nX-Viewer: {viewer}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        ).encode() + body

    @asynccontextmanager
    async def connected(self) -> AsyncIterator["Client"]:
        reader, writer = await asyncio.open_connection(self._host, self._port, limit=1 << 20)
        self._reader, self._writer = reader, writer
        try:
            yield self
        finally:
            writer.close()

    async def send(self) -> tuple[int, float]:
        """Send the request. Returns the status and the seconds until the end of the response."""
        begun = time.perf_counter()
        self._writer.write(self._request)
        head = await self._reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
        await self._reader.readexactly(length)
        return int(head.split(b" ", 2)[1]), time.perf_counter() - begun


@app.command()
def main(
    clients: Annotated[int, typer.Option(help="Greedy clients.", min=1)] = 32,
    seconds: Annotated[int, typer.Option(help="How long they send.", min=1)] = 15,
    users: Annotated[int, typer.Option(help="Users of the graph.")] = SMALL,
    state: Annotated[Path, typer.Option(help="The state folder.")] = Path(".kith-bench"),
    bodies: Annotated[bool, typer.Option(help="Greedy requests have bodies of 400 KB.")] = False,
) -> None:
    """Measure what greedy clients do to a polite one."""
    try:
        asyncio.run(_run(clients, seconds, users, state, bodies))
    except (DevstackError, NotFilled, OSError) as error:
        typer.echo(f"bench: {error}", err=True)
        raise typer.Exit(1) from None


async def _run(clients: int, seconds: int, users: int, state: Path, bodies: bool) -> None:
    graph = community(users, None)
    async with services(state, cores()) as running:
        await ensure_filled(graph, running.database_url, running.redis_url, running.folder)
        people = await population(running.database_url, space_of(graph))
        server = await running.start(KITH, space_of(graph))
        operation, cost = (_references if bodies else _dearest)(people.ordinary)
        before, during, greedy = Latencies(), Latencies(), Latencies()
        profile = Operation(POLITE % f'"{people.ordinary[-2]}"', {})
        polite = Client(server.url, people.ordinary[-1], profile)
        async with polite.connected():
            await _ask_until(polite, Latencies(), time.perf_counter() + 1)  # warm-up
            await _ask_until(polite, before, time.perf_counter() + 5)
            end = time.perf_counter() + seconds
            flood = [
                asyncio.create_task(_flood(Client(server.url, viewer, operation), greedy, end))
                for viewer in itertools.islice(itertools.cycle(people.ordinary[:-2]), clients)
            ]
            await _ask_until(polite, during, end)
            stopped = time.perf_counter()
            recovery = await _recovery(polite, before, stopped)
            await asyncio.gather(*flood)
        _show(cost, before, during, greedy, recovery)


def _dearest(users: list[int]) -> tuple[Operation, int]:
    """The dearest allowed query of nested pages, and its cost."""
    chosen, cost, fields = Operation("", {}), 0, ""
    for number, user in enumerate(random.Random(1).sample(users, 50)):
        fields += DEAR % (number, f'"{user}"')
        operation = Operation(f"{{ {fields} }}", {})
        total = _cost(operation)
        if total > CostSettings().limit:
            break
        chosen, cost = operation, total
    return chosen, cost


def _references(users: list[int]) -> tuple[Operation, int]:
    """A query of the follower counts of many references, and its cost."""
    among = itertools.islice(itertools.cycle(users), REFERENCES_MAX)
    references = [{"__typename": "User", "id": str(user)} for user in among]
    operation = Operation(REFERENCES, {"r": references})
    return operation, _cost(operation)


def _cost(operation: Operation) -> int:
    from engine import Engine, EngineSettings
    from schema import weights
    from schema.schema import schema

    engine = Engine(schema, EngineSettings(request_weight=weights.REQUEST))
    prepared = engine.prepare(operation.query)
    return prepared.cost(prepared.variables.coerce(operation.variables))


async def _ask_until(client: Client, latencies: Latencies, end: float) -> None:
    while time.perf_counter() < end:
        latencies.add(*await client.send())
        await asyncio.sleep(EVERY_S)


async def _flood(client: Client, latencies: Latencies, end: float) -> None:
    async with client.connected():
        while time.perf_counter() < end:
            latencies.add(*await client.send())


async def _recovery(client: Client, before: Latencies, stopped: float) -> float | None:
    """The seconds from `stopped` until the latency has recovered. None: not within
    RECOVERY_S_MAX."""
    median_before = quantiles(before.seconds, n=2)[0]
    recent: list[float] = []
    while time.perf_counter() < stopped + RECOVERY_S_MAX:
        begun = time.perf_counter()
        _, latency = await client.send()
        recent = [*recent, latency][-SAMPLE:]
        if len(recent) == SAMPLE and quantiles(recent, n=2)[0] < median_before * RECOVERED:
            return max(0.0, begun - stopped)
        await asyncio.sleep(EVERY_S)
    return None


def _show(
    cost: int, before: Latencies, during: Latencies, greedy: Latencies, recovery: float | None
) -> None:
    table = Table("client", "responses", "p50 ms", "p99 ms", "max ms", title="latency")
    for name, seconds in (
        ("polite, alone", before.seconds),
        ("polite, among greedy ones", during.seconds),
        ("polite, rejected", during.rejections),
        ("greedy, answered", greedy.seconds),
        ("greedy, rejected", greedy.rejections),
    ):
        if len(seconds) > 1:
            cuts = quantiles(seconds, n=100)
            cells = (cuts[49], cuts[98], max(seconds))
            table.add_row(name, f"{len(seconds):,}", *(f"{cell * 1_000:,.1f}" for cell in cells))
    console = Console(width=100)
    console.print(table)
    console.print(f"cost of the greedy request: {cost:,}; statuses: {dict(greedy.statuses)}")
    shown = "never" if recovery is None else f"{recovery:.2f} s"
    console.print(f"polite latency back below {RECOVERED} times its median after: {shown}")


if __name__ == "__main__":
    app()
