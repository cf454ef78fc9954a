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


def test_an_empty_folder_runs_nothing(state: State) -> None:
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


def test_a_later_process_with_the_same_number_is_not_taken_for_the_run(state: State) -> None:
    with state.held():
        announce(state, DATABASE, REDIS, None)
        found = json.loads(state.run_file.read_text())
        state.run_file.write_text(json.dumps(found | {"started": "another boot/1"}))
    assert find_running(state) is None


@pytest.mark.parametrize("text", ["", "{", "[]", '{"pid": 1}', '{"other": true}'])
def test_a_damaged_run_file_is_no_run(state: State, text: str) -> None:
    with state.held():
        state.run_file.write_text(text)
    assert find_running(state) is None


def test_a_held_folder_cannot_be_held_or_erased_again(state: State) -> None:
    with state.held():
        announce(state, DATABASE, REDIS, GATEWAY)
        with pytest.raises(StateInUse, match=f"process {os.getpid()}.* answers at {GATEWAY}"):
            state.erase()
    state.erase()
    assert not state.folder.exists()


def test_a_state_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with (
        pytest.raises(StateUnusable, match=r"Cannot make the state folder .*/file/state"),
        State(tmp_path / "file" / "state").held(),
    ):
        pass


def test_an_overgrown_log_is_rotated(state: State) -> None:
    with state.held():
        log = state.log("postgres")
        os.truncate(os.open(log, os.O_CREAT | os.O_WRONLY), 11 * 1024 * 1024)
        assert state.log("postgres") == log
        assert [file.name for file in log.parent.iterdir()] == ["postgres.log.old"]


async def test_data_that_was_elsewhere_and_is_gone_is_not_replaced_silently(state: State) -> None:
    with state.held():
        remembered = {"folder": str(state.folder), "home": "/no/such/home"}
        state.directories_file.write_text(json.dumps(remembered))
        with pytest.raises(StateUnusable, match="was in /no/such/home, which is gone"):
            await find_directories(state)


def test_erasing_touches_only_folders_that_a_start_has_made(state: State, tmp_path: Path) -> None:
    precious = tmp_path / "kith-precious"
    precious.mkdir()
    with state.held():
        remembered = {"folder": str(state.folder), "home": str(precious)}
        state.directories_file.write_text(json.dumps(remembered))
    state.erase()
    assert precious.exists()


async def test_a_short_folder_for_sockets_is_remembered_while_it_is_private(
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
    """Where every user can look: pytest's own folder is closed to the servers' user."""
    folder = Path(tempfile.mkdtemp(prefix="kith-test-", dir="/tmp"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def open_to_all(folder: Path) -> None:
    folder.chmod(0o777)


def test_a_process_has_one_identity_and_a_missing_one_has_none() -> None:
    assert identity_of(os.getpid()) == identity_of(os.getpid())
    assert identity_of(2**22 + 1) is None
