"""Updates caches and wakes lanes after edge changes.

If an update is lost here, the sweep and the drain repeat it.
"""

from collections.abc import Mapping
from uuid import UUID

from graph.decision import Decision, Rule
from graph.edge import Kind, Pair, Version
from graph.errors import Stale, Unavailable
from graph.lane import Lane, lane_of
from graph.receipt import Note, no_receipt
from storage.catch_up import CatchUp
from storage.ports import Caches, Edges, Lanes
from storage.shielded_tasks import ShieldedTasks

HELP_MAX_S = 1.0
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

    async def change(
        self, pair: Pair, decide: Rule, note: Note = no_receipt, spending: UUID | None = None
    ) -> Decision:
        return await self._shielded.run(self._change(pair, decide, note, spending))

    async def _change(
        self, pair: Pair, decide: Rule, note: Note, spending: UUID | None
    ) -> Decision:
        decision = await self._inner.change(pair, decide, note, spending)
        if decision.steps:
            await self._caches.written(pair, decision)
            await self._carry_on(pair, decision)
        return decision

    async def _carry_on(self, pair: Pair, decision: Decision) -> None:
        urgent: dict[Lane, Version] = {}
        for step in decision.steps:
            lane = lane_of(pair.source if step.turned else pair.target)
            if step.turned or step.edge.kind is Kind.BLOCK:
                urgent[lane] = step.edge.version
            else:
                self._lanes.wake([lane])
        if urgent and not await self._brought(urgent):
            self._lanes.wake(urgent)

    async def _brought(self, urgent: Mapping[Lane, int]) -> bool:
        """Drain these lanes before the response, so that the actor's lists show the change of the
        other user's edge, and a block applies to the blocked user. Returns whether all changes were
        applied."""
        if self._catch_up is None:
            return False
        try:
            return await self._catch_up.bring(urgent, HELP_MAX_S)
        except (Unavailable, Stale):
            return False
