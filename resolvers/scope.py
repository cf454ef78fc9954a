"""One request: who asks, under which limits, and what has been read for them already.

Knows nothing of the protocol that the request came by.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from graph.counts import Counts
from graph.edge import UserId
from graph.errors import Unauthenticated
from resolvers.loader import Loader
from storage.stores import Stores


@dataclass(frozen=True, slots=True)
class Limits:
    """What one call may ask for; more is an error that says so."""

    following_max: int = 1000
    """How many users one account may follow."""
    page_max: int = 100
    page_default: int = 20
    users_max: int = 100
    relations_max: int = 1000
    live_relations_max: int = 100
    """How many relations one subscription follows."""
    counts_every_s: float = 1.0
    """How often a subscription tells of counts that never stand still."""
    whispers_told: bool = True
    """Whether a user hears of who follows them by a whisper."""


class Scope:
    """What the fields of one request share."""

    def __init__(self, stores: Stores, viewer: UserId | None, limits: Limits) -> None:
        self.stores = stores
        self.viewer = viewer
        self.limits = limits
        self._counts: Loader[UserId, Counts] | None = None

    @property
    def counts(self) -> Loader[UserId, Counts]:
        """Totals, each read once: several fields of a user, and of the user's lists, show them."""
        if self._counts is None:
            self._counts = Loader(self._read_counts)
        return self._counts

    def forget(self) -> None:
        """What was read is no longer sure, because this request has written."""
        self._counts = None

    def must_have_viewer(self) -> UserId:
        """Who asks.

        Raises:
            Unauthenticated: nobody does.
        """
        if self.viewer is None:
            raise Unauthenticated("Sign in first: this needs a viewer.")
        return self.viewer

    async def _read_counts(self, users: Sequence[UserId]) -> list[Counts]:
        found = await self.stores.counts.of(users, self.viewer)
        return [found[user] for user in users]
