"""Decides whether memory may answer a viewer, who must see their own writes."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

from graph.edge import UserId
from graph.errors import Unavailable
from graph.profile import Profile
from storage.hot.hot_values import HotValues
from storage.hot.invalidations import Invalidations
from storage.redis import packing
from storage.redis.connection import Redis
from storage.redis.keys import Keys
from storage.redis.own_writes import NOTHING
from storage.redis.values import whole

V = TypeVar("V")
T = TypeVar("T")


class Viewers:
    """Checks a viewer's pending writes on the connection that receives invalidations.

    The reply follows the invalidations of every acknowledged write. So if no write is pending,
    memory is as new as Redis. If Redis does not know the viewer's pending writes, the caches
    answer, and fill that value for the next request.
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
        """The users' values from memory if the viewer may rely on it, and the rest from `read`.

        `exact`: memory answers only what is as new as Redis, even without a viewer.
        """
        shown: Mapping[UserId, V] = {}
        if viewer is None and not exact:
            shown = remembered(users)
        elif values.may_hold(users):
            # A partial answer would cost the round trips of both paths.
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
        """The value of `remembered` if the viewer may rely on it, else None."""
        told = await self.told_beside(viewer, remembered, ())
        return None if told is None else told[0]

    async def told_beside(
        self,
        viewer: UserId | None,
        remembered: Callable[[], T | None],
        others: Sequence[UserId],
    ) -> tuple[T, Mapping[UserId, Profile]] | None:
        """The same, with the profiles of `others` that Redis has cached."""
        found, heard_of = remembered(), self._invalidations.heard_of
        if found is None:
            return None
        profiles = await self._settled(viewer, others)
        if profiles is None:
            return None
        if self._invalidations.heard_of != heard_of:
            found = remembered()  # drops what was invalidated meanwhile
        return None if found is None else (found, profiles)

    async def _settled(
        self, viewer: UserId | None, others: Sequence[UserId]
    ) -> Mapping[UserId, Profile] | None:
        """The profiles of `others`, or None while the viewer has pending writes."""
        # An anonymous reader has no writes.
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
    """The users without a value. `found` must hold no other users."""
    return () if len(found) == len(users) else [user for user in users if user not in found]
