"""Pages and profiles of hot users, from process memory."""

from collections.abc import Awaitable, Mapping, Sequence

from graph.edge import UserId
from graph.page import ListKind, Page, Window
from graph.profile import Profile
from storage.cache.tables import ProfiledLists, ProfiledPages
from storage.hot.hot_lists import pages_held
from storage.hot.hot_values import HotValues
from storage.hot.viewers import Viewers

OWNERS_MAX = 4
"""With more owners than this, memory is not tried: they are hardly ever all hot."""


class HotProfiledLists:
    """Implements `storage.ports.ProfiledLists`: answers from memory if it has every owner's page
    and profile."""

    def __init__(
        self,
        inner: ProfiledLists,
        heads: Mapping[ListKind, HotValues[Page]],
        profiles: HotValues[Profile],
        viewers: Viewers,
    ) -> None:
        self._inner = inner
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
        if len(owners) > OWNERS_MAX:
            return await self._inner.pages(kind, owners, window, viewer, users)
        could_tell = profiles.may_hold(owners)
        if could_tell:
            told = await self._told(heads, owners, window, viewer, users)
            if told is not None:
                (pages, held), others = told
                found = {**held, **others}
                if found.keys() >= set(users):
                    heads.answered(len(owners), ())
                    profiles.answered(len(owners), ())
                    return ProfiledPages(pages, found)
        read = await self._inner.pages(kind, owners, window, viewer, users)
        profiles.answered(0, users)
        if could_tell:  # otherwise these requests do not count towards copying the heads
            heads.answered(0, owners)
        return read

    def _told(
        self,
        heads: HotValues[Page],
        owners: Sequence[UserId],
        window: Window,
        viewer: UserId | None,
        users: Sequence[UserId],
    ) -> Awaitable[tuple[ProfiledPages, Mapping[UserId, Profile]] | None]:
        """The pages and profiles of all owners from memory, and the other users' profiles from
        Redis, in one round trip. None if memory cannot answer."""

        def remembered() -> ProfiledPages | None:
            pages = pages_held(heads, owners, window)
            if not pages.keys() >= set(owners):
                return None  # nearly always because the window lies beyond the heads
            found = self._profiles.held(users)
            return ProfiledPages(pages, found) if found.keys() >= set(owners) else None

        asking = [user for user in users if self._profiles.known(user) is None]
        return self._viewers.told_beside(viewer, remembered, asking)
