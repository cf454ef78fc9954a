"""The scores of lists of suggestions, with confidence intervals."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

from bench.suggestion_data import Split
from bench.suggestion_methods import Scores, best
from graph.edge import UserId

RESAMPLES = 1_000
"""Samples of the bootstrap, which draws users with replacement."""


@dataclass(frozen=True, slots=True)
class UserFigures:
    """The score of one list of suggestions."""

    hits: int
    reciprocal_rank: float


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean and its 95 % confidence interval."""

    mean: float
    low: float
    high: float


def run(
    split: Split, scores: Callable[[UserId], Scores], users: Sequence[UserId]
) -> tuple[list[UserFigures], Counter[UserId]]:
    """Rank suggestions for each of these users. Returns the figures of each list, and how often
    each user is suggested."""
    figures, shown = [], Counter[UserId]()
    for user in users:
        found = best(split, user, scores(user))
        shown.update(found)
        right = [place for place, other in enumerate(found, 1) if other in split.hidden[user]]
        figures.append(UserFigures(len(right), 1 / right[0] if right else 0.0))
    return figures, shown


def interval(values: Sequence[float]) -> Interval:
    """The mean with its 95 % confidence interval, by the bootstrap (B. Efron, 1979)."""
    chance = Random(5)
    size = len(values)
    means = sorted(sum(chance.choices(values, k=size)) / size for _ in range(RESAMPLES))
    low, high = means[RESAMPLES // 40], means[-RESAMPLES // 40]
    return Interval(sum(values) / size, low, high)
