"""What the stores promise to the rest of the house, whoever keeps the promise.

Every method takes a batch and returns a batch, and may raise `graph.errors.Unavailable`.
A `viewer` is whose own writes must show at once: implementations that lag make up for theirs.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol, TypeAlias
from uuid import UUID

from graph.account import Account, PrivacyChange, Saved
from graph.account_state import AccountState, AccountStatus
from graph.counts import Counts
from graph.decision import Decision, Outcome, Rule
from graph.edge import Edge, Flags, Kind, Millis, Pair, UserId
from graph.lane import Lane
from graph.pace import Pace
from graph.page import ListKind, OwnListKind, Page, Position, Window
from graph.receipt import Kept, Note, Request, no_receipt
from graph.relation import RelationColumn


class Check(NamedTuple):
    """How does `user` stand to each of `others`? Positions are kept, repeats are allowed."""

    user: UserId
    others: Sequence[UserId]
    spelled: Sequence[str] | None = None
    """`str` of each of the others, where somebody has them so: a cache need not spell them anew."""


class Remark(NamedTuple):
    """Of a request, its message; of a mute, when it ends by itself."""

    message: str | None
    muted_until: Millis | None


Side: TypeAlias = Literal[ListKind.FOLLOWING, ListKind.FOLLOWERS]
"""A list of one direction's edges."""


class Whispers(NamedTuple):
    """On which sides of an overlap whispers count: on those of who is to know of them."""

    listed: bool = False
    followed: bool = False


OVERLAP_MAX = 10_000
BARRED_MAX = 10_000


@dataclass(frozen=True, slots=True)
class EdgeChange:
    """An edge as it is now, after somebody changed it: its owner, or (`turned`) the other user."""

    pair: Pair
    edge: Edge
    former: Kind = Kind.NONE
    """What it was before: for the log, as the next two; a cache needs none of them."""
    former_flags: Flags = Flags.PLAIN
    turned: bool = False


class Edges(Protocol):
    """The truth, and the only way to change it."""

    async def change(
        self, pair: Pair, decide: Rule, note: Note = no_receipt, spending: UUID | None = None
    ) -> Decision:
        """Asks `decide` about both users' edges, and writes what it says, durably.

        Where they changed in between it asks again, about what they are now. A receipt that `note`
        returns is written with the steps, or neither is. So is the end of the actor's receipt
        `spending`, which gives nothing any more then.

        Raises:
            AlreadyNoted: the actor has that receipt; nothing was written.
            AlreadySpent: the actor's receipt to be spent is spent, or gone; nothing was written.
        """
        ...


class Receipts(Protocol):
    """What users were answered, as long as it is remembered."""

    async def of(self, actor: UserId, ids: Sequence[UUID]) -> Mapping[UUID, Kept]:
        """Those of an actor's receipts that there are."""
        ...


class Mutes(Protocol):
    """Mutes that end by themselves."""

    async def over(self, most: int) -> Sequence[Pair]:
        """Up to `most` of those whose end has passed, the longest passed first."""
        ...


class Relations(Protocol):
    """Relation checks. Forward edges are exact; the reverse may lag until a lane is drained."""

    async def between(self, checks: Sequence[Check]) -> list[RelationColumn]:
        """One column a check, one relation for each of its `others`."""
        ...


class Lists(Protocol):
    """Pages of `following`, `followers` and `friends`."""

    async def pages(
        self, kind: ListKind, users: Sequence[UserId], window: Window, viewer: UserId | None
    ) -> Mapping[UserId, Page]:
        """A page for every one of `users`; of those without a list, an empty one."""
        ...


class OwnLists(Protocol):
    """Pages of what only their owners may read, and services. Exact for their owners."""

    async def pages(
        self, kind: OwnListKind, users: Sequence[UserId], window: Window
    ) -> Mapping[UserId, Page]:
        """A page for every one of `users`; of those without a list, an empty one."""
        ...


class Overlaps(Protocol):
    """What two lists have in common. The shorter one is looked up in the other."""

    async def followed(
        self, kind: Side, users: Sequence[UserId], by: UserId, whispers: Whispers
    ) -> Mapping[UserId, Sequence[Position]]:
        """Who of each user's following or followers is followed `by` somebody, newest first.

        The dates are those of the users' lists. Of lists that are both longer than `OVERLAP_MAX`,
        so many of the shorter one's newest entries are looked up.
        """
        ...

    async def barred(
        self, kind: ListKind, users: Sequence[UserId], viewer: UserId
    ) -> Mapping[UserId, int]:
        """How many of each user's list have blocked the viewer, or are blocked by the viewer.

        Of more than `BARRED_MAX` blocks in a direction, so many of the newest are looked up.
        """
        ...


class Remarks(Protocol):
    """What an edge's owner has written beside it. Exact."""

    async def of(self, pairs: Sequence[Pair]) -> Mapping[Pair, Remark]:
        """The notes of those pairs that have one."""
        ...


class Accounts(Protocol):
    """What users say about themselves. Whoever has written here sees it at once, everywhere.

    The receipt of a request that has an idempotency key is written with the change, or neither is.
    Both changes raise AlreadyNoted if there is one: then nothing was written.
    """

    async def of(self, users: Sequence[UserId]) -> Mapping[UserId, Account]:
        """The account of every one of `users`; of those who never said anything, the default."""
        ...

    async def set_privacy(
        self,
        user: UserId,
        change: PrivacyChange,
        request: Request | None = None,
        pace: Pace | None = None,
    ) -> Saved:
        """Changes what it names, durably, unless the user changes more than `pace` allows.

        Who is deleted is not active: nothing is written.
        """
        ...

    async def set_following_limit(
        self, user: UserId, limit: int | None, request: Request | None = None
    ) -> Saved:
        """Sets it, durably; None: as many as everybody. Not of who is deleted."""
        ...


class Usage(NamedTuple):
    """What one user has used of their limits, at `now`. Times are in microseconds."""

    following: int
    """How many users they follow, openly or by a whisper, or ask to follow."""
    following_limit: int | None
    """Their own limit, if a service has set one."""
    blocks: int
    paced_until: int
    """Up to when their changes are paid for: see `graph.pace`."""
    now: int


class Usages(Protocol):
    """What users have used of their limits. Exact."""

    async def get_many(self, users: Sequence[UserId]) -> Mapping[UserId, Usage]:
        """The usage of every one of `users`."""
        ...


class AccountStates(Protocol):
    """Whether accounts are here. Whoever has changed one sees it at once, everywhere."""

    async def of(self, users: Sequence[UserId]) -> Mapping[UserId, AccountStatus]:
        """The state of every one of `users`; those of whom nothing was said are here."""
        ...

    async def change(
        self, user: UserId, state: AccountState, request: Request | None = None
    ) -> Outcome:
        """Makes it so, durably, unless it is so already or the account is deleted.

        Raises:
            AlreadyNoted: there is a receipt of the request; nothing was written.
        """
        ...


class Neighbours(Protocol):
    """In whose lists users stand."""

    async def around(self, user: UserId, most: int) -> Set[UserId]:
        """About `most` of either direction, and of those who noted something about the user."""
        ...


class Absences(Protocol):
    """Who is not here."""

    async def now(self) -> Set[UserId]:
        """All of them, as of some moments ago. Not to be changed, and not to be kept."""
        ...

    async def since(self, at_us: int) -> Set[UserId]:
        """The same, as of `at_us` by the database's clock at the earliest, if that has come; and as
        of whatever this process was told of.

        Raises:
            Unavailable: that cannot be known.
        """
        ...

    def expire(self) -> None:
        """Somebody has come or gone: who asks from now on must know."""
        ...


class Profile(NamedTuple):
    """What lists say of their owner before they are opened."""

    account: Account
    counts: Counts


class ProfiledPages(NamedTuple):
    """Pages of some users' lists, and profiles of these and of others."""

    pages: Mapping[UserId, Page]
    profiles: Mapping[UserId, Profile]


class Profiles(Protocol):
    """Accounts as `Accounts` promises them, together with totals."""

    async def of(self, users: Sequence[UserId], viewer: UserId | None) -> Mapping[UserId, Profile]:
        """The profile of every one of `users`; of those without any edge, the totals are zeros."""
        ...


class ProfiledLists(Protocol):
    """Pages of lists together with what the lists say before they are opened."""

    async def pages(
        self,
        kind: ListKind,
        owners: Sequence[UserId],
        window: Window,
        viewer: UserId | None,
        users: Sequence[UserId],
    ) -> ProfiledPages:
        """A page for every one of `owners`, as `Lists` promises it, and a profile for every one of
        `users`, as `Profiles` does.
        """
        ...


class Pending(Protocol):
    """Whose writes are still on their way to the reverse side, or to the caches."""

    async def of(self, users: Sequence[UserId]) -> Mapping[UserId, Collection[UserId]]:
        """For every one of `users`, towards whom."""
        ...


class Caches(Protocol):
    """What remembers edges, and must be told when they change."""

    async def written(self, pair: Pair, decision: Decision) -> None:
        """The first of a pair changed something: forward sides know, reverse sides do not yet.

        Whom the caches were not told of, the drain tells them.
        """
        ...

    async def applied(self, changes: Sequence[EdgeChange]) -> Set[UserId]:
        """Changes reached the reverse side. May be told twice, and in any order.

        Returns those users whose caches could not be told, for they are away.
        """
        ...


class Lanes(Protocol):
    """The wake-up of the workers. A hint: the sweep finds whatever it loses."""

    def wake(self, lanes: Iterable[Lane]) -> None:
        """These lanes have something to drain. Returns at once, and never raises."""
        ...


class ErasureQueue(Protocol):
    """The same, for deleted accounts."""

    async def wake(self, users: Iterable[UserId]) -> None:
        """These have something to erase. Returns when they are queued, or cannot be."""
        ...


class DocumentStore(Protocol):
    """GraphQL documents that clients have persisted, by the SHA-256 of their text in hex.

    A hint: a store that is away has none, and raises nothing. The client then sends the document.
    """

    async def get(self, digest: str) -> str | None:
        """The document, if it is there. One round trip."""
        ...

    async def put(self, digest: str, document: str) -> None:
        """Keep it for a while, if it is not too large. One round trip."""
        ...
