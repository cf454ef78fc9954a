"""The goals of Kith, as ratios inside one run."""

from collections.abc import Iterable
from dataclasses import dataclass

from bench.rounds import Outcome

KITH_NAME = "kith"

SHAPES = ("states-1", "states-20", "states-100", "states-500", "followers-20", "nested-20x10")
"""The shapes of the plot."""
RATIOS = {
    "raw": {
        "states-1": 0.75,
        "states-20": 0.75,
        "states-100": 0.75,
        "states-500": 0.80,
        "followers-20": 0.70,
    },
    "mercurius": {
        "states-1": 1.1,
        "states-20": 1.1,
        "states-100": 1.1,
        "followers-20": 1.1,
        "relations-1": 1.1,
        "nested-20x10": 2.0,
        "counts-100": 3.0,
    },
    "postgraphile": {
        "states-1": 4.0,
        "states-100": 5.0,
        "followers-20": 4.0,
        "followers-20-cold": 1.1,
        "nested-20x10": 3.0,
    },
    "strawberry": {"states-1": 8.0, "states-100": 25.0, "followers-20": 12.0, "nested-20x10": 40.0},
}
"""The minimum ratio of the requests in a second of CPU time, Kith's to the other server's."""
FOLLOW_US, FOLLOW_WITH_STORES_US = 350, 900
"""CPU of a follow: in the gateway, and with PostgreSQL and Valkey."""
CHECKS_PER_CORE_S = 500_000
"""With 100 ids per request."""
WHOLE_FROM = 100
"""Goals from this size are shown without decimals, ratios with two."""
DEEP_PAGE_MOST = 1.2
"""The maximum latency of a whale's 1,000th page, as a multiple of that of the first."""


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
        Verdict(
            f"{by_shape[shape].title}: kith / {other}",
            goal,
            by_shape[shape].ratio(KITH_NAME, other),
        )
        for other, goals in RATIOS.items()
        for shape, goal in goals.items()
        if shape in by_shape and {KITH_NAME, other} <= by_shape[shape].samples.keys()
    ]
    if follow := by_shape.get("follow"):
        cost = follow.cpu_us(KITH_NAME)
        found.append(Verdict("followUser, µs of CPU", FOLLOW_US, cost, False))
        cost += follow.postgres_cpu_us(KITH_NAME) + follow.valkey_cpu_us(KITH_NAME)
        title = "followUser, µs of CPU, stores included"
        found.append(Verdict(title, FOLLOW_WITH_STORES_US, cost, False))
    if many := by_shape.get("states-100"):
        checks = many.checks_per_cpu_s(KITH_NAME)
        found.append(Verdict("checks a second from one core", CHECKS_PER_CORE_S, checks))
    first, deep = by_shape.get("whale-20"), by_shape.get("whale-20-deep")
    if first and deep:
        cost = deep.p50_us(KITH_NAME) / first.p50_us(KITH_NAME)
        found.append(Verdict("1,000th page / first page, p50", DEEP_PAGE_MOST, cost, False))
    return found
