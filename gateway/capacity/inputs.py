"""The inputs of a plan: what is demanded, measured or assumed. A plan records which it has used."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum


class Origin(StrEnum):
    """The source of the value of an input."""

    DEMAND = "demand"
    MEASURED = "measured"
    ASSUMED = "assumed"


@dataclass(frozen=True, slots=True)
class Input:
    """A named value. `source` says what it means and, if it was measured, by which command."""

    name: str
    value: float
    unit: str
    origin: Origin
    source: str


class Inputs:
    """Looks inputs up by name, and records the names that a formula has used."""

    def __init__(self, inputs: Iterable[Input]) -> None:
        self._inputs = {one.name: one for one in inputs}
        self._used: dict[str, None] = {}

    def __getitem__(self, name: str) -> float:
        self._used[name] = None
        return self._inputs[name].value

    def __iter__(self) -> Iterator[Input]:
        return iter(self._inputs.values())

    @contextmanager
    def recording(self) -> Iterator[dict[str, None]]:
        """The names that are used inside the `with` statement, in the order of their first use."""
        outer, self._used = self._used, {}
        try:
            yield self._used
        finally:
            self._used = outer
