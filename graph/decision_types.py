"""The types of decisions about two users: the state of the pair, and the steps to write.

The rules, which decide, are in `graph.rules`. A store reads a `PairState`, calls a rule, and
writes the `Decision` if the rows that it read are unchanged. Otherwise it starts again.
"""

from collections.abc import Callable
from dataclasses import dataclass
from uuid import UUID

from graph.counts import Limit
from graph.edge import Edge, Kind, Millis
from graph.outcome import Outcome
from graph.receipt import Receipt
from graph.relation import Relation, relation_of


@dataclass(frozen=True, slots=True)
class PairState:
    """The state of two users at one moment, as a rule reads it.

    `edge` is the actor's edge to the other user, and `reverse` the other user's edge to the actor.
    `now` is the database's clock in microseconds: the one clock that all writers share.
    """

    edge: Edge
    reverse: Edge
    following: int
    """How many follows, whispers and requests the actor has."""
    now: int
    blocks: int = 0
    """How many users the actor blocks."""
    following_limit: int | None = None
    """The actor's own following limit, if a service has set one."""
    other_following: int = 0
    """How many follows, whispers and requests the other user has."""
    other_following_limit: int | None = None
    protected: bool = False
    """Whether the other user approves followers."""
    both_active: bool = True
    """Whether both accounts are active."""
    actor_active: bool = True
    """Whether the actor's account is active."""
    deleted: bool = False
    """Whether one of the accounts is deleted. Then no new edge may begin between them."""
    muted_until: Millis | None = None
    """When the actor's mute of the other user expires."""
    message: str | None = None
    """The message of the actor's request."""
    other_message: str | None = None
    """The message of the other user's request."""
    paced_until: int = 0
    """The actor's theoretical arrival time in microseconds: see `graph.pace`."""
    has_pending_change: bool = False
    """Whether the outbox holds a change of the actor's edge by the actor: a cache may lack it."""
    has_pending_reverse_change: bool = False
    """Whether the outbox holds a change of the other user's edge by the actor."""

    @property
    def relation(self) -> Relation:
        return relation_of(self.edge, self.reverse)

    @property
    def read_at(self) -> int:
        """Everything that was read was committed at or before this time, in microseconds. The
        edge's version is later than `now` only if the clock was set back."""
        return max(self.now, self.edge.version)


@dataclass(frozen=True, slots=True)
class Step:
    """One edge to write. `friends` is the change of the friend counts of both ends."""

    previous: Edge
    edge: Edge
    friends: int
    is_reverse: bool
    """Whether it is the reverse edge: the other user's edge to the actor."""
    message: str | None = None
    """The message of a request."""
    muted_until: Millis | None = None

    @property
    def begins(self) -> bool:
        """Whether the edge gets a new kind, other than NONE, or a flag that it did not have."""
        is_new = self.edge.kind not in (Kind.NONE, self.previous.kind)
        return is_new or bool(self.edge.flags & ~self.previous.flags)


@dataclass(frozen=True, slots=True)
class Conditions:
    """Conditions checked again on write, because both users may make other changes concurrently.
    None: no condition."""

    following_below: int | None = None
    """`PairState.following` must be less than this."""
    blocks_below: int | None = None
    """`PairState.blocks` must be less than this."""
    other_following_below: int | None = None
    """`PairState.other_following` must be less than this: for an undo that restores the other
    user's follow or request."""
    pace_us: int | None = None
    """The cost of the change: how far it moves the actor's `paced_until`, in microseconds."""
    paced_most: int | None = None
    """The latest `paced_until` before the change that still allows it, in microseconds."""
    paced_latest: int | None = None
    """A stored `paced_until` later than this, in microseconds, is from before the clock was set
    back, and is ignored."""


NO_CONDITIONS = Conditions()


@dataclass(frozen=True, slots=True)
class Decision:
    """The result of a rule: the outcome, the steps to write, and both edges afterwards."""

    outcome: Outcome
    steps: tuple[Step, ...]
    edge: Edge
    """The actor's edge to the other user afterwards."""
    reverse: Edge
    limit: Limit | None = None
    """The limit that was reached, if the change was rejected because of it."""
    retry_at: Millis | None = None
    """When to try again, if the change was rate limited."""
    conditions: Conditions = NO_CONDITIONS
    receipt: Receipt | None = None
    """The receipt to write, also if there are no steps."""
    consumes: UUID | None = None
    """The actor's receipt that the change consumes."""
    at: int = 0
    """An upper bound of the commit time, by the database's clock in microseconds; if nothing was
    written, when the state was read. The store sets it, like the next two fields."""
    edges_to_publish: tuple[bool, ...] = ()
    """The edges that a cache may lack, as in `Step.is_reverse`: False is the edge, True the reverse
    edge. With steps, the edges that they write; without, the edges with a change in the outbox."""
    is_delayed: bool = False
    """Whether the actor may not see the change yet: a cache could not be updated."""

    @property
    def relation(self) -> Relation:
        """The full relation afterwards. Callers must hide what a viewer may not see."""
        return relation_of(self.edge, self.reverse)


Rule = Callable[[PairState], Decision]
"""A pure function that decides one action. A store may call it more than once."""
