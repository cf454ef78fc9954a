"""Collects concurrent edge changes, and writes them in batches.

A batch is one transaction and two round trips to Redis. A batched change costs much less than a
single one, but waits for its batch. So batches are for bulk operations.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from graph.decision_types import Decision, Rule
from graph.edge import Pair, UserId
from graph.errors import Unavailable
from graph.lane import lane_of
from storage.cache.lease import delayed_edges
from storage.cache.marks import Mark, MarkedWrite, Marks, are_set
from storage.ports.edges import Edges
from storage.ports.lanes import Lanes
from storage.shielded_tasks import ShieldedTasks

log = logging.getLogger(__name__)

BATCH = 100
"""Changes in one transaction. It holds the locks of its pairs and counts for some 10 ms, and other
writers of the same users wait for it. With half as many, a change costs PostgreSQL a fifth more CPU
time, because each transaction opens all partitions and their indexes."""

AT_ONCE = 2
"""Batches that run at once: PostgreSQL writes one while this process decides the other."""

SINGLE_AT_ONCE = 4
"""Concurrent reads, and changes that a batch could not make."""


class BatchTables(Protocol):
    """The tables of edges."""

    lanes: int
    """The number of lanes, as of the last change."""

    async def change_many(
        self,
        changes: Sequence[tuple[Pair, Rule]],
        before_write: Callable[[], Awaitable[None]],
    ) -> list[Decision | Exception | None]:
        """Change different pairs. Returns for each the decision or an error; None if the pair must
        be changed outside of a batch, for example because another writer has changed it at the same
        time. `before_write` is awaited before the write; if it raises, nothing is written."""
        ...


class BatchCaches(Protocol):
    """Caches of edges."""

    async def update_after_writes(
        self, written: Sequence[tuple[Pair, Decision]], marks: Mapping[UserId, Mark]
    ) -> bool:
        """Update the caches after writes about different pairs, and clear the marks. Returns
        whether all caches were updated."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class _Waiting:
    """A change that waits for its batch."""

    pair: Pair
    rule: Rule
    decision: "asyncio.Future[Decision]"


class BatchedEdges:
    """Implements `storage.ports.edges.Edges`. Changes that are requested in one iteration of the
    event loop share batches, in the order of their actors."""

    def __init__(
        self,
        tables: BatchTables,
        caches: BatchCaches,
        lanes: Lanes,
        shielded: ShieldedTasks,
        marks: Marks,
        single: Edges,
        *,
        delayed_writes: bool = True,
    ) -> None:
        """`single`: makes the changes that a batch could not make, and reads. `delayed_writes`:
        whether to write without marks if they cannot be set."""
        self._tables = tables
        self._caches = caches
        self._lanes = lanes
        self._shielded = shielded
        self._marks = marks
        self._single = single
        self._delayed_writes = delayed_writes
        self._waiting: list[_Waiting] = []
        self._batch_slots = asyncio.Semaphore(AT_ONCE)
        self._single_slots = asyncio.Semaphore(SINGLE_AT_ONCE)

    async def change(self, pair: Pair, rule: Rule) -> Decision:
        loop = asyncio.get_running_loop()
        waiting = _Waiting(pair, rule, loop.create_future())
        self._waiting.append(waiting)
        if len(self._waiting) == 1:
            loop.call_soon(self._begin)
        return await waiting.decision

    async def read(self, pair: Pair) -> Decision:
        async with self._single_slots:
            return await self._single.read(pair)

    def _begin(self) -> None:
        """Begin the batches of all waiting changes."""
        waiting, self._waiting = self._waiting, []
        for batch in _batches(waiting):
            self._shielded.begin(self._run(batch))

    async def _run(self, batch: Sequence[_Waiting]) -> None:
        """Make the changes of a batch, those that it could not make one by one, and set the result
        of each."""
        try:
            results = await self._results(batch)
            single = []
            for waiting, result in zip(batch, results, strict=True):
                if result is None:
                    single.append(waiting)
                else:
                    _set_result(waiting, result)
            await asyncio.gather(*map(self._change_alone, single))
        finally:
            for waiting in batch:
                waiting.decision.cancel()  # has an effect only if this task was cancelled

    async def _results(self, batch: Sequence[_Waiting]) -> Sequence[Decision | Exception | None]:
        """Write a batch. Returns its results; None: the change must be made outside of a batch."""
        try:
            async with self._batch_slots:
                return await self._write([(waiting.pair, waiting.rule) for waiting in batch])
        except Unavailable as error:
            return [error] * len(batch)
        except Exception:
            # The transaction has written everything, with the receipts, or nothing. So all changes
            # can be repeated one by one, and only the change that caused the error fails again.
            log.exception("a batch of changes has failed")
            return [None] * len(batch)

    async def _change_alone(self, waiting: _Waiting) -> None:
        result: Decision | Exception
        try:
            async with self._single_slots:
                result = await self._single.change(waiting.pair, waiting.rule)
        except Exception as error:
            result = error
        _set_result(waiting, result)

    async def _write(
        self, changes: Sequence[tuple[Pair, Rule]]
    ) -> list[Decision | Exception | None]:
        """Make the changes of a batch, and update the caches."""
        marks = self._marks.begin_many(dict.fromkeys(pair.source for pair, _ in changes))
        write = MarkedWrite(marks.values(), needs_marks=not self._delayed_writes)
        try:
            results = await self._tables.change_many(changes, write.begin)
        except Exception:
            # After an error, a write may have been committed.
            if not write.has_begun:
                await self._marks.clear(*marks.values())
            raise
        await are_set(marks.values())
        to_publish = [
            (pair, result)
            for (pair, _), result in zip(changes, results, strict=True)
            if isinstance(result, Decision) and result.edges_to_publish
        ]
        is_visible = await self._caches.update_after_writes(to_publish, marks)
        self._wake(to_publish)
        if is_visible:
            return results
        delayed_edges.inc(len(to_publish))
        return [
            replace(result, is_delayed=True)
            if isinstance(result, Decision) and result.edges_to_publish
            else result
            for result in results
        ]

    def _wake(self, to_publish: Sequence[tuple[Pair, Decision]]) -> None:
        """Wake the lanes of the changes."""
        lanes = self._tables.lanes
        self._lanes.wake(
            {
                lane_of(pair.source if is_reverse else pair.target, lanes)
                for pair, decision in to_publish
                for is_reverse in decision.edges_to_publish
            }
        )


def _set_result(waiting: _Waiting, result: Decision | Exception) -> None:
    if waiting.decision.done():  # the caller was cancelled
        return
    if isinstance(result, Exception):
        waiting.decision.set_exception(result)
    else:
        waiting.decision.set_result(result)


def _batches(waiting: Sequence[_Waiting]) -> Iterable[Sequence[_Waiting]]:
    """Batches of different pairs, in the order of the actors."""
    while waiting:
        first_of_pair: dict[frozenset[UserId], _Waiting] = {}
        for change in waiting:
            first_of_pair.setdefault(frozenset(change.pair), change)
        ordered = sorted(first_of_pair.values(), key=lambda change: change.pair.source)
        for start in range(0, len(ordered), BATCH):
            yield ordered[start : start + BATCH]
        waiting = [
            change for change in waiting if first_of_pair[frozenset(change.pair)] is not change
        ]
