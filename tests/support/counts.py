"""Totals alone, from readers and stores that return whole profiles."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from graph.counts import Counts
from graph.edge import UserId
from storage.cache.tables import Profiles
from storage.ports import Consistency, ProfilesOf, Reader


class CountsOf(Protocol):
    """Totals."""

    async def get_many(
        self, users: Sequence[UserId], viewer: UserId | None
    ) -> Mapping[UserId, Counts]:
        """The counts of each of `users`; zeros for a user without edges."""
        ...


@dataclass(frozen=True)
class Totals:
    """The totals in a reader's profiles."""

    reader: Reader
    consistency: Consistency = Consistency.CACHED

    async def get_many(
        self, users: Sequence[UserId], viewer: UserId | None
    ) -> Mapping[UserId, Counts]:
        found = await self.reader.read(viewer, ProfilesOf(users), consistency=self.consistency)
        return {user: profile.counts for user, profile in found.items()}


@dataclass(frozen=True)
class ProfileTotals:
    """The totals in a store's profiles."""

    profiles: Profiles

    async def get_many(
        self, users: Sequence[UserId], viewer: UserId | None
    ) -> Mapping[UserId, Counts]:
        found = await self.profiles.get_many(users, viewer)
        return {user: profile.counts for user, profile in found.items()}
