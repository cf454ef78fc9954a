"""Builds decisions: edges that begin or end, their versions, and the changes of friend counts."""

from dataclasses import replace

from graph.counts import Limit
from graph.decision_types import NO_CONDITIONS, Conditions, Decision, PairState, Step
from graph.edge import FOLLOWS, Edge, Flags, Kind, Millis, Version
from graph.outcome import Outcome

COUNTED_KINDS = FOLLOWS | {Kind.REQUEST}
"""The kinds that count towards the following limit."""

FOLLOW_FLAGS = Flags.CLOSE_FOLLOW | Flags.NOTIFY
"""The flags of a follow, or of the follow that a request asks for. They end with it."""

LASTING_FLAGS = Flags.MUTED | Flags.DISMISSED
"""The flags that do not depend on a follow."""


def begun(state: PairState, previous: Edge, kind: Kind, flags: Flags = Flags.PLAIN) -> Edge:
    """The edge with a new kind and flags, beginning now. It keeps the `LASTING_FLAGS` of
    `previous`, and its version, which `changed` replaces."""
    if previous.flags:  # rare, and each operator of flags is three Python calls
        flags |= previous.flags & LASTING_FLAGS
    return Edge(kind, flags, Millis(state.now // 1000), previous.version)


def ended(state: PairState, previous: Edge) -> Edge:
    """The edge with the kind NONE. It keeps the flags that do not depend on a follow."""
    return begun(state, previous, Kind.NONE)


def flagged(state: PairState, flags: Flags) -> Edge:
    """The actor's edge with other flags. Its date stays, or is now if its kind is NONE."""
    since = state.edge.since if state.edge.kind else Millis(state.now // 1000)
    return replace(state.edge, flags=flags, since=since)


def changed(
    outcome: Outcome,
    state: PairState,
    edge: Edge | None,
    reverse: Edge | None = None,
    *,
    conditions: Conditions = NO_CONDITIONS,
    message: str | None = None,
    other_message: str | None = None,
) -> Decision:
    """The decision that writes these edges, the actor's first. None leaves an edge as it is."""
    steps: tuple[Step, ...] = ()
    edge_after, reverse_after = state.edge, state.reverse
    if edge is not None:
        edge_after = _with_version(state, state.edge, edge)
        friends = _friends(edge, state.reverse) - _friends(state.edge, state.reverse)
        muted_until = state.muted_until if Flags.MUTED in edge.flags else None
        steps += (Step(state.edge, edge_after, friends, False, message, muted_until),)
    if reverse is not None:
        reverse_after = _with_version(state, state.reverse, reverse)
        friends = _friends(edge_after, reverse) - _friends(edge_after, state.reverse)
        steps += (Step(state.reverse, reverse_after, friends, True, other_message),)
    return Decision(outcome, steps, edge_after, reverse_after, conditions=conditions)


def unchanged(outcome: Outcome, state: PairState) -> Decision:
    """The decision that writes nothing."""
    return Decision(outcome, (), state.edge, state.reverse)


def _with_version(state: PairState, previous: Edge, edge: Edge) -> Edge:
    # Two changes may fall into one microsecond, and the clock may be set back. Versions must rise.
    version = Version(max(state.now, previous.version + 1))
    return Edge(edge.kind, edge.flags, edge.since, version)


def _friends(edge: Edge, reverse: Edge) -> int:
    """1 if these edges make their users friends, else 0."""
    return int(edge.kind is Kind.FOLLOW and reverse.kind is Kind.FOLLOW)


def following_limit(limit: int, state: PairState) -> int:
    """How many users the actor may follow: `limit`, unless a service has set another."""
    return limit if state.following_limit is None else state.following_limit


def following_limit_reached(limit: int, state: PairState) -> Decision:
    """The rejection of an actor who follows too many users already."""
    reached = unchanged(Outcome.FOLLOWING_LIMIT_REACHED, state)
    return replace(reached, limit=Limit(following_limit(limit, state), state.following))


def below_following_limit(limit: int, state: PairState) -> Conditions:
    """The conditions of a decision to be written only while the actor is below the following
    limit."""
    if state.edge.kind is not Kind.NONE:
        return NO_CONDITIONS  # a follow or request counts towards the limit already
    return Conditions(following_below=following_limit(limit, state))
