"""One request: who asks, under which limits, and what has been read for them already.

Knows nothing of the protocol that the request came by.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from graph.counts import Counts
from graph.edge import UserId
from graph.errors import Unauthenticated
from graph.pace import Pace
from resolvers.loader import Loader
from storage.stores import Stores

TWO_A_SECOND = Pace(interval_us=500_000, burst=300)


@dataclass(frozen=True, slots=True)
class Limits:
    """What one call may ask for; more is an error that says so."""

    following_max: int = 1000
    """How many users one account may follow."""
    blocks_max: int = 10_000
    pace: Pace = TWO_A_SECOND
    """How fast one account may change what it is to others."""
    mutual_approval: bool = False
    """Whether every account approves who follows it, and approving makes both follow."""
    whispers_hidden: bool = False
    """Whether a whisper is hidden from its target too."""
    undo_s: int = 900
    """How long what a change took can be given back."""
    changes_max: int = 50
    page_max: int = 100
    page_default: int = 20
    users_max: int = 100
    relations_max: int = 1000


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
