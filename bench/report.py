"""Shows outcomes as a table, and saves them as JSON."""

import platform
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import orjson
from rich.console import Console
from rich.table import Table

from bench.goals import KITH_NAME, Verdict, formatted
from bench.rounds import Outcome

RESULTS = Path(__file__).with_name("results")


def show(outcomes: Sequence[Outcome], verdicts: Sequence[Verdict]) -> None:
    """Print all outcomes and verdicts."""
    console = Console(width=130)
    if outcomes:
        console.print(_table(outcomes))
    if verdicts:
        console.print(_goals(verdicts))


def save(
    name: str, outcomes: Sequence[Outcome], verdicts: Sequence[Verdict], setup: dict[str, Any]
) -> Path:
    """Write `results/NAME.json` and return its path."""
    RESULTS.mkdir(exist_ok=True)
    file = RESULTS / f"{name}.json"
    content = {
        "at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "machine": {"processor": _processor(), "python": platform.python_version()},
        **setup,
        "shapes": {outcome.shape: _shape(outcome) for outcome in outcomes},
        "goals": [
            {"what": v.what, "goal": v.goal, "reached": round(v.reached, 3), "met": v.met}
            for v in verdicts
        ],
    }
    file.write_bytes(orjson.dumps(content, option=orjson.OPT_INDENT_2))
    return file


def _shape(outcome: Outcome) -> dict[str, Any]:
    return {
        "title": outcome.title,
        "checks": outcome.checks,
        "left_to_graphql_core": outcome.fallbacks,
        "contestants": {name: _numbers(outcome, name) for name in outcome.samples},
    }


def _numbers(outcome: Outcome, name: str) -> dict[str, Any]:
    numbers: dict[str, Any] = {
        "cpu_us_per_request": round(outcome.cpu_us(name), 1),
        "requests_per_s": round(outcome.per_s(name)),
        "p50_us": outcome.p50_us(name),
        "p99_us": outcome.p99_us(name),
        "postgres_cpu_us_per_request": round(outcome.postgres_cpu_us(name), 1),
        "valkey_cpu_us_per_request": round(outcome.valkey_cpu_us(name), 1),
        "rounds_cpu_us": [round(sample.cpu_us, 1) for sample in outcome.samples[name]],
    }
    if outcome.checks:
        numbers["checks_per_cpu_s"] = round(outcome.checks_per_cpu_s(name))
    if name != KITH_NAME and KITH_NAME in outcome.samples:
        numbers["kith_is_times"] = round(outcome.ratio(KITH_NAME, name), 3)
    return numbers


def _table(outcomes: Sequence[Outcome]) -> Table:
    table = Table(title="medians of interleaved rounds; ratios are of requests a CPU-second")
    titles = ("µs CPU", "req/s", "checks/CPU-s", "p50 ms", "p99 ms", "kith / this", "fell back")
    for title in ("", *titles):
        table.add_column(title, justify="left" if not title else "right")
    for outcome in outcomes:
        table.add_section()
        table.add_row(f"[bold]{outcome.title}")
        for name in outcome.samples:
            table.add_row(*_row(outcome, name))
    return table


def _row(outcome: Outcome, name: str) -> tuple[str, ...]:
    return (
        f"  {name}",
        f"{outcome.cpu_us(name):,.0f}",
        f"{outcome.per_s(name):,.0f}",
        f"{outcome.checks_per_cpu_s(name):,.0f}" if outcome.checks else "",
        f"{outcome.p50_us(name) / 1000:.2f}",
        f"{outcome.p99_us(name) / 1000:.2f}",
        f"{outcome.ratio(KITH_NAME, name):.2f}"
        if name != KITH_NAME and KITH_NAME in outcome.samples
        else "",
        f"{outcome.fallbacks:,}" if name == KITH_NAME else "",
    )


def _goals(verdicts: Sequence[Verdict]) -> Table:
    table = Table(title="goals")
    for title in ("", "goal", "reached", ""):
        table.add_column(title, justify="right" if title else "left")
    for verdict in verdicts:
        sign = "≥" if verdict.at_least else "≤"
        table.add_row(
            verdict.what,
            f"{sign} {verdict.goal:,g}",
            formatted(verdict.goal, verdict.reached, verdict.met),
            "[green]met" if verdict.met else "[red]not yet",
        )
    return table


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()
