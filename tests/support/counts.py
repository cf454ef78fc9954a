"""Totals alone, of stores that tell them together with what their users say about themselves."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from graph.counts import Counts
from graph.edge import UserId
from graph.page import ListKind, Page, Window
from storage.ports import ProfiledLists, Profiles


class CountsOf(Protocol):
    """Totals."""

    async def of(self, users: Sequence[UserId], viewer: UserId | None) -> Mapping[UserId, Counts]:
        """The counts of every one of `users`; of those without any edge, zeros."""
        ...


@dataclass(frozen=True)
class Totals:
    """Keeps `CountsOf`."""

    profiles: Profiles

    async def of(self, users: Sequence[UserId], viewer: UserId | None) -> Mapping[UserId, Counts]:
        found = await self.profiles.of(users, viewer)
        return {user: profile.counts for user, profile in found.items()}


@dataclass(frozen=True)
class Together:
    """Keeps `storage.ports.Lists` and `CountsOf`: what a page is read with is right, and it too."""

    lists: ProfiledLists

    async def pages(
        self, kind: ListKind, users: Sequence[UserId], window: Window, viewer: UserId | None
    ) -> Mapping[UserId, Page]:
        return (await self.lists.pages(kind, users, window, viewer, users)).pages

    async def of(self, users: Sequence[UserId], viewer: UserId | None) -> Mapping[UserId, Counts]:
        kind, window = ListKind.FOLLOWING, Window(1)
        _, found = await self.lists.pages(kind, users[:1], window, viewer, users)
        return {user: profile.counts for user, profile in found.items()}
