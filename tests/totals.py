"""Totals as the gateway reads them: together with what their users say about themselves."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from graph.counts import Counts
from graph.edge import UserId
from storage.ports import Profiles


@dataclass(frozen=True)
class Totals:
    """Keeps `storage.ports.CountsOf`."""

    profiles: Profiles

    async def of(self, users: Sequence[UserId], viewer: UserId | None) -> Mapping[UserId, Counts]:
        found = await self.profiles.of(users, viewer)
        return {user: profile.counts for user, profile in found.items()}
