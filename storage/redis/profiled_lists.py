"""Cached pages and profiles, read in one round trip."""

from collections.abc import Sequence

from graph.edge import UserId
from graph.page import ListKind, Window
from storage.cache.tables import ProfiledPages
from storage.redis.lists import CachedLists
from storage.redis.own_writes import OwnWrites
from storage.redis.profiles import CachedProfiles


class CachedProfiledLists:
    """Implements `storage.ports.ProfiledLists`: reads part of a value for each owner, and one value
    for each user."""

    def __init__(self, own: OwnWrites, lists: CachedLists, profiles: CachedProfiles) -> None:
        self._own = own
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
        pages, profiles = await self._own.seen(
            viewer,
            self._lists.question(kind, owners, window, viewer),
            self._profiles.question(users, viewer),
        )
        return ProfiledPages(
            dict(zip(owners, pages, strict=True)), dict(zip(users, profiles, strict=True))
        )
