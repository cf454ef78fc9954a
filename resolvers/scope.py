"""The scope of one request: its viewer, its limits, and what it has read."""

from collections.abc import Awaitable, Callable, Sequence, Set
from functools import partial
from typing import NamedTuple

from graph.account import Account
from graph.affinity import DEFAULT_SCALE, Scale
from graph.edge import UserId
from graph.errors import Forbidden, Unauthenticated
from graph.lists import ListKind
from graph.page import Window
from graph.rate_limit import RateLimit
from graph.relation import Relation
from graph.suggestion import Candidates
from resolvers.loader import ACCOUNTS, PROFILES, VIEWER_RELATIONS, ColumnLoader
from resolvers.memo import Memo
from resolvers.policy import Policy
from resolvers.profiles import ProfileLoader
from resolvers.scope_reads import (
    ProfiledPages,
    as_protected_profiles,
    read_accounts,
    read_profiles,
    read_viewer_relations,
)
from resolvers.shown_pages import ShownPages
from storage.ports.lanes import Watermarks
from storage.ports.reader import Consistency, PagesOf, ProfilesOf
from storage.ports.request_stores import RequestStores

NOBODY: Set[UserId] = frozenset()


class WatermarkReading(NamedTuple):
    """The lanes' watermarks, and the number of Redis failures at that time."""

    watermarks: Watermarks
    redis_failures: int


class RankedCandidates(NamedTuple):
    """The candidates for suggestions to a viewer."""

    candidates: Candidates
    left_out: Set[UserId]
    """Users who are not suggested: the viewer, the users whom the viewer follows, and those to whom
    the viewer had an edge or a flag that has ended lately. They can be candidates, so that cursors
    can name them."""


class Scope:
    """State that the fields of one request share.

    Its loaders hold no reference to it: a cycle would leave all that a request has read to the
    garbage collector.
    """

    # Defaults on the class, because most requests need none of these.
    _profiles: ProfileLoader | None = None
    _accounts: ColumnLoader[UserId, Account] | None = None
    _viewer_relations: ColumnLoader[UserId, Relation] | None = None
    viewer_blocks: ColumnLoader[UserId, int] | None = None
    """The kinds of the viewer's relations to others, as far as they are blocks. For
    `resolvers.blocks`."""
    shown_pages: ShownPages | None = None
    """The pages that were read, with which counts and relations must agree."""
    _candidates: Memo[RankedCandidates] | None = None
    _all_suggestions: Memo[Sequence[UserId]] | None = None
    absences_as_of_us: int | None = None
    """The time, by the database's clock in microseconds, as of which absences must be known.
    0: as of the last notification of this process. None: they may be some moments old."""
    client: str | None = None
    """The client that got the caller's token, if the token names it. For the audit log."""
    caller: int | str = ""
    """The caller whose budget is charged, and whose subscriptions share their turns to read: the
    viewer's id, or the name of a service or an address."""
    rejected_actions: frozenset[str] = frozenset()
    """Actions for services that were rejected with FORBIDDEN and are in the audit log. For
    `resolvers.audit`."""
    rate_limit: Callable[[], RateLimit | None] = staticmethod(lambda: None)
    """Returns the cost of the request's operation and the caller's budget; None unless the
    operation selects `rateLimit`."""
    debit: Callable[[int], None] = staticmethod(lambda _: None)
    """Charges the caller for work that was found while the operation runs, besides its static
    cost."""
    watermark_reading: WatermarkReading | None = None
    """The watermarks before anything was read, if the request asks for freshness."""

    def __init__(
        self,
        stores: RequestStores,
        viewer: UserId | None,
        policy: Policy,
        *,
        is_service: bool = False,
        affinity_scale: Scale = DEFAULT_SCALE,
        consistency: Consistency = Consistency.CACHED,
    ) -> None:
        self.stores = stores
        self.viewer = viewer
        self.policy = policy
        self.is_service = is_service
        self.sees_everything = is_service and viewer is None
        """Whether a service asks for itself. One that acts for a user sees what that user sees."""
        self.affinity_scale = affinity_scale
        self.consistency = consistency
        """The consistency of all reads of the request from now on."""

    @property
    def profiles(self) -> ProfileLoader:
        """Profiles of list owners, which decide on access and hold the totals. Read once for all
        fields of a user and of the user's lists."""
        if self._profiles is None:
            self._profiles = ProfileLoader(
                partial(
                    read_profiles,
                    self.stores.reads.reader,
                    self.viewer,
                    self.policy,
                    self.consistency,
                ),
                batches=PROFILES,
            )
        return self._profiles

    def profiled_pages(
        self, kind: ListKind, owners: Sequence[UserId], window: Window, users: Sequence[UserId]
    ) -> Awaitable[ProfiledPages]:
        """Read stored pages, before anything is hidden from the viewer, together with profiles, for
        `profiles.load_with`."""
        read = self.stores.reads.reader.read(
            self.viewer,
            PagesOf(kind, owners, window),
            ProfilesOf(users),
            consistency=self.consistency,
        )
        if not self.policy.mutual_approval:
            return read
        return as_protected_profiles(self.policy, read)

    @property
    def accounts(self) -> ColumnLoader[UserId, Account]:
        """The settings of users, for fields that do not need the totals."""
        if self._accounts is None:
            self._accounts = ColumnLoader(
                partial(read_accounts, self.stores.reads.reader, self.policy, self.consistency),
                batches=ACCOUNTS,
            )
        return self._accounts

    @property
    def viewer_relations(self) -> ColumnLoader[UserId, Relation]:
        """The viewer's full relations to others: for rules only, never to be shown unfiltered."""
        if self._viewer_relations is None:
            self._viewer_relations = ColumnLoader(
                partial(
                    read_viewer_relations,
                    self.stores.reads.reader,
                    self.must_have_viewer(),
                    self.consistency,
                ),
                batches=VIEWER_RELATIONS,
            )
        return self._viewer_relations

    @property
    def candidates(self) -> Memo[RankedCandidates]:
        """The candidates for suggestions: finding them costs the same for one page as for all."""
        if self._candidates is None:
            self._candidates = Memo()
        return self._candidates

    @property
    def all_suggestions(self) -> Memo[Sequence[UserId]]:
        """The candidates that are suggestions."""
        if self._all_suggestions is None:
            self._all_suggestions = Memo()
        return self._all_suggestions

    def absent(self) -> Awaitable[Set[UserId]]:
        """The absent users to hide from the viewer."""
        if self.sees_everything:
            return _nobody()
        if self.absences_as_of_us is None:
            return self.stores.reads.absences.now()  # the usual case
        return self._absent_as_of(self.absences_as_of_us)

    def require_notified_absences(self) -> None:
        """Make `absent` contain at least the absences that this process has been notified of."""
        self.absences_as_of_us = self.absences_as_of_us or 0

    async def _absent_as_of(self, as_of_us: int) -> Set[UserId]:
        absent = await self.stores.reads.absences.as_of(as_of_us)
        self.absences_as_of_us = 0  # what is known only gets newer, so it is awaited once
        return absent

    def reread_fresh(self) -> None:
        """Drop what was read. From now on, read at least with FRESH."""
        self.read_from(max(self.consistency, Consistency.FRESH))

    def read_from(self, consistency: Consistency) -> None:
        """Drop what was read, and read with this consistency from now on."""
        self.consistency = consistency
        self._profiles = self._accounts = self._viewer_relations = self.viewer_blocks = None
        self._candidates = self._all_suggestions = self.shown_pages = None

    def must_have_viewer(self) -> UserId:
        """The viewer.

        Raises:
            Unauthenticated: the request has no viewer.
        """
        if self.viewer is None:
            raise Unauthenticated("This requires a signed-in user. Send the credentials of one.")
        return self.viewer

    def must_be_service(self) -> None:
        """Raise Forbidden unless a trusted service sent the request, for itself or for a user."""
        if not self.is_service:
            raise Forbidden("This is only for services. Send a token with the scope `service`.")

    def must_see_everything(self) -> None:
        """Raise Forbidden unless a trusted service sent the request for itself."""
        self.must_be_service()
        if not self.sees_everything:
            raise Forbidden(
                "This shows everything, so it is only for services that do not act for a user. Send"
                " a token without a user's id."
            )


async def _nobody() -> Set[UserId]:
    return NOBODY
