"""Edges whose changes are announced: to the caches, and to the lane that carries them on.

Knows nothing of how an edge is stored. What is lost here, the sweep and the drain make good.
"""

from collections.abc import Mapping
from uuid import UUID

from graph.decision import Decision, Rule
from graph.edge import Kind, Pair, Version
from graph.errors import Stale, Unavailable
from graph.lane import Lane, lane_of
from graph.receipt import Note, no_receipt
from storage.catch_up import CatchUp
from storage.finishing import Finishing
from storage.ports import Caches, Edges, Lanes

HELP_MAX_S = 1.0
"""How long an actor's answer waits for the other user's edge, or for a block, to arrive."""


class AnnouncedEdges:
    """Keeps `storage.ports.Edges` by wearing another.

    Without `catch_up`, no actor waits for an edge to arrive: a worker brings it.
    """

    def __init__(
        self,
        worn: Edges,
        caches: Caches,
        lanes: Lanes,
        finishing: Finishing,
        catch_up: CatchUp | None = None,
    ) -> None:
        self._worn = worn
        self._caches = caches
        self._lanes = lanes
        self._finishing = finishing
        self._catch_up = catch_up

    async def change(
        self, pair: Pair, decide: Rule, note: Note = no_receipt, spending: UUID | None = None
    ) -> Decision:
        return await self._finishing.run(self._change(pair, decide, note, spending))

    async def _change(
        self, pair: Pair, decide: Rule, note: Note, spending: UUID | None
    ) -> Decision:
        decision = await self._worn.change(pair, decide, note, spending)
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
        """Drains these lanes, as a worker would: before the actor is answered, the other's edge is
        to reach the actor's lists, and a block whoever is blocked. Says whether nothing is left.
        """
        if self._catch_up is None:
            return False
        try:
            return await self._catch_up.bring(urgent, HELP_MAX_S)
        except (Unavailable, Stale):
            return False
