"""Summarises the rounds of the write benchmark, and compares them with the goals."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median, quantiles
from typing import Any

from bench.follows import Answered
from bench.goals import Verdict
from bench.lag import Lag

EVEN, STAR, OTHERS = "even", "star", "others"

LAG_MS_MAX = 250.0
STAR_SLOWDOWN_MAX = 1.5
ACKNOWLEDGED_SHARE_MIN = 0.98
"""The share of the offered follows that must be acknowledged. Less than 1, because some random
follows already exist, and the last ones are answered after the end of the round."""


@dataclass(slots=True)
class WriteFigures:
    """The answers of all rounds by kind, and the total cost."""

    rate: int
    """The follows a second that are sent, without those of others."""
    seconds: int
    """The length of a round."""
    rounds: dict[str, list[list[Answered]]] = field(default_factory=lambda: {EVEN: [], STAR: []})
    lag: Lag = field(default_factory=lambda: Lag({}))
    cpu_us: dict[str, float] = field(default_factory=dict)
    """CPU microseconds per follow, by process."""

    @property
    def follows(self) -> int:
        return sum(len(answers) for rounds in self.rounds.values() for answers in rounds)

    def acknowledged_per_s(self) -> float:
        """New follows per second of the even rounds, acknowledged before the end of the round."""
        return median(
            sum(one.followed and one.at_s <= self.seconds for one in answers if one.stream == EVEN)
            / self.seconds
            for answers in self.rounds[EVEN]
        )

    def ms(self, kind: str, stream: str, percent: int) -> float:
        """A percentile of one stream's times: the median over the rounds of a kind."""
        return median(_ms(answers, stream, percent) for answers in self.rounds[kind])

    def verdicts(self) -> list[Verdict]:
        star = self.ms(STAR, OTHERS, 99) / self.ms(EVEN, OTHERS, 99)
        lag_ms = self.lag.quantile_s(0.99) * 1000
        return [
            Verdict(
                "acknowledged follows/s",
                self.rate * ACKNOWLEDGED_SHARE_MIN,
                self.acknowledged_per_s(),
            ),
            Verdict("apply lag, p99, ms", LAG_MS_MAX, lag_ms, at_least=False),
            Verdict("p99 of others with a star / without", STAR_SLOWDOWN_MAX, star, at_least=False),
        ]

    def numbers(self) -> dict[str, Any]:
        """All figures as JSON."""
        streams = ((EVEN, EVEN), (STAR, STAR), (EVEN, OTHERS), (STAR, OTHERS))
        return {
            "offered_per_s": self.rate,
            "acknowledged_per_s": round(self.acknowledged_per_s()),
            "answer_ms": {
                f"{stream} in {kind} rounds": {
                    f"p{percent}": round(self.ms(kind, stream, percent), 1) for percent in (50, 99)
                }
                for kind, stream in streams
            },
            "lag_ms": {
                f"p{percent}": round(self.lag.quantile_s(percent / 100) * 1000, 1)
                for percent in (50, 99)
            },
            "cpu_us_per_follow": {name: round(us) for name, us in self.cpu_us.items()},
        }


def _ms(answers: Sequence[Answered], stream: str, percent: int) -> float:
    seconds = [one.seconds for one in answers if one.stream == stream]
    return quantiles(seconds, n=100)[percent - 1] * 1000
