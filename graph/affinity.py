"""How close one user is to another, from what the one does: a hidden score that only orders.

Knows nothing of where it is kept. What somebody did counts by its weight, and half as much after
every half-life. That is computed by forward decay (Cormode, Shkapenyuk, Srivastava and Xu, "Forward
Decay: A Practical Time Decay Model for Streaming Systems", ICDE 2009): an interaction of weight w
at the time t counts w * e^(growth * t), for ever. What is kept is the logarithm of the sum, the
rank: time alone changes neither a rank nor any order, so nothing is ever recomputed, and a century
does not overflow.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from math import exp, inf, log, log1p
from typing import NamedTuple

from graph.edge import Millis, Pair

DAY_MS = 86_400_000

NEVER = -inf
"""The rank of whom one has never had to do with: below all others."""

_EXPONENT_MAX = 700.0
"""The greatest whole hundred whose exponential is a double: more strength than this, nobody has."""


class InteractionKind(Enum):
    """What one user can do to another, as far as it tells of closeness."""

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
"""The more an act costs whoever does it, and the more it is meant for one person, the heavier."""


class Interaction(NamedTuple):
    """The first user of the pair did something to the second, so many `times`."""

    pair: Pair
    kind: InteractionKind
    at: Millis
    times: int = 1


@dataclass(frozen=True, slots=True)
class Scale:
    """How much an interaction weighs, and in how many days it loses half of that."""

    weights: Mapping[InteractionKind, float] = field(default_factory=lambda: DEFAULT_WEIGHTS)
    half_life_days: int = 30

    def rank(self, interaction: Interaction) -> float:
        """The rank that one interaction makes."""
        weight = self.weights[interaction.kind] * interaction.times
        return log(weight) + self._growth(interaction.at)

    def strength(self, rank: float, now: Millis) -> float:
        """What all that went into a rank weighs now."""
        return exp(min(rank - self._growth(now), _EXPONENT_MAX))

    def _growth(self, at: Millis) -> float:
        return log(2) * at / (self.half_life_days * DAY_MS)


DEFAULT_SCALE = Scale()


def added(rank: float, other: float) -> float:
    """The rank of both together: the logarithm of a sum, without computing the sum."""
    high, low = max(rank, other), min(rank, other)
    return high + log1p(exp(low - high))


def combined(scale: Scale, interactions: Iterable[Interaction]) -> dict[Pair, float]:
    """The rank that interactions make of each pair; nobody is close to themselves."""
    ranks: dict[Pair, float] = {}
    for interaction in interactions:
        pair, rank = interaction.pair, scale.rank(interaction)
        if pair.source != pair.target:
            ranks[pair] = added(ranks[pair], rank) if pair in ranks else rank
    return ranks
