"""One request: who asks, under which limits, and what has been read for them already.

Knows nothing of the protocol that the request came by.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from graph.account import Account
from graph.edge import UserId
from graph.errors import Forbidden, Unauthenticated
from graph.pace import Pace
from graph.relation import SELF, Relation
from resolvers.loader import Loader
from storage.ports import Check, Profile
from storage.stores import Stores

TWO_A_SECOND = Pace(interval_us=500_000, burst=300)


@dataclass(frozen=True, slots=True)
class Limits:
    """What one call may ask for; more is an error that says so. And what users may know at all."""

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
    pairs_max: int = 500


class Scope:
    """What the fields of one request share."""

    def __init__(
        self,
        stores: Stores,
        viewer: UserId | None,
        limits: Limits,
        *,
        is_service: bool = False,
    ) -> None:
        self.stores = stores
        self.viewer = viewer
        self.limits = limits
        self.is_service = is_service
        self._profiles: Loader[UserId, Profile] | None = None
        self._accounts: Loader[UserId, Account] | None = None
        self._ties: Loader[UserId, Relation] | None = None

    @property
    def profiles(self) -> Loader[UserId, Profile]:
        """Of owners of lists: who may open these, and how long they are. Read once, for several
        fields of a user, and of the user's lists, show it."""
        if self._profiles is None:
            self._profiles = Loader(self._read_profiles)
        return self._profiles

    @property
    def accounts(self) -> Loader[UserId, Account]:
        """What users say about themselves, where their totals do not matter."""
        if self._accounts is None:
            self._accounts = Loader(self._read_accounts)
        return self._accounts

    @property
    def ties(self) -> Loader[UserId, Relation]:
        """How the viewer stands to others, whole: for rules to decide by, never to be shown."""
        if self._ties is None:
            self._ties = Loader(self._read_ties)
        return self._ties

    def forget(self) -> None:
        """What was read is no longer sure, because this request has written."""
        self.stores = self.stores.fresh
        self._profiles = self._accounts = self._ties = None

    @property
    def sees_everything(self) -> bool:
        """Whether a service asks for itself. One that asks for a user sees what that user sees."""
        return self.is_service and self.viewer is None

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

    async def _read_profiles(self, users: Sequence[UserId]) -> list[Profile]:
        found = await self.stores.profiles.of(users, self.viewer)
        return [found[user] for user in users]

    async def _read_accounts(self, users: Sequence[UserId]) -> list[Account]:
        found = await self.stores.accounts.of(users)
        return [found[user] for user in users]

    async def _read_ties(self, users: Sequence[UserId]) -> list[Relation]:
        viewer = self.must_have_viewer()
        (found,) = await self.stores.relations.between([Check(viewer, users)])
        return [SELF if user == viewer else tie for user, tie in zip(users, found, strict=True)]
