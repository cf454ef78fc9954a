"""Updates caches and wakes lanes after edge changes.

If an update is lost here, the sweep and the drain repeat it.
"""

from collections.abc import Mapping

from graph.decision import Decision, PairState, Rule
from graph.edge import Kind, Pair, Version
from graph.errors import Stale, Unavailable
from graph.lane import Lane, lane_of
from storage.catch_up import CatchUp
from storage.ports import Caches, Edges, Lanes
from storage.shielded_tasks import ShieldedTasks

DRAIN_S_MAX = 1.0
"""How long a response waits until the other user's edge, or a block, is applied."""


class AnnouncedEdges:
    """Implements `storage.ports.Edges` around an inner store.

    Without `catch_up`, a response does not wait: a worker applies the changes.
    """

    def __init__(
        self,
        inner: Edges,
        caches: Caches,
        lanes: Lanes,
        shielded: ShieldedTasks,
        catch_up: CatchUp | None = None,
    ) -> None:
        self._inner = inner
        self._caches = caches
        self._lanes = lanes
        self._shielded = shielded
        self._catch_up = catch_up

    async def read(self, pair: Pair) -> PairState:
        return await self._inner.read(pair)

    async def change(self, pair: Pair, rule: Rule) -> Decision:
        return await self._shielded.run(self._change(pair, rule))

    async def _change(self, pair: Pair, rule: Rule) -> Decision:
        decision = await self._inner.change(pair, rule)
        if decision.steps:
            await self._caches.written(pair, decision)
            await self._apply(pair, decision)
        return decision

    async def _apply(self, pair: Pair, decision: Decision) -> None:
        """Wake the lanes of the steps, or drain them before the response: if the other user's edge
        has changed, so that the actor's lists show it, and for a block, so that it applies to the
        blocked user."""
        urgent: dict[Lane, Version] = {}
        for step in decision.steps:
            lane = lane_of(pair.source if step.is_reverse else pair.target)
            if step.is_reverse or step.edge.kind is Kind.BLOCK:
                urgent[lane] = step.edge.version
            else:
                self._lanes.wake([lane])
        if urgent and not await self._drain(urgent):
            self._lanes.wake(urgent)

    async def _drain(self, urgent: Mapping[Lane, int]) -> bool:
        """Drain these lanes. Returns whether all changes were applied."""
        if self._catch_up is None:
            return False
        try:
            return await self._catch_up.drain_until(urgent, DRAIN_S_MAX)
        except (Unavailable, Stale):
            return False
