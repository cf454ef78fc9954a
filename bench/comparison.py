"""One run: starts the contestants' servers and measures every shape."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bench import caches
from bench.agreement import check_agreement
from bench.contestants import KITH, Contestant
from bench.fallbacks import fallbacks
from bench.graphql_requests import Request, write_requests
from bench.load import Sample, loaded
from bench.population import Population
from bench.processes import ServerProcess
from bench.rounds import Outcome, interleaved
from bench.services import Services
from bench.shapes import Shape
from storage.settings import StorageSettings


@dataclass(frozen=True, slots=True)
class Durations:
    """The number of rounds, and the duration of a sample."""

    rounds: int
    seconds: int
    warm_up_s: int
    """For just-in-time compilers, which must have run a shape before it is measured."""


@dataclass(slots=True)
class Comparison:
    """Contestants whose servers run on one space."""

    services: Services
    space: str
    people: Population
    durations: Durations
    folder: Path
    _entered: dict[str, tuple[Contestant, ServerProcess]] = field(default_factory=dict)

    async def enter(self, contestant: Contestant) -> None:
        """Start a contestant's server. Raises ChildFailed."""
        await contestant.prepare(self.services.database_url, self.space)
        server = await self.services.start(contestant, self.space)
        self._entered[contestant.name] = (contestant, server)

    async def fill_caches(self, people: Population) -> None:
        """Fill the caches of these users for all shapes."""
        servers = self.services
        settings = StorageSettings(servers.database_url, servers.redis_url, self.space)
        await caches.fill(settings, people)

    async def warm(self, shape: Shape) -> Outcome:
        """Measure a shape with full caches, after all answers agree. Raises WrongAnswer."""
        requests = self.requests(shape, self.people)
        names, fallbacks_before = list(requests), await self._fallbacks()
        if not shape.writes:
            await check_agreement(shape.name, self._servers_of(names), requests)
        sent = dict.fromkeys(names, 0)

        async def run(name: str, seconds: int = self.durations.seconds) -> Sample:
            sample = await self.sample(shape, name, seconds, sent[name])
            sent[name] += sample.requests  # a write must not be repeated
            return sample

        for name in names:
            await run(name, self.durations.warm_up_s)
        outcome = Outcome(shape.name, shape.title, shape.checks, shape.writes)
        await interleaved(outcome, names, self.durations.rounds, run)
        outcome.fallbacks = await self._fallbacks() - fallbacks_before
        return outcome

    async def cold(self, shape: Shape) -> Outcome:
        """Measure a shape with other users and with caches that are emptied before each round. A
        user who is requested again in the same round is cached. Raises WrongAnswer."""
        requests = self.requests(shape, self.people.with_fresh_users(), cold=True)
        names, fallbacks_before = list(requests), await self._fallbacks()

        async def empty() -> None:
            await caches.empty(self.services.redis_url)

        async def run(name: str) -> Sample:
            await empty()
            return await self.sample(shape, name, self.durations.seconds)

        outcome = Outcome(f"{shape.name}-cold", f"{shape.title}, nothing cached", shape.checks)
        await check_agreement(outcome.shape, self._servers_of(names), requests, empty)
        await interleaved(outcome, names, self.durations.rounds, run)
        outcome.fallbacks = await self._fallbacks() - fallbacks_before
        return outcome

    async def sample(self, shape: Shape, name: str, seconds: int, first: int = 0) -> Sample:
        """Send one contestant the requests of its file for this time, beginning after the `first`
        ones, and again from the beginning when the file ends."""
        file, server = self._file(shape, name), self._entered[name][1]
        return await loaded(self.services, server, file, seconds, first, shape.connections)

    def requests(
        self, shape: Shape, people: Population, *, cold: bool = False
    ) -> Mapping[str, Sequence[Request]]:
        """The requests of each contestant that supports this shape, also written to files."""
        requests: dict[str, Sequence[Request]] = {}
        for number, (contestant, _) in enumerate(self._entered.values()):
            document = contestant.document(shape)
            if document is None or (cold and not contestant.reads_cold):
                continue
            seed = number if shape.writes else 0
            requests[contestant.name] = shape.requests(people, document, seed)
            write_requests(requests[contestant.name], self._file(shape, contestant.name))
        return requests

    def _servers_of(self, names: Sequence[str]) -> list[tuple[Contestant, ServerProcess]]:
        return [self._entered[name] for name in names]

    async def _fallbacks(self) -> int:
        return await asyncio.to_thread(fallbacks, self._entered[KITH.name][1].url)

    def _file(self, shape: Shape, name: str) -> Path:
        return self.folder / f"{self.space}-{shape.name}-{name}.requests"
