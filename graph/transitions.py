"""The rules of every action on the edges between two users."""

from dataclasses import dataclass, replace

from graph.counts import Limit
from graph.decision import Before, Decision, Guards, Outcome, Rule, Step
from graph.edge import FOLLOWS, Edge, Flags, Kind, Millis, Version


def follow(
    limit: int,
    kind: Kind = Kind.FOLLOW,
    *,
    close_follow: bool = False,
    message: str | None = None,
    mutual: bool = False,
) -> Rule:
    """The rule of `followUser`, public or by a whisper, for an actor who may follow `limit` users.

    If the target is protected, it creates a request with `message`. If all follows are `mutual`
    and the target has sent a request, it accepts that request.
    """
    flags = Flags.CLOSE_FOLLOW if close_follow else Flags.PLAIN

    def decide(before: Before) -> Decision:
        edge = before.edge
        if not before.present and edge.kind is not Kind.BLOCK:
            # Edges with an absent account are hidden, so this must look as if there were none.
            return _as_it_was(Outcome.NOT_ALLOWED, before)
        if edge.kind in FOLLOWS:
            return _as_it_was(Outcome.ALREADY_FOLLOWING, before)
        if mutual and before.back.kind is Kind.REQUEST and edge.kind is not Kind.BLOCK:
            decision = _both(limit, before, flags)
            return replace(decision, outcome=Outcome.FOLLOWED) if decision.steps else decision
        if edge.kind is Kind.REQUEST and before.protected:
            return _as_it_was(Outcome.ALREADY_REQUESTED, before)
        if edge.kind is Kind.BLOCK:
            return _as_it_was(Outcome.UNBLOCK_FIRST, before)
        if before.back.kind is Kind.BLOCK:
            return _as_it_was(Outcome.NOT_ALLOWED, before)
        if edge.kind is Kind.NONE and before.following >= _most(limit, before):
            return _too_many(limit, before)
        if before.protected:
            asked = flags | (Flags.SECRET if kind is Kind.WHISPER else Flags.PLAIN)
            requested = _begun(before, edge, Kind.REQUEST, asked)
            asking = _done(Outcome.REQUESTED, before, requested, message=message)
            return _while_below(limit, asking, before)
        followed = _done(Outcome.FOLLOWED, before, _begun(before, edge, kind, flags))
        return _while_below(limit, followed, before)

    return decide


def unfollow(*, mutual: bool = False) -> Rule:
    """The rule of `unfollowUser`. If all follows are `mutual`, it ends both directions."""

    def decide(before: Before) -> Decision:
        if before.edge.kind not in FOLLOWS:
            return _as_it_was(Outcome.NOT_FOLLOWING, before)
        back = _ended(before, before.back) if mutual and before.back.kind in FOLLOWS else None
        return _done(Outcome.UNFOLLOWED, before, _ended(before, before.edge), back)

    return decide


def update_follow(kind: Kind | None = None, close_follow: bool | None = None) -> Rule:
    """The rule of `updateFollow`. None leaves the kind or flag as it is. The date stays."""

    def decide(before: Before) -> Decision:
        edge = before.edge
        if edge.kind not in FOLLOWS or not before.present:
            return _as_it_was(Outcome.NOT_FOLLOWING, before)
        flags = edge.flags
        if close_follow is not None:
            flags = flags | Flags.CLOSE_FOLLOW if close_follow else flags & ~Flags.CLOSE_FOLLOW
        updated = replace(edge, kind=kind or edge.kind, flags=flags)
        if updated == edge:
            return _as_it_was(Outcome.UNCHANGED, before)
        return _done(Outcome.UPDATED, before, updated)

    return decide


def remove_follower(*, whispers: bool = True, mutual: bool = False) -> Rule:
    """The rule of `removeFollower`. Without `whispers`, whispers are hidden from the actor, so it
    does not remove them.

    If all follows are `mutual`, it ends both directions.
    """
    removable = FOLLOWS if whispers else {Kind.FOLLOW}

    def decide(before: Before) -> Decision:
        if before.back.kind not in removable:
            return _as_it_was(Outcome.NOT_FOLLOWED, before)
        edge = _ended(before, before.edge) if mutual and before.edge.kind in FOLLOWS else None
        return _done(Outcome.FOLLOWER_REMOVED, before, edge, _ended(before, before.back))

    return decide


def accept_request(limit: int, *, whispers: bool = True, mutual: bool = False) -> Rule:
    """The rule of `acceptFollowRequest`: turns the request into a follow that begins now.

    Without `whispers`, whispers are hidden from the actor, so a request for one becomes a public
    follow. If all follows are `mutual`, the actor follows back.
    """

    def decide(before: Before) -> Decision:
        edge, back = before.edge, before.back
        if back.kind is not Kind.REQUEST or not before.present:
            return _as_it_was(Outcome.NO_REQUEST, before)
        if edge.kind is Kind.BLOCK:
            return _as_it_was(Outcome.UNBLOCK_FIRST, before)
        if mutual:
            return _both(limit, before, edge.flags & Flags.CLOSE_FOLLOW)
        secret = back.flags & Flags.SECRET and whispers
        accepted = _granted(before, Kind.WHISPER if secret else Kind.FOLLOW)
        return _done(Outcome.REQUEST_ACCEPTED, before, None, accepted)

    return decide


def _granted(before: Before, kind: Kind) -> Edge:
    """The follow of `kind` that the other user's request becomes."""
    return _begun(before, before.back, kind, before.back.flags & Flags.CLOSE_FOLLOW)


def _both(limit: int, before: Before, flags: Flags) -> Decision:
    """Accept the other user's request and follow back with the actor's `flags`."""
    edge, accepted = before.edge, _granted(before, Kind.FOLLOW)
    if edge.kind in FOLLOWS:
        return _done(Outcome.REQUEST_ACCEPTED, before, None, accepted)
    if edge.kind is Kind.NONE and before.following >= _most(limit, before):
        return _too_many(limit, before)
    both = _done(
        Outcome.REQUEST_ACCEPTED, before, _begun(before, edge, Kind.FOLLOW, flags), accepted
    )
    return _while_below(limit, both, before)


def decline_request() -> Rule:
    """The rule of `declineFollowRequest`."""

    def decide(before: Before) -> Decision:
        if before.back.kind is not Kind.REQUEST:
            return _as_it_was(Outcome.NO_REQUEST, before)
        return _done(Outcome.REQUEST_DECLINED, before, None, _ended(before, before.back))

    return decide


def cancel_request() -> Rule:
    """The rule of `cancelFollowRequest`."""

    def decide(before: Before) -> Decision:
        if before.edge.kind is not Kind.REQUEST:
            return _as_it_was(Outcome.NO_REQUEST, before)
        return _done(Outcome.REQUEST_CANCELLED, before, _ended(before, before.edge))

    return decide


def block(limit: int) -> Rule:
    """The rule of `blockUser`, for an actor who may block `limit` users.

    It ends follows and requests in both directions. A block by the other user stays.
    """

    def decide(before: Before) -> Decision:
        if before.edge.kind is Kind.BLOCK:
            return _as_it_was(Outcome.ALREADY_BLOCKED, before)
        if before.blocks >= limit:
            reached = _as_it_was(Outcome.BLOCK_LIMIT_REACHED, before)
            return replace(reached, limit=Limit(limit, before.blocks))
        ends = before.back.kind in (*FOLLOWS, Kind.REQUEST)
        back = _ended(before, before.back) if ends else None
        blocked = _done(Outcome.BLOCKED, before, _begun(before, before.edge, Kind.BLOCK), back)
        return replace(blocked, guards=Guards(blocks_below=limit))

    return decide


def unblock() -> Rule:
    """The rule of `unblockUser`. It does not restore what the block ended: `undo` does."""

    def decide(before: Before) -> Decision:
        if before.edge.kind is not Kind.BLOCK:
            return _as_it_was(Outcome.NOT_BLOCKED, before)
        return _done(Outcome.UNBLOCKED, before, _ended(before, before.edge))

    return decide


def mute(until: Millis | None = None) -> Rule:
    """The rule of `muteUser`, without an end or `until` a date. It does not require a follow."""

    def decide(before: Before) -> Decision:
        if before.edge.flags & Flags.MUTED and before.muted_until == until:
            return _as_it_was(Outcome.ALREADY_MUTED, before)
        muted = _flagged(before, before.edge.flags | Flags.MUTED)
        return _done(Outcome.MUTED, replace(before, muted_until=until), muted)

    return decide


def unmute() -> Rule:
    """The rule of `unmuteUser`."""

    def decide(before: Before) -> Decision:
        if not before.edge.flags & Flags.MUTED:
            return _as_it_was(Outcome.NOT_MUTED, before)
        return _done(Outcome.UNMUTED, before, _flagged(before, before.edge.flags & ~Flags.MUTED))

    return decide


def dismiss() -> Rule:
    """The rule of `dismissSuggestion`: never suggest the other user to the actor again."""

    def decide(before: Before) -> Decision:
        if before.edge.flags & Flags.DISMISSED:
            return _as_it_was(Outcome.ALREADY_DISMISSED, before)
        return _done(
            Outcome.DISMISSED, before, _flagged(before, before.edge.flags | Flags.DISMISSED)
        )

    return decide


def end_mute() -> Rule:
    """End a mute whose end date has passed. Used by the workers."""

    def decide(before: Before) -> Decision:
        if before.muted_until is None or before.muted_until > before.now // 1000:
            return _as_it_was(Outcome.NOT_MUTED, before)
        return unmute()(before)

    return decide


def among_active(rule: Rule) -> Rule:
    """The same rule for active actors only. With a deleted account, edges can only end."""

    def decide(before: Before) -> Decision:
        if not before.active:
            return _as_it_was(Outcome.ACCOUNT_NOT_ACTIVE, before)
        decision = rule(before)
        if before.deleted and any(step.begins for step in decision.steps):
            return _as_it_was(Outcome.NOT_ALLOWED, before)
        return decision

    return decide


def erase() -> Rule:
    """Erase a deleted account's edge to another user with its flags, and the edge back.

    The other user's flags about the deleted account stay: the erasure from their side removes them.
    """

    def decide(before: Before) -> Decision:
        plain = replace(_ended(before, before.edge), flags=Flags.PLAIN)
        edge = plain if before.edge.kind or before.edge.flags else None
        back = _ended(before, before.back) if before.back.kind else None
        return _done(Outcome.ERASED, before, edge, back)

    return decide


@dataclass(frozen=True, slots=True)
class Taken:
    """What an undo needs: the edges before an action, and their versions after it."""

    version: Version
    back_version: Version
    edge: Edge
    back: Edge
    protected: bool = False
    """Whether the other user was protected at that time."""
    message: str | None = None
    """The message of the actor's request."""
    back_message: str | None = None
    """The message of the other user's request."""


def taken_by(before: Before, decision: Decision) -> Taken:
    """What an undo of this decision needs."""
    versions = decision.edge.version, decision.back.version
    messages = before.message, before.back_message
    return Taken(*versions, before.edge, before.back, before.protected, *messages)


def undo(limit: int, taken: Taken, *, whispers: bool = True) -> Rule:
    """The rule of `undoRelationshipChange`: restores the edges before an action, with their dates.

    It fails if the actor has changed their edge since, or if the other user's edge has become one
    that the actor can see. Changes by the other user that the actor cannot see (flags and, without
    `whispers`, whispers) do not prevent the undo and stay. If the other user has become protected
    since, a follow is restored as a request. The other user's follow is not restored if they have
    reached their following limit or whisper unseen; the actor cannot tell these cases apart.
    """
    unseen = {Kind.NONE} if whispers else {Kind.NONE, Kind.WHISPER}

    def decide(before: Before) -> Decision:
        edge = taken.edge if taken.edge.version != taken.version else None
        back = taken.back if taken.back.version != taken.back_version else None
        if before.edge.version != taken.version:
            return _as_it_was(Outcome.CANNOT_UNDO, before)
        begins = back is not None or (edge is not None and edge.kind in _COUNTED)
        if begins and (not before.present or before.back.kind is Kind.BLOCK):
            return _as_it_was(Outcome.NOT_ALLOWED, before)
        if back is not None:
            if before.back.kind not in unseen:
                return _as_it_was(Outcome.CANNOT_UNDO, before)
            back = _returned(limit, before, back)
            if edge is None and back is None:
                return _as_it_was(Outcome.CANNOT_UNDO, before)
        if edge is not None:
            edge = _approved(before, edge, taken)
        restored = _done(
            Outcome.RESTORED,
            before,
            edge,
            back,
            message=taken.message,
            back_message=taken.back_message,
        )
        if edge is None or edge.kind not in _COUNTED or before.edge.kind in _COUNTED:
            return restored
        if before.following >= _most(limit, before):
            return _too_many(limit, before)
        return replace(restored, guards=Guards(following_below=_most(limit, before)))

    return decide


def _approved(before: Before, edge: Edge, taken: Taken) -> Edge:
    """The actor's edge to restore: a request, if the other user has become protected since."""
    if edge.kind not in FOLLOWS or taken.protected or not before.protected:
        return edge
    secret = Flags.SECRET if edge.kind is Kind.WHISPER else Flags.PLAIN
    return _begun(before, edge, Kind.REQUEST, edge.flags & Flags.CLOSE_FOLLOW | secret)


def _returned(limit: int, before: Before, back: Edge) -> Edge | None:
    """The other user's edge to restore, with their present flags. None: leave theirs as it is."""
    if before.back.kind is not Kind.NONE or _is_full(limit, before):
        return None
    return replace(back, flags=back.flags & ~_LASTING | before.back.flags & _LASTING)


def _is_full(limit: int, before: Before) -> bool:
    """Whether the other user has reached their following limit."""
    most = limit if before.back_following_limit is None else before.back_following_limit
    return before.back_following >= most


_COUNTED = FOLLOWS | {Kind.REQUEST}
"""The kinds that count towards the following limit."""

_LASTING = Flags.MUTED | Flags.DISMISSED
"""The flags that do not depend on a follow."""


def _begun(before: Before, former: Edge, kind: Kind, flags: Flags = Flags.PLAIN) -> Edge:
    """The edge with a new kind and flags, beginning now."""
    return replace(
        former, kind=kind, flags=former.flags & _LASTING | flags, since=Millis(before.now // 1000)
    )


def _ended(before: Before, former: Edge) -> Edge:
    return _begun(before, former, Kind.NONE)


def _flagged(before: Before, flags: Flags) -> Edge:
    """The actor's edge with other flags. It keeps its date unless its kind is NONE."""
    since = before.edge.since if before.edge.kind else Millis(before.now // 1000)
    return replace(before.edge, flags=flags, since=since)


def _done(
    outcome: Outcome,
    before: Before,
    edge: Edge | None,
    back: Edge | None = None,
    *,
    message: str | None = None,
    back_message: str | None = None,
) -> Decision:
    """The decision that writes these edges, the actor's first. None leaves an edge as it is."""
    steps: tuple[Step, ...] = ()
    now = (before.edge, before.back)
    if edge is not None:
        edge = _newer(before, before.edge, edge)
        friends = _friends(edge, before.back) - _friends(before.edge, before.back)
        muted_until = before.muted_until if Flags.MUTED in edge.flags else None
        steps += (Step(before.edge, edge, friends, False, message, muted_until),)
        now = (edge, before.back)
    if back is not None:
        back = _newer(before, before.back, back)
        friends = _friends(now[0], back) - _friends(now[0], before.back)
        steps += (Step(before.back, back, friends, True, back_message),)
        now = (now[0], back)
    return Decision(outcome, steps, *now)


def _newer(before: Before, former: Edge, edge: Edge) -> Edge:
    # Two changes may fall into one microsecond, and the clock may be set back. Versions must rise.
    return replace(edge, version=Version(max(before.now, former.version + 1)))


def _friends(edge: Edge, back: Edge) -> int:
    return int(edge.kind is Kind.FOLLOW and back.kind is Kind.FOLLOW)


def _most(limit: int, before: Before) -> int:
    return limit if before.following_limit is None else before.following_limit


def _too_many(limit: int, before: Before) -> Decision:
    reached = _as_it_was(Outcome.FOLLOWING_LIMIT_REACHED, before)
    return replace(reached, limit=Limit(_most(limit, before), before.following))


def _while_below(limit: int, decision: Decision, before: Before) -> Decision:
    """The same decision, to be written only while the actor is below the following limit."""
    if before.edge.kind is not Kind.NONE:
        return decision  # a follow or request counts towards the limit already
    return replace(decision, guards=Guards(following_below=_most(limit, before)))


def _as_it_was(outcome: Outcome, before: Before) -> Decision:
    return Decision(outcome, (), before.edge, before.back)
