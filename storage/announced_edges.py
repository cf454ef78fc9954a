"""Edges whose changes are announced: to the caches, and to the lane that carries them on.

Knows nothing of how an edge is stored. What is lost here, the sweep and the drain make good.
"""

import asyncio
import contextlib

from graph.edge import Pair
from graph.errors import Unavailable
from graph.lane import lane_of
from graph.transitions import Change, Decision, Rule
from storage.ports import Caches, EdgeChange, Edges, Lanes


class AnnouncedEdges:
    """Keeps `storage.ports.Edges` by wearing another."""

    def __init__(self, worn: Edges, caches: Caches, lanes: Lanes) -> None:
        self._worn = worn
        self._caches = caches
        self._lanes = lanes
        self._running: set[asyncio.Task[Decision]] = set()

    async def change(self, pair: Pair, decide: Rule) -> Decision:
        # A caller who hangs up between the commit and the caches must not leave those behind.
        task = asyncio.create_task(self._change(pair, decide))
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return await asyncio.shield(task)

    async def _change(self, pair: Pair, decide: Rule) -> Decision:
        decision = await self._worn.change(pair, decide)
        if decision.change is not None:
            self._lanes.wake([lane_of(pair.target)])
            await self._tell_caches(pair, decision.change)
        return decision

    async def _tell_caches(self, pair: Pair, change: Change) -> None:
        # Whom the caches were not told of, the drain tells them.
        with contextlib.suppress(Unavailable):
            await self._caches.written(EdgeChange(pair, change.edge), change.back)
