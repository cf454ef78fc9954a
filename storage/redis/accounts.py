"""Accounts, remembered as a part of profiles. Knows nothing of where they are kept."""

import contextlib
from collections.abc import Awaitable, Callable, Mapping, Sequence

from graph.account import Account, PrivacyChange, Saved
from graph.edge import UserId
from graph.errors import Unavailable
from graph.pace import Pace
from graph.receipt import Request
from storage.finishing import Finishing
from storage.ports import Accounts
from storage.redis.connection import Debt, Redis
from storage.redis.events import RedisEvents
from storage.redis.keys import Keys
from storage.redis.leases import closed, forget_or_owe, token
from storage.redis.profiles import CachedProfiles

CLOSED_MS = 10_000
"""Longer than any write takes: if its writer dies in between, nothing old was filled in."""


class CachedAccounts:
    """Keeps `storage.ports.Accounts`: all in one round trip."""

    def __init__(
        self,
        worn: Accounts,
        profiles: CachedProfiles,
        redis: Redis,
        keys: Keys,
        events: RedisEvents,
        finishing: Finishing,
    ) -> None:
        self._worn = worn
        self._profiles = profiles
        self._redis = redis
        self._keys = keys
        self._events = events
        self._finishing = finishing

    async def of(self, users: Sequence[UserId]) -> Mapping[UserId, Account]:
        return await self._profiles.accounts(users, self._worn.of)

    async def set_privacy(
        self,
        user: UserId,
        change: PrivacyChange,
        request: Request | None = None,
        pace: Pace | None = None,
    ) -> Saved:
        return await self._told(user, lambda: self._worn.set_privacy(user, change, request, pace))

    async def set_following_limit(
        self, user: UserId, limit: int | None, request: Request | None = None
    ) -> Saved:
        return await self._told(user, lambda: self._worn.set_following_limit(user, limit, request))

    async def _told(self, user: UserId, write: Callable[[], Awaitable[Saved]]) -> Saved:
        return await self._finishing.run(self._write(user, write))

    async def _write(self, user: UserId, write: Callable[[], Awaitable[Saved]]) -> Saved:
        keys, writer = [self._keys.profile(user)], token()
        with contextlib.suppress(Unavailable):
            await self._redis.pipe(closed(keys, writer, CLOSED_MS))
        try:
            return await write()
        finally:
            # Also where it failed: it may have been committed all the same. Who may see what has
            # changed: whoever waits for news of the user looks again.
            await forget_or_owe(self._redis, keys, Debt.ACCOUNTS, closed_by=writer)
            await self._events.ring([user])
