"""Real graphs and their expected results, if they are stored beside the checkout."""

import runpy
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

DATA = Path(__file__).parents[3] / "shared" / "data"

needs_data = pytest.mark.skipif(not DATA.is_dir(), reason="no real graphs beside the checkout")

_ORACLE: dict[str, Any] = {}


def oracle(name: str) -> Callable[..., Any]:
    """A function of oracle.py, which computes expected results."""
    if not _ORACLE:
        _ORACLE.update(runpy.run_path(str(DATA / "oracle.py")))
    function: Callable[..., Any] = _ORACLE[name]
    return function


def graph(name: str) -> Path:
    return DATA / f"{name}.csv.gz"


def edges(name: str) -> Iterator[tuple[int, int, int | None]]:
    """The rows (from, to, created_at_ms) of a graph; of a log of events, its final follows."""
    return iter(oracle("rows")(str(graph(name))))
