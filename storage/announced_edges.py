"""Edges whose changes are announced: to the caches, and to the lane that carries them on.

Knows nothing of how an edge is stored. What is lost here, the sweep and the drain make good.
"""

import contextlib

from graph.decision import Decision, Rule
from graph.edge import Pair, Version
from graph.errors import Stale, Unavailable
from graph.lane import Lane, lane_of
from graph.receipt import Note, no_receipt
from storage.catch_up import CatchUp
from storage.finishing import Finishing
from storage.ports import Caches, Edges, Lanes

HELP_MAX_S = 1.0
"""How long an actor's answer waits for the other user's edge to arrive at the actor's side."""


class AnnouncedEdges:
    """Keeps `storage.ports.Edges` by wearing another.

    Without `catch_up`, no actor waits to see the other's edge: a worker brings it.
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

    async def change(self, pair: Pair, decide: Rule, note: Note = no_receipt) -> Decision:
        return await self._finishing.run(self._change(pair, decide, note))

    async def _change(self, pair: Pair, decide: Rule, note: Note) -> Decision:
        decision = await self._worn.change(pair, decide, note)
        if decision.steps:
            # Whom the caches were not told of, the drain tells them.
            with contextlib.suppress(Unavailable):
                await self._caches.written(pair, decision)
            await self._carry_on(pair, decision)
        return decision

    async def _carry_on(self, pair: Pair, decision: Decision) -> None:
        if not all(step.turned for step in decision.steps):
            self._lanes.wake([lane_of(pair.target)])
        turned = [step.edge.version for step in decision.steps if step.turned]
        if turned and not await self._brought(lane_of(pair.source), max(turned)):
            self._lanes.wake([lane_of(pair.source)])

    async def _brought(self, lane: Lane, version: Version) -> bool:
        """Drains the actor's own lane, as a worker would: the other's edge is to reach the actor's
        lists before the actor is answered. Says whether nothing is left to do.
        """
        if self._catch_up is None:
            return False
        try:
            return await self._catch_up.bring({lane: version}, HELP_MAX_S)
        except (Unavailable, Stale):
            return False
