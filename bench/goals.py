"""The goals of Kith, as ratios inside one run."""

from collections.abc import Iterable
from dataclasses import dataclass

from bench.rounds import Outcome

US = "kith"

SHAPES = ("states-1", "states-20", "states-100", "states-500", "followers-20", "nested-20x10")
RATIOS = {
    "raw": (0.85, 0.75, 0.75, 0.70, 0.80, 0.50),
    "strawberry": (8.0, 12.0, 25.0, 40.0, 12.0, 40.0),
    "mercurius": (1.0, 1.2, 2.0, 3.0, 1.3, 1.5),
    "postgraphile": (4.0, 4.0, 5.0, 8.0, 4.0, 3.0),
}
CHECKS_PER_CORE_S = 500_000
"""With 100 ids per request."""
WHOLE_FROM = 100
"""Goals from this size are shown without decimals, ratios with two."""
DEEP_PAGE_MOST = 1.2
"""The maximum cost of a whale's 1,000th page, as a multiple of the first."""


def left_to_graphql_core(outcomes: Iterable[Outcome]) -> list[str]:
    """The reads that the engine left to graphql-core, with their number. There must be none."""
    return [
        f"{outcome.shape} ({outcome.fallbacks:,} times)"
        for outcome in outcomes
        if outcome.fallbacks and not outcome.writes
    ]


@dataclass(frozen=True, slots=True)
class Verdict:
    """A goal, and the result."""

    what: str
    goal: float
    reached: float
    at_least: bool = True

    @property
    def met(self) -> bool:
        return self.reached >= self.goal if self.at_least else self.reached <= self.goal


def formatted(goal: float, reached: float, met: bool) -> str:
    """The result as text that agrees with the verdict: with one more digit if rounding hides it."""
    digits = 0 if goal >= WHOLE_FROM else 2
    if not met and round(reached, digits) == goal:
        digits += 1
    return f"{reached:,.{digits}f}"


def verdicts(outcomes: Iterable[Outcome]) -> list[Verdict]:
    """The verdicts on all goals that these outcomes cover."""
    by_shape = {outcome.shape: outcome for outcome in outcomes}
    found = [
        Verdict(f"{by_shape[shape].title}: kith / {other}", goal, by_shape[shape].ratio(US, other))
        for other, goals in RATIOS.items()
        for shape, goal in zip(SHAPES, goals, strict=True)
        if shape in by_shape and {US, other} <= by_shape[shape].samples.keys()
    ]
    if many := by_shape.get("states-100"):
        checks = many.checks_per_cpu_s(US)
        found.append(Verdict("checks a second from one core", CHECKS_PER_CORE_S, checks))
    first, deep = by_shape.get("whale-20"), by_shape.get("whale-20-deep")
    if first and deep:
        cost = deep.p50_us(US) / first.p50_us(US)
        found.append(Verdict("1,000th page / first page, p50", DEEP_PAGE_MOST, cost, False))
    return found
