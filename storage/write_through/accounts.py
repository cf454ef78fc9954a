"""Updates caches and subscriptions after changes of account settings."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial

from graph.account import PrivacyChange, Saved
from graph.edge import UserId
from graph.pace import Pace
from graph.receipt import IdempotentRequest
from storage.cache.lease import account_keys_closed_while_written, invalidate
from storage.ports.accounts import AccountWrites
from storage.redis.connection import KeyKind, Redis
from storage.redis.events import RedisEvents
from storage.redis.keys import Keys
from storage.shielded_tasks import ShieldedTasks
from storage.subscriptions import Notification


class WriteThroughAccounts:
    """Implements `storage.ports.accounts.Accounts` around an inner store."""

    def __init__(
        self,
        inner: AccountWrites,
        redis: Redis,
        keys: Keys,
        events: RedisEvents,
        shielded: ShieldedTasks,
        *,
        delayed_writes: bool = True,
    ) -> None:
        """`delayed_writes`: whether to write without closing the caches if they are unavailable."""
        self._inner = inner
        self._redis = redis
        self._keys = keys
        self._events = events
        self._shielded = shielded
        self._delayed_writes = delayed_writes

    async def set_privacy(
        self,
        user: UserId,
        change: PrivacyChange,
        request: IdempotentRequest | None = None,
        pace: Pace | None = None,
    ) -> Saved:
        write = partial(self._inner.set_privacy, user, change, request, pace)
        return await self._shielded.run(self._write(user, write))

    async def set_following_limit(
        self, user: UserId, limit: int | None, request: IdempotentRequest | None = None
    ) -> Saved:
        write = partial(self._inner.set_following_limit, user, limit, request)
        return await self._shielded.run(self._write(user, write))

    async def update_caches_again(self, user: UserId) -> bool:
        is_updated = await invalidate(self._redis, [self._keys.profile(user)], KeyKind.ACCOUNTS)
        await self._events.notify(Notification([user], own=[user]))
        return is_updated

    async def _write(self, user: UserId, write: Callable[[], Awaitable[Saved]]) -> Saved:
        """Run `write` while the profile is closed, then delete the cached profile and wake
        subscriptions, also after an error."""
        try:
            async with account_keys_closed_while_written(
                self._redis,
                [self._keys.profile(user)],
                must_close=not self._delayed_writes,
            ) as closing:
                saved = await write()
            return replace(saved, is_delayed=closing.is_delayed)
        finally:
            # A privacy change can change what other users may see, so their subscriptions must look
            # again.
            await self._events.notify(Notification([user], own=[user]))
