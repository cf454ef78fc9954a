"""The rules of the project that no linter checks."""

import ast
import importlib
import json
import re
from pathlib import Path

import pytest
from graphql import (
    GraphQLEnumType,
    GraphQLInputObjectType,
    GraphQLInterfaceType,
    GraphQLObjectType,
    build_schema,
    find_breaking_changes,
)

from gateway.settings.environment import NOT_SETTINGS, OPTIONS, variable_names
from gateway.settings.reference import page
from schema.schema import schema, sdl

ROOT = Path(__file__).parents[2]
PACKAGES = (
    "devstack",
    "engine",
    "gateway",
    "graph",
    "resolvers",
    "schema",
    "storage",
    "telemetry",
    "workers",
)
MODULES = [file for package in PACKAGES for file in (ROOT / package).rglob("*.py")]


@pytest.mark.parametrize("package", PACKAGES)
def test_packages_are_imported_from_this_tree(package: str) -> None:
    """`schema`, `storage` and `workers` are also the names of packages on PyPI."""
    module = importlib.import_module(package)
    assert module.__file__ is not None
    assert Path(module.__file__).parent == ROOT / package


def test_every_module_has_a_docstring() -> None:
    for file in MODULES:
        docstring = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8")))
        assert docstring, file
        assert docstring.splitlines()[0].strip(), file


def test_the_environment_is_read_in_one_module() -> None:
    reading = [
        str(file.relative_to(ROOT))
        for file in MODULES
        if re.search(r"os\.environ|os\.getenv|getenv\(", file.read_text(encoding="utf-8"))
    ]
    assert reading == ["gateway/settings/environment.py"]


def test_the_schema_file_is_up_to_date() -> None:
    assert (ROOT / "schema" / "schema.graphql").read_text(encoding="utf-8") == sdl()


def test_the_page_of_settings_is_up_to_date() -> None:
    assert (ROOT / "docs" / "settings.md").read_text(encoding="utf-8") == page()


def test_every_variable_in_the_documentation_is_a_setting() -> None:
    known = {*variable_names(), *NOT_SETTINGS, *OPTIONS}
    for file in (ROOT / "docs").glob("*.md"):
        found = set(re.findall(r"\bKITH_[A-Z_]+[A-Z]\b", file.read_text(encoding="utf-8")))
        assert found - {"KITH_POOLMAX"} <= known, file.name


def test_the_schema_has_no_breaking_changes_since_its_release() -> None:
    released = (ROOT / "schema" / "released.graphql").read_text(encoding="utf-8")
    assert find_breaking_changes(build_schema(released), build_schema(sdl())) == []


def test_everything_in_the_schema_is_described() -> None:
    missing = []
    for name, kind in schema._schema.type_map.items():
        if name.startswith("__"):
            continue
        if not kind.description and name not in ("Query", "Mutation"):
            missing.append(name)
        if isinstance(kind, GraphQLEnumType):
            missing += [f"{name}.{v}" for v, value in kind.values.items() if not value.description]
        if isinstance(kind, GraphQLObjectType | GraphQLInterfaceType | GraphQLInputObjectType):
            for field_name, field in kind.fields.items():
                if not field.description:
                    missing.append(f"{name}.{field_name}")
                for argument, value in getattr(field, "args", {}).items():
                    if not value.description:
                        missing.append(f"{name}.{field_name}({argument})")
    assert not missing


def test_no_lock_file_names_a_host() -> None:
    examples = ROOT.glob("examples/*/requirements.txt")
    python_clients = ROOT.glob("tests/acceptance/clients/python/*.txt")
    for lock in [*ROOT.glob("requirements*.txt"), *examples, *python_clients]:
        assert "://" not in lock.read_text(encoding="utf-8"), lock
    for lock in ROOT.glob("*/**/package-lock.json"):
        if "node_modules" not in lock.parts:
            assert '"resolved"' not in lock.read_text(encoding="utf-8"), lock


def test_the_lock_of_the_benchmark_has_node_for_every_platform() -> None:
    """npm leaves out a package that it cannot find, and npm 11 rejects such a lock file."""
    peers = ROOT / "bench" / "peers"
    wanted = json.loads((peers / "package.json").read_text())["optionalDependencies"]
    locked = json.loads((peers / "package-lock.json").read_text())["packages"]
    assert {name: locked[f"node_modules/{name}"]["version"] for name in wanted} == wanted


def test_the_lock_files_have_the_same_versions() -> None:
    """`make dev` installs a part of the packages of the tests, in the same versions."""
    locks = [ROOT / name for name in ("requirements.txt", "requirements-embedded.txt")]
    tested = set(pinned(ROOT / "requirements-dev.txt"))
    for lock in locks:
        assert set(pinned(lock)) <= tested, lock
    assert set(pinned(locks[0])) <= set(pinned(locks[1]))


def pinned(lock: Path) -> list[str]:
    return re.findall(r"^[^\s#]+==[^\s;]+", lock.read_text(encoding="utf-8"), re.MULTILINE)
