"""What hot users say about themselves, from memory. Knows nothing of what it means.

Nobody is told anything old here, whoever asks: what a user has hidden is hidden at once.
"""

from collections.abc import Mapping, Sequence

from graph.account import Account, PrivacyChange
from graph.edge import UserId
from storage.hot.hot_values import HotValues, Read, Sized
from storage.hot.invalidations import tracked
from storage.hot.viewers import Viewers
from storage.ports import Accounts
from storage.redis import packing
from storage.redis.connection import Redis
from storage.redis.keys import Keys

ACCOUNT_BYTES = 60
"""Nearly all are one and the same."""


class HotAccounts:
    """Keeps `storage.ports.Accounts`."""

    def __init__(self, worn: Accounts, values: HotValues[Account], viewers: Viewers) -> None:
        self._worn = worn
        self._values = values
        self._viewers = viewers

    async def of(self, users: Sequence[UserId]) -> Mapping[UserId, Account]:
        values = self._values
        return await self._viewers.answers(
            None, users, values.answered, values.held, self._worn.of, exact=True
        )

    async def set_privacy(self, user: UserId, change: PrivacyChange) -> Account:
        return await self._worn.set_privacy(user, change)

    async def set_following_limit(self, user: UserId, limit: int | None) -> Account:
        return await self._worn.set_following_limit(user, limit)


def accounts_reader(redis: Redis, keys: Keys) -> Read[Account]:
    """Reads accounts that are to be remembered."""

    async def read(users: Sequence[UserId]) -> Mapping[UserId, Sized[Account]]:
        replies = await tracked(redis, [("GET", keys.account(user)) for user in users])
        return {
            user: Sized(packing.account_in(value), ACCOUNT_BYTES)
            for user, value in zip(users, replies, strict=True)
            if value
        }

    return read
