"""Full garbage collections, which stop a process for a long time, wait until it is idle."""

import gc
import subprocess
import sys
import weakref
from collections.abc import Iterator

import pytest

from gateway.server import garbage
from gateway.server.garbage import (
    GROWTH_MB,
    GROWTH_OBJECTS,
    MIDDLE_PER_FULL,
    OLD_MAX,
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


class Cycle:
    itself: object


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


def no_count() -> int:
    raise AssertionError("Counting takes long, so it is done only when memory has grown.")


def test_a_full_collection_waits_until_the_process_is_idle() -> None:
    full = FullCollections(cpu_s=0, middle_collections=0, memory_mb=100, frozen=0)
    assert not full.is_due(1, MIDDLE_PER_FULL, 100, no_count)
    assert not full.is_due(2, MIDDLE_PER_FULL, 100, no_count)
    assert full.is_due(2.001, MIDDLE_PER_FULL, 100, no_count)


def test_a_process_that_is_never_idle_makes_a_full_collection_once_its_memory_has_grown() -> None:
    full = FullCollections(cpu_s=0, middle_collections=0, memory_mb=100, frozen=7)
    assert not full.is_due(1_000, 100 * MIDDLE_PER_FULL, 99 + GROWTH_MB, no_count)
    assert full.is_due(2_000, 200 * MIDDLE_PER_FULL, 100 + GROWTH_MB, lambda: 7 + GROWTH_OBJECTS)
    full.collected(memory_mb=50, frozen=100)
    assert not full.is_due(3_000, 300 * MIDDLE_PER_FULL, 49 + GROWTH_MB, no_count)
    assert full.is_due(4_000, 400 * MIDDLE_PER_FULL, 50 + GROWTH_MB, lambda: 100 + GROWTH_OBJECTS)


def test_memory_of_few_objects_causes_no_full_collection() -> None:
    """Clients choose how much they leave unread."""
    full = FullCollections(cpu_s=0, middle_collections=0, memory_mb=100, frozen=7)
    grown = 100 + GROWTH_MB
    assert not full.is_due(1_000, 0, grown, lambda: 6 + GROWTH_OBJECTS)
    assert not full.is_due(2_000, 0, grown + 1, no_count)
    assert not full.is_due(3_000, 0, 200, no_count)
    assert full.is_due(4_000, 0, 200 + GROWTH_MB, lambda: 7 + GROWTH_OBJECTS)


def test_an_idle_process_without_new_objects_makes_no_full_collection() -> None:
    full = FullCollections(cpu_s=0, middle_collections=5, memory_mb=100, frozen=0)
    assert not full.is_due(0, 4 + MIDDLE_PER_FULL, 100, no_count)


def test_a_busy_process_collects_its_young_objects_often() -> None:
    young = YoungCollections(cpu_s=0)
    assert [young.due(0.1 * step) for step in range(1, 11)] == [0, 0, 1] * 3 + [0]
    assert young.due(1.001) is None


@pytest.mark.usefixtures("thresholds")
async def test_old_objects_of_a_busy_process_are_not_visited_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(YoungCollections, "due", lambda *_: 1)
    monkeypatch.setattr(FullCollections, "is_due", lambda *_: False)
    collect_young_objects_only()
    kept = [[number] for number in range(2 * OLD_MAX)]

    async def are_frozen() -> bool:
        return not any(one is kept for one in gc.get_objects())

    async with garbage.collecting_when_idle(young_s=0):
        await until(are_frozen, "the objects are frozen")


@pytest.mark.usefixtures("thresholds")
async def test_a_full_collection_frees_cycles_of_frozen_objects(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(YoungCollections, "due", lambda *_: None)
    monkeypatch.setattr(FullCollections, "is_due", lambda *_: True)
    cycle = Cycle()
    cycle.itself = cycle
    freed = weakref.ref(cycle)
    gc.freeze()
    del cycle

    async def is_freed() -> bool:
        return freed() is None

    async with garbage.collecting_when_idle(interval_s=0):
        await until(is_freed, "the cycle is freed")


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
