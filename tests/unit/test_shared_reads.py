"""Reads that concurrent callers share."""

import asyncio
from collections.abc import Set

import pytest

from storage.shared_reads import SharedReads


class Rows:
    """A table with a version. Reading it takes until `may_end` is set."""

    def __init__(self) -> None:
        self.version = 0
        self.reads: list[set[int]] = []
        self.may_end = asyncio.Event()
        self.fails = False

    async def read(self, keys: Set[int]) -> int:
        self.reads.append(set(keys))
        found = self.version
        await self.may_end.wait()
        if self.fails:
            raise RuntimeError
        return found


async def begun(shared: SharedReads[int, int], *keys: int) -> "asyncio.Task[int]":
    task = asyncio.create_task(shared.read(keys))
    for _ in range(3):
        await asyncio.sleep(0)
    return task


async def test_callers_that_come_while_a_read_runs_share_the_next_one() -> None:
    rows = Rows()
    shared = SharedReads(rows.read)
    first = await begun(shared, 0)
    rows.version = 1
    others = [await begun(shared, key) for key in range(100)]
    assert rows.reads == [{0}]
    rows.may_end.set()
    assert await first == 0
    assert await asyncio.gather(*others) == [1] * 100, "what was written before they called"
    assert rows.reads == [{0}, set(range(100))]


async def test_a_failed_read_fails_for_those_that_share_it_only() -> None:
    rows = Rows()
    shared = SharedReads(rows.read)
    failing = [await begun(shared, 0)]
    failing += [await begun(shared, key) for key in (1, 2)]
    rows.fails = True
    rows.may_end.set()
    found = await asyncio.gather(*failing, return_exceptions=True)
    assert [type(one) for one in found] == [RuntimeError] * 3
    rows.fails = False
    assert await shared.read([3]) == 0
    assert rows.reads == [{0}, {1, 2}, {3}]


async def test_a_cancelled_caller_does_not_cancel_the_read_of_others() -> None:
    rows = Rows()
    shared = SharedReads(rows.read)
    cancelled, other = await begun(shared, 1), await begun(shared, 2)
    third = await begun(shared, 3)
    cancelled.cancel()
    with pytest.raises(asyncio.CancelledError):
        await cancelled
    other.cancel()
    rows.may_end.set()
    assert await third == 0
