"""Prints a plan as text or as JSON."""

from collections.abc import Iterable, Iterator
from dataclasses import asdict
from itertools import groupby
from pathlib import Path

import orjson
import typer

from gateway.capacity.assumptions import ASSUMPTIONS, assumptions
from gateway.capacity.demand import Demand
from gateway.capacity.inputs import Input, Origin
from gateway.capacity.measured import MEASURED, measured_inputs, read_measured
from gateway.capacity.plan import Plan, plan


def run(demand: Demand, changes: Iterable[str], measured: Path | None, *, as_json: bool) -> None:
    """Print the plan for a demand.

    Raises:
        ValueError: a change or the file of measured figures is invalid.
    """
    made = plan(demand, measured_inputs(read_measured(measured or MEASURED)), assumptions(changes))
    typer.echo(as_text(made) if not as_json else json_of(made).decode())


def json_of(made: Plan) -> bytes:
    """The inputs and quantities of a plan."""
    content = {
        "inputs": {one.name: asdict(one) for one in made.inputs},
        "quantities": [asdict(one) for one in made.planned],
    }
    return orjson.dumps(content, option=orjson.OPT_INDENT_2)


def as_text(made: Plan) -> str:
    """The plan for people to read."""
    return "\n".join((*_quantities(made), *_inputs(made)))


def number(value: float) -> str:
    """Three digits or more: 2,304, 18, 0.35."""
    return f"{value:,.0f}" if value >= 100 or value == round(value) else f"{value:.3g}"


def _quantities(made: Plan) -> Iterator[str]:
    for part, group in groupby(made.planned, lambda one: one.part):
        yield part
        for one in group:
            yield f"  {one.title:<42} {number(one.value):>12} {one.unit}"
            yield f"    from {', '.join(one.sources)}"
        yield ""


def _inputs(made: Plan) -> Iterator[str]:
    defaults = {one.name: one.value for one in ASSUMPTIONS}
    for origin, title in (
        (Origin.DEMAND, "demand"),
        (Origin.MEASURED, "measured (docs/performance.md, docs/capacity.md; --from replaces them)"),
        (Origin.ASSUMED, "assumed (--assume NAME=VALUE changes them; * is changed)"),
    ):
        yield title
        yield from (_input(one, defaults) for one in made.inputs if one.origin is origin)
        yield ""


def _input(one: Input, defaults: dict[str, float]) -> str:
    mark = "*" if defaults.get(one.name, one.value) != one.value else " "
    return f"{mark} {one.name:<22} {number(one.value):>15} {one.unit:<12} {one.source}"
