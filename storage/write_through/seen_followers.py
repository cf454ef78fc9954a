"""Wakes a user's subscriptions after they have marked followers as seen."""

from collections.abc import Mapping, Sequence

from graph.edge import Millis, UserId
from graph.outcome import REJECTIONS
from graph.own_change import OwnChange
from graph.pace import Pace
from graph.receipt import IdempotentRequest
from storage.ports.own_data import SeenFollowers
from storage.redis.events import RedisEvents
from storage.shielded_tasks import ShieldedTasks
from storage.subscriptions import Notification


class WriteThroughSeenFollowers:
    """Implements `storage.ports.own_data.SeenFollowers` around an inner store. Seen followers are
    not cached."""

    def __init__(self, inner: SeenFollowers, events: RedisEvents, shielded: ShieldedTasks) -> None:
        self._inner = inner
        self._events = events
        self._shielded = shielded

    async def get_many(self, users: Sequence[UserId]) -> Mapping[UserId, Millis]:
        return await self._inner.get_many(users)

    async def mark(
        self,
        user: UserId,
        until: Millis,
        request: IdempotentRequest | None = None,
        pace: Pace | None = None,
    ) -> OwnChange:
        return await self._shielded.run(self._mark(user, until, request, pace))

    async def _mark(
        self, user: UserId, until: Millis, request: IdempotentRequest | None, pace: Pace | None
    ) -> OwnChange:
        marked = await self._inner.mark(user, until, request, pace)
        # Also if nothing has changed: the process that made the change may have died before this.
        if marked.outcome not in REJECTIONS:
            await self._events.notify(Notification(own=[user]))
        return marked
