"""One request: who asks, under which limits, and what has been read for them already.

Knows nothing of the protocol that the request came by.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from graph.affinity import DEFAULT_SCALE, Scale
from graph.counts import Counts
from graph.edge import UserId
from graph.errors import Forbidden, Unauthenticated
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
    interactions_max: int = 500


class Scope:
    """What the fields of one request share."""

    def __init__(
        self,
        stores: Stores,
        viewer: UserId | None,
        limits: Limits,
        *,
        is_service: bool = False,
        scale: Scale = DEFAULT_SCALE,
    ) -> None:
        self.stores = stores
        self.viewer = viewer
        self.limits = limits
        self.is_service = is_service
        self.scale = scale
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

    def must_be_service(self) -> None:
        """Raises Forbidden unless a trusted service asks, perhaps for a user."""
        if not self.is_service:
            raise Forbidden("This is for services: it needs a token with the scope `service`.")

    async def _read_counts(self, users: Sequence[UserId]) -> list[Counts]:
        found = await self.stores.counts.of(users, self.viewer)
        return [found[user] for user in users]
