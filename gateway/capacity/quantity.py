"""A planned quantity: a formula with its unit."""

from collections.abc import Callable
from dataclasses import dataclass

from gateway.capacity.inputs import Inputs

Formula = Callable[[Inputs], float]

US = 1e-6
GIB, GB, MB = 1 << 30, 1e9, 1e6
HOUR_S, DAY_S = 3_600, 86_400
BLOCK = 8_192


@dataclass(frozen=True, slots=True)
class Quantity:
    """A line of the plan."""

    part: str
    title: str
    unit: str
    formula: Formula
