"""Erases deleted accounts, a bounded batch at a time.

It can be killed at any point, and can run concurrently for one account: each edge ends in a change
of its own, which updates reverse rows, counts and caches as usual, and each batch looks up what is
left.
"""

import asyncio
import logging
from collections.abc import Sequence
from enum import Enum, auto

from graph.edge import Pair, UserId
from graph.rules import erase
from storage.cache.updates import RedisCaches
from storage.drain import Drain
from storage.ports.edges import Edges
from storage.postgres.affinity import FORGOTTEN_BATCH, PostgresAffinity
from storage.postgres.erasures import Erasures

log = logging.getLogger(__name__)

BATCH = 500
"""Users in one batch, which takes about a second."""

AT_ONCE = 4
"""Concurrent changes: half of a worker's connections, so that drains have the rest."""

IN_FLIGHT_S = 30.0
"""Time from a deletion to the end of its erasure, at least. No statement takes longer, so every
change that was decided before the deletion is committed by then."""


class BatchResult(Enum):
    """The result of one batch."""

    MORE = auto()
    """There may be more to erase: erase the next batch immediately."""
    WAIT = auto()
    """There is nothing to erase now, but an edge may still arrive: try again later."""
    DONE = auto()
    """The account is erased, or was not deleted."""


class Erasure:
    def __init__(
        self,
        edges: Edges,
        erasures: Erasures,
        drain: Drain,
        caches: RedisCaches,
        affinity: PostgresAffinity,
        in_flight_s: float = IN_FLIGHT_S,
    ) -> None:
        self._edges = edges
        self._erasures = erasures
        self._drain = drain
        self._caches = caches
        self._affinity = affinity
        self._in_flight_s = in_flight_s

    async def erase_batch(self, user: UserId) -> BatchResult:
        """Erase the next edges of a deleted account: its own first, then those of other users.

        Raises:
            Unavailable: a server cannot be reached; the next batch finds what is left.
        """
        if not await self._erasures.is_unfinished(user):
            return BatchResult.DONE
        others = await self._erasures.targets(user, BATCH)
        if others:
            await self._erase([Pair(user, other) for other in others])
            return BatchResult.MORE
        # Pending edges to the user become reverse rows first, so that `sources` finds their owners.
        await self._drain.lane(await self._erasures.lane(user))
        sources = [Pair(user, other) for other in await self._erasures.sources(user, BATCH)]
        # A mute or a dismissal is a flag on its owner's edge, so its owner is the actor.
        pairs = sources or [
            Pair(other, user) for other in await self._erasures.muted_or_dismissed_by(user, BATCH)
        ]
        if not pairs:
            return await self._finish(user)
        if await self._erase(pairs):
            return BatchResult.MORE
        log.warning("reverse rows of %d have no forward row: run verify --repair", user)
        return BatchResult.WAIT

    async def _finish(self, user: UserId) -> BatchResult:
        """Delete the rest of the data of a user without edges: a batch of ranks or, when none is
        left, everything. WAIT: a change of the user is pending, or the deletion is younger than
        `in_flight_s`."""
        if await self._affinity.forget(user) == FORGOTTEN_BATCH:
            return BatchResult.MORE
        if await self._erasures.has_pending_change(user):
            return BatchResult.WAIT
        if not await self._erasures.finish(user, self._in_flight_s):
            return BatchResult.WAIT
        await self._caches.invalidate_user(user)
        log.info("erased the account %d", user)
        return BatchResult.DONE

    async def _erase(self, pairs: Sequence[Pair]) -> int:
        """End the edges of each pair in both directions. Returns how many pairs have changed."""
        free = asyncio.Semaphore(AT_ONCE)

        async def end(pair: Pair) -> bool:
            async with free:
                return bool((await self._edges.change(pair, erase())).steps)

        try:
            async with asyncio.TaskGroup() as work:
                ended = [work.create_task(end(pair)) for pair in pairs]
        except ExceptionGroup as failed:
            raise failed.exceptions[0] from failed
        return sum(task.result() for task in ended)
