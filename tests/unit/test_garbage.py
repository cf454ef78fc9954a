"""Full garbage collections, which stop a process for a long time, wait until it is idle."""

import gc
import subprocess
import sys
from collections.abc import Iterator

import pytest

from gateway.server import garbage
from gateway.server.garbage import (
    LONGEST_S,
    MIDDLE_PER_FULL,
    FullCollections,
    YoungCollections,
    collect_young_objects_only,
)
from tests.support.waiting import until

FAILING_COMMAND = """
import gc, sys
from gateway.__main__ import main
sys.argv = ["kith", "outbox", "list", "--state", "/nowhere"]
try:
    main()
except SystemExit as exit:
    print(exit.code, gc.isenabled(), gc.get_freeze_count() > 10_000)
"""


@pytest.fixture
def thresholds() -> Iterator[None]:
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)
    gc.unfreeze()


@pytest.mark.usefixtures("thresholds")
def test_new_objects_cause_no_full_collection(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(garbage, "ALLOCATIONS_PER_COLLECTION", 50)
    collect_young_objects_only()
    full_before = gc.get_stats()[2]["collections"]
    kept = [[number] for number in range(400_000)]
    assert len(kept) == 400_000
    assert gc.get_stats()[2]["collections"] == full_before
    assert gc.get_count()[2] > MIDDLE_PER_FULL


def test_a_full_collection_waits_until_the_process_is_idle() -> None:
    full = FullCollections(now_s=0, cpu_s=0)
    assert not full.is_due(1, 1, MIDDLE_PER_FULL)
    assert not full.is_due(2, 2, MIDDLE_PER_FULL)
    assert full.is_due(3, 2.001, MIDDLE_PER_FULL)


def test_a_process_that_is_never_idle_makes_a_full_collection_after_10_minutes() -> None:
    full = FullCollections(now_s=0, cpu_s=0)
    assert not full.is_due(LONGEST_S - 1, 100, MIDDLE_PER_FULL)
    assert full.is_due(LONGEST_S, 200, MIDDLE_PER_FULL)
    assert not full.is_due(LONGEST_S + 1, 300, MIDDLE_PER_FULL)


def test_an_idle_process_without_new_objects_makes_no_full_collection() -> None:
    full = FullCollections(now_s=0, cpu_s=0)
    assert not full.is_due(2 * LONGEST_S, 0, MIDDLE_PER_FULL - 1)


def test_a_busy_process_collects_its_young_objects_often() -> None:
    young = YoungCollections(cpu_s=0)
    assert [young.due(0.1 * step) for step in range(1, 11)] == [0, 0, 1] * 3 + [0]
    assert young.due(1.001) is None


async def test_collections_that_are_due_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []
    monkeypatch.setattr(FullCollections, "is_due", lambda *_: True)
    monkeypatch.setattr(YoungCollections, "due", lambda *_: 1)

    async def both() -> bool:
        return {1, 2} <= set(made)

    async with garbage.collecting_when_idle(made.append, interval_s=0, young_s=0):
        await until(both)


def test_collections_are_stopped_only_while_a_command_is_imported() -> None:
    done = subprocess.run(
        [sys.executable, "-c", FAILING_COMMAND], env={}, stdout=subprocess.PIPE, text=True
    )
    assert done.stdout == "2 True True\n"
