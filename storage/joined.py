"""Joins a store of lists and a store of profiles."""

import asyncio
from collections.abc import Sequence

from graph.edge import UserId
from graph.page import ListKind, Window
from storage.cache.tables import Lists, ProfiledPages, Profiles


class JoinedProfiledLists:
    """Implements `storage.ports.ProfiledLists`."""

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
            self._lists.pages(kind, owners, window, viewer), self._profiles.get_many(users, viewer)
        )
        return ProfiledPages(*found)
