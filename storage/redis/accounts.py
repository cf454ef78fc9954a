"""Cached accounts, stored as a part of the cached profiles."""

from collections.abc import Mapping, Sequence

from graph.account import Account
from graph.edge import UserId
from storage.cache.tables import Accounts
from storage.redis.profiles import CachedProfiles


class CachedAccounts:
    """Implements `storage.cache.tables.Accounts` with one round trip a read."""

    def __init__(self, inner: Accounts, profiles: CachedProfiles) -> None:
        self._inner = inner
        self._profiles = profiles

    async def get_many(self, users: Sequence[UserId]) -> Mapping[UserId, Account]:
        return await self._profiles.accounts(users, self._inner.get_many)
