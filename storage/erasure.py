"""Erases deleted accounts, a bounded batch at a time. Knows nothing of queues.

It may be killed anywhere, and run twice at once: each edge ends by itself, in the way of all
changes (reverse rows, counts and caches follow), and what is left is looked up again each time.
"""

import asyncio
import logging
from collections.abc import Sequence
from enum import Enum, auto

from graph.edge import Pair, UserId
from graph.lane import lane_of
from graph.transitions import erase
from storage.drain import Drain
from storage.ports import Edges
from storage.postgres.affinity import FORGOTTEN_BATCH, PostgresAffinity
from storage.postgres.erasures import Erasures
from storage.redis.publish import RedisCaches

log = logging.getLogger(__name__)

BATCH = 500
"""Users a turn: about a second."""

AT_ONCE = 4
"""Changes side by side: half of a worker's connections, the drains have the others."""

IN_FLIGHT_S = 30.0
"""Longer than a statement can take: what was decided before the account was deleted, and written
after, is there by then. So an account is finished after so long at the earliest."""


class Turn(Enum):
    """What one turn has come to."""

    MORE = auto()
    """There may be more to erase: go on at once."""
    WAIT = auto()
    """Nothing is there to be erased, but something may still arrive: look again later."""
    DONE = auto()


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

    async def turn(self, user: UserId) -> Turn:
        """Erases the next edges of a deleted account: its own first, then those of others.

        Raises:
            Unavailable: a server is; what was not erased is found again.
        """
        if not await self._erasures.is_unfinished(user):
            return Turn.DONE
        others = await self._erasures.ahead(user, BATCH)
        if others:
            await self._erase([Pair(user, other) for other in others])
            return Turn.MORE
        # Who follows is known once their edges have arrived: those that wait are brought first.
        await self._drain.lane(lane_of(user))
        behind = [Pair(user, other) for other in await self._erasures.behind(user, BATCH)]
        # A note is its owner's alone: it ends from their side.
        pairs = behind or [Pair(other, user) for other in await self._erasures.noted(user, BATCH)]
        if not pairs:
            return await self._end(user)
        if await self._erase(pairs):
            return Turn.MORE
        log.warning("what leads to %d begins nowhere: run verify --repair", user)
        return Turn.WAIT

    async def _end(self, user: UserId) -> Turn:
        if await self._affinity.forget(user) == FORGOTTEN_BATCH:
            return Turn.MORE
        if await self._erasures.on_its_way(user):
            return Turn.WAIT
        if not await self._erasures.finish(user, self._in_flight_s):
            return Turn.WAIT
        await self._caches.forget_user(user)
        log.info("nothing is left of the account %d", user)
        return Turn.DONE

    async def _erase(self, pairs: Sequence[Pair]) -> int:
        """Ends what the first of each pair is to the second, and back; says how many it ended."""
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
