"""What memory may tell whom: a viewer must see their own writes. Knows nothing of what is told."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

from graph.edge import UserId
from graph.errors import Unavailable
from storage.hot.hot_values import HotValues
from storage.hot.invalidations import Invalidations
from storage.ports import Profile
from storage.redis import packing
from storage.redis.connection import Redis
from storage.redis.keys import Keys
from storage.redis.own_writes import NOTHING
from storage.redis.values import whole

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
        missed = _missed(users, shown)
        rest = await read(missed) if missed else {}
        values.answered(len(shown), missed)
        return {**shown, **rest} if rest else shown

    async def told(self, viewer: UserId | None, remembered: Callable[[], T | None]) -> T | None:
        """What is `remembered`, if it is true; None is nothing."""
        told = await self.told_beside(viewer, remembered, ())
        return None if told is None else told[0]

    async def told_beside(
        self,
        viewer: UserId | None,
        remembered: Callable[[], T | None],
        others: Sequence[UserId],
    ) -> tuple[T, Mapping[UserId, Profile]] | None:
        """The same, and the profiles of others as Redis holds them, where it does."""
        found, heard_of = remembered(), self._invalidations.heard_of
        if found is None:
            return None
        profiles = await self._settled(viewer, others)
        if profiles is None:
            return None
        if self._invalidations.heard_of != heard_of:
            found = remembered()  # what has changed meanwhile is gone
        return None if found is None else (found, profiles)

    async def _settled(
        self, viewer: UserId | None, others: Sequence[UserId]
    ) -> Mapping[UserId, Profile] | None:
        """Others' profiles; None while anything that the viewer wrote is on its way."""
        # Who is nobody in particular has written nothing.
        mark = ("PING",) if viewer is None else ("GET", self._keys.own_writes(viewer))
        keys = self._keys.all_profiles(others)
        try:
            own, *values = await self._redis.pipe([mark, *whole(keys)])
        except Unavailable:
            return None
        if viewer is not None and own != NOTHING:
            return None
        if not others:
            return {}
        (found,) = values
        return packing.profiles_held(others, found)


def _whole(
    remembered: Callable[[Sequence[UserId]], Mapping[UserId, V]], users: Sequence[UserId]
) -> Mapping[UserId, V] | None:
    found = remembered(users)
    return None if _missed(users, found) else found


def _missed(users: Sequence[UserId], found: Mapping[UserId, object]) -> Sequence[UserId]:
    """Those of the users of whom nothing was found; nothing was found of anybody else."""
    return () if len(found) == len(users) else [user for user in users if user not in found]
