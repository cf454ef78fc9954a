"""What memory may tell whom: a viewer must see their own writes. Knows nothing of what is told."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

from graph.edge import UserId
from graph.errors import Unavailable
from storage.hot.hot_values import HotValues
from storage.hot.invalidations import Invalidations
from storage.redis.connection import Redis
from storage.redis.keys import Keys
from storage.redis.own_writes import NOTHING

V = TypeVar("V")
T = TypeVar("T")


class Viewers:
    """Asks over the connection that also tells of changes.

    Its reply comes after the server's word on every change that a settled write has made: once it
    says that nothing is pending, memory is as new as Redis is. A viewer of whom Redis knows nothing
    is left to the caches, which find it out for the next question.
    """

    def __init__(self, redis: Redis, keys: Keys, invalidations: Invalidations) -> None:
        self._redis = redis
        self._invalidations = invalidations
        self._keys = keys

    async def answers(
        self,
        viewer: UserId | None,
        users: Sequence[UserId],
        values: HotValues[Any],
        remembered: Callable[[Sequence[UserId]], Mapping[UserId, V]],
        read: Callable[[Sequence[UserId]], Awaitable[Mapping[UserId, V]]],
        *,
        exact: bool = False,
    ) -> Mapping[UserId, V]:
        """What memory may tell the viewer of these users, and what has to be `read` of the rest.

        `exact`: also where nobody in particular asks, memory tells only what is as new as Redis.
        """
        shown: Mapping[UserId, V] = {}
        if viewer is None and not exact:
            shown = remembered(users)
        elif values.may_hold(users):
            # Part of an answer would cost the round trips of both ways.
            shown = await self.told(viewer, partial(_whole, remembered, users)) or {}
        if not shown:  # nearly always
            found = await read(users)
            values.answered(0, users)
            return found
        missed = [user for user in users if user not in shown]
        rest = await read(missed) if missed else {}
        values.answered(len(shown), missed)
        return {**shown, **rest} if rest else shown

    async def told(self, viewer: UserId | None, remembered: Callable[[], T | None]) -> T | None:
        """What is `remembered`, if it is true; None is nothing."""
        found, heard_of = remembered(), self._invalidations.heard_of
        if found is None or not await self._have_settled(viewer):
            return None
        # What has changed meanwhile is gone.
        return found if self._invalidations.heard_of == heard_of else remembered()

    async def _have_settled(self, viewer: UserId | None) -> bool:
        try:
            if viewer is None:  # has written nothing
                await self._redis.pipe([("PING",)])
                return True
            (own,) = await self._redis.pipe([("GET", self._keys.own_writes(viewer))])
        except Unavailable:
            return False
        return bool(own == NOTHING)


def _whole(
    remembered: Callable[[Sequence[UserId]], Mapping[UserId, V]], users: Sequence[UserId]
) -> Mapping[UserId, V] | None:
    found = remembered(users)
    return found if found.keys() >= set(users) else None
