"""Prints results as Markdown tables, for docs/performance.md.

python -m bench.markdown
"""

import sys
from collections.abc import Iterator, Sequence
from typing import Any

import orjson

from bench.goals import KITH_NAME, formatted
from bench.report import RESULTS

ORDER = ("kith", "raw", "raw-redis-py", "mercurius", "postgraphile", "strawberry")


def costs(shapes: dict[str, Any]) -> Iterator[str]:
    """CPU microseconds per request, and in brackets the ratio to those of Kith."""
    names = [name for name in ORDER if any(name in s["contestants"] for s in shapes.values())]
    yield row(["µs of CPU a request", *names])
    yield row(["---", *["---:" for _ in names]])
    for shape in shapes.values():
        yield row([shape["title"], *(_cell(shape["contestants"], name) for name in names)])


def whole_costs(shapes: dict[str, Any]) -> Iterator[str]:
    """The same as `costs`, including the CPU time of PostgreSQL and Valkey."""
    names = [name for name in ORDER if any(name in s["contestants"] for s in shapes.values())]
    yield row(["µs of CPU a request, stores included", *names])
    yield row(["---", *["---:" for _ in names]])
    for shape in shapes.values():
        whole = {name: _whole(numbers) for name, numbers in shape["contestants"].items()}
        cells = [
            _with_ratio(whole[name], whole[KITH_NAME], name) if name in whole else "-"
            for name in names
        ]
        yield row([shape["title"], *cells])


def goals(found: Sequence[dict[str, Any]]) -> Iterator[str]:
    """The goals and the results."""
    yield row(["goal", "aim", "reached", ""])
    yield row(["---", "---:", "---:", "---"])
    for goal in found:
        sign = "met" if goal["met"] else "not yet"
        reached = formatted(goal["goal"], goal["reached"], goal["met"])
        yield row([goal["what"], f"{goal['goal']:,g}", reached, sign])


def _cell(contestants: dict[str, Any], name: str) -> str:
    if name not in contestants:
        return "-"
    numbers = contestants[name]
    cost = f"{numbers['cpu_us_per_request']:,.0f}"
    return cost if name == KITH_NAME else f"{cost} ({numbers.get('kith_is_times', 0):.2f})"


def _whole(numbers: dict[str, Any]) -> float:
    parts = ("cpu_us_per_request", "postgres_cpu_us_per_request", "valkey_cpu_us_per_request")
    return float(sum(numbers[part] for part in parts))


def _with_ratio(cost: float, ours: float, name: str) -> str:
    return f"{cost:,.0f}" if name == KITH_NAME else f"{cost:,.0f} ({cost / ours:.2f})"


def row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |\n"


def main() -> None:
    result = orjson.loads((RESULTS / "reads.json").read_bytes())
    shapes = result["shapes"]
    tables = (costs(shapes), "\n", whole_costs(shapes), "\n", goals(result["goals"]))
    sys.stdout.writelines(line for table in tables for line in table)


if __name__ == "__main__":
    main()
