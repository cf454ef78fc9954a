"""What is decided about two users: from what was before, the steps to what is after.

Knows none of the rules. A store reads a `Before`, asks a rule, and writes the steps of its
`Decision` if what it read still holds; else it asks again.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from graph.counts import Limit
from graph.edge import Edge, Kind, Millis
from graph.relation import Relation, relation_of


class Outcome(Enum):
    """What became of an action. Only those of `CHANGES` have changed anything."""

    FOLLOWED = "FOLLOWED"
    REQUESTED = "REQUESTED"
    ALREADY_FOLLOWING = "ALREADY_FOLLOWING"
    ALREADY_REQUESTED = "ALREADY_REQUESTED"
    UNFOLLOWED = "UNFOLLOWED"
    NOT_FOLLOWING = "NOT_FOLLOWING"
    UPDATED = "UPDATED"
    UNCHANGED = "UNCHANGED"
    FOLLOWER_REMOVED = "FOLLOWER_REMOVED"
    NOT_FOLLOWED = "NOT_FOLLOWED"
    REQUEST_ACCEPTED = "REQUEST_ACCEPTED"
    REQUEST_DECLINED = "REQUEST_DECLINED"
    REQUEST_CANCELLED = "REQUEST_CANCELLED"
    NO_REQUEST = "NO_REQUEST"
    BLOCKED = "BLOCKED"
    ALREADY_BLOCKED = "ALREADY_BLOCKED"
    UNBLOCKED = "UNBLOCKED"
    NOT_BLOCKED = "NOT_BLOCKED"
    MUTED = "MUTED"
    ALREADY_MUTED = "ALREADY_MUTED"
    UNMUTED = "UNMUTED"
    NOT_MUTED = "NOT_MUTED"
    DISMISSED = "DISMISSED"
    ALREADY_DISMISSED = "ALREADY_DISMISSED"
    RECORDED = "RECORDED"
    RESTORED = "RESTORED"
    CANNOT_FOLLOW_SELF = "CANNOT_FOLLOW_SELF"
    CANNOT_DO_TO_SELF = "CANNOT_DO_TO_SELF"
    NOT_ALLOWED = "NOT_ALLOWED"
    UNBLOCK_FIRST = "UNBLOCK_FIRST"
    FOLLOWING_LIMIT_REACHED = "FOLLOWING_LIMIT_REACHED"
    BLOCK_LIMIT_REACHED = "BLOCK_LIMIT_REACHED"
    RATE_LIMITED = "RATE_LIMITED"
    CANNOT_UNDO = "CANNOT_UNDO"
    """Things have changed since: what was taken has no place any more."""
    UNDO_EXPIRED = "UNDO_EXPIRED"
    UNDO_UNKNOWN = "UNDO_UNKNOWN"
    IDEMPOTENCY_KEY_REUSED = "IDEMPOTENCY_KEY_REUSED"
    ACCOUNT_NOT_ACTIVE = "ACCOUNT_NOT_ACTIVE"
    """The actor's own account is switched off or deleted."""
    ERASED = "ERASED"
    """The actor's account is deleted, and with it what it was to the other and back."""
    DEACTIVATED = "DEACTIVATED"
    ALREADY_DEACTIVATED = "ALREADY_DEACTIVATED"
    REACTIVATED = "REACTIVATED"
    ALREADY_ACTIVE = "ALREADY_ACTIVE"
    DELETED = "DELETED"
    ALREADY_DELETED = "ALREADY_DELETED"
    ACCOUNT_DELETED = "ACCOUNT_DELETED"
    """The account was deleted before, and what is deleted does not come back."""


CHANGES = frozenset(
    {
        Outcome.FOLLOWED,
        Outcome.REQUESTED,
        Outcome.UNFOLLOWED,
        Outcome.UPDATED,
        Outcome.FOLLOWER_REMOVED,
        Outcome.REQUEST_ACCEPTED,
        Outcome.REQUEST_DECLINED,
        Outcome.REQUEST_CANCELLED,
        Outcome.BLOCKED,
        Outcome.UNBLOCKED,
        Outcome.MUTED,
        Outcome.UNMUTED,
        Outcome.DISMISSED,
        Outcome.RECORDED,
        Outcome.RESTORED,
        Outcome.ERASED,
        Outcome.DEACTIVATED,
        Outcome.REACTIVATED,
        Outcome.DELETED,
    }
)

REFUSALS = frozenset(
    {
        Outcome.CANNOT_FOLLOW_SELF,
        Outcome.CANNOT_DO_TO_SELF,
        Outcome.NOT_ALLOWED,
        Outcome.UNBLOCK_FIRST,
        Outcome.FOLLOWING_LIMIT_REACHED,
        Outcome.BLOCK_LIMIT_REACHED,
        Outcome.RATE_LIMITED,
        Outcome.CANNOT_UNDO,
        Outcome.UNDO_EXPIRED,
        Outcome.UNDO_UNKNOWN,
        Outcome.IDEMPOTENCY_KEY_REUSED,
        Outcome.ACCOUNT_NOT_ACTIVE,
        Outcome.ACCOUNT_DELETED,
    }
)
"""What was asked for is not so now: it may be asked for again."""


@dataclass(frozen=True, slots=True)
class Before:
    """What is known of two users at one moment.

    `edge` is what the actor is to the other, `back` the reverse; `now` is the database's clock in
    microseconds, the one clock that all writers share.
    """

    edge: Edge
    back: Edge
    following: int
    """How many follows, whispers and requests the actor has."""
    now: int
    blocks: int = 0
    following_limit: int | None = None
    """The actor's own limit, where a service has set one."""
    back_following: int = 0
    """How many follows, whispers and requests the other has."""
    back_following_limit: int | None = None
    protected: bool = False
    """Whether the other approves who follows them."""
    present: bool = True
    """Whether both accounts are here: neither switched off nor deleted."""
    active: bool = True
    """Whether the actor's own account is."""
    deleted: bool = False
    """Whether one of the two accounts is deleted: nothing begins between them any more."""
    muted_until: Millis | None = None
    """When the actor's mute of the other ends by itself."""
    message: str | None = None
    """What the actor's request says."""
    back_message: str | None = None
    """What the other's request says."""
    paced_until: int = 0
    """Up to when the actor's changes are paid for, in microseconds: see `graph.pace`."""

    @property
    def relation(self) -> Relation:
        return relation_of(self.edge, self.back)


@dataclass(frozen=True, slots=True)
class Step:
    """One edge to write. `friends` is what it adds to the friends of both its ends."""

    former: Edge
    edge: Edge
    friends: int
    turned: bool
    """Whether it is the other user's edge towards the actor."""
    message: str | None = None
    """What a request says to the one who is asked."""
    muted_until: Millis | None = None

    @property
    def begins(self) -> bool:
        """Whether there is something afterwards that was not there before."""
        is_new = self.edge.kind not in (Kind.NONE, self.former.kind)
        return is_new or bool(self.edge.flags & ~self.former.flags)


@dataclass(frozen=True, slots=True)
class Guards:
    """What must still hold when the steps are written: the actor may be changing more at once."""

    following_below: int | None = None
    blocks_below: int | None = None
    pace_us: int = 0
    """What the change costs, in microseconds of the actor's pace."""
    paced_most: int = 0
    """The actor's changes may be paid for up to this moment before it, in microseconds."""


@dataclass(frozen=True, slots=True)
class Decision:
    """The answer of a rule: the outcome, what to write if anything, and both edges afterwards."""

    outcome: Outcome
    steps: tuple[Step, ...]
    edge: Edge
    """What the actor is to the other afterwards."""
    back: Edge
    limit: Limit | None = None
    """Which limit was reached, where that was the reason."""
    retry_at: Millis | None = None
    """When to try again, where the actor was too fast."""
    guards: Guards = Guards()
    at: int = 0
    """By the database's clock in microseconds, when all of it had surely been written, or was found
    to be so already: a store tells."""

    @property
    def relation(self) -> Relation:
        """Where the two stand, whole: whoever shows it hides what a viewer may not see."""
        return relation_of(self.edge, self.back)


Rule = Callable[[Before], Decision]
"""A pure function that decides one action. It may be asked more than once."""
