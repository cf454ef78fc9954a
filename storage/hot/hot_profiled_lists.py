"""Pages and profiles of hot users, from memory. Knows nothing of where the rest is."""

from collections.abc import Mapping, Sequence

from graph.edge import UserId
from graph.page import ListKind, Page, Window
from storage.hot.hot_lists import pages_held
from storage.hot.hot_values import HotValues
from storage.hot.viewers import Viewers
from storage.ports import Profile, ProfiledLists, ProfiledPages


class HotProfiledLists:
    """Keeps `storage.ports.ProfiledLists`, from memory where that holds both halves."""

    def __init__(
        self,
        worn: ProfiledLists,
        heads: Mapping[ListKind, HotValues[Page]],
        profiles: HotValues[Profile],
        viewers: Viewers,
    ) -> None:
        self._worn = worn
        self._heads = heads
        self._profiles = profiles
        self._viewers = viewers

    async def pages(
        self,
        kind: ListKind,
        owners: Sequence[UserId],
        window: Window,
        viewer: UserId | None,
        users: Sequence[UserId],
    ) -> ProfiledPages:
        heads, profiles = self._heads[kind], self._profiles

        def remembered() -> ProfiledPages | None:
            pages, found = pages_held(heads, owners, window), profiles.held(users)
            whole = pages.keys() >= set(owners) and found.keys() >= set(users)
            return ProfiledPages(pages, found) if whole else None

        if not profiles.may_hold(users):  # nearly always
            read = await self._worn.pages(kind, owners, window, viewer, users)
            # Of the heads memory could have told nothing: so many questions are no reason to copy.
            profiles.answered(0, users)
            return read
        if heads.may_hold(owners):
            told = await self._viewers.told(viewer, remembered)
            if told is not None:
                heads.answered(len(owners), ())
                profiles.answered(len(users), ())
                return told
        read = await self._worn.pages(kind, owners, window, viewer, users)
        heads.answered(0, owners)
        profiles.answered(0, users)
        return read
