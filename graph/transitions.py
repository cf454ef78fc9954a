"""What an action does to the edge between two users. The one place where a follow is decided.

Knows nothing of transactions, of SQL or of who calls: a store reads a `Before`, asks, and writes
the `Change` that it is told, if what it read still holds.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from graph.edge import NO_EDGE, Edge, Flags, Kind, Millis, Version
from graph.relation import Relation, seen_relation


class Outcome(Enum):
    """What became of an action. Refusals leave everything as it was."""

    FOLLOWED = "FOLLOWED"
    ALREADY_FOLLOWING = "ALREADY_FOLLOWING"
    UNFOLLOWED = "UNFOLLOWED"
    NOT_FOLLOWING = "NOT_FOLLOWING"
    CANNOT_FOLLOW_SELF = "CANNOT_FOLLOW_SELF"
    FOLLOWING_LIMIT_REACHED = "FOLLOWING_LIMIT_REACHED"


@dataclass(frozen=True, slots=True)
class Before:
    """What is known of two users at one moment.

    `edge` is what the actor is to the other, `back` the reverse; `following` counts the actor's
    follows; `now` is the database's clock in microseconds, the one clock that all writers share.
    """

    edge: Edge
    back: Edge
    following: int
    now: int


@dataclass(frozen=True, slots=True)
class Change:
    """What to write: the new edge, and what it adds to the actor's counts (-1, 0 or 1).

    `friends` is also what it adds to the *other* user's friends, once the lane is drained.
    """

    edge: Edge
    following: int
    friends: int
    back: Edge = NO_EDGE
    """The other direction, as the decision saw it: perhaps newer than the actor's side knows."""
    following_below: int | None = None
    """Holds only while the actor follows fewer: their other changes may come in between."""


@dataclass(frozen=True, slots=True)
class Decision:
    """The answer of a rule: the outcome, the change if any, and where the two stand now."""

    outcome: Outcome
    change: Change | None
    relation: Relation


Rule = Callable[[Before], Decision]
"""A pure function that decides one action. It may be asked more than once."""


def follow(limit: int) -> Rule:
    """The rule of `followUser` for an actor who may follow `limit` users."""

    def decide(before: Before) -> Decision:
        if before.edge.kind is Kind.FOLLOW:
            return _refusal(Outcome.ALREADY_FOLLOWING, before)
        if before.following >= limit:
            return _refusal(Outcome.FOLLOWING_LIMIT_REACHED, before)
        return _decision(Outcome.FOLLOWED, before, Kind.FOLLOW, limit)

    return decide


def unfollow(before: Before) -> Decision:
    """The rule of `unfollowUser`."""
    if before.edge.kind is not Kind.FOLLOW:
        return _refusal(Outcome.NOT_FOLLOWING, before)
    return _decision(Outcome.UNFOLLOWED, before, Kind.NONE)


def _decision(
    outcome: Outcome, before: Before, kind: Kind, following_below: int | None = None
) -> Decision:
    # Two changes may fall into one microsecond, and the clock may be set back: a version never is.
    version = Version(max(before.now, before.edge.version + 1))
    edge = Edge(kind, Flags.PLAIN, Millis(before.now // 1000), version)
    step = (kind is Kind.FOLLOW) - (before.edge.kind is Kind.FOLLOW)
    friends = step if before.back.kind is Kind.FOLLOW else 0
    change = Change(edge, step, friends, before.back, following_below)
    return Decision(outcome, change, _relation(edge, before.back))


def _refusal(outcome: Outcome, before: Before) -> Decision:
    return Decision(outcome, None, _relation(before.edge, before.back))


def _relation(edge: Edge, back: Edge) -> Relation:
    return seen_relation(edge.kind, edge.since, back.kind, back.since)
