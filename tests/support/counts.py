"""The totals of users, read as part of their profiles."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from graph.counts import Counts
from graph.edge import UserId
from storage.ports.reader import Consistency, ProfilesOf, Reader


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
