"""Accounts and totals in one round trip. Knows nothing of what either says."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from graph.account import Account
from graph.counts import Counts
from graph.edge import UserId
from storage.ports import Profile
from storage.redis.accounts import CachedAccounts
from storage.redis.counts import CachedCounts
from storage.redis.own_writes import OwnWrites

_profile: Callable[[tuple[Account, Counts]], Profile] = partial(tuple.__new__, Profile)


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
        pairs = zip(map(accounts.__getitem__, users), map(counts.__getitem__, users), strict=True)
        return dict(zip(users, map(_profile, pairs), strict=True))
