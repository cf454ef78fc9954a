"""Edges whose changes are announced: to the caches, and to the lane that carries them on.

Knows nothing of how an edge is stored. What is lost here, the sweep and the drain make good.
"""

import asyncio
import contextlib

from graph.decision import Decision, Rule
from graph.edge import Pair
from graph.errors import Unavailable
from graph.lane import Lane, lane_of
from graph.receipt import Note, no_receipt
from storage.drain import Drain
from storage.ports import Caches, Edges, Lanes

HELP_MAX_S = 1.0
"""How long an actor's answer waits for the other user's edge to arrive at the actor's side."""


class AnnouncedEdges:
    """Keeps `storage.ports.Edges` by wearing another.

    Without `brings`, no actor waits to see the other's edge: a worker brings it.
    """

    def __init__(
        self, worn: Edges, caches: Caches, lanes: Lanes, drain: Drain, *, brings: bool = True
    ) -> None:
        self._worn = worn
        self._caches = caches
        self._lanes = lanes
        self._drain = drain
        self._brings = brings
        self._running: set[asyncio.Task[Decision]] = set()

    async def change(self, pair: Pair, decide: Rule, note: Note = no_receipt) -> Decision:
        # A caller who hangs up between the commit and the caches must not leave those behind.
        task = asyncio.create_task(self._change(pair, decide, note))
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return await asyncio.shield(task)

    async def _change(self, pair: Pair, decide: Rule, note: Note) -> Decision:
        decision = await self._worn.change(pair, decide, note)
        if decision.steps:
            # Whom the caches were not told of, the drain tells them.
            with contextlib.suppress(Unavailable):
                await self._caches.written(pair, decision)
            await self._carry_on(pair, decision)
        return decision

    async def _carry_on(self, pair: Pair, decision: Decision) -> None:
        turned = {step.turned for step in decision.steps}
        if False in turned:
            self._lanes.wake([lane_of(pair.target)])
        if True in turned and self._brings:
            await self._bring(lane_of(pair.source))
        elif True in turned:
            self._lanes.wake([lane_of(pair.source)])

    async def _bring(self, lane: Lane) -> None:
        """Drains the actor's own lane, as a worker would: the other's edge is to reach the actor's
        lists before the actor is answered.
        """
        try:
            async with asyncio.timeout(HELP_MAX_S):
                await self._drain.lane(lane)
        except (Unavailable, TimeoutError):
            self._lanes.wake([lane])
