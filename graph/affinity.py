"""Affinity: a hidden score of how close one user is to another, used only for ordering.

An interaction counts by its weight, and half as much after every half-life. The score is computed
by forward decay (Cormode, Shkapenyuk, Srivastava and Xu, "Forward Decay: A Practical Time Decay
Model for Streaming Systems", ICDE 2009): an interaction of weight w at time t adds
w * e^(growth * t). The stored rank is the logarithm of that sum. Time changes neither a rank nor
the order of ranks, so no rank is ever recomputed, and a century of interactions does not overflow.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from math import exp, inf, log, log1p
from typing import NamedTuple

from graph.edge import Millis, Pair

DAY_MS = 86_400_000

NEVER = -inf
"""The rank of a user without recorded interactions: lower than any other."""

_EXPONENT_MAX = 700.0
"""The greatest multiple of 100 whose exponential fits a double. No real strength exceeds it."""


class InteractionKind(Enum):
    """The interactions that count towards affinity."""

    VIEWED_PROFILE = "VIEWED_PROFILE"
    LIKED = "LIKED"
    COMMENTED = "COMMENTED"
    MENTIONED = "MENTIONED"
    SHARED = "SHARED"
    MESSAGED = "MESSAGED"


DEFAULT_WEIGHTS: Mapping[InteractionKind, float] = {
    InteractionKind.VIEWED_PROFILE: 1,
    InteractionKind.LIKED: 2,
    InteractionKind.COMMENTED: 4,
    InteractionKind.MENTIONED: 4,
    InteractionKind.SHARED: 4,
    InteractionKind.MESSAGED: 8,
}
"""The more effort an interaction takes and the more personal it is, the higher its weight."""


class Interaction(NamedTuple):
    """The first user of the pair did something to the second, `times` times."""

    pair: Pair
    kind: InteractionKind
    at: Millis
    times: int = 1


@dataclass(frozen=True, slots=True)
class Scale:
    """The weight of each kind of interaction, and the half-life in days."""

    weights: Mapping[InteractionKind, float] = field(default_factory=lambda: DEFAULT_WEIGHTS)
    half_life_days: int = 30

    def rank(self, interaction: Interaction) -> float:
        """The rank of one interaction alone."""
        weight = self.weights[interaction.kind] * interaction.times
        return log(weight) + self._growth(interaction.at)

    def strength(self, rank: float, now: Millis) -> float:
        """The decayed weight at `now` of all interactions in a rank."""
        return exp(min(rank - self._growth(now), _EXPONENT_MAX))

    def _growth(self, at: Millis) -> float:
        """`growth * t` of the module's docstring. Its exponential doubles in every half-life."""
        return log(2) * at / (self.half_life_days * DAY_MS)


DEFAULT_SCALE = Scale()


def added(rank: float, other: float) -> float:
    """The rank of the interactions in both ranks: the logarithm of a sum, without overflow."""
    high, low = max(rank, other), min(rank, other)
    return high + log1p(exp(low - high))


def combined(scale: Scale, interactions: Iterable[Interaction]) -> dict[Pair, float]:
    """The rank of each pair's interactions. Interactions of users with themselves are skipped."""
    ranks: dict[Pair, float] = {}
    for interaction in interactions:
        pair, rank = interaction.pair, scale.rank(interaction)
        if pair.source != pair.target:
            ranks[pair] = added(ranks[pair], rank) if pair in ranks else rank
    return ranks
