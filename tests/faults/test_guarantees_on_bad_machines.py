"""Every response is allowed while a disk is full or a clock is wrong, and all parts recover."""

import os
import subprocess
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.support.faults.catalogue import CLOCKS, FAKETIME
from tests.support.faults.scenario import Scenario, running_scenario
from tests.support.faults.stack import temporary_folder

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.faults]

DISK_SIZE = "400m"
"""Enough for a new PostgreSQL and its log."""


@pytest.fixture(scope="module")
def small_disk() -> Iterator[Path]:
    if os.geteuid() != 0:
        pytest.skip("needs root, to mount a small disk")
    with temporary_folder() as folder:
        mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK_SIZE},mode=755", "tmpfs", str(folder)]
        if subprocess.run(mount, check=False, capture_output=True).returncode != 0:
            pytest.skip("this machine does not let root mount a small disk")
        yield folder
        subprocess.run(["umount", str(folder)], check=True)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def scenario(small_disk: Path) -> AsyncIterator[Scenario]:
    async with running_scenario(folder=small_disk) as running:
        yield running


async def test_every_response_is_allowed_while_the_disk_is_full(scenario: Scenario) -> None:
    await scenario.run(["disk full"])


@pytest.mark.skipif(
    not FAKETIME.exists(), reason="needs libfaketime, to give a process another time"
)
@pytest.mark.parametrize("clock", CLOCKS)
async def test_every_response_is_allowed_while_a_clock_is_wrong(
    scenario: Scenario, clock: str
) -> None:
    await scenario.run([clock])
