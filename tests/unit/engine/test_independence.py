"""The engine does not depend on the application."""

import ast
from pathlib import Path

import engine

APPLICATION_PACKAGES = {
    "devstack",
    "graph",
    "storage",
    "resolvers",
    "schema",
    "workers",
    "gateway",
    "tests",
    "bench",
}


def imported_packages(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
    return {name.partition(".")[0] for name in names}


def test_the_engine_imports_nothing_of_the_application() -> None:
    modules = list(Path(engine.__file__).parent.rglob("*.py"))
    assert len(modules) > 10
    assert not {
        module.name: found
        for module in modules
        if (found := imported_packages(module) & APPLICATION_PACKAGES)
    }
