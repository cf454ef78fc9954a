"""Draws the precision of methods of suggesting, with intervals, as bars for each graph."""

from collections.abc import Mapping
from typing import Protocol

from bench.plot import BAR, GAP, TITLE, TOP, WIDTH, svg

LEFT, RIGHT = 190, 70
OURS, OTHERS = "#1a7f64", "#b9c0c7"


class Range(Protocol):
    """A mean and its confidence interval."""

    @property
    def mean(self) -> float: ...
    @property
    def low(self) -> float: ...
    @property
    def high(self) -> float: ...


def draw(graphs: Mapping[str, Mapping[str, Range]]) -> str:
    """An SVG: a group for each graph, a bar for each method, best first."""
    limit = max(row.high for rows in graphs.values() for row in rows.values()) or 1.0
    scale = (WIDTH - LEFT - RIGHT) / limit
    parts, y = [], TOP
    for graph, rows in graphs.items():
        parts.append(f"<text x='{LEFT}' y='{y + 16}' font-weight='600'>{graph}</text>")
        y += TITLE
        for method, row in sorted(rows.items(), key=lambda pair: -pair[1].mean):
            parts.append(_bar(method, row, y, scale))
            y += BAR + GAP
        y += TITLE // 2
    head = "Precision at 10 with 95 % confidence intervals; longer is better"
    return svg(head, LEFT, parts, y)


def _bar(method: str, row: Range, y: int, scale: float) -> str:
    colour = OURS if method.startswith("Kith") else OTHERS
    middle = y + BAR / 2
    low, high = LEFT + row.low * scale, LEFT + row.high * scale
    return (
        f"<text x='{LEFT - 8}' y='{y + 12}' text-anchor='end'>{method}</text>"
        f"<rect x='{LEFT}' y='{y}' width='{row.mean * scale:.1f}' height='{BAR}' fill='{colour}'/>"
        f"<path d='M{low:.1f} {middle}H{high:.1f}' stroke='#1f2328'/>"
        f"<text x='{high + 6:.1f}' y='{y + 12}'>{row.mean:.3f}</text>"
    )
