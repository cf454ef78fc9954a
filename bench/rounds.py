"""Interleaved rounds: all contestants in turn, repeatedly, so that noise affects all of them.

A ratio is the median of the ratios of the rounds: a slow minute is slow for both contestants.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from statistics import median

from bench.load import Sample

Run = Callable[[str], Awaitable[Sample]]
"""Loads the contestant with this name."""


@dataclass(slots=True)
class Outcome:
    """The cost of one shape for each contestant and round."""

    shape: str
    title: str
    checks: int
    writes: bool = False
    samples: dict[str, list[Sample]] = field(default_factory=dict)
    fallbacks: int = 0
    """Operations that Kith's engine left to graphql-core."""

    def cpu_us(self, name: str) -> float:
        return median(sample.cpu_us for sample in self.samples[name])

    def per_s(self, name: str) -> float:
        return median(sample.per_s for sample in self.samples[name])

    def p50_us(self, name: str) -> float:
        return median(sample.p50_us for sample in self.samples[name])

    def p99_us(self, name: str) -> float:
        return median(sample.p99_us for sample in self.samples[name])

    def postgres_cpu_us(self, name: str) -> float:
        """CPU microseconds of PostgreSQL's processes per request."""
        return median(s.postgres_cpu_s / s.requests for s in self.samples[name]) * 1e6

    def valkey_cpu_us(self, name: str) -> float:
        """CPU microseconds of Valkey per request."""
        return median(s.valkey_cpu_s / s.requests for s in self.samples[name]) * 1e6

    def checks_per_cpu_s(self, name: str) -> float:
        """Relation checks in one second of one core."""
        return self.checks * 1e6 / self.cpu_us(name)

    def ratio(self, name: str, other: str) -> float:
        """The requests per CPU second of `name`, divided by those of `other`."""
        rounds = zip(self.samples[name], self.samples[other], strict=True)
        return median(theirs.cpu_us / ours.cpu_us for ours, theirs in rounds)


async def interleaved(outcome: Outcome, names: Sequence[str], rounds: int, run: Run) -> None:
    """Fill `outcome`. Each round begins with another contestant."""
    for number in range(rounds):
        begin = number % len(names)
        for name in (*names[begin:], *names[:begin]):
            outcome.samples.setdefault(name, []).append(await run(name))
