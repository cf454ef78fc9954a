"""Draws a results file as bars on a logarithmic scale.

python -m bench.plot docs/images/bench.svg    (`python -m bench` draws results/reads.svg itself)
"""

import sys
from collections.abc import Sequence
from math import ceil, floor, log10
from pathlib import Path
from typing import Any

import orjson

from bench.goals import SHAPES
from bench.report import RESULTS

COLOURS = {
    "kith": "#1a7f64",
    "raw": "#8c959f",
    "raw-redis-py": "#b9c0c7",
    "mercurius": "#c9782b",
    "strawberry": "#c2375b",
    "postgraphile": "#3f6fb5",
}
WIDTH, LEFT, RIGHT = 860, 130, 90
BAR, GAP, TITLE, TOP = 16, 3, 26, 40
FONT = "font-family='system-ui, sans-serif' font-size='12'"


def drawn(shapes: dict[str, Any]) -> str:
    """An SVG of those shapes that `goals.SHAPES` names, or of all if it names none; each with a bar
    for each contestant."""
    names = [name for name in SHAPES if name in shapes] or list(shapes)
    groups = [(shapes[name]["title"], _rates(shapes[name])) for name in names]
    rates = [rate for _, bars in groups for rate in bars.values()]
    low, high = 10 ** floor(log10(min(rates))), 10 ** ceil(log10(max(rates)))
    parts, y = [], TOP
    for title, bars in groups:
        parts.append(f"<text x='{LEFT}' y='{y + 16}' font-weight='600'>{title}</text>")
        y += TITLE
        for name, rate in bars.items():
            parts.append(_bar(name, rate, y, log10(rate / low) / log10(high / low)))
            y += BAR + GAP
        y += TITLE // 2
    head = "Requests a CPU-second of the server, logarithmic scale; longer is better"
    return svg(head, LEFT, parts, y)


def svg(head: str, left: int, parts: Sequence[str], height: int) -> str:
    """An SVG of the parts below a heading, which begins at `left`."""
    return "\n".join(
        [
            f"<svg xmlns='http://www.w3.org/2000/svg' width='{WIDTH}' height='{height}' "
            f"viewBox='0 0 {WIDTH} {height}' {FONT} fill='#1f2328'>",
            "<rect width='100%' height='100%' fill='#ffffff'/>",
            f"<text x='{left}' y='24' fill='#59636e'>{head}</text>",
            *parts,
            "</svg>\n",
        ]
    )


def _rates(shape: Any) -> dict[str, float]:
    contestants = shape["contestants"]
    rates = {name: 1e6 / contestants[name]["cpu_us_per_request"] for name in contestants}
    return dict(sorted(rates.items(), key=lambda pair: -pair[1]))


def _bar(name: str, rate: float, y: int, part: float) -> str:
    width = max(2.0, part * (WIDTH - LEFT - RIGHT))
    middle, bold = y + BAR - 4, " font-weight='600'" if name == "kith" else ""
    return (
        f"<text x='{LEFT - 8}' y='{middle}' text-anchor='end'{bold}>{name}</text>"
        f"<rect x='{LEFT}' y='{y}' width='{width:.0f}' height='{BAR}' rx='2' "
        f"fill='{COLOURS[name]}'/>"
        f"<text x='{LEFT + width + 6:.0f}' y='{middle}'{bold}>{rate:,.0f}</text>"
    )


def draw(results: Path, file: Path | None = None) -> Path:
    """Draw a results file. The picture is stored next to it by default; returns its path."""
    file = file or results.with_suffix(".svg")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(drawn(orjson.loads(results.read_bytes())["shapes"]), encoding="utf-8")
    return file


def main(arguments: list[str]) -> None:
    draw(RESULTS / "reads.json", Path(arguments[0]) if arguments else None)


if __name__ == "__main__":
    main(sys.argv[1:])
