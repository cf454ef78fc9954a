"""Accounts, remembered. Knows nothing of where they are kept."""

import contextlib
from collections.abc import Awaitable, Callable, Mapping, Sequence

from graph.account import Account, PrivacyChange, Saved
from graph.edge import UserId
from graph.errors import Unavailable
from graph.pace import Pace
from graph.receipt import Request
from storage.finishing import Finishing
from storage.ports import Accounts
from storage.redis import packing
from storage.redis.connection import Debt, Redis
from storage.redis.events import RedisEvents
from storage.redis.keys import Keys
from storage.redis.leases import Leases, closed, forget_or_owe
from storage.redis.own_writes import OwnWrites, Question
from storage.redis.values import CachedValues, View

ACCOUNT_TTL_S = 300
"""No drain mends these: what Redis could not be told is shown for so long at most."""

CLOSED_MS = 10_000
"""Longer than any write takes: if its writer dies in between, nothing old was filled in."""

_VIEW = View[Account, Account | None](
    lambda values: list(map(packing.account_in, values)), lambda account: account
)


class CachedAccounts:
    """Keeps `storage.ports.Accounts`: all in one round trip, of nearly everybody a byte."""

    def __init__(
        self,
        worn: Accounts,
        own: OwnWrites,
        redis: Redis,
        leases: Leases,
        keys: Keys,
        ttl_s: int,
        events: RedisEvents,
        finishing: Finishing,
    ) -> None:
        self._worn = worn
        self._own = own
        self._redis = redis
        self._keys = keys
        self._events = events
        self._finishing = finishing
        self._values = CachedValues[Account](
            redis,
            leases,
            keys.all_accounts,
            pack=packing.account_value,
            ttl_s=lambda _: min(ttl_s, ACCOUNT_TTL_S),
        )

    async def of(self, users: Sequence[UserId]) -> Mapping[UserId, Account]:
        (found,) = await self._own.seen(None, self.question(users))
        return dict(zip(users, found, strict=True))

    def question(self, users: Sequence[UserId]) -> Question[Account, Account]:
        """The same, to be asked together with something else."""
        return Question(users, self._values, _VIEW, self._worn.of, self._worn.of)

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
        key = self._keys.account(user)
        with contextlib.suppress(Unavailable):
            await self._redis.pipe(closed([key], CLOSED_MS))
        saved = await write()
        # Who may see what has changed: whoever waits for news of the user looks again.
        await forget_or_owe(self._redis, [key], Debt.ACCOUNTS)
        await self._events.ring([user])
        return saved
