"""Accounts and totals in one round trip. Knows nothing of what either says."""

from collections.abc import Mapping, Sequence

from graph.edge import UserId
from storage.ports import Profile, profiles
from storage.redis.accounts import CachedAccounts
from storage.redis.counts import CachedCounts
from storage.redis.own_writes import OwnWrites


class CachedProfiles:
    """Keeps `storage.ports.Profiles`: two GETs a user."""

    def __init__(self, own: OwnWrites, accounts: CachedAccounts, counts: CachedCounts) -> None:
        self._own = own
        self._accounts = accounts
        self._counts = counts

    async def of(self, users: Sequence[UserId], viewer: UserId | None) -> Mapping[UserId, Profile]:
        accounts, counts = await self._own.seen_both(
            viewer, self._accounts.question(users), self._counts.question(users, viewer)
        )
        return profiles(users, accounts, counts)
