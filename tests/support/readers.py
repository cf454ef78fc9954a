"""Read one kind of data at a time from a reader."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from graph.account import Account
from graph.counts import Counts
from graph.edge import UserId
from graph.lists import ListKind
from graph.page import Page, Window
from graph.profile import Profile
from graph.relation import RelationColumn
from storage.ports.reader import (
    AccountsOf,
    Check,
    Consistency,
    PagesOf,
    ProfilesOf,
    Reader,
    RelationsOf,
)


@dataclass(frozen=True)
class Reading:
    """A reader with one consistency."""

    reader: Reader
    consistency: Consistency = Consistency.CACHED

    async def relations(
        self, checks: Sequence[Check], viewer: UserId | None = None
    ) -> list[RelationColumn]:
        return await self.reader.read(viewer, RelationsOf(checks), consistency=self.consistency)

    async def pages(
        self, kind: ListKind, owners: Sequence[UserId], window: Window, viewer: UserId | None
    ) -> Mapping[UserId, Page]:
        request = PagesOf(kind, owners, window)
        return await self.reader.read(viewer, request, consistency=self.consistency)

    async def profiles(
        self, users: Sequence[UserId], viewer: UserId | None
    ) -> Mapping[UserId, Profile]:
        return await self.reader.read(viewer, ProfilesOf(users), consistency=self.consistency)

    async def counts(
        self, users: Sequence[UserId], viewer: UserId | None
    ) -> Mapping[UserId, Counts]:
        found = await self.profiles(users, viewer)
        return {user: profile.counts for user, profile in found.items()}

    async def accounts(self, users: Sequence[UserId]) -> Mapping[UserId, Account]:
        return await self.reader.read(None, AccountsOf(users), consistency=self.consistency)


class ReadingTogether(Reading):
    """The same as `Reading`, with pages and profiles in one read."""

    async def pages(
        self, kind: ListKind, owners: Sequence[UserId], window: Window, viewer: UserId | None
    ) -> Mapping[UserId, Page]:
        pages, _ = await self.reader.read(
            viewer,
            PagesOf(kind, owners, window),
            ProfilesOf(owners),
            consistency=self.consistency,
        )
        return pages

    async def profiles(
        self, users: Sequence[UserId], viewer: UserId | None
    ) -> Mapping[UserId, Profile]:
        _, found = await self.reader.read(
            viewer,
            PagesOf(ListKind.FOLLOWING, users[:1], Window(1)),
            ProfilesOf(users),
            consistency=self.consistency,
        )
        return found
