"""Accounts and totals in one round trip. Knows nothing of what either says."""

from collections.abc import Mapping, Sequence

from graph.account import Account
from graph.counts import Counts
from graph.edge import UserId
from storage.ports import Profile, profiles
from storage.redis.accounts import CachedAccounts
from storage.redis.counts import CachedCounts
from storage.redis.own_writes import OwnWrites, Question


class CachedProfiles:
    """Keeps `storage.ports.Profiles`: two values a user."""

    def __init__(self, own: OwnWrites, accounts: CachedAccounts, counts: CachedCounts) -> None:
        self._own = own
        self._accounts = accounts
        self._counts = counts

    async def of(self, users: Sequence[UserId], viewer: UserId | None) -> Mapping[UserId, Profile]:
        accounts, counts = await self._own.seen(viewer, *self.questions(users, viewer))
        return profiles(users, accounts, counts)

    def questions(
        self, users: Sequence[UserId], viewer: UserId | None
    ) -> tuple[Question[Account, Account], Question[Counts, Counts]]:
        """The same, to be asked together with something else."""
        return self._accounts.question(users), self._counts.question(users, viewer)
