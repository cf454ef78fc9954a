"""Computes the plan: every quantity with the inputs that it comes from."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from gateway.capacity import postgres, processes, redis, region
from gateway.capacity.demand import Demand
from gateway.capacity.inputs import Input, Inputs

QUANTITIES = (
    *postgres.QUANTITIES,
    *redis.QUANTITIES,
    *processes.QUANTITIES,
    *region.QUANTITIES,
)


@dataclass(frozen=True, slots=True)
class Planned:
    """A quantity. `sources` are the names of the inputs that its formula has used."""

    part: str
    title: str
    unit: str
    value: float
    sources: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """All quantities, and all inputs."""

    inputs: tuple[Input, ...]
    planned: tuple[Planned, ...]

    def value(self, part: str, title: str) -> float:
        """One quantity's value. Raises KeyError."""
        return {(one.part, one.title): one.value for one in self.planned}[part, title]


def plan(demand: Demand, measured: Iterable[Input], assumed: Sequence[Input]) -> Plan:
    """Plan for a demand with measured figures and assumptions."""
    inputs = Inputs((*demand.inputs(), *measured, *assumed))
    planned: list[Planned] = []
    for quantity in QUANTITIES:
        with inputs.recording() as used:
            value = float(quantity.formula(inputs))
        planned.append(Planned(quantity.part, quantity.title, quantity.unit, value, tuple(used)))
    return Plan(tuple(inputs), tuple(planned))
