"""Decisions about two users: the state before, and the steps to the state after.

A store reads a `Before`, calls a rule, and writes the steps of the `Decision` if the rows that it
read are unchanged. Otherwise it starts again.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from graph.counts import Limit
from graph.edge import Edge, Kind, Millis
from graph.relation import Relation, relation_of


class Outcome(Enum):
    """The outcome of an action. Only the outcomes in `CHANGES` change anything."""

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
    """The relationship changed after the receipt was written, so it cannot be restored."""
    UNDO_EXPIRED = "UNDO_EXPIRED"
    UNDO_UNKNOWN = "UNDO_UNKNOWN"
    IDEMPOTENCY_KEY_REUSED = "IDEMPOTENCY_KEY_REUSED"
    ACCOUNT_NOT_ACTIVE = "ACCOUNT_NOT_ACTIVE"
    """The actor's own account is deactivated or deleted."""
    ERASED = "ERASED"
    """The edges of a deleted account to and from the other user were removed."""
    DEACTIVATED = "DEACTIVATED"
    ALREADY_DEACTIVATED = "ALREADY_DEACTIVATED"
    REACTIVATED = "REACTIVATED"
    ALREADY_ACTIVE = "ALREADY_ACTIVE"
    DELETED = "DELETED"
    ALREADY_DELETED = "ALREADY_DELETED"
    ACCOUNT_DELETED = "ACCOUNT_DELETED"
    """The account is deleted. Deletion is final."""


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

REJECTIONS = frozenset(
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
"""The action was rejected. The same request may succeed later."""


@dataclass(frozen=True, slots=True)
class Before:
    """The state of two users at one moment, as a rule reads it.

    `edge` is the actor's edge to the other user, `back` the reverse edge. `now` is the database's
    clock in microseconds: the one clock that all writers share.
    """

    edge: Edge
    back: Edge
    following: int
    """How many follows, whispers and requests the actor has."""
    now: int
    blocks: int = 0
    following_limit: int | None = None
    """The actor's own following limit, if a service has set one."""
    back_following: int = 0
    """How many follows, whispers and requests the other user has."""
    back_following_limit: int | None = None
    protected: bool = False
    """Whether the other user approves followers."""
    present: bool = True
    """Whether both accounts are active."""
    active: bool = True
    """Whether the actor's own account is active."""
    deleted: bool = False
    """Whether one of the accounts is deleted. Then no new edge may begin between them."""
    muted_until: Millis | None = None
    """When the actor's mute of the other user expires."""
    message: str | None = None
    """The message of the actor's request."""
    back_message: str | None = None
    """The message of the other user's request."""
    paced_until: int = 0
    """The actor's theoretical arrival time in microseconds: see `graph.pace`."""

    @property
    def relation(self) -> Relation:
        return relation_of(self.edge, self.back)


@dataclass(frozen=True, slots=True)
class Step:
    """One edge to write. `friends` is the change of the friend counts of both ends."""

    former: Edge
    edge: Edge
    friends: int
    turned: bool
    """Whether it is the reverse edge: the other user's edge to the actor."""
    message: str | None = None
    """The message of a request."""
    muted_until: Millis | None = None

    @property
    def begins(self) -> bool:
        """Whether the step adds a kind or a flag that was not there before."""
        is_new = self.edge.kind not in (Kind.NONE, self.former.kind)
        return is_new or bool(self.edge.flags & ~self.former.flags)


@dataclass(frozen=True, slots=True)
class Guards:
    """Conditions checked again on write, because the actor may make other changes concurrently."""

    following_below: int | None = None
    blocks_below: int | None = None
    pace_us: int = 0
    """The cost of the change: how far it moves the actor's `paced_until`, in microseconds."""
    paced_most: int = 0
    """The latest `paced_until` before the change that still allows it, in microseconds."""


@dataclass(frozen=True, slots=True)
class Decision:
    """The result of a rule: the outcome, the steps to write, and both edges afterwards."""

    outcome: Outcome
    steps: tuple[Step, ...]
    edge: Edge
    """The actor's edge to the other user afterwards."""
    back: Edge
    limit: Limit | None = None
    """The limit that was reached, if that was the reason."""
    retry_at: Millis | None = None
    """When to try again, if the change was rate limited."""
    guards: Guards = Guards()
    at: int = 0
    """The database's clock in microseconds, read when the steps were written or found to be
    applied already. The store sets it."""

    @property
    def relation(self) -> Relation:
        """The full relation afterwards. Callers must hide what a viewer may not see."""
        return relation_of(self.edge, self.back)


Rule = Callable[[Before], Decision]
"""A pure function that decides one action. A store may call it more than once."""
