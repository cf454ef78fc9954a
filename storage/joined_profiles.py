"""Accounts and totals of any two stores, as one. Knows nothing of how either reads."""

import asyncio
from collections.abc import Mapping, Sequence

from graph.edge import UserId
from storage.ports import Accounts, CountsOf, Profile, profiles


class JoinedProfiles:
    """Keeps `storage.ports.Profiles`."""

    def __init__(self, accounts: Accounts, counts: CountsOf) -> None:
        self._accounts = accounts
        self._counts = counts

    async def of(self, users: Sequence[UserId], viewer: UserId | None) -> Mapping[UserId, Profile]:
        accounts, counts = await asyncio.gather(
            self._accounts.of(users), self._counts.of(users, viewer)
        )
        halves = map(accounts.__getitem__, users), map(counts.__getitem__, users)
        return profiles(users, *halves)
