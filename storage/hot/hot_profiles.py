"""Accounts and totals of hot users, from process memory.

Accounts are never stale for any viewer, so that privacy changes apply immediately.
"""

from collections.abc import Mapping, Sequence
from functools import partial

from graph.account import Account
from graph.edge import UserId
from graph.profile import Profile
from storage.cache.tables import Accounts, Profiles
from storage.hot.hot_values import HotValues, Read, Sized
from storage.hot.invalidations import tracked
from storage.hot.viewers import Viewers
from storage.redis import packing
from storage.redis.connection import Redis
from storage.redis.keys import Keys

PROFILE_BYTES = 220


class HotProfiles:
    """Implements `storage.ports.Profiles`."""

    def __init__(self, inner: Profiles, values: HotValues[Profile], viewers: Viewers) -> None:
        self._inner = inner
        self._values = values
        self._viewers = viewers

    async def get_many(
        self, users: Sequence[UserId], viewer: UserId | None
    ) -> Mapping[UserId, Profile]:
        read = partial(self._inner.get_many, viewer=viewer)
        return await self._viewers.answers(
            viewer, users, self._values, self._values.held, read, exact=True
        )


class HotAccounts:
    """Implements `storage.ports.Accounts`."""

    def __init__(self, inner: Accounts, values: HotValues[Profile], viewers: Viewers) -> None:
        self._inner = inner
        self._values = values
        self._viewers = viewers

    async def get_many(self, users: Sequence[UserId]) -> Mapping[UserId, Account]:
        return await self._viewers.answers(
            None, users, self._values, self._held, self._inner.get_many, exact=True
        )

    def _held(self, users: Sequence[UserId]) -> dict[UserId, Account]:
        return {user: profile.account for user, profile in self._values.held(users).items()}


def profiles_reader(redis: Redis, keys: Keys) -> Read[Profile]:
    """A reader of profiles, for values that are to be kept in memory."""

    async def read(users: Sequence[UserId]) -> Mapping[UserId, Sized[Profile]]:
        replies = await tracked(redis, [("GET", key) for key in keys.all_profiles(users)])
        found = packing.profiles_held(users, replies)
        return {user: Sized(profile, PROFILE_BYTES) for user, profile in found.items()}

    return read
