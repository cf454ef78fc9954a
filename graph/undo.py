"""Undoing a change: what it needs, and the rule that restores what the change ended."""

from collections.abc import Set
from dataclasses import replace

from graph.decision_types import Conditions, Decision, PairState, Rule
from graph.edge import FOLLOWS, Edge, Flags, Kind
from graph.outcome import Outcome
from graph.receipt import UndoRecord
from graph.steps import (
    COUNTED_KINDS,
    FOLLOW_FLAGS,
    LASTING_FLAGS,
    begun,
    changed,
    following_limit,
    following_limit_reached,
    unchanged,
)


def undo_record(state: PairState, decision: Decision) -> UndoRecord:
    """The undo record of a decision: both edges before it, and their versions after it."""
    versions = decision.edge.version, decision.reverse.version
    messages = state.message, state.other_message
    return UndoRecord(*versions, state.edge, state.reverse, state.protected, *messages)


def undo(limit: int, record: UndoRecord, *, whispers: bool = True, mutual: bool = False) -> Rule:
    """The rule of `undoRelationshipChange`: restores the edges before an action, with their dates.
    `limit`: how many users each of the two may follow, unless a service has set another limit.

    It fails if the actor's edge has changed since, or if it would restore the other user's edge
    and that user has an edge again that the actor can see. It also fails if it would begin a follow
    or request although one of the accounts is absent, the other user blocks the actor, or the actor
    has reached the following limit. Changes by the other user that the actor cannot see (flags and,
    without `whispers`, whispers) do not prevent the undo and stay.

    If the other user has become protected since, the actor's follow is restored as a request. The
    other user's follow is not restored if they have reached their following limit, or follow by a
    whisper that the actor cannot see; the actor cannot tell these cases apart. If the actor's block
    has ended a whisper that the actor cannot see, it is restored where possible, and does not
    change the outcome.

    If all follows are `mutual`, it fails where it would restore a follow without the other one.
    """
    # The kinds of the other user's edge that the actor sees as no edge.
    unseen_kinds = {Kind.NONE} if whispers else {Kind.NONE, Kind.WHISPER}
    reverse_was_seen = record.reverse.kind not in unseen_kinds
    seen_follows = FOLLOWS - unseen_kinds

    def decide(state: PairState) -> Decision:
        edge = record.edge if record.edge.version != record.version else None
        reverse = record.reverse if record.reverse.version != record.reverse_version else None
        if state.edge.version != record.version:
            return unchanged(Outcome.CANNOT_UNDO, state)
        begins_reverse = reverse is not None and reverse_was_seen
        begins = begins_reverse or (edge is not None and edge.kind in COUNTED_KINDS)
        if begins and (not state.both_active or state.reverse.kind is Kind.BLOCK):
            return unchanged(Outcome.NOT_ALLOWED, state)
        if reverse is not None:
            if reverse_was_seen and state.reverse.kind not in unseen_kinds:
                return unchanged(Outcome.CANNOT_UNDO, state)
            reverse = _reverse_to_restore(limit, state, reverse)
            if edge is None and reverse is None:
                return unchanged(Outcome.CANNOT_UNDO, state)
        if edge is not None:
            edge = _edge_to_restore(state, edge, record)
        if mutual and _restores_one_follow(state, edge, reverse, seen_follows):
            return unchanged(Outcome.CANNOT_UNDO, state)
        following_below = other_following_below = None
        if edge is not None and edge.kind in COUNTED_KINDS and state.edge.kind not in COUNTED_KINDS:
            following_below = following_limit(limit, state)
            if state.following >= following_below:
                return following_limit_reached(limit, state)
        if reverse is not None:
            other_following_below = _other_following_limit(limit, state)
        return changed(
            Outcome.RESTORED,
            state,
            edge,
            reverse,
            conditions=Conditions(following_below, other_following_below=other_following_below),
            message=record.message,
            other_message=record.other_message,
        )

    return decide


def _restores_one_follow(
    state: PairState, edge: Edge | None, reverse: Edge | None, seen_follows: Set[Kind]
) -> bool:
    """Whether these edges to restore contain a follow, and only one user follows afterwards, as far
    as the actor can see."""
    restores_own = edge is not None and edge.kind in FOLLOWS
    restores_other = reverse is not None and reverse.kind in seen_follows
    follows = restores_own or (edge is None and state.edge.kind in FOLLOWS)
    is_followed = restores_other or state.reverse.kind in seen_follows
    return (restores_own or restores_other) and not (follows and is_followed)


def _edge_to_restore(state: PairState, edge: Edge, record: UndoRecord) -> Edge:
    """The actor's edge to restore: a request, if the other user has become protected since."""
    if edge.kind not in FOLLOWS or record.protected or not state.protected:
        return edge
    request_flag = Flags.WHISPER_REQUEST if edge.kind is Kind.WHISPER else Flags.PLAIN
    return begun(state, edge, Kind.REQUEST, edge.flags & FOLLOW_FLAGS | request_flag)


def _reverse_to_restore(limit: int, state: PairState, reverse: Edge) -> Edge | None:
    """The other user's edge to restore, with their present flags. None: do not change it."""
    if (
        state.reverse.kind is not Kind.NONE
        or not state.both_active
        or state.other_following >= _other_following_limit(limit, state)
    ):
        return None
    return replace(
        reverse, flags=reverse.flags & ~LASTING_FLAGS | state.reverse.flags & LASTING_FLAGS
    )


def _other_following_limit(limit: int, state: PairState) -> int:
    """How many users the other user may follow: `limit`, unless a service has set another."""
    return limit if state.other_following_limit is None else state.other_following_limit
