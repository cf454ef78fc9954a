"""Compares the static cost of operations with the CPU time that they take.

python -m bench.cost [--only "followers"] [--seconds 0.4]

It prints the table of docs/cost.md: for each operation its cost, and the CPU time of the gateway,
PostgreSQL and Valkey, with full caches. Requests are sent one after another.
"""

import asyncio
import http.client
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from random import Random
from statistics import mean, median
from typing import Annotated, Any
from urllib.parse import urlsplit

import asyncpg
import orjson
import typer

from bench import caches
from bench.contestants import KITH, WORKER
from bench.cores import cores, pinned
from bench.cost_queries import COST_QUERIES, CostQuery, People, Sender
from bench.filling import NotFilled, ensure_filled, space_of
from bench.graph import SMALL, community
from bench.population import population
from bench.processes import Meter
from bench.services import Services, services
from devstack.errors import DevstackError
from gateway.authentication.identify import DEVELOPMENT_SECRET, SERVICE, mint
from storage.settings import StorageSettings

WARM_UP = 100
"""Requests before an operation is measured: they compile its plan and fill caches."""
OWN_ENTRIES = 25
"""How many blocks, mutes and close follows each owner gets, of each kind."""
VIEWERS = 20
"""The number of viewers without blocks, and as many owners."""
POPULAR = 30
"""The number of users with the longest lists, without whales."""

_POPULAR = """
SELECT c.user_id FROM following_count c JOIN follower_count r USING (user_id)
WHERE c.follows <= 900 AND r.follows <= 4000
ORDER BY least(c.follows, r.follows) DESC, c.user_id LIMIT $1
"""
_ENVIRONMENT = {
    "KITH_CHANGES_PER_MINUTE": "60000000",
    "KITH_CHANGES_BURST": "1000000",
    "KITH_FOLLOWING_LIMIT": "1000000",
    "KITH_SERVICE_COST_LIMIT": "2000000000",
    "KITH_COST_LIMIT": "2000000000",
    "KITH_INTROSPECTION": "on",
    "KITH_FEDERATION_SDL": "on",
}
_PREPARE = """
mutation ($changes: [RelationshipChangeInput!]!) {
  changeRelationships(input: { changes: $changes }) { outcome }
}
"""

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@dataclass(frozen=True, slots=True)
class Measured:
    """One operation: its mean cost, and the mean CPU microseconds of each part."""

    name: str
    cost: float
    gateway_us: float
    postgres_us: float
    valkey_us: float

    @property
    def cpu_us(self) -> float:
        return self.gateway_us + self.postgres_us + self.valkey_us

    @property
    def ratio(self) -> float:
        """CPU time for each unit of cost."""
        return self.cpu_us / self.cost


class WrongAnswer(Exception):
    """A request was rejected or answered with errors."""


@app.command()
def main(
    only: Annotated[str, typer.Option(help="A part of the names of operations.")] = "",
    seconds: Annotated[float, typer.Option(help="CPU seconds for each operation.")] = 0.4,
    rounds: Annotated[int, typer.Option(help="Rounds; the median counts.", min=1)] = 3,
    users: Annotated[int, typer.Option(help="Users of the graph.")] = SMALL,
    state: Annotated[Path, typer.Option(help="The state folder.")] = Path(".kith-bench"),
) -> None:
    """Measure all operations and print the table."""
    queries = [query for query in COST_QUERIES if only in query.name]
    try:
        found = asyncio.run(_run(queries, users, state, seconds / rounds, rounds))
    except (DevstackError, NotFilled, WrongAnswer, ValueError) as error:
        typer.echo(f"bench: {error}", err=True)
        raise typer.Exit(1) from None
    typer.echo("\n".join(_table(found)))


async def _run(
    queries: Sequence[CostQuery], users: int, state: Path, seconds: float, rounds: int
) -> list[Measured]:
    graph, division = community(users, None), cores()
    space = space_of(graph)
    async with services(state, division) as running:
        await ensure_filled(graph, running.database_url, running.redis_url, running.folder)
        people = await _people(running, space)
        settings = StorageSettings(running.database_url, running.redis_url, space)
        everyone = [*people.population.ordinary, *people.popular]
        await caches.fill(settings, replace(people.population, ordinary=everyone))
        await running.start(WORKER, space, *division.stores)
        server = await running.start(KITH, space, **_ENVIRONMENT)
        meters: tuple[Meter, ...] = (server, running.postgres, running.valkey)
        with pinned(frozenset({division.load})):
            client = _Client(server.url, people)
            await asyncio.to_thread(client.prepare)
            return [
                await asyncio.to_thread(_measured, client, query, meters, seconds, rounds)
                for query in queries
            ]


async def _people(running: Services, space: str) -> People:
    found = await population(running.database_url, space)
    connection = await asyncpg.connect(running.database_url, server_settings={"search_path": space})
    try:
        popular = [row[0] for row in await connection.fetch(_POPULAR, POPULAR)]
    finally:
        await connection.close()
    return People(found, popular, found.ordinary[VIEWERS : 2 * VIEWERS], found.ordinary[:VIEWERS])


class _Client:
    """Sends requests one after another over one connection."""

    def __init__(self, url: str, people: People) -> None:
        self._connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=60)
        self._people = people
        self._service = {"Authorization": f"Bearer {mint(DEVELOPMENT_SECRET, None, SERVICE)}"}

    def prepare(self) -> None:
        """Give the viewers entries in their own lists."""
        chance = Random(1)
        for viewer in self._people.owners:
            users = chance.sample(range(1, self._people.population.highest_id), 3 * OWN_ENTRIES)
            actions = ["BLOCK"] * OWN_ENTRIES + ["MUTE"] * OWN_ENTRIES + ["FOLLOW"] * OWN_ENTRIES
            changes = [
                {"action": action, "userId": str(user), "closeFollow": True}
                for action, user in zip(actions, users, strict=True)
            ]
            for first in range(0, len(changes), 50):
                variables = {"changes": changes[first : first + 50]}
                body = orjson.dumps({"query": _PREPARE, "variables": variables})
                self.send(body, {"X-Viewer": str(viewer)})

    def requests(self, query: CostQuery) -> Iterator[tuple[bytes, dict[str, str]]]:
        """Different requests of one operation, without end."""
        chance = Random(query.name)
        for number in count():
            variables = query.draw(self._people, chance)
            document = query.document
            if not query.is_cached:
                document = document.replace("Name", f"Name{number}", 1)
            body = orjson.dumps({"query": document, "variables": variables})
            yield body, self._headers(query.sender, variables, chance)

    def _headers(
        self, sender: Sender, variables: Mapping[str, Any], chance: Random
    ) -> dict[str, str]:
        match sender:
            case Sender.NOBODY:
                return {}
            case Sender.SERVICE:
                return self._service
            case Sender.USER:
                return {"X-Viewer": variables["id"]}
            case Sender.OWNER:
                return {"X-Viewer": str(chance.choice(self._people.owners))}
            case Sender.VIEWER:
                return {"X-Viewer": str(chance.choice(self._people.viewers))}

    def send(self, body: bytes, headers: dict[str, str]) -> bytes:
        """The answer. Raises WrongAnswer."""
        headers = {"Content-Type": "application/json", **headers}
        self._connection.request("POST", "/graphql", body, headers)
        answer = self._connection.getresponse().read()
        if b'"errors"' in answer[-2_000:]:
            raise WrongAnswer(f"{body[:300]!r}: {answer[:1_000]!r}")
        return answer

    def cost(self, body: bytes, headers: dict[str, str]) -> int:
        """The cost of a request, as the gateway reports it."""
        answer = orjson.loads(self.send(body, {**headers, "Kith-Cost": "1"}))
        return int(answer["extensions"]["cost"]["requested"])


def _measured(
    client: _Client, query: CostQuery, meters: Sequence[Meter], seconds: float, rounds: int
) -> Measured:
    requests = client.requests(query)
    costs = [client.cost(*next(requests)) for _ in range(WARM_UP)]
    samples = [_sample(client, requests, meters, seconds) for _ in range(rounds)]
    gateway, postgres, valkey = (median(part) for part in zip(*samples, strict=True))
    typer.echo(f"{query.name}: {mean(costs):,.0f}, {gateway + postgres + valkey:,.0f} µs", err=True)
    return Measured(query.name, mean(costs), gateway, postgres, valkey)


def _sample(
    client: _Client,
    requests: Iterator[tuple[bytes, dict[str, str]]],
    meters: Sequence[Meter],
    seconds: float,
) -> list[float]:
    """The CPU microseconds of each part for one request."""
    before, sent = [meter.cpu_s() for meter in meters], 0
    while True:
        for _ in range(10):
            client.send(*next(requests))
        sent += 10
        used = [meter.cpu_s() - start for meter, start in zip(meters, before, strict=True)]
        if sum(used) >= seconds:
            return [part / sent * 1e6 for part in used]


def _table(found: Sequence[Measured]) -> Iterator[str]:
    middle = median(one.ratio for one in found)
    yield "| operation | cost | CPU µs | gateway | PostgreSQL | Valkey | CPU / cost |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: | ---: |"
    for one in found:
        cells = (one.cost, one.cpu_us, one.gateway_us, one.postgres_us, one.valkey_us)
        numbers = " | ".join(f"{cell:,.0f}" for cell in cells)
        yield f"| {one.name} | {numbers} | {one.ratio:.2f} |"
    least, limit = min(one.ratio for one in found), max(one.ratio for one in found)
    yield ""
    yield (
        f"{len(found)} operations: the median of CPU / cost is {middle:.2f}, the least"
        f" {least / middle:.2f} times and the greatest {limit / middle:.2f} times that."
    )


if __name__ == "__main__":
    app()
