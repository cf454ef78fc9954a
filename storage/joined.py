"""What any two stores say, as one. Knows nothing of how either reads."""

import asyncio
from collections.abc import Mapping, Sequence

from graph.edge import UserId
from graph.page import ListKind, Window
from storage.ports import Accounts, CountsOf, Lists, Profile, ProfiledPages, Profiles, profiles


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


class JoinedProfiledLists:
    """Keeps `storage.ports.ProfiledLists`."""

    def __init__(self, lists: Lists, profiles: Profiles) -> None:
        self._lists = lists
        self._profiles = profiles

    async def pages(
        self,
        kind: ListKind,
        owners: Sequence[UserId],
        window: Window,
        viewer: UserId | None,
        users: Sequence[UserId],
    ) -> ProfiledPages:
        found = await asyncio.gather(
            self._lists.pages(kind, owners, window, viewer), self._profiles.of(users, viewer)
        )
        return ProfiledPages(*found)
