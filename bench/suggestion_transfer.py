"""Kith's precision on a graph that had no part in the choice of its weights.

Each graph is left out in turn: the users who choose parameters, of all other graphs, choose the
weights, and the users who report, of the graph that is left out, report them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from math import log

from rich.console import Console
from rich.progress import track

from bench.suggestion_data import Split
from bench.suggestion_figures import Interval, interval, run
from bench.suggestion_methods import SHOWN, kith
from graph.suggestion import CHOSEN, Parameters

GRID = [
    Parameters(*values)
    for values in product((0.0, 0.3, 0.6), (1.0, 2.0, 4.0), (7.0, 14.0, 28.0, 56.0))
]
"""Among these are the parameters that Kith uses."""


@dataclass(frozen=True, slots=True)
class Transfer:
    """The precision on a graph with weights chosen on others, and with the weights of Kith."""

    graph: str
    parameters: Parameters
    unseen: Interval
    chosen: Interval


def transfer(splits: Sequence[Split], users: int) -> list[Transfer]:
    """Leave out each graph in turn. `users`: of each graph, in two halves."""
    halves = [split.sample(users) for split in splits]
    ranked = [kith(split) for split in splits]

    def precisions(place: int, half: int, parameters: Parameters) -> list[float]:
        scores = partial(ranked[place], parameters)
        figures, _ = run(splits[place], scores, halves[place][half])
        return [one.hits / SHOWN for one in figures]

    places = range(len(splits))
    tried = {
        parameters: [sum(precisions(place, 0, parameters)) for place in places]
        for parameters in track(GRID, "weights", console=Console(stderr=True))
    }
    found = []
    for left_out, split in enumerate(splits):
        others = [place for place in places if place != left_out]
        best = best_of(tried, others)
        unseen, chosen = (
            interval(precisions(left_out, 1, parameters)) for parameters in (best, CHOSEN)
        )
        found.append(Transfer(split.name, best, unseen, chosen))
    return found


def best_of(tried: Mapping[Parameters, Sequence[float]], places: Sequence[int]) -> Parameters:
    """The parameters with the greatest product of the precisions at these places, so that a graph
    with high precision does not decide alone. Of equals, the first."""
    return max(tried, key=lambda one: sum(log(tried[one][place] or 1e-9) for place in places))


def transfer_table(rows: Sequence[Transfer]) -> str:
    """The figures as a Markdown table."""
    lines = [
        "| left out | damping | friends | follow-back | precision at 10 | with Kith's weights |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for row in rows:
        one = row.parameters
        weights = f"{one.damping:g} | {one.friend_weight:g} | {one.follow_back_worth:g}"
        cells = [f"{i.mean:.3f} ({i.low:.3f} to {i.high:.3f})" for i in (row.unseen, row.chosen)]
        lines.append(f"| {row.graph} | {weights} | {' | '.join(cells)} |")
    return "\n".join(lines)
