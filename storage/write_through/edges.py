"""Writes edge changes, then updates the caches and wakes the lanes.

A mark of the actor is set before the commit and cleared after the caches were updated, so that the
actor reads no stale value if the process dies in between. If there is nothing to change, but an
earlier change of the same edge is still in the outbox, the caches are updated again. Lost updates
are repeated by the drain, which the sweep starts if its job was lost.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Protocol

from graph.decision_types import Decision, Rule
from graph.edge import Kind, Pair, Version
from graph.errors import Stale, Unavailable
from graph.lane import Lane, lane_of
from graph.receipt import ReceiptConsumed, ReceiptExists
from storage.cache.lease import delayed_edges
from storage.cache.marks import Mark, MarkedWrite, Marks
from storage.catch_up import CatchUp, LanesChanged
from storage.ports.lanes import Lanes
from storage.shielded_tasks import ShieldedTasks

DRAIN_S_MAX = 1.0
"""How long a response waits at most until the other user's edge, or a block, is applied."""


class EdgeTables(Protocol):
    """The tables of edges."""

    lanes: int
    """The number of lanes, as of the last change."""

    async def change(
        self, pair: Pair, rule: Rule, before_write: Callable[[], Awaitable[None]] | None = None
    ) -> Decision:
        """See `storage.ports.edges.Edges`. `before_write` is awaited before each try to write; if
        it raises, nothing is written."""
        ...

    async def read(self, pair: Pair) -> Decision:
        """See `storage.ports.edges.Edges`."""
        ...


class Caches(Protocol):
    """Caches of edges."""

    async def update_after_write(
        self, pair: Pair, decision: Decision, mark: Mark | None = None
    ) -> bool:
        """Update the caches after a write by `pair.source`, and clear its mark. Forward rows hold
        the write; reverse rows do not yet.

        Returns whether all caches were updated. The drain repeats the update later, also for caches
        that are unavailable now.
        """
        ...


class WriteThroughEdges:
    """Implements `storage.ports.edges.Edges` around the tables."""

    def __init__(
        self,
        tables: EdgeTables,
        caches: Caches,
        lanes: Lanes,
        shielded: ShieldedTasks,
        catch_up: CatchUp | None = None,
        marks: Marks | None = None,
        *,
        delayed_writes: bool = True,
    ) -> None:
        """`catch_up`: None if no response waits, as in a worker. `marks`: None if no user waits to
        see the changes. `delayed_writes`: whether to write without a mark if it cannot be set."""
        self._tables = tables
        self._caches = caches
        self._lanes = lanes
        self._shielded = shielded
        self._catch_up = catch_up
        self._marks = marks
        self._delayed_writes = delayed_writes

    async def change(self, pair: Pair, rule: Rule) -> Decision:
        return await self._shielded.run(self._change(pair, rule))

    async def read(self, pair: Pair) -> Decision:
        # Without a mark, because nothing is written.
        decision = await self._tables.read(pair)
        if not decision.edges_to_publish:
            return decision
        return await self._shielded.run(self._publish(pair, decision))

    async def _change(self, pair: Pair, rule: Rule) -> Decision:
        if self._marks is None:
            decision = await self._tables.change(pair, rule)
            return await self._publish(pair, decision) if decision.edges_to_publish else decision
        mark = self._marks.begin(pair.source)
        write = MarkedWrite((mark,), needs_marks=not self._delayed_writes)
        try:
            decision = await self._tables.change(pair, rule, write.begin)
        except Exception as error:
            # After any other error of a write, nobody knows whether it was committed.
            if not write.has_begun or isinstance(error, ReceiptExists | ReceiptConsumed):
                await self._marks.clear(mark)
            raise
        if decision.edges_to_publish:
            return await self._publish(pair, decision, mark)
        await self._marks.clear(mark)
        return decision

    async def _publish(self, pair: Pair, decision: Decision, mark: Mark | None = None) -> Decision:
        """Update the caches after a change, and wake or drain its lanes."""
        is_visible = await self._caches.update_after_write(pair, decision, mark)
        is_applied = await self._apply(pair, decision)
        # Only the reverse edge reaches the actor's lists through a lane.
        is_visible = is_visible and (is_applied or not any(decision.edges_to_publish))
        if is_visible or self._marks is None:
            return decision
        delayed_edges.inc()
        return replace(decision, is_delayed=True)

    async def _apply(self, pair: Pair, decision: Decision) -> bool:
        """Wake the lanes of the changes, or drain them before the response: if the other user's
        edge has changed, so that the actor's lists show it, and for a block, so that it applies to
        the blocked user. Returns whether all drained changes were applied."""
        required: dict[Lane, Version] = {}
        for is_reverse in decision.edges_to_publish:
            edge = decision.reverse if is_reverse else decision.edge
            lane = lane_of(pair.source if is_reverse else pair.target, self._tables.lanes)
            if is_reverse or edge.kind is Kind.BLOCK:
                required[lane] = edge.version
            else:
                self._lanes.wake([lane])
        is_applied = not required or await self._drain(required)
        if not is_applied:
            self._lanes.wake(required)
        return is_applied

    async def _drain(self, required: Mapping[Lane, Version]) -> bool:
        """Drain each lane up to the given version. Returns False if that fails or takes longer than
        `DRAIN_S_MAX`, or if no response waits."""
        if self._catch_up is None:
            return False
        try:
            return await self._catch_up.drain_until(required, self._tables.lanes, DRAIN_S_MAX)
        except (Unavailable, Stale, LanesChanged):
            return False
