"""The rules of the actions on the edges between two users: what each changes, and when it may.

The rule of an undo is in `graph.undo`. The rate limit of changes is in `graph.pace`.
"""

from dataclasses import replace

from graph.counts import Limit
from graph.decision_types import Conditions, Decision, PairState, Rule
from graph.edge import FOLLOWS, Edge, Flags, Kind, Millis
from graph.outcome import Outcome
from graph.steps import (
    FOLLOW_FLAGS,
    begun,
    below_following_limit,
    changed,
    ended,
    flagged,
    following_limit,
    following_limit_reached,
    unchanged,
)


def follow(
    limit: int,
    kind: Kind = Kind.FOLLOW,
    *,
    close_follow: bool = False,
    notify: bool = False,
    message: str | None = None,
    mutual: bool = False,
) -> Rule:
    """The rule of `followUser`, public or by a whisper. `limit`: how many users the actor may
    follow, unless a service has set another limit for the actor.

    Creates a follow, also from an older request of the actor. If the target is protected, creates a
    request with `message` instead. If all follows are `mutual` and the target has sent a
    request, it accepts that request and follows back.
    """
    flags = Flags.CLOSE_FOLLOW if close_follow else Flags.PLAIN
    if notify:
        flags |= Flags.NOTIFY

    def decide(state: PairState) -> Decision:
        edge = state.edge
        if not state.both_active and edge.kind is not Kind.BLOCK:
            # Edges with an absent account are hidden, so this must look as if there were none.
            return unchanged(Outcome.NOT_ALLOWED, state)
        if edge.kind in FOLLOWS:
            return unchanged(Outcome.ALREADY_FOLLOWING, state)
        if mutual and state.reverse.kind is Kind.REQUEST and edge.kind is not Kind.BLOCK:
            decision = _accept_and_follow_back(limit, state, flags)
            return replace(decision, outcome=Outcome.FOLLOWED) if decision.steps else decision
        if edge.kind is Kind.REQUEST and state.protected:
            return unchanged(Outcome.ALREADY_REQUESTED, state)
        if edge.kind is Kind.BLOCK:
            return unchanged(Outcome.UNBLOCK_FIRST, state)
        if state.reverse.kind is Kind.BLOCK:
            return unchanged(Outcome.NOT_ALLOWED, state)
        if edge.kind is Kind.NONE and state.following >= following_limit(limit, state):
            return following_limit_reached(limit, state)
        conditions = below_following_limit(limit, state)
        if state.protected:
            request_flags = flags | (Flags.WHISPER_REQUEST if kind is Kind.WHISPER else Flags.PLAIN)
            requested = begun(state, edge, Kind.REQUEST, request_flags)
            return changed(
                Outcome.REQUESTED, state, requested, conditions=conditions, message=message
            )
        followed = begun(state, edge, kind, flags)
        return changed(Outcome.FOLLOWED, state, followed, conditions=conditions)

    return decide


def unfollow(*, mutual: bool = False) -> Rule:
    """The rule of `unfollowUser`. If all follows are `mutual`, it ends both directions."""

    def decide(state: PairState) -> Decision:
        if state.edge.kind not in FOLLOWS:
            return unchanged(Outcome.NOT_FOLLOWING, state)
        reverse = ended(state, state.reverse) if mutual and state.reverse.kind in FOLLOWS else None
        return changed(Outcome.UNFOLLOWED, state, ended(state, state.edge), reverse)

    return decide


def update_follow(
    kind: Kind | None = None, close_follow: bool | None = None, notify: bool | None = None
) -> Rule:
    """The rule of `updateFollow`. None leaves the kind or flag as it is. The date stays."""

    def decide(state: PairState) -> Decision:
        edge = state.edge
        if edge.kind not in FOLLOWS or not state.both_active:
            return unchanged(Outcome.NOT_FOLLOWING, state)
        flags = edge.flags
        if close_follow is not None:
            flags = flags | Flags.CLOSE_FOLLOW if close_follow else flags & ~Flags.CLOSE_FOLLOW
        if notify is not None:
            flags = flags | Flags.NOTIFY if notify else flags & ~Flags.NOTIFY
        updated = replace(edge, kind=kind or edge.kind, flags=flags)
        if updated == edge:
            return unchanged(Outcome.UNCHANGED, state)
        return changed(Outcome.UPDATED, state, updated)

    return decide


def remove_follower(*, whispers: bool = True, mutual: bool = False) -> Rule:
    """The rule of `removeFollower`. Without `whispers`, whispers are hidden from the actor, so it
    does not remove them.

    If all follows are `mutual`, it ends both directions.
    """
    removable = FOLLOWS if whispers else {Kind.FOLLOW}

    def decide(state: PairState) -> Decision:
        if state.reverse.kind not in removable:
            return unchanged(Outcome.NOT_FOLLOWED, state)
        edge = ended(state, state.edge) if mutual and state.edge.kind in FOLLOWS else None
        return changed(Outcome.FOLLOWER_REMOVED, state, edge, ended(state, state.reverse))

    return decide


def accept_request(limit: int, *, whispers: bool = True, mutual: bool = False) -> Rule:
    """The rule of `acceptFollowRequest`: turns the request into a follow that begins now.

    Without `whispers`, whispers are hidden from the actor, so a request for one becomes a public
    follow. If all follows are `mutual`, the actor follows back; `limit` is as in `follow`.
    """

    def decide(state: PairState) -> Decision:
        edge, reverse = state.edge, state.reverse
        if reverse.kind is not Kind.REQUEST or not state.both_active:
            return unchanged(Outcome.NO_REQUEST, state)
        if edge.kind is Kind.BLOCK:
            return unchanged(Outcome.UNBLOCK_FIRST, state)
        if mutual:
            return _accept_and_follow_back(limit, state, edge.flags & FOLLOW_FLAGS)
        is_whisper = reverse.flags & Flags.WHISPER_REQUEST and whispers
        accepted = _accepted(state, Kind.WHISPER if is_whisper else Kind.FOLLOW)
        return changed(Outcome.REQUEST_ACCEPTED, state, None, accepted)

    return decide


def _accepted(state: PairState, kind: Kind) -> Edge:
    """The other user's edge after the actor has accepted their request: a follow of `kind`."""
    return begun(state, state.reverse, kind, state.reverse.flags & FOLLOW_FLAGS)


def _accept_and_follow_back(limit: int, state: PairState, flags: Flags) -> Decision:
    """Accept the other user's request and follow back with the actor's `flags`. A whisper from
    before all follows were mutual becomes a follow that begins now: the other user may not know of
    it."""
    edge, accepted = state.edge, _accepted(state, Kind.FOLLOW)
    if edge.kind is Kind.FOLLOW:
        return changed(Outcome.REQUEST_ACCEPTED, state, None, accepted)
    if edge.kind is Kind.NONE and state.following >= following_limit(limit, state):
        return following_limit_reached(limit, state)
    return changed(
        Outcome.REQUEST_ACCEPTED,
        state,
        begun(state, edge, Kind.FOLLOW, flags),
        accepted,
        conditions=below_following_limit(limit, state),
    )


def decline_request() -> Rule:
    """The rule of `declineFollowRequest`."""

    def decide(state: PairState) -> Decision:
        if state.reverse.kind is not Kind.REQUEST:
            return unchanged(Outcome.NO_REQUEST, state)
        return changed(Outcome.REQUEST_DECLINED, state, None, ended(state, state.reverse))

    return decide


def cancel_request() -> Rule:
    """The rule of `cancelFollowRequest`."""

    def decide(state: PairState) -> Decision:
        if state.edge.kind is not Kind.REQUEST:
            return unchanged(Outcome.NO_REQUEST, state)
        return changed(Outcome.REQUEST_CANCELLED, state, ended(state, state.edge))

    return decide


def block(limit: int) -> Rule:
    """The rule of `blockUser`, for an actor who may block `limit` users.

    It ends follows and requests in both directions. A block by the other user stays.
    """

    def decide(state: PairState) -> Decision:
        if state.edge.kind is Kind.BLOCK:
            return unchanged(Outcome.ALREADY_BLOCKED, state)
        if state.blocks >= limit:
            reached = unchanged(Outcome.BLOCK_LIMIT_REACHED, state)
            return replace(reached, limit=Limit(limit, state.blocks))
        ends = state.reverse.kind in (*FOLLOWS, Kind.REQUEST)
        reverse = ended(state, state.reverse) if ends else None
        blocked = changed(Outcome.BLOCKED, state, begun(state, state.edge, Kind.BLOCK), reverse)
        return replace(blocked, conditions=Conditions(blocks_below=limit))

    return decide


def unblock() -> Rule:
    """The rule of `unblockUser`. It does not restore what the block ended: `undo` does."""

    def decide(state: PairState) -> Decision:
        if state.edge.kind is not Kind.BLOCK:
            return unchanged(Outcome.NOT_BLOCKED, state)
        return changed(Outcome.UNBLOCKED, state, ended(state, state.edge))

    return decide


def mute(until: Millis | None = None) -> Rule:
    """The rule of `muteUser`, without an end or `until` a date. It does not require a follow."""

    def decide(state: PairState) -> Decision:
        if state.edge.flags & Flags.MUTED and state.muted_until == until:
            return unchanged(Outcome.ALREADY_MUTED, state)
        muted = flagged(state, state.edge.flags | Flags.MUTED)
        return changed(Outcome.MUTED, replace(state, muted_until=until), muted)

    return decide


def unmute() -> Rule:
    """The rule of `unmuteUser`."""

    def decide(state: PairState) -> Decision:
        if not state.edge.flags & Flags.MUTED:
            return unchanged(Outcome.NOT_MUTED, state)
        return changed(Outcome.UNMUTED, state, flagged(state, state.edge.flags & ~Flags.MUTED))

    return decide


def dismiss() -> Rule:
    """The rule of `dismissSuggestion`: never suggest the other user to the actor again."""

    def decide(state: PairState) -> Decision:
        if state.edge.flags & Flags.DISMISSED:
            return unchanged(Outcome.ALREADY_DISMISSED, state)
        return changed(Outcome.DISMISSED, state, flagged(state, state.edge.flags | Flags.DISMISSED))

    return decide


def end_mute() -> Rule:
    """End a mute whose end date has passed. Used by the workers."""

    def decide(state: PairState) -> Decision:
        if state.muted_until is None or state.muted_until > state.now // 1000:
            return unchanged(Outcome.NOT_MUTED, state)
        return unmute()(state)

    return decide


def among_active(rule: Rule) -> Rule:
    """The same rule, except that it rejects an actor who is not active, and begins no edge and sets
    no flag if one of the accounts is deleted."""

    def decide(state: PairState) -> Decision:
        if not state.actor_active:
            return unchanged(Outcome.ACCOUNT_NOT_ACTIVE, state)
        decision = rule(state)
        if state.deleted and any(step.begins for step in decision.steps):
            return unchanged(Outcome.NOT_ALLOWED, state)
        return decision

    return decide


def erase() -> Rule:
    """End the actor's edge and clear its flags. End the reverse edge; the other user's mute and
    dismissal stay.

    An erasure applies it with the deleted account as the actor, and then with each user who has
    muted or dismissed that account.
    """

    def decide(state: PairState) -> Decision:
        without_flags = replace(ended(state, state.edge), flags=Flags.PLAIN)
        edge = without_flags if state.edge.kind or state.edge.flags else None
        reverse = ended(state, state.reverse) if state.reverse.kind else None
        return changed(Outcome.ERASED, state, edge, reverse)

    return decide
