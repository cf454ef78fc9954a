"""Pages and profiles of hot users, from memory. Knows nothing of where the rest is."""

from collections.abc import Mapping, Sequence

from graph.edge import UserId
from graph.page import ListKind, Page, Window
from storage.hot.hot_values import HotValues
from storage.ports import Profile, ProfiledLists, ProfiledPages


class HotProfiledLists:
    """Keeps `storage.ports.ProfiledLists`.

    Pages and profiles are remembered apart. So where anything is remembered of these users, both
    halves are asked for apart as well: `apart` is a store over what remembers either.
    """

    def __init__(
        self,
        worn: ProfiledLists,
        apart: ProfiledLists,
        heads: Mapping[ListKind, HotValues[Page]],
        profiles: HotValues[Profile],
    ) -> None:
        self._worn = worn
        self._apart = apart
        self._heads = heads
        self._profiles = profiles

    async def pages(
        self,
        kind: ListKind,
        owners: Sequence[UserId],
        window: Window,
        viewer: UserId | None,
        users: Sequence[UserId],
    ) -> ProfiledPages:
        heads = self._heads[kind]
        if not (heads.lack(owners) and self._profiles.lack(users)):
            return await self._apart.pages(kind, owners, window, viewer, users)
        found = await self._worn.pages(kind, owners, window, viewer, users)
        heads.answered(0, owners)
        self._profiles.answered(0, users)
        return found
