"""Fixtures of the tests of the image: its secrets, and what it starts."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.acceptance.image_stack import DOCKER, Stack, own


@pytest.fixture
def secrets(tmp_path: Path) -> Path:
    """The secrets as the script makes them. Only root can give them away, and so must root here."""
    folder = tmp_path / "secrets"
    made = subprocess.run(
        ["sh", str(DOCKER / "make-secrets.sh"), str(folder)], capture_output=True, text=True
    )
    assert made.returncode == 0 or os.geteuid() != 0, made.stderr
    return folder


@pytest.fixture
def stack(tmp_path: Path, secrets: Path, database_url: str, redis_url: str) -> Iterator[Stack]:
    for file in secrets.iterdir():
        own(file)
    stack = Stack(tmp_path, secrets, database_url, redis_url, [])
    yield stack
    for started in stack.started:
        started.process.kill()
        started.process.wait()
