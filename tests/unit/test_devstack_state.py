"""The contents of a state folder, and the reasons to reject one."""

import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from devstack.directories import find_directories, forget_sockets
from devstack.errors import StateInUse, StateUnusable
from devstack.processes import identity_of
from devstack.state import State, announce, find_running

DATABASE, REDIS, GATEWAY = "postgresql://kith@/kith", "unix:///run/valkey.sock", "http://kith"


@pytest.fixture
def state(tmp_path: Path) -> State:
    return State(tmp_path / "state")


def test_no_run_is_found_in_an_empty_folder(state: State) -> None:
    assert find_running(state) is None


def test_an_announced_run_is_found_with_its_urls(state: State) -> None:
    with state.held():
        announce(state, DATABASE, REDIS, GATEWAY)
    running = find_running(state)
    assert running is not None
    assert (running.pid, running.database_url, running.gateway_url) == (
        os.getpid(),
        DATABASE,
        GATEWAY,
    )


def test_another_process_with_the_same_pid_is_not_the_run(state: State) -> None:
    with state.held():
        announce(state, DATABASE, REDIS, None)
        found = json.loads(state.run_file.read_text())
        state.run_file.write_text(json.dumps(found | {"started": "another boot/1"}))
    assert find_running(state) is None


@pytest.mark.parametrize("text", ["", "{", "[]", '{"pid": 1}', '{"other": true}'])
def test_no_run_is_found_with_a_damaged_run_file(state: State, text: str) -> None:
    with state.held():
        state.run_file.write_text(text)
    assert find_running(state) is None


def test_a_folder_in_use_cannot_be_erased(state: State) -> None:
    with state.held():
        announce(state, DATABASE, REDIS, GATEWAY)
        with pytest.raises(StateInUse, match=f"process {os.getpid()}.* answers at {GATEWAY}"):
            state.erase()
    state.erase()
    assert not state.folder.exists()


def test_the_error_for_a_state_folder_that_cannot_be_made_names_it(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with (
        pytest.raises(StateUnusable, match=r"Cannot make the state folder .*/file/state"),
        State(tmp_path / "file" / "state").held(),
    ):
        pass


def test_a_log_of_more_than_10_mib_is_rotated(state: State) -> None:
    with state.held():
        log = state.log("postgres")
        os.truncate(os.open(log, os.O_CREAT | os.O_WRONLY), 11 * 1024 * 1024)
        assert state.log("postgres") == log
        assert [file.name for file in log.parent.iterdir()] == ["postgres.log.old"]


async def test_a_data_folder_outside_of_the_state_folder_that_is_missing_is_an_error(
    state: State,
) -> None:
    with state.held():
        directories = {"folder": str(state.folder), "home": "/no/such/home"}
        state.directories_file.write_text(json.dumps(directories))
        with pytest.raises(StateUnusable, match="was in /no/such/home, which is gone"):
            await find_directories(state)


def test_erasing_does_not_remove_a_folder_that_no_start_has_made(
    state: State, tmp_path: Path
) -> None:
    precious = tmp_path / "kith-precious"
    precious.mkdir()
    with state.held():
        directories = {"folder": str(state.folder), "home": str(precious)}
        state.directories_file.write_text(json.dumps(directories))
    state.erase()
    assert precious.exists()


async def test_the_folder_for_sockets_is_used_again_while_only_its_owner_can_open_it(
    reachable: Path,
) -> None:
    deep = State(reachable / ("d" * 100))
    with deep.held():
        first = (await find_directories(deep)).sockets
        assert (await find_directories(deep)).sockets == first
        open_to_all(first)
        second = (await find_directories(deep)).sockets
        assert second != first
        forget_sockets(deep)
        first.rmdir()
    assert not second.exists()


@pytest.fixture
def reachable() -> Iterator[Path]:
    """A folder that every system user can open. Those of pytest are closed to the servers' user."""
    folder = Path(tempfile.mkdtemp(prefix="kith-test-", dir="/tmp"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def open_to_all(folder: Path) -> None:
    folder.chmod(0o777)


def test_the_identity_of_a_process_is_stable_and_a_missing_process_has_none() -> None:
    assert identity_of(os.getpid()) == identity_of(os.getpid())
    assert identity_of(2**22 + 1) is None
