"""Fixtures of several acceptance tests: a graph, and the image's secrets and processes."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from storage.stores import Stores
from tests.support.graphs import drain_all, follows
from tests.support.image_stack import DOCKER, Stack, own


@pytest.fixture
async def circle(stores: Stores) -> None:
    """Users 1 to 50. Each follows three others, and is friends with two of them."""
    pairs = [(u, (u + step) % 50 + 1) for u in range(1, 51) for step in (0, 7, 48)]
    await follows(stores, *(pair for pair in pairs if pair[0] != pair[1]))
    await drain_all(stores)


@pytest.fixture
def secrets(tmp_path: Path) -> Path:
    """The folder that make-secrets.sh fills. Its chown needs root, so only root must succeed."""
    folder = tmp_path / "secrets"
    completed = subprocess.run(
        ["sh", str(DOCKER / "make-secrets.sh"), str(folder)], capture_output=True, text=True
    )
    assert completed.returncode == 0 or os.geteuid() != 0, completed.stderr
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
