"""Capacity is planned from a file in git, and the page of capacity says what that file says."""

from pathlib import Path
from typing import Any

import orjson
import pytest
from typer.testing import CliRunner

from bench import capacity
from bench.capacity_page import page
from bench.measured import Part, Unmeasured, figures, read_measured, taken

ROOT = Path(__file__).parents[2]

COSTS = {
    "cpu_us_per_request": 100.0,
    "valkey_cpu_us_per_request": 10.0,
    "postgres_cpu_us_per_request": 50.0,
}
SHAPES = ("followers-20", "states-20", "states-100-cold", "followers-20-cold")
TABLES = ("following", "follower", "following_count", "follower_count")
INDEXES = [f"{table}_{kind}" for table in TABLES[:2] for kind in ("pkey", "list", "tombstone")]
RESULTS: dict[str, Any] = {
    "reads": {
        "graph": {"edges": 1000},
        "shapes": {shape: {"contestants": {"kith": COSTS}} for shape in SHAPES},
    },
    "writes": {"cpu_us_per_follow": {"gateways": 4, "worker": 3, "postgres": 2, "valkey": 1}},
    "weights": {
        "graph": {
            "users": 100,
            "edges": 1000,
            "tables": [{"table": t, "rows_bytes": 1000, "all_bytes": 3000} for t in TABLES],
            "indexes": dict.fromkeys(INDEXES, 500),
        },
        "caches": [{"kind": "profile", "keys": 5, "entries": 10, "bytes": 100}],
    },
}


def saved(folder: Path, *names: str) -> Path:
    for name in names:
        (folder / f"{name}.json").write_bytes(orjson.dumps(RESULTS[name]))
    return folder


def test_the_page_of_capacity_is_up_to_date() -> None:
    result = (ROOT / "docs" / "capacity.md").read_text(encoding="utf-8")
    assert result == page(), "run python -m bench.capacity_page > docs/capacity.md"


def test_capacity_asks_for_no_results(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(capacity, "RESULTS", tmp_path / "results")
    result = CliRunner().invoke(capacity.app, [])
    assert result.exit_code == 0
    assert "machines" in result.output
    assert (tmp_path / "results" / "capacity.json").exists()


def test_the_figures_are_those_of_the_results(tmp_path: Path) -> None:
    found = taken(list(Part), saved(tmp_path, *RESULTS))
    planned = figures(found)
    assert planned.page_us == {"gateway": 100, "valkey": 10}
    assert planned.miss_us == {"gateway": 100, "valkey": 10, "postgres": 50}
    assert planned.write_us == {"gateway": 4, "worker": 3, "postgres": 2, "valkey": 1}
    assert (planned.bytes_per_edge, planned.bytes_per_user) == (6, 60)
    assert (planned.edges_per_user, planned.cached_bytes_per_user) == (10, 20)


def test_the_file_in_git_is_what_taking_over_writes(tmp_path: Path) -> None:
    found = taken(list(Part), saved(tmp_path, *RESULTS))
    kept = read_measured()
    assert found.keys() == kept.keys()
    assert all(found[part].keys() == kept[part].keys() for part in found)
    assert found["reads"]["cpu_us"].keys() == kept["reads"]["cpu_us"].keys()


def test_a_missing_result_is_reported_with_its_command(tmp_path: Path) -> None:
    folder = saved(tmp_path, "reads")
    assert taken([Part.READS], folder).keys() == {"reads"}
    with pytest.raises(Unmeasured, match=r"writes.json is missing: run `python -m bench.writes`"):
        taken(list(Part), folder)
