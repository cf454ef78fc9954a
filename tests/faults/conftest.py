"""A folder for tests that run their own servers."""

import stat
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def closed_folder(tmp_path: Path) -> Iterator[Path]:
    """A folder that only its owner can enter, and that must stay so."""
    tmp_path.chmod(0o700)
    yield tmp_path
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o700
