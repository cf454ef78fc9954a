"""One request: who asks, under which limits, and what has been read for them already.

Knows nothing of the protocol that the request came by.
"""

from collections.abc import Awaitable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

from graph.account import Account
from graph.affinity import DEFAULT_SCALE, Scale
from graph.decision import Before
from graph.edge import UserId
from graph.errors import Forbidden, Unauthenticated
from graph.pace import Pace
from graph.page import ListKind, Window
from graph.relation import SELF, Relation
from graph.suggestion import Suggestion
from resolvers.facts import ProfileLoader
from resolvers.loader import Loader
from resolvers.once import Once
from storage.ports import Check, Profile, ProfiledPages
from storage.postgres.outbox import Arrived
from storage.stores import Stores

NOBODY: Set[UserId] = frozenset()

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
    freshness_wait_ms: int = 1000
    """How long an answer waits until the graph is as fresh as it has to be."""
    changes_max: int = 50
    page_max: int = 100
    page_default: int = 20
    users_max: int = 100
    relations_max: int = 1000
    entities_max: int = 10_000
    """More than other ids, because a router asks for all users of an answer at once: as many as
    there may be two lists below."""
    pairs_max: int = 500
    interactions_max: int = 500
    live_relations_max: int = 100
    """How many relations one subscription follows."""
    counts_every_s: float = 1.0
    """How often a subscription tells of counts that never stand still."""

    def account(self, account: Account) -> Account:
        """The account as it holds here: where all follows are mutual, it is protected."""
        if not self.mutual_approval or account.privacy.protected:
            return account
        return replace(account, privacy=replace(account.privacy, protected=True))

    def before(self, before: Before) -> Before:
        """The same of what a rule is asked about."""
        return replace(before, protected=True) if self.mutual_approval else before


class Arrival(NamedTuple):
    """How far the graph had come, and how often Redis had not been there until then."""

    arrived: Arrived
    redis_failures: int


class Candidates(NamedTuple):
    """Who might be suggested to the viewer, best first, and whom of them the viewer follows."""

    best_first: Sequence[Suggestion]
    followed: Set[UserId]


class Scope:
    """What the fields of one request share.

    Its loaders do not know it: in a cycle, all that a request has read would be left to the
    collector.
    """

    # Defaults of the class: most requests need none of these.
    _profiles: ProfileLoader | None = None
    _accounts: Loader[UserId, Account] | None = None
    _ties: Loader[UserId, Relation] | None = None
    _candidates: Once[Candidates] | None = None
    _suggestion_total: Once[int] | None = None
    since: int | None = None
    """As of when, by the database's clock in microseconds, it has to be known who is absent;
    0: as of what this process was told of. None: as of moments ago will do."""
    arrival: Arrival | None = None
    """How far the graph had come before anything was read, where somebody wants to know."""

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
        self.sees_everything = is_service and viewer is None
        """Whether a service asks for itself. One that asks for a user sees what that user sees."""
        self.scale = scale

    @property
    def profiles(self) -> ProfileLoader:
        """Of owners of lists: who may open these, and how long they are. Read once, for several
        fields of a user, and of the user's lists, show it."""
        if self._profiles is None:
            self._profiles = ProfileLoader(
                partial(_read_profiles, self.stores, self.viewer, self.limits)
            )
        return self._profiles

    def profiled_pages(
        self, kind: ListKind, owners: Sequence[UserId], window: Window, users: Sequence[UserId]
    ) -> Awaitable[ProfiledPages]:
        """Pages as their owners and services see them, and profiles, for `profiles` to bring."""
        read = self.stores.profiled_lists.pages(kind, owners, window, self.viewer, users)
        return _as_profiles_hold(self.limits, read) if self.limits.mutual_approval else read

    @property
    def accounts(self) -> Loader[UserId, Account]:
        """What users say about themselves, where their totals do not matter."""
        if self._accounts is None:
            self._accounts = Loader(partial(_read_accounts, self.stores, self.limits))
        return self._accounts

    @property
    def ties(self) -> Loader[UserId, Relation]:
        """How the viewer stands to others, whole: for rules to decide by, never to be shown."""
        if self._ties is None:
            self._ties = Loader(partial(_read_ties, self.stores, self.must_have_viewer()))
        return self._ties

    @property
    def candidates(self) -> Once[Candidates]:
        """Who might be suggested to the viewer: as much work for one page as for all."""
        if self._candidates is None:
            self._candidates = Once()
        return self._candidates

    @property
    def suggestion_total(self) -> Once[int]:
        """How many of these are suggestions."""
        if self._suggestion_total is None:
            self._suggestion_total = Once()
        return self._suggestion_total

    def absent(self) -> Awaitable[Set[UserId]]:
        """Whose accounts are not here, as far as that is to be hidden from who asks."""
        if self.since is None and not self.sees_everything:
            return self.stores.absences.now()  # nearly always
        return self._absent()

    async def _absent(self) -> Set[UserId]:
        if self.sees_everything or self.since is None:
            return NOBODY
        absent = await self.stores.absences.since(self.since)
        self.since = 0  # what is known only gets newer; what never comes is asked for once
        return absent

    def forget(self) -> None:
        """What was read is no longer sure, because this request has written."""
        self.read_from(self.stores.fresh)

    def read_from(self, stores: Stores) -> None:
        """What was read is forgotten; whatever is read from now on, is read from these."""
        self.stores = stores
        self._profiles = self._accounts = self._ties = None
        self._candidates = self._suggestion_total = None

    def must_have_viewer(self) -> UserId:
        """Who asks.

        Raises:
            Unauthenticated: nobody does.
        """
        if self.viewer is None:
            raise Unauthenticated("This requires a signed-in user. Send the credentials of one.")
        return self.viewer

    def must_be_service(self) -> None:
        """Raises Forbidden unless a trusted service asks, perhaps for a user."""
        if not self.is_service:
            raise Forbidden("This is only for services. Send a token with the scope `service`.")


async def _read_profiles(
    stores: Stores, viewer: UserId | None, limits: Limits, users: Sequence[UserId]
) -> Mapping[UserId, Profile]:
    found = await stores.profiles.of(users, viewer)
    return _as_they_hold(limits, found) if limits.mutual_approval else found


async def _as_profiles_hold(limits: Limits, read: Awaitable[ProfiledPages]) -> ProfiledPages:
    pages, profiles = await read
    return ProfiledPages(pages, _as_they_hold(limits, profiles))


def _as_they_hold(limits: Limits, profiles: Mapping[UserId, Profile]) -> Mapping[UserId, Profile]:
    return {
        user: Profile(limits.account(account), counts)
        for user, (account, counts) in profiles.items()
    }


async def _read_accounts(
    stores: Stores, limits: Limits, users: Sequence[UserId]
) -> Mapping[UserId, Account]:
    found = await stores.accounts.of(users)
    return {user: limits.account(account) for user, account in found.items()}


async def _read_ties(
    stores: Stores, viewer: UserId, users: Sequence[UserId]
) -> Mapping[UserId, Relation]:
    (found,) = await stores.fresh.relations.between([Check(viewer, users)])
    return {user: SELF if user == viewer else tie for user, tie in zip(users, found, strict=True)}
