"""The load to plan for."""

from collections.abc import Iterator
from dataclasses import dataclass

from gateway.capacity.inputs import Input, Origin


@dataclass(frozen=True, slots=True)
class Demand:
    """The load of a service.

    Raises:
        ValueError: a number is negative, or there is no edge.
    """

    edges: int = 5_000_000_000
    writes: int = 1_000
    """Per second, like `lists` and `checks`."""
    lists: int = 200_000
    """Pages of 20 entries."""
    checks: int = 500_000
    """Checks of the relation between two users."""

    def __post_init__(self) -> None:
        if self.edges < 1:
            raise ValueError(f"--edges must be at least 1, got {self.edges}.")
        for name in ("writes", "lists", "checks"):
            if getattr(self, name) < 0:
                raise ValueError(f"--{name} must be at least 0, got {getattr(self, name)}.")

    def inputs(self) -> Iterator[Input]:
        for name, unit, source in (
            ("edges", "edges", "Follows, and the other kinds of edges."),
            ("writes", "1/s", "Changes of edges."),
            ("lists", "1/s", "Pages of 20 entries."),
            ("checks", "1/s", "Relations of a user with another one."),
        ):
            yield Input(name, getattr(self, name), unit, Origin.DEMAND, source)


def count_of(text: str) -> int:
    """A whole number, which may be written as 5e9 or 5_000_000_000.

    Raises:
        ValueError: it is no whole number.
    """
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not value.is_integer():
        raise ValueError(f"{text!r} is not a whole number; 5e9 and 5000000000 are.")
    return int(value)
