"""State folders for tests that run their own servers."""

import shutil
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from gateway.embedded.state import State


@pytest.fixture
def state() -> Iterator[State]:
    """A state folder that every user can reach: pytest's own is closed to others."""
    parent = Path(tempfile.mkdtemp(prefix="kith-test-", dir="/tmp"))
    parent.chmod(0o755)
    state = State(parent / "state")
    yield state
    state.erase()
    shutil.rmtree(parent)


@pytest.fixture
def closed_folder(tmp_path: Path) -> Iterator[Path]:
    """A folder that only its owner can enter, and that must stay so."""
    tmp_path.chmod(0o700)
    yield tmp_path
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o700
