"""The guarantees of docs/security.md: each names tests, and they exist."""

import ast
import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/security.md").read_text(encoding="utf-8")
_TEST = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")


@cache
def functions(file: str) -> set[str]:
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return {node.name for node in ast.walk(tree) if isinstance(node, kinds)}


def test_every_guarantee_names_tests_that_exist() -> None:
    guarantees = PAGE.partition("## Guarantees")[2]
    rows = [line for line in guarantees.splitlines() if line.startswith("| ")][2:]
    assert len(rows) > 10
    for row in rows:
        assert _TEST.search(row), row
        for file, name in _TEST.findall(row):
            assert name in functions(file), f"{file}::{name}"
