"""What every action does to the edges between two users. The one place where a follow is decided.

Knows nothing of transactions, of SQL or of who calls.
"""

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
    """`followUser`, openly or by a whisper, for an actor who may follow `limit` users.

    A protected user is asked: by a request, with a `message`. Where all follows are `mutual`, to
    ask who has asked already is to accept.
    """
    flags = Flags.CLOSE_FOLLOW if close_follow else Flags.PLAIN

    def decide(before: Before) -> Decision:
        edge = before.edge
        if not before.present and edge.kind is not Kind.BLOCK:
            # What there was with whoever is not here, looks as if it had never been.
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
    """`unfollowUser`. Where all follows are `mutual`, it ends both directions."""

    def decide(before: Before) -> Decision:
        if before.edge.kind not in FOLLOWS:
            return _as_it_was(Outcome.NOT_FOLLOWING, before)
        back = _ended(before, before.back) if mutual and before.back.kind in FOLLOWS else None
        return _done(Outcome.UNFOLLOWED, before, _ended(before, before.edge), back)

    return decide


def update_follow(kind: Kind | None = None, close_follow: bool | None = None) -> Rule:
    """`updateFollow`: open or whispered, close or not; None leaves it. The date stays."""

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
    """`removeFollower`. Without `whispers`, the actor may not know of these, so none is removed.

    Where all follows are `mutual`, it ends both directions.
    """
    removable = FOLLOWS if whispers else {Kind.FOLLOW}

    def decide(before: Before) -> Decision:
        if before.back.kind not in removable:
            return _as_it_was(Outcome.NOT_FOLLOWED, before)
        edge = _ended(before, before.edge) if mutual and before.edge.kind in FOLLOWS else None
        return _done(Outcome.FOLLOWER_REMOVED, before, edge, _ended(before, before.back))

    return decide


def accept_request(limit: int, *, whispers: bool = True, mutual: bool = False) -> Rule:
    """`acceptFollowRequest`: the other's request becomes what they asked for, as of now.

    Without `whispers`, the actor may not know of these, so it becomes an open follow. Where all
    follows are `mutual`, it is returned at once.
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
    """The other's request, granted."""
    return _begun(before, before.back, kind, before.back.flags & Flags.CLOSE_FOLLOW)


def _both(limit: int, before: Before, flags: Flags) -> Decision:
    """The other's request is granted and returned, with the actor's `flags`."""
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
    """`declineFollowRequest`."""

    def decide(before: Before) -> Decision:
        if before.back.kind is not Kind.REQUEST:
            return _as_it_was(Outcome.NO_REQUEST, before)
        return _done(Outcome.REQUEST_DECLINED, before, None, _ended(before, before.back))

    return decide


def cancel_request() -> Rule:
    """`cancelFollowRequest`."""

    def decide(before: Before) -> Decision:
        if before.edge.kind is not Kind.REQUEST:
            return _as_it_was(Outcome.NO_REQUEST, before)
        return _done(Outcome.REQUEST_CANCELLED, before, _ended(before, before.edge))

    return decide


def block(limit: int) -> Rule:
    """`blockUser`, for an actor who may block `limit` users.

    Ends follows and requests in both directions; a block of the other's stays.
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
    """`unblockUser`. What the block took does not come back: that is `undo`."""

    def decide(before: Before) -> Decision:
        if before.edge.kind is not Kind.BLOCK:
            return _as_it_was(Outcome.NOT_BLOCKED, before)
        return _done(Outcome.UNBLOCKED, before, _ended(before, before.edge))

    return decide


def mute(until: Millis | None = None) -> Rule:
    """`muteUser`, for good or `until` a date. Whom one mutes, one need not follow."""

    def decide(before: Before) -> Decision:
        if before.edge.flags & Flags.MUTED and before.muted_until == until:
            return _as_it_was(Outcome.ALREADY_MUTED, before)
        muted = _flagged(before, before.edge.flags | Flags.MUTED)
        return _done(Outcome.MUTED, replace(before, muted_until=until), muted)

    return decide


def unmute() -> Rule:
    """`unmuteUser`."""

    def decide(before: Before) -> Decision:
        if not before.edge.flags & Flags.MUTED:
            return _as_it_was(Outcome.NOT_MUTED, before)
        return _done(Outcome.UNMUTED, before, _flagged(before, before.edge.flags & ~Flags.MUTED))

    return decide


def dismiss() -> Rule:
    """The other is not to be suggested to the actor again."""

    def decide(before: Before) -> Decision:
        if before.edge.flags & Flags.DISMISSED:
            return _as_it_was(Outcome.ALREADY_DISMISSED, before)
        return _done(
            Outcome.DISMISSED, before, _flagged(before, before.edge.flags | Flags.DISMISSED)
        )

    return decide


def end_mute() -> Rule:
    """What the clock does to a mute that has an end; any other stays."""

    def decide(before: Before) -> Decision:
        if before.muted_until is None or before.muted_until > before.now // 1000:
            return _as_it_was(Outcome.NOT_MUTED, before)
        return unmute()(before)

    return decide


def among_active(rule: Rule) -> Rule:
    """The same rule for those whose account is here; of who is deleted, things only end."""

    def decide(before: Before) -> Decision:
        if not before.active:
            return _as_it_was(Outcome.ACCOUNT_NOT_ACTIVE, before)
        decision = rule(before)
        if before.deleted and any(step.begins for step in decision.steps):
            return _as_it_was(Outcome.NOT_ALLOWED, before)
        return decision

    return decide


def erase() -> Rule:
    """What becomes of what a deleted account was to another, its notes included, and back.

    What the other has noted about it is the other's edge still: that is erased from their side.
    """

    def decide(before: Before) -> Decision:
        plain = replace(_ended(before, before.edge), flags=Flags.PLAIN)
        edge = plain if before.edge.kind or before.edge.flags else None
        back = _ended(before, before.back) if before.back.kind else None
        return _done(Outcome.ERASED, before, edge, back)

    return decide


@dataclass(frozen=True, slots=True)
class Taken:
    """What an action took: the versions that it left behind, and the edges that it had found."""

    version: Version
    back_version: Version
    edge: Edge
    back: Edge
    protected: bool = False
    """Whether the other approved of their followers then."""
    message: str | None = None
    """What the actor's request said."""
    back_message: str | None = None
    """What the other's request said."""


def taken_by(before: Before, decision: Decision) -> Taken:
    """What the decision takes from what was before."""
    versions = decision.edge.version, decision.back.version
    messages = before.message, before.back_message
    return Taken(*versions, before.edge, before.back, before.protected, *messages)


def undo(limit: int, taken: Taken, *, whispers: bool = True) -> Rule:
    """`undoRelationshipChange`: what was found before is there again, with its date.

    Not if the actor has changed their own edge since, or if the other's has become what the actor
    can see. What the other does unseen never matters, and stays: notes, and without `whispers`
    these too. A follow of whoever was not protected then, and is now, is asked for. Whoever follows
    `limit` users by now gets no follow back; whoever whispers unseen, looks just like that.
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
    """The actor's edge again; a request, if the other came to approve of their followers since."""
    if edge.kind not in FOLLOWS or taken.protected or not before.protected:
        return edge
    secret = Flags.SECRET if edge.kind is Kind.WHISPER else Flags.PLAIN
    return _begun(before, edge, Kind.REQUEST, edge.flags & Flags.CLOSE_FOLLOW | secret)


def _returned(limit: int, before: Before, back: Edge) -> Edge | None:
    """The other's edge again, with what they have noted since; None: theirs stays as it is."""
    if before.back.kind is not Kind.NONE or _is_full(limit, before):
        return None
    return replace(back, flags=back.flags & ~_LASTING | before.back.flags & _LASTING)


def _is_full(limit: int, before: Before) -> bool:
    """Whether the other follows as many users as they may."""
    most = limit if before.back_following_limit is None else before.back_following_limit
    return before.back_following >= most


_COUNTED = FOLLOWS | {Kind.REQUEST}
"""What the following limit is about."""

_LASTING = Flags.MUTED | Flags.DISMISSED
"""What an owner says about a user whether they follow them or not."""


def _begun(before: Before, former: Edge, kind: Kind, flags: Flags = Flags.PLAIN) -> Edge:
    """The edge that `former` becomes, beginning now."""
    return replace(
        former, kind=kind, flags=former.flags & _LASTING | flags, since=Millis(before.now // 1000)
    )


def _ended(before: Before, former: Edge) -> Edge:
    return _begun(before, former, Kind.NONE)


def _flagged(before: Before, flags: Flags) -> Edge:
    """The actor's edge with other flags, and its own date if it is more than a note."""
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
    """The decision that the two edges become these, one step after the other; None: as it was."""
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
    # Two changes may fall into one microsecond, and the clock may be set back: a version never is.
    return replace(edge, version=Version(max(before.now, former.version + 1)))


def _friends(edge: Edge, back: Edge) -> int:
    return int(edge.kind is Kind.FOLLOW and back.kind is Kind.FOLLOW)


def _most(limit: int, before: Before) -> int:
    return limit if before.following_limit is None else before.following_limit


def _too_many(limit: int, before: Before) -> Decision:
    reached = _as_it_was(Outcome.FOLLOWING_LIMIT_REACHED, before)
    return replace(reached, limit=Limit(_most(limit, before), before.following))


def _while_below(limit: int, decision: Decision, before: Before) -> Decision:
    """The same, to be written only if the actor's other changes have not reached the limit."""
    if before.edge.kind is not Kind.NONE:
        return decision  # it was counted when it was asked for
    return replace(decision, guards=Guards(following_below=_most(limit, before)))


def _as_it_was(outcome: Outcome, before: Before) -> Decision:
    return Decision(outcome, (), before.edge, before.back)
