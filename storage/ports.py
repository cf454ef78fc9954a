"""The interfaces of the stores, which `storage` implements.

Every method takes a batch, returns a batch, and may raise `graph.errors.Unavailable`. `viewer` is
the user whose own writes must be visible immediately, even in an implementation that lags.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence, Set
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import IntEnum, auto
from typing import Generic, Literal, NamedTuple, Protocol, TypeAlias, TypeVar, overload
from uuid import UUID

from graph.account import Account, PrivacyChange, Saved
from graph.account_export import (
    AccountEntry,
    AffinityEntry,
    GroupEntry,
    MemberEntry,
    NoteEntry,
    OutgoingEntry,
    PinEntry,
    ReceiptEntry,
)
from graph.account_state import AccountState, AccountStatus, StateChange
from graph.bulk import BulkKey, BulkOperation, BulkOptions
from graph.decision import Decision, Rule
from graph.edge import Edge, Flags, Kind, Millis, Pair, UserId, Version
from graph.event import Event
from graph.exported_list import Entry, ExportedList
from graph.follow_group import FollowGroup, GroupChange, GroupId, SavedGroups
from graph.lane import ALL_LANES, Lane
from graph.own_change import OwnChange
from graph.pace import Pace
from graph.page import ListKind, OwnListKind, Page, Position, Window
from graph.profile import Profile
from graph.rate_limit import Bucket, Grant
from graph.receipt import Request, StoredReceipt
from graph.relation import RelationColumn
from graph.relation_version import OwnEdge


class Check(NamedTuple):
    """A question: the relation of `user` to each of `others`. The answer keeps their order; repeats
    are allowed."""

    user: UserId
    others: Sequence[UserId]
    preformatted: Sequence[str] | None = None
    """`str` of each of `others`, if the caller has them already: saves a cache from formatting
    them."""


class EdgeNote(NamedTuple):
    """The notes beside an edge: the message of a request, and when a mute ends by itself."""

    message: str | None
    muted_until: Millis | None


Side: TypeAlias = Literal[ListKind.FOLLOWING, ListKind.FOLLOWERS]
"""A list that holds the edges of one direction."""


class Whispers(NamedTuple):
    """The sides of an overlap that count whispers: `listed`, the users' lists; `followed`, the
    follows of `by`. A side counts them only if the viewer may see its whispers."""

    listed: bool = False
    followed: bool = False


OVERLAP_MAX = 10_000
BLOCKS_LOOKED_UP_MAX = 1_000


@dataclass(frozen=True, slots=True)
class EdgeChange:
    """An edge after a change by its owner or, if `by_target`, by the other user."""

    pair: Pair
    edge: Edge
    previous: Kind = Kind.NONE
    """The edge's previous kind. The log needs this and the next two fields; caches ignore them."""
    previous_flags: Flags = Flags.PLAIN
    by_target: bool = False


class Edges(Protocol):
    """The authoritative store of edges. All changes go through it."""

    async def change(self, pair: Pair, rule: Rule) -> Decision:
        """Decide with the rule, and write the decision durably, in one transaction. If an edge has
        changed before the write, decide again.

        The actor sees the change when this returns, through any gateway, unless the decision
        `is_delayed`. This includes a change that was made before, by a request of which nobody
        knows the result.

        Raises:
            ReceiptExists: the decision's receipt exists; nothing was written.
            ReceiptConsumed: the receipt to consume is consumed or deleted; nothing was written.
        """
        ...


class Receipts(Protocol):
    """Receipts: the results of users' requests, kept for a limited time."""

    async def get_many(self, actor: UserId, ids: Sequence[UUID]) -> Mapping[UUID, StoredReceipt]:
        """The actor's receipts with these ids, without those that do not exist."""
        ...


class Mutes(Protocol):
    """Mutes that have an end."""

    async def expired(self, most: int) -> Sequence[Pair]:
        """Up to `most` mutes whose end has passed, the earliest end first."""
        ...


class Consistency(IntEnum):
    """Where a read may be answered, in rising order. Every level shows the viewer's own writes."""

    CACHED = auto()
    """Also from the local cache of this process, which may miss other users' newest writes."""
    FRESH = auto()
    """From Redis, or from the tables for what Redis does not hold."""
    ROWS = auto()
    """From the tables only."""


A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")
Answer = TypeVar("Answer", covariant=True)


class ReadRequest(Generic[Answer]):
    """A request to a `Reader`. `Answer`: the type of its answer.

    Requests are not frozen: creating them takes 0.6 µs, not 2, and every read creates some.
    """

    __slots__ = ()


@dataclass(slots=True, eq=False)
class RelationsOf(ReadRequest[list[RelationColumn]]):
    """Relation checks: one column for each check, with one relation for each of its `others`.

    Forward edges are exact; reverse edges lag until their lane is drained.
    """

    checks: Sequence[Check]


@dataclass(slots=True, eq=False)
class PagesOf(ReadRequest[Mapping[UserId, Page]]):
    """A page of each owner's list; an empty page for a user without entries."""

    kind: ListKind
    owners: Sequence[UserId]
    window: Window


@dataclass(slots=True, eq=False)
class ProfilesOf(ReadRequest[Mapping[UserId, Profile]]):
    """The profile of each user; totals are zero for a user without edges. Accounts are exact."""

    users: Sequence[UserId]


@dataclass(slots=True, eq=False)
class AccountsOf(ReadRequest[Mapping[UserId, Account]]):
    """The account of each user; the default for a user without a row. Exact."""

    users: Sequence[UserId]


class Reader(Protocol):
    """Reads relations, lists and profiles, through the caches."""

    @property
    def failures(self) -> int:
        """Number of reads and writes that found the caches unavailable."""
        ...

    @overload
    def read(
        self,
        viewer: UserId | None,
        request: ReadRequest[A],
        /,
        *,
        consistency: Consistency = Consistency.CACHED,
    ) -> Awaitable[A]: ...
    @overload
    def read(
        self,
        viewer: UserId | None,
        request: ReadRequest[A],
        second: ReadRequest[B],
        /,
        *,
        consistency: Consistency = Consistency.CACHED,
    ) -> Awaitable[tuple[A, B]]: ...
    @overload
    def read(
        self,
        viewer: UserId | None,
        request: ReadRequest[A],
        second: ReadRequest[B],
        third: ReadRequest[C],
        /,
        *,
        consistency: Consistency = Consistency.CACHED,
    ) -> Awaitable[tuple[A, B, C]]:
        """The answers to one to three requests, in one round trip if they are cached."""
        ...


class OwnLists(Protocol):
    """Pages of lists that only their owner and services may read. Exact for the owner."""

    async def pages(
        self, kind: OwnListKind, users: Sequence[UserId], window: Window
    ) -> Mapping[UserId, Page]:
        """A page for each of `users`; an empty page for a user without entries."""
        ...


class ExportedRange(NamedTuple):
    """Some entries of a list, newest first. `last` is the position after which further ones may
    follow; None: there are none."""

    entries: Sequence[Entry]
    last: Position | None


class Exports(Protocol):
    """Whole lists, in ranges."""

    async def range(
        self,
        exported: ExportedList,
        user: UserId,
        kind: Kind,
        after: Position,
        size: int,
        *,
        notified: bool = False,
    ) -> ExportedRange:
        """The entries of one kind among the `size` edges after a position of the user's list. With
        `notified`, which is for followers: of those who asked to be notified."""
        ...


class AccountExports(Protocol):
    """All that is stored about one user, in ranges: at most `most` entries after a key, in the
    order of keys. Followers and requests are in `Exports`. Exact."""

    async def account(self, user: UserId) -> AccountEntry:
        """The user's settings and state."""
        ...

    async def outgoing(self, user: UserId, after: UserId, most: int) -> Sequence[OutgoingEntry]:
        """The user's edges, and flags of users to whom there is none, by the other users' ids."""
        ...

    async def notes(self, user: UserId, after: UserId, most: int) -> Sequence[NoteEntry]:
        """The user's private notes, by the other users' ids."""
        ...

    async def groups(self, user: UserId) -> Sequence[GroupEntry]:
        """The user's groups, in order."""
        ...

    async def group_members(self, user: UserId, after: UserId, most: int) -> Sequence[MemberEntry]:
        """The members of the user's groups after `after`, by id."""
        ...

    async def pins(self, user: UserId) -> Sequence[PinEntry]:
        """All users whom the user has pinned, in order, also those whom they have unfollowed."""
        ...

    async def affinities(self, user: UserId, after: UserId, most: int) -> Sequence[AffinityEntry]:
        """The user's ranks, by the other users' ids."""
        ...

    async def receipts(self, user: UserId, after: int, most: int) -> Sequence[ReceiptEntry]:
        """The receipts of the user's requests, by their ids."""
        ...


class Overlaps(Protocol):
    """Intersections of two lists. The store looks up the entries of the shorter list in the
    longer."""

    async def followed(
        self, kind: Side, users: Sequence[UserId], by: UserId, whispers: Whispers
    ) -> Mapping[UserId, Sequence[Position]]:
        """The users in each list whom `by` follows, newest first.

        The positions hold the dates of the users' lists. If both lists are longer than
        `OVERLAP_MAX`, only the newest `OVERLAP_MAX` entries of the shorter one are looked up.
        """
        ...

    async def blocked_counts(
        self, kind: ListKind, users: Sequence[UserId], viewer: UserId
    ) -> Mapping[UserId, int]:
        """The number of users in each list who block the viewer or whom the viewer blocks.

        In each direction, only the newest `BLOCKS_LOOKED_UP_MAX` blocks are looked up.
        """
        ...


class Blocks(Protocol):
    """Blocks between two users. A block of the first is exact, one of the second lags as reverse
    edges do."""

    async def among(
        self, viewer: UserId, blocking: Sequence[UserId], blocked_by: Sequence[UserId]
    ) -> Mapping[UserId, int]:
        """Those of `blocking` whom the viewer blocks and those of `blocked_by` who block the
        viewer, each with the kinds of the viewer's relation to them as far as these are blocks."""
        ...


class EdgeNotes(Protocol):
    """The notes that users have stored beside their edges. Exact."""

    async def get_many(self, pairs: Sequence[Pair]) -> Mapping[Pair, EdgeNote]:
        """The notes of those pairs that have any."""
        ...

    async def own_edges(self, user: UserId, others: Sequence[UserId]) -> Mapping[UserId, OwnEdge]:
        """The versions of the edges of `user` to those of `others` to whom there is a row."""
        ...

    async def ended(self, user: UserId, since: Millis, most: int) -> Set[UserId]:
        """Users to whom `user` had an edge or a flag that has ended after `since`: the latest
        `most`, as long as the tombstones are kept."""
        ...


class SampledUsers(Protocol):
    """Some users of the space."""

    async def now(self) -> Sequence[UserId]:
        """Up to 50 users who follow others, or have followed some, spread over all ids. Some
        minutes old at most."""
        ...


class PrivateNotes(Protocol):
    """Private notes of users about others. Exact."""

    async def get_many(self, author: UserId, others: Sequence[UserId]) -> Mapping[UserId, str]:
        """The notes of `author` about those of `others` who have one."""
        ...

    async def set_note(
        self,
        pair: Pair,
        note: str | None,
        request: Request | None = None,
        pace: Pace | None = None,
    ) -> OwnChange:
        """Set the note of the first user about the second, durably, unless the first user exceeds
        `pace`. None deletes it.

        It writes nothing if the first account is not active, or, unless it deletes the note, the
        second. A `request` is used as in `AccountWrites`.
        """
        ...


class FollowGroups(Protocol):
    """Groups of follows. Exact.

    Members are the users whom the owner follows since the same date as when they were added, and
    whose accounts are present.
    """

    async def get_many(self, owner: UserId) -> Sequence[FollowGroup]:
        """All groups of the owner, in their order."""
        ...

    async def page(self, owner: UserId, group: GroupId, window: Window) -> Page | None:
        """A window of the members by the date of the follow. None: there is no such group."""
        ...

    async def counts(self, owner: UserId, groups: Sequence[GroupId]) -> Mapping[GroupId, int]:
        """The number of members of each of `groups`."""
        ...

    async def groups_of(
        self, owner: UserId, users: Sequence[UserId]
    ) -> Mapping[UserId, Sequence[GroupId]]:
        """The groups that have each of `users` as a member, in their order; without users who are
        in none."""
        ...

    async def change(
        self,
        owner: UserId,
        change: GroupChange,
        pace: Pace,
        restorable_s: int,
        request: Request | None = None,
    ) -> SavedGroups:
        """Change the owner's groups, durably, unless the owner exceeds `pace`.

        It writes nothing if the owner's account is not active. A `request` is used as in
        `AccountWrites`. For `restorable_s` seconds after the end of a follow, an undo can restore
        it, and with it the membership.
        """
        ...


class SeenFollowers(Protocol):
    """Up to which moment users have seen their followers. Exact."""

    async def get_many(self, users: Sequence[UserId]) -> Mapping[UserId, Millis]:
        """The moment of each of `users`; NEVER_SEEN for one who has marked none."""
        ...

    async def mark(
        self,
        user: UserId,
        until: Millis,
        request: Request | None = None,
        pace: Pace | None = None,
    ) -> OwnChange:
        """Set the user's moment, durably, unless it is later already, or the user exceeds `pace`.

        It writes nothing if the account is not active. A `request` is used as in `AccountWrites`.
        """
        ...


class PinnedFollowing(Protocol):
    """The users whom users have pinned among those they follow. Exact."""

    async def pinned_by(self, user: UserId) -> Sequence[UserId]:
        """The users whom `user` has pinned and still follows by the same follow, in order."""
        ...

    async def replace(
        self,
        user: UserId,
        others: Sequence[UserId],
        request: Request | None = None,
        pace: Pace | None = None,
    ) -> OwnChange:
        """Replace the users whom `user` has pinned, durably, unless `user` exceeds `pace`.

        It writes nothing if the account is not active, or if `user` does not follow one of
        `others` or that account is not active: then the outcome is NOT_ALLOWED, and this one is its
        `reason`. A `request` is used as in `AccountWrites`.
        """
        ...


class AccountWrites(Protocol):
    """Changes of account settings.

    If `request` is given, its receipt is written in the transaction of the change. Both setters
    raise ReceiptExists if the receipt exists; nothing is written then.
    """

    async def set_privacy(
        self,
        user: UserId,
        change: PrivacyChange,
        request: Request | None = None,
        pace: Pace | None = None,
    ) -> Saved:
        """Set the fields that `change` names, durably, unless the user exceeds `pace`.

        For a deleted account it writes nothing and returns ACCOUNT_NOT_ACTIVE.
        """
        ...

    async def set_following_limit(
        self, user: UserId, limit: int | None, request: Request | None = None
    ) -> Saved:
        """Set the limit, durably. None: the deployment's default. Not for deleted accounts."""
        ...


class Accounts(AccountWrites, Protocol):
    """Changes that are visible to all readers when they return, unless they are `is_delayed`."""

    async def announce_again(self, user: UserId) -> bool:
        """Update the caches again, because a request was repeated: the first one may have ended
        before it did. Returns whether they were updated."""
        ...


class Usage(NamedTuple):
    """One user's usage of their limits, at `now`. Times are in microseconds."""

    following: int
    """Number of users they follow, by a follow or a whisper, or have requested to follow."""
    following_limit: int | None
    """Their own limit, if a service has set one."""
    blocks: int
    paced_until: int
    """The state of the rate limiter: see `graph.pace`."""
    now: int


class Usages(Protocol):
    """How much of their limits users have used. Exact."""

    async def get_many(self, users: Sequence[UserId]) -> Mapping[UserId, Usage]:
        """The usage of each of `users`."""
        ...


class AccountStates(Protocol):
    """Account states. A change is visible to all readers when it returns, unless it
    `is_delayed`."""

    async def get_many(self, users: Sequence[UserId]) -> Mapping[UserId, AccountStatus]:
        """The state of each of `users`; a user without a row is active."""
        ...

    async def change(
        self, user: UserId, state: AccountState, request: Request | None = None
    ) -> StateChange:
        """Set the state, durably, unless it is set already or the account is deleted.

        Raises:
            ReceiptExists: the request has a receipt; nothing was written.
        """
        ...


class Neighbours(Protocol):
    """The users with an edge from or to a user."""

    async def neighbours(self, user: UserId, most: int) -> Set[UserId]:
        """About `most` users of each direction, and of those who have a note about `user`."""
        ...


class Absences(Protocol):
    """The accounts that are deactivated or deleted."""

    async def now(self) -> Set[UserId]:
        """All absent users, as of a few moments ago. Callers must not modify or keep the set."""
        ...

    async def as_of(self, at_us: int) -> Set[UserId]:
        """All absent users, as of `at_us` (database clock, microseconds) or later if that moment
        has passed, and including every change up to the last `expire`.

        Raises:
            Unavailable: the store cannot read that state.
        """
        ...

    def expire(self) -> None:
        """Make later calls read the state again, because an account has become absent or active."""
        ...


class Lanes(Protocol):
    """Wakes the workers. Best effort: the sweep finds lanes whose wake-up was lost."""

    def wake(self, lanes: Iterable[Lane]) -> None:
        """Wake a worker for each of these lanes. Returns immediately and never raises."""
        ...


class ErasureQueue(Protocol):
    """Wakes the workers for deleted accounts. Best effort, like `Lanes`."""

    async def wake(self, users: Iterable[UserId]) -> None:
        """Queue the erasure of these users. Returns when they are queued, or when queueing has
        failed."""
        ...


class DocumentStore(Protocol):
    """Persisted GraphQL documents, by the SHA-256 of their text in hex.

    Best effort: if the store is unavailable, `get` returns None and nothing is raised. The client
    then sends the document.
    """

    async def get(self, digest: str) -> str | None:
        """The document, or None. One round trip."""
        ...

    async def put(self, digest: str, document: str) -> None:
        """Keep a document for a limited time, unless it is too large. One round trip."""
        ...


class Budgets(Protocol):
    """Token buckets of callers, shared by all gateways."""

    async def take(self, caller: str, bucket: Bucket, spent: int, least: int, most: int) -> Grant:
        """Take between `least` and `most` tokens out of a caller's bucket, or none if it holds
        fewer, after subtracting those that were `spent` without asking. One round trip."""
        ...


class Affinities(Protocol):
    """How close users are to others, from the interactions that services report."""

    async def closest(self, user: UserId) -> Mapping[UserId, float]:
        """The user's highest ranks. Never show them to other users."""
        ...

    async def record(self, ranks: Mapping[Pair, float]) -> Set[Pair]:
        """Add to the rank of each pair, durably. Returns the pairs, except those with a deleted
        account."""
        ...

    async def record_once(
        self, ranks: Mapping[Pair, float], request: Request, count: Callable[[Set[Pair]], int]
    ) -> int:
        """Like `record`, in one transaction with a receipt of the request. The receipt stores the
        number that `count` computes from the recorded pairs; this number is returned.

        Raises:
            ReceiptExists: the receipt exists; nothing was added.
        """
        ...


@dataclass(frozen=True, slots=True)
class FeedEvent:
    """An event of a feed, with its position."""

    cursor: str
    event: Event


@dataclass(frozen=True, slots=True)
class FeedBatch:
    """The next events of a feed and the cursor after them. `lost`: earlier events were trimmed."""

    events: Sequence[FeedEvent]
    cursor: str
    more: bool = False
    """Whether there may be further events."""
    lost: bool = False


class Feeds(Protocol):
    """The events of single users, kept for a limited time."""

    @property
    def kept_s(self) -> int:
        """For how long a feed is kept after it was read last."""
        ...

    async def open(self, user: UserId) -> str:
        """Open the user's feed, and return the cursor of its end."""
        ...

    async def after(self, user: UserId, cursor: str, most: int) -> FeedBatch:
        """At most `most` events of the user's feed after `cursor`."""
        ...


@dataclass(frozen=True, slots=True)
class ChangeBatch:
    """The next entries of the change feed, each with its fields as text, and the cursor after
    them."""

    changes: Sequence[Mapping[str, str]]
    cursor: str
    more: bool
    """Whether there may be further entries now."""
    bulk_ends: Sequence[Mapping[str, str]] = ()
    """The ends of bulk operations."""


class ChangeFeed(Protocol):
    """All changes of the space, kept for a limited time."""

    async def end(self) -> str:
        """The cursor after the newest change."""
        ...

    async def after(self, cursor: str, most: int) -> ChangeBatch:
        """At most `most` changes of each group of lanes after the cursor.

        Raises:
            BadCursor: the cursor is damaged, or belongs to another space.
            ChangesLost: some of them are no longer kept.
        """
        ...


class Subscription(Protocol):
    """Waits for news of some users."""

    async def news(self, within_s: float | None = None) -> bool:
        """Wait until there is news since the last return, or for `within_s`. Returns whether there
        is."""
        ...


class Subscriptions(Protocol):
    """The subscriptions of this process to users' news."""

    def open(
        self, *users: UserId, viewer: UserId | None = None
    ) -> AbstractContextManager[Subscription]:
        """A subscription of `viewer` to news of any of `users`, for a block.

        Raises:
            Overloaded: this process has its maximum number of subscriptions, or of this viewer's.
        """
        ...

    def open_for_all(self) -> AbstractContextManager[Subscription]:
        """A subscription to news of anybody, for a block.

        Raises:
            Overloaded: this process has its maximum number of subscriptions.
        """
        ...


@dataclass(frozen=True, slots=True)
class Watermarks:
    """Watermarks of groups of lanes at `now` (database clock, microseconds).

    Every change with a version below a group's `oldest` has left its lanes; None: none is waiting
    or parked. Every change below its `oldest_unparked` has left them or is parked. Parked changes
    are in the rows, but some caches lack them. Failed changes are not waited for.
    """

    oldest: Mapping[Lane, Version | None]
    oldest_unparked: Mapping[Lane, Version | None]
    now: int


class LaneProgress(Protocol):
    """How far the lanes are drained."""

    async def watermarks(self, groups: Iterable[Lane] = ALL_LANES) -> Watermarks:
        """The watermarks of groups of lanes."""
        ...


class CatchUp(Protocol):
    """Drains lanes up to the versions that readers require."""

    async def reach(self, wanted: Mapping[Lane, int], wait_s: float) -> bool:
        """Return when every group of lanes has passed the wanted version. True: the caches have
        too. False: some caches could not be updated, and only the rows are current.

        Raises:
            Stale: it took longer than `wait_s`.
        """
        ...


class BulkOperations(Protocol):
    """The bulk operations of services. Workers apply them."""

    async def add_slice(
        self, key: BulkKey, upload: UUID, number: int, first_line: int, lines: Sequence[str]
    ) -> None:
        """Store some lines of an upload. Slices are numbered from 0, lines from 1."""
        ...

    async def start(
        self,
        key: BulkKey,
        upload: UUID,
        digest: bytes,
        options: BulkOptions,
        lines: int,
        slices: int,
    ) -> None:
        """Start the operation with the slices of an upload. Does nothing if it exists."""
        ...

    async def find(self, key: BulkKey) -> BulkOperation | None:
        """The operation; None: it does not exist."""
        ...

    async def count_open(self, most: int) -> int:
        """How many operations of the space have not ended, up to `most`."""
        ...

    async def drop_upload(self, key: BulkKey, upload: UUID) -> None:
        """Delete the slices of an upload that no operation uses."""
        ...

    async def cancel(self, key: BulkKey) -> bool:
        """Cancel the operation. Returns False if it has ended or is being canceled."""
        ...

    async def results(self, operation: BulkOperation, first: int) -> Sequence[tuple[int, bytes]]:
        """The results of some slices from number `first`, in order, each with its number."""
        ...


@dataclass(frozen=True, slots=True)
class Reads:
    """The stores that queries read."""

    reader: Reader
    own_lists: OwnLists
    exports: Exports
    account_exports: AccountExports
    overlaps: Overlaps
    blocks: Blocks
    edge_notes: EdgeNotes
    sampled_users: SampledUsers
    private_notes: PrivateNotes
    follow_groups: FollowGroups
    seen_followers: SeenFollowers
    pinned_following: PinnedFollowing
    affinities: Affinities
    absences: Absences


@dataclass(frozen=True, slots=True)
class Writes:
    """The stores that mutations change, with their receipts and limits."""

    edges: Edges
    accounts: Accounts
    account_states: AccountStates
    affinities: Affinities
    private_notes: PrivateNotes
    follow_groups: FollowGroups
    seen_followers: SeenFollowers
    pinned_following: PinnedFollowing
    receipts: Receipts
    usages: Usages
    bulk: BulkOperations


@dataclass(frozen=True, slots=True)
class Changes:
    """How a request learns of changes, and waits for them."""

    feeds: Feeds
    feed: ChangeFeed
    subscriptions: Subscriptions
    progress: LaneProgress
    catch_up: CatchUp


class RequestStores(Protocol):
    """The stores and services that the requests of a gateway use."""

    @property
    def reads(self) -> Reads: ...
    @property
    def writes(self) -> Writes: ...
    @property
    def changes(self) -> Changes: ...
